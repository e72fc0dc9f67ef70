# SPDX-License-Identifier: MIT
"""rope: does a rotation of queries or keys turn every pair by the right angle?"""

from dataclasses import replace
from typing import Literal

import torch
from torch import Tensor

from posenc_check.causes import Cause
from posenc_check.contracts.rope_case import ANGLES, INIT_WORDS, WORDS, Case, Settings, settings
from posenc_check.contracts.rope_module import module_requirements
from posenc_check.examination import Examination
from posenc_check.factory import Factory
from posenc_check.report import Report
from posenc_check.subject import Unusable, guarded
from posenc_check.wrong_forms.rope import Form, causes, turned

PAGE = "docs/methods/rope.md"
PRECISION = "docs/guides/precision.md"
DECODING = "docs/guides/decoding.md"
DTYPES = (torch.bfloat16, torch.float16, torch.float32, torch.float64)


def check_rope(
    rotate,
    *,
    layout: Literal["half", "interleaved"],
    head_dim: int = 16,
    base: float = 10_000.0,
    rotary_dim: int | None = None,
    axes: str = "BHTD",
    attention_factor: float = 1.0,
    max_position: int = 131_072,
    export: bool = False,
    call: str | None = None,
    init: str | None = None,
) -> Report:
    """Check a rotation: a function, a module, or the class of a module.

    Args:
        rotate: takes x and positions, or other words (see call); gives back a tensor like x.
        layout: which two coordinates form a pair.
        head_dim: D of the inputs.
        base: base of the frequencies.
        rotary_dim: coordinates that turn, the first ones of a head; all if left out.
        axes: order of the axes of x, of the letters B H T D.
        attention_factor: what the rotated part is multiplied by.
        max_position: no position from here on is asked for.
        export: also ask that torch.export gives a graph without complex numbers.
        call: what rotate takes, in order: x, q, k, positions, start, cos, sin, and others.
        init: what its class takes: head_dim, base, max_len.

    Returns:
        The report.

    Raises:
        ValueError: if an option is out of its range.
    """
    said = settings(layout, head_dim, base, rotary_dim, axes, attention_factor)
    if max_position < 16:
        raise ValueError(f"max_position must be at least 16, got {max_position}")
    options = {"layout": layout, "head_dim": head_dim, "base": f"{base:g}", "axes": axes}
    if said.rotary_dim != head_dim:
        options["rotary_dim"] = said.rotary_dim
    with Factory.examine(
        "rope", rotate, WORDS, "x, positions", call, init, options, INIT_WORDS
    ) as (exam, new):
        asked = Asked(exam, new(_init(said, max_position)), said, max_position)
        _values(asked)
        _far(asked)
        _dtypes(asked)
        _memory(asked, new)
        _gradient(asked)
        module_requirements(asked, new, export)
    return exam.report


def _init(said: Settings, max_position: int) -> dict:
    return {"head_dim": said.rotary_dim, "base": said.base, "max_len": max_position}


class Asked:
    """The subject under examination, and which positions it can be asked for."""

    def __init__(self, exam: Examination, subject, said: Settings, max_position: int):
        self.exam, self.subject, self.said, self.max_position = exam, subject, said, max_position
        self.two = subject.takes("q") and subject.takes("k")
        self.angles_given = subject.takes(*ANGLES)
        self.any = subject.takes("positions", "batch_positions") or self.angles_given
        self.start = subject.takes("start")

    def positions(self, wanted: list[int]) -> list[int]:
        """As wanted, or as near to it as the subject can be asked for."""
        if self.any:
            return wanted
        first = wanted[0] if self.start else 0
        return list(range(first, first + len(wanted)))

    def turns(
        self, name, case: Case, dtype=torch.float32, page=PAGE, subject=None, fault=None
    ) -> bool:
        """One requirement: the answer for a case is the oracle's.

        fault is the text of a wrong form of this requirement alone, and how it changes the right one.
        """
        x, form = case.form(self.two)

        def explained(got: Tensor):
            if fault:
                yield Cause(fault[0], lambda: turned(x, fault[1](form)))
            # Pairs of faults are many: they are tried once.
            yield from causes(x, form, pairs=not self.exam.report.requirements)(got)

        return self.exam.values(
            name,
            lambda: case.answer(subject or self.subject, dtype),
            case.expected(self.two),
            page=page,
            tolerance=tolerance(case, dtype, self.two) * self.said.attention_factor,
            where=self._where(case),
            causes=explained,
        )

    def _where(self, case: Case):
        n_batch = case.x.shape[0]

        def where(index: tuple[int, ...]) -> str:
            b, h, t, d = index
            place = int(case.positions.expand(n_batch, -1)[b % n_batch, t])
            of = "" if not self.two else " of q" if b < n_batch else " of k"
            return f"position {place}, coordinate {d}{of} (batch {b % n_batch}, head {h})"

        return where


def tolerance(case: Case, dtype: torch.dtype, two: bool = False) -> Tensor:
    """What float32 angles cost at each position, and the dtype of x: (B, 1, T, 1).

    Angles in float32 are off by the rounding of the speed and of the product, each 2 ** -24 of
    the angle, and powers in float32 by some units more: 8 of them are allowed. Values are below
    2, and a dtype with eps rounds x, cos, sin, two products, and a sum: 4 eps cover it.
    """
    places = case.positions.double().expand(case.x.shape[0], -1).repeat(2 if two else 1, 1)
    eps = max(torch.finfo(dtype).eps, torch.finfo(torch.float32).eps)
    return 8 * 2**-24 * places[:, None, :, None] + 4 * eps


