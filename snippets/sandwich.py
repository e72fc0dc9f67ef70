# SPDX-License-Identifier: MIT
# Position encoding, executed 0.1.0: snippets/sandwich.py
"""Sandwich: the inner product of two sinusoidal vectors, as a bias.

Source: Chi, Fan, Rudnicky, Ramadge 2022, Dissecting Transformer Length
Extrapolation (arXiv:2212.10356). Of the products in
(x_m + p_m) (x_n + p_n) only content with content and position with position
stay. Needs only torch; copy this file as it is.

Axes: H heads, Tq and Tk positions of queries and keys, P = width // 2 pairs.
"""

import torch
from torch import Tensor


def sandwich_bias(
    q_positions: Tensor,
    k_positions: Tensor,
    scales: Tensor,
    *,
    width: int = 128,
    base: float = 10_000.0,
    dtype: torch.dtype = torch.float32,
) -> Tensor:
    """scale * sum of cos((query - key) * speed) over all pairs.

    Largest at distance 0, where it is scale * P; it falls like a logarithm
    and does not tell left from right. It does not mask. The scale of a head
    is the caller's: public code divides by 8 h / H, h = 1 ... H.

    Args:
        q_positions: (Tq,), integer.
        k_positions: (Tk,), integer.
        scales: (H,), float.
        width: of the sinusoidal vectors, even; not the width of the model.
        base: pair i turns by base ** (-2 i / width) radians per position,
            i = 0 ... P - 1, as in the sinusoidal table.
        dtype: dtype of the result.

    Returns:
        (H, Tq, Tk), computed in float64 and then cast.

    Raises:
        TypeError: if positions are not integer, or scales not floating point.
        ValueError: if a tensor is not 1-D, width is odd or below 2, or base
            is not positive.
    """
    _check(q_positions, k_positions, scales, width, base)
    device = q_positions.device
    pair = torch.arange(width // 2, dtype=torch.float64, device=device)
    inv_freq = base ** (-2 * pair / width)  # (P,)
    q_angle = q_positions.double()[:, None] * inv_freq  # (Tq, P)
    k_angle = k_positions.double()[:, None] * inv_freq  # (Tk, P)
    # cos(a - b) = cos a cos b + sin a sin b: no (Tq, Tk, P) array is needed.
    # float64 is left alone by autocast.
    cosines = q_angle.cos() @ k_angle.cos().T  # (Tq, Tk)
    total = cosines + q_angle.sin() @ k_angle.sin().T  # (Tq, Tk)
    scale = scales.to(device, torch.float64)[:, None, None]
    return (scale * total).to(dtype)  # (H, Tq, Tk)


def _check(q_positions, k_positions, scales, width, base) -> None:
    if width < 2 or width % 2:
        raise ValueError(f"width must be even and at least 2, got {width}")
    if not base > 0:
        raise ValueError(f"base must be positive, got {base}")
    positions = (("q_positions", q_positions), ("k_positions", k_positions))
    for name, tensor in positions + (("scales", scales),):
        if tensor.ndim != 1:
            raise ValueError(f"{name} must be 1-D, got {list(tensor.shape)}")
    for name, tensor in positions:
        if tensor.dtype == torch.bool or (
            tensor.is_floating_point() or tensor.is_complex()
        ):
            raise TypeError(f"{name} must be integer, got {tensor.dtype}")
    if not scales.is_floating_point():
        raise TypeError(f"scales must be floating point, got {scales.dtype}")
