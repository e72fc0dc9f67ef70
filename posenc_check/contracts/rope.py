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
        init = init_values(new, said, max_position)
        asked = Asked(exam, new(init), said, max_position)
        _values(asked)
        _far(asked)
        _dtypes(asked)
        _memory(asked, new(init))
        _gradient(asked)
        _default_base(asked, new)
        module_requirements(asked, new, init, export)
    return exam.report


def init_values(new: Factory, said: Settings, max_position: int) -> dict:
    """What its class is made with; a class of one width gets the width that turns."""
    both = new.is_class and new.init.takes("rotary_dim")
    head_dim = said.head_dim if both else said.rotary_dim
    sizes = {"head_dim": head_dim, "rotary_dim": said.rotary_dim}
    return sizes | {"base": said.base, "max_len": max_position}


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
        self, name, case: Case, dtype=torch.float32, page=PAGE, subject=None, faults=(),
        otherwise: str = "",
    ) -> bool:
        """One requirement: the answer for a case is the oracle's.

        faults are wrong forms of this requirement alone: a text, and a change of the right form.
        """
        x, form = case.form(self.two)

        def explained(got: Tensor):
            for text, change in faults:
                yield Cause(text, lambda change=change: turned(x, change(form)))
            # Pairs of faults, and faults of one of two, are many: they are tried once.
            first = not self.exam.report.requirements
            yield from causes(x, form, pairs=first, both=first and self.two)(got)

        return self.exam.values(
            name,
            lambda: case.answer(subject or self.subject, dtype),
            case.expected(self.two),
            page=page,
            tolerance=tolerance(case, dtype, self.two) * self.said.attention_factor,
            where=self._where(case),
            causes=explained,
            otherwise=otherwise,
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
    case = Case(asked.said, (2, 3), asked.positions([2, 3, 4, 5]), seed=1, view=True)
    asked.turns("takes a transposed view, as models pass it", case)
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
        asked.exam.skip(name, 'call="x, batch_positions" passes them', page=DECODING)


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
            answer = asked.subject(case.values(dtype, asked.two))
            parts = answer if asked.two else [answer]
            found += [f"{dtype} became {y.dtype}" for y in parts if y.dtype != dtype]
        return "; ".join(found)

    cause = "cos and sin have another dtype than x, and the result is not cast back"
    asked.exam.holds("returns the dtype of its input", problem, page=PRECISION, cause=cause)


def _memory(asked: Asked, fresh) -> None:
    """What an instance keeps of a call must serve the next one, or be made anew."""
    name = "an earlier call in bfloat16 changes nothing"
    if asked.angles_given:
        return asked.exam.skip(name, "it is given the angles", page=PRECISION)
    n = min(600, asked.max_position)
    case = Case(asked.said, (1, 1), list(range(n)), seed=7)
    try:
        fresh(case.values(torch.bfloat16, asked.two))
    except Unusable as error:
        return asked.exam.skip(name, f"bfloat16 is not taken: {error}", page=PRECISION)
    asked.turns(name, case, page=PRECISION, subject=fresh)
    # Nine rows: no call before had as many.
    first = list(range(3, 12))
    again = Case(asked.said, (2, 3), asked.positions(first), seed=8)
    asked.turns("an earlier call of another length changes nothing", again, subject=fresh)
    if not (asked.any or asked.start):
        return
    # As many rows and the same largest position: neither can serve as a key.
    kept, places = [first, [*range(8), 20]], list(range(12, 21))
    if asked.any:
        fresh(Case(asked.said, (2, 3), kept[1], seed=9).values(torch.float32, asked.two))
    name, text = "an earlier call at other positions changes nothing", "the angles of an earlier call"
    faults = [(f"{text} are used", lambda form, old=old: at(form, old)) for old in kept]
    again = Case(asked.said, (2, 3), places, seed=9)
    asked.turns(name, again, subject=fresh, faults=faults)


def at(form: Form, places: list[int]) -> Form:
    return replace(form, positions=form.positions.new_tensor(places).expand(form.positions.shape))


def _default_base(asked: Asked, new: Factory) -> None:
    """A base that was passed says nothing about the one that the code has of its own."""
    binding = new.init if new.is_class else asked.subject.binding
    own = binding.default_of("base")
    if own is not None:
        reason = f"it is {own:g}, and {asked.said.base:g} was passed; leave base out to ask it"
        asked.exam.skip("its own default base", reason, page=PAGE)


def _gradient(asked: Asked) -> None:
    """The gradient of a rotation is the rotation back; twice, since a kept graph fails then."""
    name = "passes gradients back, twice"
    if asked.exam.report.requirements[0].status == "fail":
        return asked.exam.skip(name, "its values are wrong", page=PAGE)
    names = ["q", "k"] if asked.two else ["x"]
    two, factor = asked.two, asked.said.attention_factor

    def problem() -> str:
        case = Case(asked.said, (2, 3), asked.positions([1, 2, 3, 4]), seed=10)
        rotated = asked.said.rotary_dim
        weight = case.expected(two)  # R x: the gradient of <R x, weight> is R^T R x
        right = torch.cat((case.x, case.second)) if two else case.x.clone()
        right[..., :rotated] *= factor**2
        for _ in range(2):
            values = case.values(torch.float64, two)
            for word in names:
                values[word].requires_grad_(True)
            answer = case.read(asked.subject(values), two)
            guarded((answer * weight).sum().backward, "the backward pass", (), {})
            given = [values[word].grad for word in names]
            if any(gradient is None for gradient in given):
                return "no gradient comes back"
            gradient = case.read(given if two else given[0], two)
            worst = float((gradient - right).abs().max())
            # The same bound as for the values; two rotations.
            if worst > 2 * factor**2 * float(tolerance(case, torch.float32).max()):
                return f"the gradient is off by {worst:.3g}"
        return ""

    asked.exam.holds(name, problem, page=PAGE)
