# SPDX-License-Identifier: MIT
"""Slopes of ALiBi as people have got them wrong."""

import math
from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from posenc_check import oracles
from posenc_check.causes import Cause

Slopes = Callable[[int], list[float]]


def series(n: int) -> list[float]:
    """2 ** (-8 h / n), h = 1 ... n, for any n."""
    return [2 ** (-8 * h / n) for h in range(1, n + 1)]


def lower_power(n: int) -> int:
    return 2 ** (n.bit_length() - 1)


def _filled(n: int, more: Callable[[list[float]], list[float]]) -> list[float]:
    lower = lower_power(n)
    return series(lower) + more(series(2 * lower))[: n - lower]


def _rounded(dtype: torch.dtype) -> Slopes:
    return lambda n: torch.tensor(oracles.alibi_slopes(n)).to(dtype).tolist()


WRONG_SLOPES: list[tuple[str, Slopes]] = [
    (
        "the slopes are negative: here they are given without their sign",
        lambda n: [-slope for slope in oracles.alibi_slopes(n)],
    ),
    (
        "one geometric series for every number of heads: it holds for powers of two; "
        "other numbers take the slopes of the next lower one, then every second of the next higher",
        series,
    ),
    (
        "the slopes are sorted: their order belongs to the checkpoint",
        lambda n: sorted(oracles.alibi_slopes(n), reverse=True),
    ),
    (
        "the further heads take the first slopes of the next higher power of two, "
        "not every second one",
        lambda n: _filled(n, lambda higher: higher),
    ),
    (
        "the further heads start at the second slope of the next higher power of two, "
        "which the first heads have already",
        lambda n: _filled(n, lambda higher: higher[1::2]),
    ),
    (
        "the slopes are those of the next higher power of two, cut off",
        lambda n: series(2 * lower_power(n))[:n],
    ),
    (
        "the further slopes stand first: those of the next lower power of two come first",
        lambda n: oracles.alibi_slopes(n)[lower_power(n) :]
        + oracles.alibi_slopes(n)[: lower_power(n)],
    ),
    (
        "heads are counted from 0: the first slope is 1",
        lambda n: [2 ** (-8 * h / n) for h in range(n)],
    ),
    (
        "each slope is half of the one before, whatever the number of heads",
        lambda n: [2.0**-h for h in range(1, n + 1)],
    ),
    ("the exponent lacks its factor 8", lambda n: [2 ** (-h / n) for h in range(1, n + 1)]),
    (
        "the exponent is divided by H - 1, not by H",
        lambda n: [2 ** (-8 * h / max(n - 1, 1)) for h in range(n)],
    ),
    (
        "the slopes are powers of e, not of 2",
        lambda n: [math.exp(-8 * h / n) for h in range(1, n + 1)],
    ),
    (
        "integer division: 8 // H is taken for 8 / H",
        lambda n: [2.0 ** (-(8 // n) * h) for h in range(1, n + 1)],
    ),
    ("the slopes stand in reverse order", lambda n: oracles.alibi_slopes(n)[::-1]),
    ("the slopes are rounded to bfloat16", _rounded(torch.bfloat16)),
    ("the slopes are rounded to float16", _rounded(torch.float16)),
]


def slope_causes(numbers: Sequence[int]) -> list[Cause]:
    """For the slopes of several numbers of heads, one after the other."""

    def joined(slopes: Slopes) -> Tensor:
        return torch.tensor([x for n in numbers for x in slopes(n)], dtype=torch.float64)

    return [Cause(text, lambda slopes=slopes: joined(slopes)) for text, slopes in WRONG_SLOPES]
