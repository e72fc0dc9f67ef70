# SPDX-License-Identifier: MIT
# Position encoding, executed 0.1.0: snippets/attention.py
"""Scaled dot-product attention in plain steps, to see where position enters.

Source: Vaswani et al. 2017, section 3.2.1, equation 1 (arXiv:1706.03762).
Needs only torch; copy this file as it is. For speed use
torch.nn.functional.scaled_dot_product_attention: the tests hold them equal.

Axes: B batch, H heads, Tq and Tk positions of queries and keys, D head_dim.
"""

import math

import torch
from torch import Tensor


def attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    *,
    bias: Tensor | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """softmax(q k^T / sqrt(D) + bias) v over the keys that the mask allows.

    Args:
        q: (B, H, Tq, D), float.
        k: (B, H, Tk, D), same dtype.
        v: (B, H, Tk, Dv), same dtype.
        bias: added to the logits, broadcastable to (B, H, Tq, Tk).
        mask: bool, True = may attend, broadcastable to (B, H, Tq, Tk), but
            not 3-D: where B equals H, the batch would be taken for heads.

    Returns:
        (B, H, Tq, Dv) in the dtype of q.

    Raises:
        TypeError: if q, k, v differ in dtype or are not floating point, if
            bias is not floating point, or if mask is not bool.
        ValueError: if ranks or sizes do not fit, if bias or mask does not
            broadcast to (B, H, Tq, Tk), or if the mask is 3-D or leaves a
            query without any key.
    """
    _check(q, k, v, bias, mask)
    logits = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])  # (B, H, Tq, Tk)
    if bias is not None:
        logits = logits + bias  # (B, H, Tq, Tk)
    if mask is not None:
        logits = logits.masked_fill(~mask, -math.inf)  # (B, H, Tq, Tk)
    weights = logits.softmax(dim=-1).to(v.dtype)  # (B, H, Tq, Tk)
    return weights @ v  # (B, H, Tq, Dv)


def _check(q, k, v, bias, mask) -> None:
    if not q.is_floating_point():
        raise TypeError(f"q, k and v must be floating point, got {q.dtype}")
    if not q.dtype == k.dtype == v.dtype:
        raise TypeError(
            "q, k and v must have one dtype, "
            f"got {q.dtype}, {k.dtype} and {v.dtype}"
        )
    shapes = [list(t.shape) for t in (q, k, v)]
    if (
        [t.ndim for t in (q, k, v)] != [4, 4, 4]
        or not q.shape[:2] == k.shape[:2] == v.shape[:2]
        or q.shape[3] != k.shape[3]
        or k.shape[2] != v.shape[2]
    ):
        raise ValueError(
            "q, k and v must be [B, H, Tq, D], [B, H, Tk, D] and "
            f"[B, H, Tk, Dv], got {shapes[0]}, {shapes[1]} and {shapes[2]}"
        )
    if bias is not None and not bias.is_floating_point():
        raise TypeError(f"bias must be floating point, got {bias.dtype}")
    logits = [*q.shape[:3], k.shape[2]]
    for name, extra in (("bias", bias), ("mask", mask)):
        if extra is not None and not _broadcasts(extra.shape, logits):
            raise ValueError(
                f"{name} must broadcast to [B, H, Tq, Tk] = {logits}, "
                f"got {list(extra.shape)}"
            )
    if mask is None:
        return
    if mask.dtype != torch.bool:
        raise TypeError(f"mask must be bool, got {mask.dtype}")
    if mask.ndim == 3:
        raise ValueError(
            "mask must be [B, 1, Tq, Tk] or [1, H, Tq, Tk], not 3-D, "
            f"got {list(mask.shape)}"
        )
    # Values are looked at in eager mode only: export and compile keep working.
    if not (torch.compiler.is_compiling() or mask.is_meta):
        if not bool(mask.any(dim=-1).all()):
            raise ValueError("mask leaves a query without any key")


def _broadcasts(shape, target) -> bool:
    return len(shape) <= len(target) and all(
        size in (1, wanted) for size, wanted in zip(shape[::-1], target[::-1])
    )
