# SPDX-License-Identifier: MIT
"""The questions about relative positions that a library is asked, each under a name.

Answers are kept short: a rule that gives whole numbers by the value at which each number
starts, a bias by its slopes. Inputs of a whole layer are waves, so that both sides have them.
"""

import torch
from torch import Tensor

REACH = 1200
GAPS = range(-REACH, REACH + 1)
T5_BUCKETS = (8, 10, 12, 16, 20, 24, 32, 48, 64)
T5_DISTANCES = (16, 20, 32, 50, 64, 100, 128, 256, 512, 800, 1024)
DEBERTA = ((8, 16), (12, 40), (16, 64), (32, 128), (64, 512), (100, 300), (128, 512), (256, 512))
DEBERTA += ((256, 1024),)
# Queries, lags, keys: square, with a memory, with keys ahead of the query.
SHIFTS = ((3, 3, 3), (4, 7, 7), (1, 5, 5), (5, 5, 5), (4, 10, 7), (3, 5, 3))
HEADS, WIDTH, QUERIES, KEYS = 3, 4, 5, 7


def t5_rules() -> list[dict]:
    """Every rule whose largest distance lies beyond the near buckets."""
    return [
        {"bidirectional": both, "num_buckets": buckets, "max_distance": distance}
        for both in (False, True)
        for buckets in T5_BUCKETS
        for distance in T5_DISTANCES
        if distance > buckets // (4 if both else 2)
    ]


def starts(values, first: int = 0) -> list[list[int]]:
    """[number, value] wherever a value differs from the one before it; numbers count from first."""
    values = list(values)
    changed = (i for i, value in enumerate(values) if not i or value != values[i - 1])
    return [[first + i, values[i]] for i in changed]


def wave(*shape: int, seed: int) -> Tensor:
    """float64 numbers between -1 and 1 without a visible order, the same on every machine."""
    count = torch.arange(torch.Size(shape).numel(), dtype=torch.float64)
    return torch.sin((count + 1) * (1.3 + 0.37 * seed)).reshape(shape)


def numbered(n_queries: int, n_lags: int) -> Tensor:
    """(1, 1, Tq, R) with every entry another whole number from 1 on."""
    return torch.arange(1.0, n_queries * n_lags + 1).view(1, 1, n_queries, n_lags)
