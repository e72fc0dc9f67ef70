# SPDX-License-Identifier: MIT
"""RoPE on a grid, M-RoPE and xPos, one pair at a time: a complex number times a complex number.

They share no code with snippets/: a rotation by two angles is a product of two
exponentials here, a power of a scale is the exponential of a logarithm, and
lists are dealt out entry by entry.
"""

import cmath
import itertools
import math

import torch
from torch import Tensor

from posenc_check.oracles import pair_columns, rope_speed


def multiplied(x: Tensor, multiplier, layout: str) -> Tensor:
    """Each pair of x (B, H, T, D) as a complex number, times multiplier(b, h, t, pair)."""
    y = torch.empty(x.shape, dtype=torch.float64)
    head_dim = x.shape[3]
    for b, h, t in itertools.product(*map(range, x.shape[:3])):
        for pair in range(head_dim // 2):
            first, second = pair_columns(pair, head_dim, layout)
            z = complex(float(x[b, h, t, first]), float(x[b, h, t, second]))
            z *= multiplier(b, h, t, pair)
            y[b, h, t, first], y[b, h, t, second] = z.real, z.imag
    return y


def axial_speeds(pair: int, head_dim: int, base: float = 100.0) -> tuple[float, float]:
    """(per row, per column): plain RoPE of half the width on each axis, rows first."""
    axis, j = divmod(pair, head_dim // 4)
    speed = rope_speed(j, head_dim // 2, base)
    return (0.0, speed) if axis else (speed, 0.0)


def mixed_speeds(
    pair: int, head_dim: int, direction: float, base: float = 10.0
) -> tuple[float, float]:
    """(per row, per column): a vector of that length at that angle from the column axis."""
    axis, j = divmod(pair, head_dim // 4)
    vector = cmath.rect(rope_speed(j, head_dim // 2, base), direction)
    vector *= 1j**axis  # the second half is turned by a right angle
    return vector.imag, vector.real


def rope_2d(x: Tensor, positions: Tensor, inv_freq: Tensor, layout: str) -> Tensor:
    """Turn by the row, then by the column (Heo et al. 2024, section 3.2)."""
    batch, heads, length, head_dim = x.shape
    positions = positions.double().expand(batch, length, 2).tolist()
    speeds = inv_freq.double().expand(heads, head_dim // 2, 2).tolist()

    def multiplier(b, h, t, pair):
        (row, column), (per_row, per_column) = positions[b][t], speeds[h][pair]
        return cmath.exp(1j * row * per_row) * cmath.exp(1j * column * per_column)

    return multiplied(x, multiplier, layout)


def m_rope_axes(sections, order: str) -> list[int]:
    """The axis of each pair: blocks in a row, or dealt out in turn; time takes what is left."""
    if order == "blocks":
        return [0] * sections[0] + [1] * sections[1] + [2] * sections[2]
    left, dealt = list(sections), []
    for turn in itertools.islice(itertools.cycle((0, 1, 2)), sum(sections)):
        axis = turn if left[turn] else 0
        left[axis] -= 1
        dealt.append(axis)
    return dealt


def m_rope_positions(parts, start: int = 0) -> tuple[list[tuple[int, int, int]], int]:
    """(time, height, width) of each token, and the place where the next text begins."""
    tokens = []
    for part in parts:
        if isinstance(part, int):
            cells = [(step, step, step) for step in range(part)]
        else:
            frames, rows, columns = part
            cells = [
                (frame, row, column)
                for frame in range(frames)
                for row in range(rows)
                for column in range(columns)
            ]
        placed = [tuple(start + step for step in cell) for cell in cells]
        start = 1 + max(itertools.chain(*placed))
        tokens += placed
    return tokens, start


def m_rope(x: Tensor, positions: Tensor, speeds, axes, layout: str = "half") -> Tensor:
    """Each pair turns with the position on its own axis (Wang et al. 2024, section 2.1)."""
    places = positions.double()
    if places.ndim == 2:
        places = torch.stack([places] * x.shape[0], dim=1)
    places = places.tolist()
    return multiplied(
        x, lambda b, h, t, pair: cmath.exp(1j * places[axes[pair]][b][t] * speeds[pair]), layout
    )


def xpos(
    x: Tensor,
    positions: Tensor,
    speeds,
    scale,
    keys: bool,
    layout: str,
    centre: float = 0.0,
    scale_base: float = 512.0,
) -> Tensor:
    """One complex exponential: its real part grows or shrinks, its imaginary part turns."""
    places = positions.double().expand(x.shape[0], x.shape[2]).tolist()

    def multiplier(b, h, t, pair):
        growth = (places[b][t] - centre) / scale_base * math.log(scale[pair])
        return cmath.exp(complex(-growth if keys else growth, places[b][t] * speeds[pair]))

    return multiplied(x, multiplier, layout)


def xpos_score(q, k, gap: float, speeds, scale, layout: str, scale_base: float = 512.0) -> float:
    """Score of a query and a key that lies `gap` positions before it, without their places."""
    total = 0.0
    for pair, (speed, z) in enumerate(zip(speeds, scale, strict=True)):
        first, second = pair_columns(pair, 2 * len(speeds), layout)
        product = complex(q[first], q[second]) * complex(k[first], -k[second])
        total += (z ** (gap / scale_base)) * (product * cmath.exp(1j * gap * speed)).real
    return total
