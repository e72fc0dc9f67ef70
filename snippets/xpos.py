# SPDX-License-Identifier: MIT
# Position encoding, executed 0.1.0: snippets/xpos.py
"""xPos: RoPE whose queries grow and keys shrink, so that scores fade.

Source: Sun et al. 2022, A Length-Extrapolatable Transformer
(arXiv:2212.10554); scale_base as in its published code. For causal
attention only: seen from the other side, scores grow with the distance.
Needs only torch; copy this file as it is.

Axes: B batch, H heads, T positions, D head_dim, P = D // 2 pairs.
Pair layout: "interleaved" turns coordinates 2j and 2j + 1 together, "half"
turns j and j + P.
"""

import torch
from torch import Tensor

LAYOUTS = ("half", "interleaved")


def xpos_scale(head_dim: int, gamma: float = 0.4) -> Tensor:
    """How much of each pair remains over scale_base positions.

    Args:
        head_dim: width of each head, even.
        gamma: 0.4 in the published code; larger values fade less; positive.

    Returns:
        (P,) float64: (2 i / D + gamma) / (1 + gamma), all below 1.

    Raises:
        ValueError: if head_dim is odd or below 2, or gamma is not positive.
    """
    if head_dim < 2 or head_dim % 2:
        raise ValueError(f"head_dim must be even and positive, got {head_dim}")
    if not gamma > 0:
        raise ValueError(f"gamma must be positive, got {gamma}")
    pair = torch.arange(head_dim // 2, dtype=torch.float64)  # (P,)
    return (2 * pair / head_dim + gamma) / (1 + gamma)


def apply_xpos(
    x: Tensor,
    positions: Tensor,
    inv_freq: Tensor,
    scale: Tensor,
    *,
    keys: bool,
    centre: float = 0.0,
    scale_base: float = 512.0,
    layout: str = "interleaved",
) -> Tensor:
    """Turn each pair as RoPE does, and scale it by its power of the position.

    A query at m and a key at n meet with scale ** ((m - n) / scale_base).

    Args:
        x: queries or keys, (B, H, T, D), any float dtype.
        positions: (T,), or (B, T); integer, float32 or float64.
        inv_freq: radians per position, (P,), float32 or float64.
        scale: (P,) from `xpos_scale`, float32 or float64.
        keys: True for keys, whose power is the inverse.
        centre: position whose power is 1. One value for the whole text, cached
            keys included; far from it the powers leave the range of float32.
        scale_base: positions over which a pair loses all but its scale.
        layout: which two coordinates form a pair, "half" or "interleaved".

    Returns:
        Tensor like x; angles and powers in float64.

    Raises:
        TypeError: if a dtype is wrong.
        ValueError: if a rank, a size, scale_base or the layout is wrong.
    """
    _check(x, positions, inv_freq, scale, scale_base, layout)
    work = torch.promote_types(x.dtype, torch.float32)
    place = positions.to(torch.float64)[..., None]  # (..., T, 1)
    power = (place - centre) / scale_base  # (..., T, 1)
    speed = inv_freq.to(positions.device, torch.float64)  # (P,)
    shrink = scale.to(positions.device, torch.float64)  # (P,)
    size = shrink ** (-power if keys else power)  # (..., T, P)
    angle = place * speed  # (..., T, P)
    cos, sin = size * angle.cos(), size * angle.sin()  # 2 x (..., T, P)
    if positions.ndim == 2:
        cos, sin = cos[:, None], sin[:, None]  # 2 x (B, 1, T, P)
    cos, sin = cos.to(x.device, work), sin.to(x.device, work)
    if layout == "half":
        a, b = x.to(work).chunk(2, dim=-1)  # 2 x (B, H, T, P)
    else:
        a, b = x.to(work).unflatten(-1, (-1, 2)).unbind(-1)  # 2 x (B, H, T, P)
    turned = (a * cos - b * sin, b * cos + a * sin)
    if layout == "half":
        return torch.cat(turned, dim=-1).to(x.dtype)  # (B, H, T, D)
    return torch.stack(turned, dim=-1).flatten(-2).to(x.dtype)  # (B, H, T, D)


def _check(x, positions, inv_freq, scale, scale_base, layout) -> None:
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
    if list(positions.shape) not in ([x.shape[2]], [x.shape[0], x.shape[2]]):
        raise ValueError(
            f"positions must be [T] or [B, T] with T={x.shape[2]}, "
            f"B={x.shape[0]}, got {list(positions.shape)}"
        )
    n_pairs = x.shape[3] // 2
    for name, value in (("inv_freq", inv_freq), ("scale", scale)):
        if value.dtype not in (torch.float32, torch.float64):
            raise TypeError(
                f"{name} must be float32 or float64, got {value.dtype}"
            )
        if list(value.shape) != [n_pairs]:
            raise ValueError(
                f"{name} must be [P] with P={n_pairs}, got {list(value.shape)}"
            )
    if not scale_base > 0:
        raise ValueError(f"scale_base must be positive, got {scale_base}")
    if layout not in LAYOUTS:
        raise ValueError(f"layout must be one of {LAYOUTS}, got {layout!r}")
