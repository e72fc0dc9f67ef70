# SPDX-License-Identifier: MIT
"""Resized grids of rows as people have got them wrong, and the shapes that wrong sizes give."""

import math
from collections.abc import Callable

import torch
from torch import Tensor, nn

Grid = tuple[int, int]


def resized(table: Tensor, old: Grid, new: Grid, **how) -> Tensor:
    """Of a grid in float64, row by row; how are arguments of interpolate."""
    grid = table.reshape(*old, -1).permute(2, 0, 1)[None]
    how = {"mode": "bicubic", "align_corners": False} | how
    how = {name: value for name, value in how.items() if value is not None}
    return nn.functional.interpolate(grid, size=new, **how)[0].flatten(1).mT


def _stepped(table: Tensor, old: Grid, new: Grid, more: float, mode: str) -> Tensor:
    """Resized by a scale of (new + more) / old, which the places are computed with."""
    scale = tuple((n + more) / o for n, o in zip(new, old))
    grid = table.reshape(*old, -1).permute(2, 0, 1)[None]
    y = nn.functional.interpolate(grid, scale_factor=scale, mode=mode, align_corners=False)
    return y[0].flatten(1).mT


def _columns_first(rows: Tensor, grid: Grid) -> Tensor:
    """The same cells, listed column by column."""
    return rows.reshape(*grid, -1).transpose(0, 1).flatten(0, 1)


def _line(table: Tensor, new: Grid) -> Tensor:
    n = new[0] * new[1]
    return nn.functional.interpolate(table.mT[None], size=n, mode="linear")[0].mT


Forms = list[tuple[str, Callable[[], Tensor]]]  # faults in words, each with its simulation


def causes(table: Tensor, old: Grid, new: Grid, mode: str) -> Forms:
    return [*_weights(table, old, new, mode), *_places(table, old, new, mode)]


def _weights(table: Tensor, old: Grid, new: Grid, mode: str) -> Forms:
    """The right cells, mixed by other weights."""
    other = "bilinear" if mode == "bicubic" else "bicubic"
    return [
        (
            "the corners of the grids are aligned (align_corners=True), not their areas",
            lambda: resized(table, old, new, mode=mode, align_corners=True),
        ),
        (f"the mode is {other}; you said {mode}", lambda: resized(table, old, new, mode=other)),
        (
            "the mode is nearest",
            lambda: resized(table, old, new, mode="nearest", align_corners=None),
        ),
        (
            "a filter against aliasing is on (antialias=True)",
            lambda: resized(table, old, new, mode=mode, antialias=True),
        ),
        (
            "the size is passed as a scale with 0.1 added, which shifts every place",
            lambda: _stepped(table, old, new, 0.1, mode),
        ),
    ]


def _places(table: Tensor, old: Grid, new: Grid, mode: str) -> Forms:
    """Cells at other places."""
    turned = (new[1], new[0])
    return [
        (
            "the new grid is listed column by column",
            lambda: _columns_first(resized(table, old, new, mode=mode), new),
        ),
        (
            "the old grid is read column by column",
            lambda: resized(_columns_first(table, old), (old[1], old[0]), new, mode=mode),
        ),
        (
            "height and width of the new grid are exchanged",
            lambda: resized(table, old, turned, mode=mode),
        ),
        (
            "height and width of the old grid are exchanged",
            lambda: resized(table, (old[1], old[0]), new, mode=mode),
        ),
        ("height and width are exchanged twice", lambda: _exchanged(table, old, new, mode)),
        (
            "the rows are resized as one line, not as a grid",
            lambda: _line(table, new),
        ),
        ("the rows are cut off or repeated, not resized", lambda: _repeated(table, new)),
        ("the grid is upside down", lambda: _flipped(table, old, new, mode, 0)),
        ("the grid is mirrored", lambda: _flipped(table, old, new, mode, 1)),
        (
            "coordinates are mixed up with places: the table is reshaped, not transposed",
            lambda: _reshaped(table, old, new, mode),
        ),
    ]


def _exchanged(table: Tensor, old: Grid, new: Grid, mode: str) -> Tensor:
    return resized(table, (old[1], old[0]), (new[1], new[0]), mode=mode)


def _repeated(table: Tensor, new: Grid) -> Tensor:
    n = new[0] * new[1]
    return table.repeat(math.ceil(n / len(table)), 1)[:n]


def _flipped(table: Tensor, old: Grid, new: Grid, mode: str, axis: int) -> Tensor:
    grid = resized(table, old, new, mode=mode).reshape(*new, -1)
    return grid.flip(axis).flatten(0, 1)


def _reshaped(table: Tensor, old: Grid, new: Grid, mode: str) -> Tensor:
    grid = table.reshape(1, -1, *old)
    y = nn.functional.interpolate(grid, size=new, mode=mode, align_corners=False)
    return y.reshape(-1, table.shape[1])


def counts(old: Grid, new: Grid) -> list[tuple[str, int]]:
    """How many rows come back if the new size is got wrong."""
    scale = [n / o for n, o in zip(new, old)]
    single = [math.floor(o * float(torch.tensor(s))) for o, s in zip(old, scale)]
    double = [math.floor(o * s) for o, s in zip(old, scale)]
    number = new[0] * new[1]
    side = math.sqrt(number / (old[0] * old[1]))
    text = "the size is passed as a float scale, and its product with the old size is rounded down"
    found = [
        (text, double[0] * double[1]),
        (text, single[0] * single[1]),
        ("a square grid is assumed", math.isqrt(number) ** 2),
        (text, math.floor(old[0] * side) * math.floor(old[1] * side)),
        ("a square grid is assumed", new[0] ** 2),
        ("a square grid is assumed", new[1] ** 2),
        ("the table comes back as it was", old[0] * old[1]),
    ]
    return [(cause, count) for cause, count in found if count != number]
