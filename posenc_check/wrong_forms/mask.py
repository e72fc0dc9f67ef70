# SPDX-License-Identifier: MIT
"""Causal masks as people have got them wrong: bool, True = may attend, (Tq, Tk)."""

from collections.abc import Callable, Iterator, Sequence

import torch
from torch import Tensor

from posenc_check.causes import Cause


def forms(q_len: int, k_len: int) -> Iterator[tuple[str, Callable[[], Tensor]]]:
    """The queries are the last of the keys."""
    query, key = torch.arange(q_len)[:, None], torch.arange(k_len)
    behind = query + k_len - q_len  # (Tq, 1)
    full = torch.ones(q_len, k_len, dtype=torch.bool)
    yield (
        "the mask is aligned to the upper left: with a cache the queries belong to the last keys",
        lambda: key <= query,
    )
    yield (
        "the mask is inverted: here True means may attend, as in scaled_dot_product_attention; "
        "nn.MultiheadAttention takes the opposite",
        lambda: key > behind,
    )
    yield "the mask is inverted, and aligned to the upper left", lambda: key > query
    yield "a query does not see its own key", lambda: key < behind
    yield "a query sees one key too many: the next one", lambda: key <= behind + 1
    yield "nothing is masked: every query sees every key", lambda: full
    yield "every key is masked", lambda: ~full
    yield "only a query's own key is seen", lambda: key == behind
    yield (
        "queries and keys are exchanged, or the mask is inverted and one off: a query sees its "
        "own key and those after it",
        lambda: key >= behind,
    )
    yield (
        "the new tokens see each other and none of the cached keys",
        lambda: (key <= behind) & (key >= k_len - q_len),
    )


def windows(got: Sequence[Tensor], sizes: Sequence[tuple[int, int]]) -> Iterator[Cause]:
    """A sliding window, as wide as the last query of the longest call shows it."""
    part, (_, k_len) = max(zip(got, sizes), key=lambda call: call[1][1])
    width = int(part[-k_len:].sum())

    def simulate() -> Tensor:
        rows = [
            torch.arange(k_len - q_len, k_len)[:, None] - torch.arange(k_len)
            for q_len, k_len in sizes
        ]
        return torch.cat([((gap >= 0) & (gap < width)).flatten() for gap in rows]).double()

    yield Cause(f"a query sees the last {width} keys alone: the mask is a window", simulate)