def _values(asked: Asked) -> None:
    n = 5
    case = Case(asked.said, (2, n), asked.positions([1, 2, 3, 5, 8]))
    asked.turns("turns each pair by position * base ** (-2 i / D)", case)
    # As many heads as tokens: nothing crashes if the axes are taken for each other, so other
    # sizes come second.
    case = Case(asked.said, (2, 3), asked.positions([2, 3, 4, 5]), seed=1)
    asked.turns("takes any batch, heads, and length", case)
    case = Case(asked.said, (1, 2), asked.positions([9]), seed=2)
    asked.turns("takes one token, as in decoding", case, page=DECODING)
    name = "takes positions in any order"
    if asked.any:
        asked.turns(name, Case(asked.said, (2, 3), [7, 0, 12, 3, 3, 1], seed=3))
    else:
        asked.exam.skip(name, "no positions are passed", page=PAGE)
    name = "takes positions of each sequence of a batch"
    if asked.subject.takes("batch_positions", "batch_cos", "batch_sin") and "B" in asked.said.axes:
        asked.turns(name, Case(asked.said, (2, 3), [[4, 5, 6, 7, 8], [0, 0, 1, 2, 9]], seed=4))
    else:
        asked.exam.skip(name, "no positions of shape (B, T) are passed", page=DECODING)


def _far(asked: Asked) -> None:
    name = "is right at far positions, float32"
    if asked.angles_given:
        return asked.exam.skip(name, "it is given the angles", page=PRECISION)
    if not (asked.any or asked.start):
        last = min(asked.max_position, 1024)
        return asked.turns(name, Case(asked.said, (1, 1), list(range(last))), page=PRECISION)
    for name, dtype, places in (
        (name, torch.float32, [255, 256, 257, 1023, 4095, 32_767, 131_071]),
        ("is right at far positions, bfloat16", torch.bfloat16, [1, 256, 257, 4095]),
        ("is right at positions past 65504, float16", torch.float16, [2048, 2049, 70_000]),
    ):
        known = [place for place in places if place < asked.max_position]
        if len(known) < 2 or (known != places and dtype == torch.float16):
            asked.exam.skip(name, f"positions end at {asked.max_position - 1}", page=PRECISION)
            continue
        case = Case(asked.said, (1, 2), known, seed=5, one_by_one=not asked.any)
        asked.turns(name, case, dtype, PRECISION)


def _dtypes(asked: Asked) -> None:
    def problem() -> str:
        case = Case(asked.said, (2, 3), asked.positions([1, 2, 3, 4]), seed=6)
        found = []
        for dtype in DTYPES:
            answer = asked.subject(case.values(dtype))
            parts = answer if asked.two else [answer]
            found += [f"{dtype} became {y.dtype}" for y in parts if y.dtype != dtype]
        return "; ".join(found)

    cause = "cos and sin have another dtype than x, and the result is not cast back"
    asked.exam.holds("returns the dtype of its input", problem, page=PRECISION, cause=cause)


def _memory(asked: Asked, new) -> None:
    """A table that an earlier call made must serve the later one, or be made anew."""
    name = "an earlier call in bfloat16 changes nothing"
    if asked.angles_given:
        return asked.exam.skip(name, "it is given the angles", page=PRECISION)
    fresh = new(_init(asked.said, asked.max_position))
    n = min(600, asked.max_position)
    case = Case(asked.said, (1, 1), list(range(n)), seed=7)
    try:
        fresh(case.values(torch.bfloat16))
    except Unusable as error:
        return asked.exam.skip(name, f"bfloat16 is not taken: {error}", page=PRECISION)
    asked.turns(name, case, page=PRECISION, subject=fresh)
    again = Case(asked.said, (2, 3), asked.positions([3, 4, 5]), seed=8)
    asked.turns("an earlier call of another length changes nothing", again, subject=fresh)
    if asked.start and not asked.any:
        again = Case(asked.said, (2, 3), [11, 12, 13], seed=9)
        name = "an earlier call with another start changes nothing"
        fault = "the angles of an earlier call are used", lambda form: earlier(form, 3)
        asked.turns(name, again, subject=fresh, fault=fault)


def earlier(form: Form, start: int) -> Form:
    return replace(form, positions=form.positions - form.positions.min() + start)


def _gradient(asked: Asked) -> None:
    """The gradient of a rotation is the rotation back; twice, since a kept graph fails then."""
    if asked.two or asked.said.attention_factor != 1:
        return

    def problem() -> str:
        case = Case(asked.said, (2, 3), asked.positions([1, 2, 3, 4]), seed=10)
        weight = case.expected(False)  # R x, so that the gradient of <R x, weight> is x
        for _ in range(2):
            values = case.values(torch.float64)
            values["x"].requires_grad_(True)
            answer = case.read(asked.subject(values), False)
            guarded((answer * weight).sum().backward, "the backward pass", (), {})
            gradient = case.read(values["x"].grad, False)
            worst = float((gradient - case.x).abs().max())
            # The same bound as for the values; two rotations.
            if worst > 2 * float(tolerance(case, torch.float32).max()):
                return f"the gradient is off by {worst:.3g}"
        return ""

    asked.exam.holds("passes gradients back, twice", problem, page=PAGE)
