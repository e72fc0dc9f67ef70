# SPDX-License-Identifier: MIT
# Position encoding, executed 0.1.0: snippets/rope_2d.py
"""RoPE on a grid: each pair turns with the row, the column, or both.

Source: Heo et al. 2024, Rotary Position Embedding for Vision Transformer
(arXiv:2403.13298): axial frequencies, and mixed ones that are trained.
Needs only torch; copy this file as it is.

Axes: B batch, H heads, T patches, D head_dim, P = D // 2 pairs; the last
axis of positions and of inv_freq is (row, column).
Pair layout: "interleaved" turns coordinates 2j and 2j + 1 together, "half"
turns j and j + P.
"""

import math

import torch
from torch import Tensor

LAYOUTS = ("half", "interleaved")


def patch_positions(height: int, width: int) -> Tensor:
    """(row, column) of each patch, row by row.

    Args:
        height: rows of the grid, 1 or more.
        width: columns of the grid, 1 or more.

    Returns:
        (height * width, 2) int64.

    Raises:
        ValueError: if height or width is below 1.
    """
    if not (height >= 1 and width >= 1):
        raise ValueError(
            f"height and width must be positive, got {height} and {width}"
        )
    return torch.cartesian_prod(torch.arange(height), torch.arange(width))


def axial_inv_freq(head_dim: int, base: float = 100.0) -> Tensor:
    """One axis a pair: the first half of the pairs rows, the second columns.

    Args:
        head_dim: width of each head, a multiple of 4.
        base: grids are short, so it is small: 100 in the published code.

    Returns:
        (P, 2) float64: radians per row and per column; one of them is 0.

    Raises:
        ValueError: if head_dim is no positive multiple of 4, or base is not
            positive.
    """
    speed = _speeds(head_dim, base)  # (P // 2,)
    none = torch.zeros_like(speed)  # (P // 2,)
    rows = torch.stack((speed, none), dim=-1)  # (P // 2, 2)
    columns = torch.stack((none, speed), dim=-1)  # (P // 2, 2)
    return torch.cat((rows, columns))  # (P, 2)


def mixed_inv_freq(
    head_dim: int,
    n_heads: int,
    base: float = 10.0,
    *,
    generator: torch.Generator | None = None,
) -> Tensor:
    """Start values of trained frequencies: axial ones, turned in each head.

    Args:
        head_dim: width of each head, a multiple of 4.
        n_heads: H, 1 or more.
        base: 10 in the published code.
        generator: source of the random direction of each head.

    Returns:
        (H, P, 2) float64; make it an `nn.Parameter` to train it.

    Raises:
        ValueError: if head_dim is no positive multiple of 4, n_heads is below
            1, or base is not positive.
    """
    speed = _speeds(head_dim, base)  # (P // 2,)
    if n_heads < 1:
        raise ValueError(f"n_heads must be positive, got {n_heads}")
    turn = torch.rand(n_heads, 1, generator=generator, dtype=torch.float64)
    turn = 2 * math.pi * turn  # (H, 1)
    # The second half of the pairs looks along a right angle to the first.
    turn = torch.cat((turn, turn + math.pi / 2), dim=-1)  # (H, 2)
    direction = torch.stack((turn.sin(), turn.cos()), dim=-1)  # (H, 2, 2)
    pairs = direction[:, :, None] * speed[:, None]  # (H, 2, P // 2, 2)
    return pairs.flatten(1, 2)  # (H, P, 2)


def apply_rope_2d(
    x: Tensor, positions: Tensor, inv_freq: Tensor, *, layout: str = "half"
) -> Tensor:
    """Turn each pair of x by row * inv_freq[0] + column * inv_freq[1].

    Args:
        x: queries or keys, (B, H, T, D), any float dtype.
        positions: (T, 2), or (B, T, 2) with a grid for each image; integer,
            float32 or float64.
        inv_freq: (P, 2), or (H, P, 2) with frequencies for each head;
            float32 or float64, P = D // 2. Gradients flow into it.
        layout: which two coordinates form a pair, "half" or "interleaved".

    Returns:
        Tensor like x, angles in float64.

    Raises:
        TypeError: if x, positions or inv_freq has another dtype.
        ValueError: if a rank, a size or the layout is wrong.
    """
    _check(x, positions, inv_freq, layout)
    work = torch.promote_types(x.dtype, torch.float32)
    position = positions.to(torch.float64)[..., None, :, None, :]
    speed = inv_freq.to(positions.device, torch.float64)[..., None, :, :]
    angle = (position * speed).sum(-1)  # (..., T, P)
    cos = angle.cos().to(x.device, work)  # (..., T, P)
    sin = angle.sin().to(x.device, work)  # (..., T, P)
    if layout == "half":
        a, b = x.to(work).chunk(2, dim=-1)  # 2 x (B, H, T, P)
    else:
        a, b = x.to(work).unflatten(-1, (-1, 2)).unbind(-1)  # 2 x (B, H, T, P)
    turned = (a * cos - b * sin, b * cos + a * sin)
    if layout == "half":
        return torch.cat(turned, dim=-1).to(x.dtype)  # (B, H, T, D)
    return torch.stack(turned, dim=-1).flatten(-2).to(x.dtype)  # (B, H, T, D)


def _speeds(head_dim: int, base: float) -> Tensor:
    """base ** (-4 j / D) for one axis, (P // 2,)."""
    if head_dim < 4 or head_dim % 4:
        raise ValueError(
            f"head_dim must be a positive multiple of 4, got {head_dim}"
        )
    if not base > 0:
        raise ValueError(f"base must be positive, got {base}")
    j = torch.arange(head_dim // 4, dtype=torch.float64)  # (P // 2,)
    return base ** (-4.0 * j / head_dim)


def _check(x, positions, inv_freq, layout) -> None:
    if x.ndim != 4 or x.shape[3] % 2:
        raise ValueError(
            f"x must be [B, H, T, D] with D even, got {list(x.shape)}"
        )
    if not x.is_floating_point():
        raise TypeError(f"x must be floating point, got {x.dtype}")
    if positions.dtype not in (
        torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64,
        torch.float32, torch.float64,
    ):
        raise TypeError(
            "positions must be integer, float32 or float64, "
            f"got {positions.dtype}"
        )
    b, h, t, d = x.shape
    if list(positions.shape) not in ([t, 2], [b, t, 2]):
        raise ValueError(
            f"positions must be [T, 2] or [B, T, 2] with T={t}, B={b}, "
            f"got {list(positions.shape)}"
        )
    if inv_freq.dtype not in (torch.float32, torch.float64):
        raise TypeError(
            f"inv_freq must be float32 or float64, got {inv_freq.dtype}"
        )
    per_head = inv_freq.ndim == 3 and inv_freq.shape[0] == h
    if not (inv_freq.ndim == 2 or per_head) or (
        inv_freq.shape[-2] != d // 2 or inv_freq.shape[-1] != 2
    ):
        raise ValueError(
            f"inv_freq must be [P, 2] or [H, P, 2] with P={d // 2}, H={h}, "
            f"got {list(inv_freq.shape)}"
        )
    if layout not in LAYOUTS:
        raise ValueError(f"layout must be one of {LAYOUTS}, got {layout!r}")
