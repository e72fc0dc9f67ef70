# SPDX-License-Identifier: MIT
# Position encoding, executed 0.1.0: snippets/shaw_bucketed.py
"""Relative vectors without (Tq, Tk, D) tensors: one product for each bucket.

A query meets only 2k + 1 different relative vectors, so its products with
them are computed once and looked up; the weights of all keys in one bucket
are summed before they meet its value vector. Equal to shaw.py, tested so.

Source: Shaw, Uszkoreit, Vaswani 2018, section 3.3 splits the product in the
same way (arXiv:1803.02155). Needs only torch; copy this file as it is.

Axes: B batch, H heads, Tq and Tk positions of queries and keys, D head_dim,
R = 2k + 1 rows of the tables.
"""

import math

import torch
from torch import Tensor


def shaw_attention_bucketed(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    bucket: Tensor,
    key_table: Tensor,
    value_table: Tensor,
    *,
    mask: Tensor | None = None,
) -> Tensor:
    """Attention with relative vectors in keys and values.

    Args:
        q: (B, H, Tq, D), float.
        k: (B, H, Tk, D), same dtype.
        v: (B, H, Tk, D), same dtype.
        bucket: (Tq, Tk) int64, row of the tables for each pair.
        key_table: (R, D), vectors added to the keys.
        value_table: (R, D), vectors added to the values.
        mask: bool, True = may attend, broadcastable to (B, H, Tq, Tk), but
            not 3-D: where B equals H, the batch would be taken for heads.

    Returns:
        (B, H, Tq, D) in the dtype of q.

    Raises:
        TypeError: if q, k, v and the tables have no common float dtype, or
            mask is not bool.
        ValueError: if bucket is not [Tq, Tk], the tables differ in shape, or
            the mask does not fit or leaves a query without any key.
    """
    _check_dtypes((q, k, v, key_table, value_table))
    if list(bucket.shape) != [q.shape[2], k.shape[2]]:
        raise ValueError(
            f"bucket must be [Tq, Tk] = [{q.shape[2]}, {k.shape[2]}], "
            f"got {list(bucket.shape)}"
        )
    if key_table.shape != value_table.shape:
        raise ValueError(
            "key_table and value_table must have one shape, "
            f"got {list(key_table.shape)} and {list(value_table.shape)}"
        )
    bucket = bucket.expand(*q.shape[:2], -1, -1)  # (B, H, Tq, Tk)
    by_row = q @ key_table.T  # (B, H, Tq, R)
    logits = q @ k.transpose(-1, -2) + by_row.gather(-1, bucket)
    logits = logits / math.sqrt(q.shape[-1])  # (B, H, Tq, Tk)
    if mask is not None:
        _check_mask(mask, list(logits.shape))
        logits = logits.masked_fill(~mask, -math.inf)  # (B, H, Tq, Tk)
    weights = logits.softmax(dim=-1)  # (B, H, Tq, Tk)
    summed = weights.new_zeros(by_row.shape)  # (B, H, Tq, R)
    summed = summed.scatter_add(-1, bucket, weights)  # (B, H, Tq, R)
    return weights @ v + summed @ value_table  # (B, H, Tq, D)


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
