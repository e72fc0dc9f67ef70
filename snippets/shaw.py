# SPDX-License-Identifier: MIT
# Position encoding, executed 0.1.0: snippets/shaw.py
"""Relative vectors: a learned vector for each clipped gap, in keys and values.

Source: Shaw, Uszkoreit, Vaswani 2018, sections 3.1 and 3.2, equations 3 and 4
(arXiv:1803.02155). Needs only torch; copy this file as it is.

Axes: B batch, H heads, Tq and Tk positions of queries and keys, D head_dim.
The gap is key position minus query position; heads share the tables.
"""

import math

import torch
from torch import Tensor


def shaw_bucket(
    q_positions: Tensor, k_positions: Tensor, max_distance: int
) -> Tensor:
    """Row of the tables for each pair: clip(key - query, -k, k) + k.

    Args:
        q_positions: (Tq,), integer.
        k_positions: (Tk,), integer.
        max_distance: k, 1 or more; gaps beyond it share the last rows.

    Returns:
        (Tq, Tk) int64, from 0 to 2k: 2k + 1 rows, both ends included.

    Raises:
        TypeError: if positions are not integer.
        ValueError: if positions are not 1-D or max_distance is below 1.
    """
    for name, positions in (
        ("q_positions", q_positions), ("k_positions", k_positions)
    ):
        if positions.dtype == torch.bool or (
            positions.is_floating_point() or positions.is_complex()
        ):
            raise TypeError(f"{name} must be integer, got {positions.dtype}")
        if positions.ndim != 1:
            raise ValueError(f"{name} must be [T], got {list(positions.shape)}")
    if max_distance < 1:
        raise ValueError(f"max_distance must be positive, got {max_distance}")
    # int64 first: the difference of two uint8 numbers would wrap around.
    gap = k_positions.long()[None, :] - q_positions.long()[:, None]  # (Tq, Tk)
    return gap.clamp(-max_distance, max_distance) + max_distance  # (Tq, Tk)


def shaw_attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    q_positions: Tensor,
    k_positions: Tensor,
    key_table: Tensor,
    value_table: Tensor,
    *,
    mask: Tensor | None = None,
) -> Tensor:
    """Attention with a relative vector added to each key and each value.

    This form follows the equations and builds (Tq, Tk, D) tensors; the file
    shaw_bucketed.py computes the same without them.

    Args:
        q: (B, H, Tq, D), float.
        k: (B, H, Tk, D), same dtype.
        v: (B, H, Tk, D), same dtype.
        q_positions: (Tq,), integer.
        k_positions: (Tk,), integer.
        key_table: (2k + 1, D), vectors added to the keys.
        value_table: (2k + 1, D), vectors added to the values.
        mask: bool, True = may attend, broadcastable to (B, H, Tq, Tk), but
            not 3-D: where B equals H, the batch would be taken for heads.

    Returns:
        (B, H, Tq, D) in the dtype of q.

    Raises:
        TypeError: if positions are not integer, q, k, v and the tables have
            no common float dtype, or mask is not bool.
        ValueError: if the tables differ or have no odd number of rows from 3
            on, if a size does not fit, or if the mask leaves a query without
            any key.
    """
    _check_dtypes((q, k, v, key_table, value_table))
    _check_shapes(q, k, v, key_table, value_table)
    reach = key_table.shape[0] // 2
    bucket = shaw_bucket(q_positions, k_positions, reach)  # (Tq, Tk)
    if list(bucket.shape) != [q.shape[2], k.shape[2]]:
        raise ValueError(
            f"positions must be [{q.shape[2]}] and [{k.shape[2]}] to fit q and "
            f"k, got {list(q_positions.shape)} and {list(k_positions.shape)}"
        )
    a_k = key_table[bucket]  # (Tq, Tk, D)
    a_v = value_table[bucket]  # (Tq, Tk, D)
    keys = k[:, :, None] + a_k  # (B, H, Tq, Tk, D)
    logits = (q[:, :, :, None] * keys).sum(-1)  # (B, H, Tq, Tk)
    logits = logits / math.sqrt(q.shape[-1])  # (B, H, Tq, Tk)
    if mask is not None:
        _check_mask(mask, list(logits.shape))
        logits = logits.masked_fill(~mask, -math.inf)  # (B, H, Tq, Tk)
    weights = logits.softmax(dim=-1)  # (B, H, Tq, Tk)
    values = v[:, :, None] + a_v  # (B, H, Tq, Tk, D)
    return (weights[..., None] * values).sum(-2)  # (B, H, Tq, D)


def _check_shapes(q, k, v, key_table, value_table) -> None:
    shape = list(key_table.shape)
    if shape != list(value_table.shape) or (
        len(shape) != 2 or shape[0] < 3 or shape[0] % 2 == 0
    ):
        raise ValueError(
            "key_table and value_table must both be [2k + 1, D], "
            f"got {shape} and {list(value_table.shape)}"
        )
    if not q.shape[-1] == k.shape[-1] == v.shape[-1] == shape[1]:
        raise ValueError(
            f"q, k, v and the tables must have one width, got {q.shape[-1]}, "
            f"{k.shape[-1]}, {v.shape[-1]} and {shape[1]}"
        )
    if k.shape != v.shape:
        raise ValueError(
            "k and v must have one shape, "
            f"got {list(k.shape)} and {list(v.shape)}"
        )


def _check_dtypes(tensors) -> None:
    if not tensors[0].is_floating_point():
        raise TypeError(f"q must be floating point, got {tensors[0].dtype}")
    if len({tensor.dtype for tensor in tensors}) > 1:
        raise TypeError(
            "q, k, v and the tables must have one dtype, "
            f"got {', '.join(str(tensor.dtype) for tensor in tensors)}"
        )


def _check_mask(mask, logits) -> None:
    if mask.dtype != torch.bool:
        raise TypeError(f"mask must be bool, got {mask.dtype}")
    sizes = zip(mask.shape[::-1], logits[::-1])
    if mask.ndim > 4 or any(size not in (1, full) for size, full in sizes):
        raise ValueError(
            f"mask must broadcast to [B, H, Tq, Tk] = {logits}, "
            f"got {list(mask.shape)}"
        )
    if mask.ndim == 3:
        raise ValueError(
            "mask must be [B, 1, Tq, Tk] or [1, H, Tq, Tk], not 3-D, "
            f"got {list(mask.shape)}"
        )
    # Values are looked at in eager mode only: export and compile keep working.
    if not (torch.compiler.is_compiling() or mask.is_meta):
        if not bool(mask.any(dim=-1).all()):
            raise ValueError("mask leaves a query without any key")
