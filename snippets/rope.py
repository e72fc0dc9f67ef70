# SPDX-License-Identifier: MIT
# Position encoding, executed 0.1.0: snippets/rope.py
"""Rotary position embedding (RoPE): turn position into an angle.

Source: Su et al. 2021, RoFormer, section 3.2.2, equations 14 to 16, and
3.4.2, equation 34 (arXiv:2104.09864). Needs only torch; copy this file as
it is.

Axes: B batch, H heads, T positions, D head_dim, P rotated pairs, 2P <= D.
Pair layout: "half" turns coordinate j together with j + P (GPT-NeoX, Llama
in transformers); "interleaved" turns 2j together with 2j + 1 (RoFormer,
Meta's Llama).
"""

import torch
from torch import Tensor

LAYOUTS = ("half", "interleaved")


def rope_inv_freq(head_dim: int, base: float = 10_000.0) -> Tensor:
    """Radians each pair turns per position: base ** (-2 i / D).

    Args:
        head_dim: coordinates to rotate in each head, even.
        base: sets the range of the speeds, larger than 0.

    Returns:
        (P,) float64, P = head_dim // 2, from 1 downwards if base > 1.

    Raises:
        TypeError: if head_dim is not an int.
        ValueError: if head_dim is odd or below 2, or base is not positive.
    """
    if not isinstance(head_dim, int):
        raise TypeError(f"head_dim must be an int, got {head_dim!r}")
    if head_dim < 2 or head_dim % 2:
        raise ValueError(f"head_dim must be even and positive, got {head_dim}")
    if not base > 0:
        raise ValueError(f"base must be positive, got {base}")
    pair = torch.arange(head_dim // 2, dtype=torch.float64)  # (P,)
    return base ** (-2.0 * pair / head_dim)


def apply_rope(
    x: Tensor,
    positions: Tensor,
    inv_freq: Tensor,
    *,
    layout: str = "half",
    attention_factor: float = 1.0,
) -> Tensor:
    """Rotate each pair of x by positions * inv_freq radians.

    Use it on queries and on keys, before the scores; never on values.

    Args:
        x: queries or keys, (B, H, T, D), any float dtype.
        positions: (T,), or (B, T) with a row for each sequence; integer,
            float32 or float64. They are data: they need not start at 0.
        inv_freq: radians per position, (P,), float32 or float64. The first
            2P coordinates are rotated, the others pass unchanged.
        layout: which two coordinates form a pair, "half" or "interleaved".
        attention_factor: multiplies the rotated coordinates; 1 in plain RoPE.

    Returns:
        Tensor like x. Angles, sines and cosines are computed in float64,
        the products in float32 or in the dtype of x where that is wider.

    Raises:
        TypeError: if x is not floating point, or positions or inv_freq has
            a dtype that cannot hold angles.
        ValueError: if a rank, a size, the layout or the factor is wrong.
    """
    _check(x, positions, inv_freq, layout, attention_factor)
    work = torch.promote_types(x.dtype, torch.float32)
    speed = inv_freq.to(positions.device, torch.float64)  # (P,)
    angle = positions.to(torch.float64)[..., None] * speed  # (..., T, P)
    if positions.ndim == 2:
        angle = angle[:, None]  # (B, 1, T, P)
    cos = (angle.cos() * attention_factor).to(x.device, work)  # (..., T, P)
    sin = (angle.sin() * attention_factor).to(x.device, work)  # (..., T, P)

    n_rotated = 2 * inv_freq.shape[0]
    rotated = x[..., :n_rotated].to(work)  # (B, H, T, 2 * P)
    if layout == "half":
        a, b = rotated.chunk(2, dim=-1)  # 2 x (B, H, T, P)
    else:
        a, b = rotated.unflatten(-1, (-1, 2)).unbind(-1)  # 2 x (B, H, T, P)
    turned = (a * cos - b * sin, b * cos + a * sin)
    if layout == "half":
        y = torch.cat(turned, dim=-1)  # (B, H, T, 2 * P)
    else:
        y = torch.stack(turned, dim=-1).flatten(-2)  # (B, H, T, 2 * P)
    return torch.cat((y.to(x.dtype), x[..., n_rotated:]), dim=-1)


def half_from_interleaved(
    weight: Tensor, n_heads: int, *, n_rotated: int | None = None
) -> Tensor:
    """Reorder a q or k projection trained for layout "interleaved" to "half".

    Args:
        weight: rows of the projection, (H * D, ...): a weight, or a bias.
        n_heads: H of this projection (its own count under grouped queries).
        n_rotated: 2P, the rotated coordinates of each head; all D if left out.

    Returns:
        The same rows in another order: of each head, the rotated ones as
        0 2 4 ... 1 3 5 ..., the others in their place.

    Raises:
        ValueError: if the rows do not divide into heads, or n_rotated is odd
            or not between 2 and D.
    """
    heads, n_rotated = _heads(weight, n_heads, n_rotated)
    pairs = heads[:, :n_rotated].unflatten(1, (-1, 2))  # (H, P, 2, ...)
    halves = pairs.transpose(1, 2).flatten(1, 2)  # (H, 2 * P, ...)
    return torch.cat((halves, heads[:, n_rotated:]), dim=1).flatten(0, 1)


def interleaved_from_half(
    weight: Tensor, n_heads: int, *, n_rotated: int | None = None
) -> Tensor:
    """Reorder a q or k projection trained for layout "half" to "interleaved".

    The inverse of `half_from_interleaved`; same arguments and errors.
    """
    heads, n_rotated = _heads(weight, n_heads, n_rotated)
    halves = heads[:, :n_rotated].unflatten(1, (2, -1))  # (H, 2, P, ...)
    pairs = halves.transpose(1, 2).flatten(1, 2)  # (H, 2 * P, ...)
    return torch.cat((pairs, heads[:, n_rotated:]), dim=1).flatten(0, 1)


def _heads(weight: Tensor, n_heads: int, n_rotated: int | None):
    """The rows by head, (H, D, ...), and how many of each are rotated."""
    if n_heads < 1:
        raise ValueError(f"n_heads must be positive, got {n_heads}")
    if not weight.numel() or weight.ndim < 1 or weight.shape[0] % n_heads:
        raise ValueError(
            f"weight must have rows for n_heads={n_heads} heads, "
            f"got shape {list(weight.shape)}"
        )
    heads = weight.unflatten(0, (n_heads, -1))  # (H, D, ...)
    head_dim = heads.shape[1]
    n_rotated = head_dim if n_rotated is None else n_rotated
    if n_rotated % 2 or not 2 <= n_rotated <= head_dim:
        raise ValueError(
            "n_rotated, by default the whole head, must be even and from "
            f"2 to {head_dim}, got {n_rotated}"
        )
    return heads, n_rotated


def _check(x, positions, inv_freq, layout, attention_factor) -> None:
    if x.ndim != 4:
        raise ValueError(f"x must be [B, H, T, D], got {list(x.shape)}")
    if not x.is_floating_point():
        raise TypeError(f"x must be floating point, got {x.dtype}")
    if positions.dtype not in (
        torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64,
        torch.float32, torch.float64,
    ):  # half types cannot count: bfloat16 merges positions 256 and 257
        raise TypeError(
            "positions must be integer, float32 or float64, "
            f"got {positions.dtype}"
        )
    if list(positions.shape) not in ([x.shape[2]], [x.shape[0], x.shape[2]]):
        raise ValueError(
            f"positions must be [T] or [B, T] with T={x.shape[2]}, "
            f"B={x.shape[0]}, got {list(positions.shape)}"
        )
    if inv_freq.dtype not in (torch.float32, torch.float64):
        raise TypeError(
            f"inv_freq must be float32 or float64, got {inv_freq.dtype}"
        )
    if inv_freq.ndim != 1 or not 2 <= 2 * inv_freq.shape[0] <= x.shape[3]:
        raise ValueError(
            "inv_freq must be [P] with 1 <= P <= D // 2 = "
            f"{x.shape[3] // 2}, got {list(inv_freq.shape)}"
        )
    if layout not in LAYOUTS:
        raise ValueError(f"layout must be one of {LAYOUTS}, got {layout!r}")
    if not attention_factor > 0:
        raise ValueError(
            f"attention_factor must be positive, got {attention_factor}"
        )
