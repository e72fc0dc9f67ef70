# SPDX-License-Identifier: MIT
# Position encoding, executed 0.1.0: snippets/masks.py
"""Causal mask from positions: a query attends to keys at or before its own.

Source: Vaswani et al. 2017, section 3.2.3 (arXiv:1706.03762). Positions are
compared, not rows, so that a query that comes after cached keys sees them.
Needs only torch; copy this file as it is.

Axes: B batch, Tq query positions, Tk key positions.
"""

import torch
from torch import Tensor


def causal_mask(q_positions: Tensor, k_positions: Tensor) -> Tensor:
    """True where a query may attend: k_positions <= q_positions.

    Args:
        q_positions: (Tq,) or (B, Tq), integer.
        k_positions: (Tk,) or (B, Tk), integer, same rank and B.

    Returns:
        bool, (Tq, Tk), or (B, 1, Tq, Tk) with an axis for the heads.

    Raises:
        TypeError: if a tensor is not integer.
        ValueError: if the ranks or batch sizes do not fit together.
    """
    for name, positions in (
        ("q_positions", q_positions), ("k_positions", k_positions)
    ):
        if positions.dtype == torch.bool or (
            positions.is_floating_point() or positions.is_complex()
        ):
            raise TypeError(f"{name} must be integer, got {positions.dtype}")
    q_shape, k_shape = list(q_positions.shape), list(k_positions.shape)
    if len(q_shape) not in (1, 2) or len(k_shape) != len(q_shape):
        raise ValueError(
            "q_positions and k_positions must both be [T] or both [B, T], "
            f"got {q_shape} and {k_shape}"
        )
    if q_shape[:-1] != k_shape[:-1]:
        raise ValueError(
            "q_positions and k_positions must have the same batch size, "
            f"got {q_shape[0]} and {k_shape[0]}"
        )
    # int64 first: torch cannot compare uint16 and wider unsigned numbers.
    q_column = q_positions.to(torch.int64)[..., None]  # (..., Tq, 1)
    k_row = k_positions.to(torch.int64)[..., None, :]  # (..., 1, Tk)
    allowed = k_row <= q_column  # (..., Tq, Tk)
    return allowed if allowed.ndim == 2 else allowed[:, None]
