# SPDX-License-Identifier: MIT
"""Rows of Shaw's tables as people have got them wrong: (Tq, Tk), from positions."""

from collections.abc import Callable, Iterator

import torch
from torch import Tensor


def rows(gap: Tensor, reach: int) -> Tensor:
    return gap.clamp(-reach, reach) + reach


def forms(q: Tensor, k: Tensor, reach: int) -> Iterator[tuple[str, Callable[[], Tensor]]]:
    """q and k hold the positions; the queries are the last of the keys."""
    gap = k - q[:, None]  # (Tq, Tk)
    restarted = k - torch.arange(len(q))[:, None]
    yield (
        "the gap is query - key, not key - query: the rows stand in reverse order",
        lambda: rows(-gap, reach),
    )
    yield (
        "the queries are counted from 0, but they are the last of the keys",
        lambda: rows(restarted, reach),
    )
    yield (
        "the gaps are not clipped: the rows run past the table of 2 * reach + 1",
        lambda: gap + reach,
    )
    yield "the reach is not added: the rows are negative", lambda: rows(gap, reach) - reach
    yield "the rows are one too large", lambda: rows(gap, reach) + 1
    yield "the rows are one too small", lambda: rows(gap, reach) - 1
    yield (
        "the distance is taken, without its sign: both sides share rows",
        lambda: rows(gap.abs(), reach),
    )
    yield (
        "the distance is taken, and the reach is not added",
        lambda: gap.abs().clamp(max=reach),
    )
    yield (
        "the gaps are clipped at reach - 1: two rows are never used",
        lambda: gap.clamp(1 - reach, reach - 1) + reach,
    )
    yield (
        "the upper end is left out: gaps are clipped from -reach to reach - 1",
        lambda: gap.clamp(-reach, reach - 1) + reach,
    )
    yield (
        "the gaps are clipped at reach + 1: the rows run past the table",
        lambda: gap.clamp(-reach - 1, reach + 1) + reach,
    )
    yield "only keys after the query are clipped", lambda: gap.clamp(max=reach) + reach
    yield "only keys before the query are clipped", lambda: gap.clamp(min=-reach) + reach
    yield (
        "far gaps wrap around: a remainder is taken, not a clip",
        lambda: (gap + reach) % (2 * reach + 1),
    )
    yield (
        "the reach is added before the clip: gaps are clipped from 0 to reach",
        lambda: (gap + reach).clamp(0, reach),
    )
    yield (
        "far gaps wrap around: they are held in 8 bits, which end at 127",
        lambda: rows(gap.to(torch.int8).to(gap.dtype), reach),
    )
    yield "keys and queries are exchanged: the result is transposed", lambda: rows(gap, reach).T
