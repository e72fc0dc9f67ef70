# SPDX-License-Identifier: MIT
"""length_rule: does a rotation whose speeds depend on the length find the right length?

The length is the largest position plus 1: not the rows of this call, of which a decoder passes
one, and not the longest sequence seen before.
"""

import math
from dataclasses import replace
from typing import Literal

import torch

from posenc_check.causes import Cause
from posenc_check.contracts.rope import tolerance
from posenc_check.contracts.rope_case import INIT_WORDS, WORDS, Case, settings
from posenc_check.contracts.scaling_case import SPEEDS, Setting
from posenc_check.examination import Examination
from posenc_check.factory import Factory
from posenc_check.report import Report
from posenc_check.wrong_forms.rope import causes as rotations
from posenc_check.wrong_forms.rope import turned

PAGE = "docs/guides/decoding.md"
LENGTHS = {
    "the length is one too small": lambda case: int(case.positions.max()),
    "the length of this call stands for that of the sequence": lambda case: case.x.shape[2],
    "an earlier, longer sequence is remembered": lambda case: 64,
    "the scaling never starts: no length is read, or that of the heads": lambda case: 1,
}


def check_length_rule(
    rotate,
    *,
    rule: Literal["dynamic_ntk", "longrope"],
    layout: Literal["half", "interleaved"] = "half",
    head_dim: int = 16,
    base: float = 10_000.0,
    factor: float = 2.0,
    trained_length: int = 16,
    axes: str = "BHTD",
    attention_factor: float = 1.0,
    call: str | None = None,
    init: str | None = None,
) -> Report:
    """Check a rotation that is slowed when the sequence gets longer than the trained length.

    Args:
        rotate: takes x and positions; gives back a tensor like x. A function, or a class.
        rule: which rule; longrope takes the lists short_factor and long_factor.
        layout: which two coordinates form a pair.
        head_dim: D of the inputs; all of it turns.
        base: base of the frequencies.
        factor: of the rule.
        trained_length: up to here speeds are plain (dynamic_ntk) or of the short list (longrope).
        axes: order of the axes of x, of the letters B H T D.
        attention_factor: what the rotated part is multiplied by, at any length.
        call: what rotate takes, in order: x, positions, and others.
        init: what its class takes: head_dim, base, factor, trained_length, max_len, and the lists.

    Returns:
        The report.

    Raises:
        ValueError: if an option is out of its range.
    """
    if rule not in ("dynamic_ntk", "longrope"):
        raise ValueError(f"rule must be dynamic_ntk or longrope, got {rule!r}")
    if not 1 < factor < math.inf or not 8 <= trained_length <= 32:
        raise ValueError(
            "factor must be finite and larger than 1, trained_length from 8 to 32, "
            f"got {factor:g} and {trained_length}"
        )
    said = settings(layout, head_dim, base, None, axes, attention_factor)
    means = Setting(rule, head_dim, base, factor, trained_length)
    options = {"rule": rule, "layout": layout, "factor": f"{factor:g}"}
    options["trained_length"] = trained_length
    rule_words = ("factor", "trained_length", "short_factor", "long_factor")
    with Factory.examine(
        "length_rule", rotate, (*WORDS, *rule_words), "x, positions", call, init, options,
        (*INIT_WORDS, *rule_words),
    ) as (exam, new):
        asked = _Asked(exam, new(means.values()), said, means)
        n = trained_length
        asked.turns("is right within the trained length", list(range(4)))
        asked.turns("is right at four times the trained length", list(range(4 * n)))
        asked.turns("short sequences after a long one are as before", list(range(4)))
        asked.turns("one token at a far position has the speeds of its length", [4 * n - 1])
        asked.turns("so has a chunk behind a cache", list(range(2 * n, 2 * n + 5)))
        asked.turns("the trained length itself is not yet long", list(range(n)))
        asked.turns("one token past the trained length is long", list(range(n + 1)))
    return exam.report


class _Asked:
    def __init__(self, exam: Examination, subject, said, means: Setting):
        self.exam, self.subject, self.said, self.means = exam, subject, said, means

    def _speeds(self, length: int) -> tuple[float, ...]:
        return tuple(SPEEDS[self.means.rule](replace(self.means, length=length)))

    def turns(self, name: str, positions: list[int]) -> None:
        # Two heads: neither the rows of a call nor its positions.
        length = max(positions) + 1
        case = Case(replace(self.said, inv_freq=self._speeds(length)), (1, 2), positions)
        two = self.subject.takes("q") and self.subject.takes("k")
        x, form = case.form(two)

        def causes(got):
            for text, wrong_length in LENGTHS.items():
                speeds = torch.tensor(self._speeds(wrong_length(case)), dtype=torch.float64)
                yield Cause(text, lambda speeds=speeds: turned(x, replace(form, inv_freq=speeds)))
            yield from rotations(x, form, pairs=False)(got)

        self.exam.values(
            name,
            lambda: _answer(case, self.subject, self.means, two),
            case.expected(two),
            page=PAGE,
            tolerance=tolerance(case, torch.float32, two),
            where=lambda index: f"position {positions[index[2]]}, coordinate {index[3]}",
            causes=causes,
        )


def _answer(case: Case, subject, means: Setting, two: bool):
    length = {"length": int(case.positions.max()) + 1}
    return case.read(subject(means.values() | case.values(torch.float32, two) | length), two)
