# SPDX-License-Identifier: MIT
# Position encoding, executed 0.1.0: snippets/alibi.py
"""ALiBi: subtract a fixed slope times the distance from each logit.

Source: Press, Smith, Lewis 2022, Train Short, Test Long, section 3
(arXiv:2108.12409). The rule for a number of heads that is no power of two
stands in the authors' code. Needs only torch; copy this file as it is.

Axes: H heads, Tq and Tk positions of queries and keys.
"""

import torch
from torch import Tensor


def alibi_slopes(n_heads: int) -> Tensor:
    """One slope per head: 2 ** (-8 h / H), h = 1 ... H, for powers of two.

    Other numbers of heads take the slopes of the next lower power of two,
    then every second slope of the next higher one; the order belongs to the
    checkpoint.

    Args:
        n_heads: H, 1 or more.

    Returns:
        (H,) float64.

    Raises:
        TypeError: if n_heads is not an int.
        ValueError: if n_heads is below 1.
    """
    if not isinstance(n_heads, int):
        raise TypeError(f"n_heads must be an int, got {n_heads!r}")
    if n_heads < 1:
        raise ValueError(f"n_heads must be positive, got {n_heads}")
    lower = 2 ** (n_heads.bit_length() - 1)
    head = torch.arange(1, lower + 1, dtype=torch.float64)
    between = torch.arange(1, 2 * lower, 2, dtype=torch.float64)
    slopes = torch.cat(
        (2.0 ** (-8.0 * head / lower), 2.0 ** (-8.0 * between / (2 * lower)))
    )
    return slopes[:n_heads]  # (H,)


def alibi_bias(
    q_positions: Tensor,
    k_positions: Tensor,
    slopes: Tensor,
    *,
    dtype: torch.dtype = torch.float32,
) -> Tensor:
    """-slope * |query - key|, added to the scaled logits before the softmax.

    It does not mask: a causal model still needs its mask. Without a mask the
    bias is the same to both sides and cannot tell left from right.

    Args:
        q_positions: (Tq,), integer.
        k_positions: (Tk,), integer.
        slopes: (H,), positive, from `alibi_slopes`.
        dtype: dtype of the result.

    Returns:
        (H, Tq, Tk), computed in float64 and then cast.

    Raises:
        TypeError: if positions are not integer.
        ValueError: if a tensor is not 1-D.
    """
    for name, tensor in (
        ("q_positions", q_positions),
        ("k_positions", k_positions),
        ("slopes", slopes),
    ):
        if tensor.ndim != 1:
            raise ValueError(f"{name} must be 1-D, got {list(tensor.shape)}")
    for name, positions in (
        ("q_positions", q_positions), ("k_positions", k_positions)
    ):
        if positions.dtype == torch.bool or (
            positions.is_floating_point() or positions.is_complex()
        ):
            raise TypeError(f"{name} must be integer, got {positions.dtype}")
    # int64 first: the difference of two uint8 numbers would wrap around.
    q_column, k_row = q_positions.long()[:, None], k_positions.long()
    distance = (q_column - k_row).abs()  # (Tq, Tk)
    slope = slopes.to(distance.device, torch.float64)[:, None, None]
    return (-slope * distance).to(dtype)  # (H, Tq, Tk)
