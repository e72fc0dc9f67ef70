# SPDX-License-Identifier: MIT
"""alibi_slopes: are the slopes those of the paper, and of the published checkpoints?"""

from collections.abc import Sequence

import torch
from torch import Tensor

from posenc_check import oracles
from posenc_check.contracts.answers import read
from posenc_check.examination import describe
from posenc_check.factory import Factory
from posenc_check.report import Report
from posenc_check.subject import Unusable
from posenc_check.wrong_forms.alibi_slopes import slope_causes

PAGE = "docs/methods/alibi.md"
POWERS = (1, 2, 4, 16, 32, 64, 128)
OTHERS = (12, 3, 5, 6, 7, 20, 40, 112)
# A power in float32 is off by some units of the last place; 8 of them are allowed.
RELATIVE = 8 * torch.finfo(torch.float32).eps


def check_alibi_slopes(slopes, *, call: str | None = None, init: str | None = None) -> Report:
    """Check the slopes of ALiBi for any number of heads.

    Args:
        slopes: takes the number of heads; gives back one positive slope per head.
        call: what slopes takes, in order: n_heads.
        init: what its class takes, if it is one.

    Returns:
        The report.
    """
    with Factory.examine("alibi_slopes", slopes, ["n_heads"], "n_heads", call, init, {}) as (
        exam,
        new,
    ):
        subject = new({})
        _slopes(exam, subject, "is 2 ** (-8 h / H), h = 1 ... H", (8,))
        _slopes(exam, subject, "takes every power of two, one head included", POWERS)
        _slopes(exam, subject, "takes other numbers of heads, as published models have", OTHERS)
    return exam.report


def _slopes(exam, subject, name: str, numbers: Sequence[int]) -> None:
    wanted = [(n, h) for n in numbers for h in range(n)]
    right = [slope for n in numbers for slope in oracles.alibi_slopes(n)]
    expected = torch.tensor(right, dtype=torch.float64)

    def where(index: tuple[int, ...]) -> str:
        n, head = wanted[index[0]]
        return f"head {head} of {n}"

    exam.values(
        name,
        lambda: torch.cat([_of(subject, n) for n in numbers]),
        expected,
        page=PAGE,
        tolerance=RELATIVE * expected,
        where=where,
        causes=slope_causes(numbers),
    )


def _of(subject, n_heads: int) -> Tensor:
    """(H,); axes of size 1, for the batch, queries, or keys, are no difference."""
    answer = read(subject({"n_heads": n_heads}), "one slope per head")
    if sorted(answer.shape, reverse=True)[:1] not in ([n_heads], []) or answer.numel() != n_heads:
        text = f"must return {n_heads} slopes for {n_heads} heads, got {describe(answer)}"
        raise Unusable(text)
    return answer.flatten().cpu().double()
