# SPDX-License-Identifier: MIT
"""Float64 oracles for grids of rows: cells between their neighbours."""

import math

import torch
from torch import Tensor


def bilinear_cell(weight: Tensor, old: tuple, new: tuple, row: int, column: int) -> Tensor:
    """One cell of a resized grid: 2 x 2 neighbours around its centre, borders repeated."""
    total = torch.zeros(weight.shape[1], dtype=torch.float64)
    centre = [(at + 0.5) * o / n - 0.5 for at, o, n in zip((row, column), old, new)]
    low = [math.floor(at) for at in centre]
    for i in (0, 1):
        for j in (0, 1):
            share = (1 - abs(centre[0] - low[0] - i)) * (1 - abs(centre[1] - low[1] - j))
            r = min(max(low[0] + i, 0), old[0] - 1)
            c = min(max(low[1] + j, 0), old[1] - 1)
            total += share * weight[r * old[1] + c].double()
    return total
