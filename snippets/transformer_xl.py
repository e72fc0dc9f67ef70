# SPDX-License-Identifier: MIT
# Position encoding, executed 0.1.0: snippets/transformer_xl.py
"""Transformer-XL: content and lag meet in four terms of each attention score.

Source: Dai et al. 2019, section 3.3 (arXiv:1901.02860). The
order of the columns of the sinusoids stands in the authors' code.
Needs only torch; copy this file as it is.

Axes: B batch, H heads, Tq and Tk positions of queries and keys, D head_dim.
The lag is query position minus key position: how far the key lies behind.
A memory is nothing but keys with earlier positions.
"""

import math

import torch
from torch import Tensor


def relative_keys(
    lags: Tensor, lag_weight: Tensor, n_heads: int, base: float = 10_000.0
) -> Tensor:
    """W_kR R of the paper: the vector that each head has for each lag.

    R holds the sinusoids of a lag, first all sines, then all cosines.

    Args:
        lags: any shape, integer; below 0 for keys ahead of the query.
        lag_weight: (H * D, d_model), float, as nn.Linear keeps it.
        n_heads: H.
        base: the speeds of the sinusoids fall from 1 towards 1 / base.

    Returns:
        (H, ..., D) in the dtype of lag_weight, `...` the shape of lags.

    Raises:
        TypeError: if lags are not integer.
        ValueError: if lag_weight is not [H * D, d_model] with d_model even.
    """
    _check_integer("lags", lags)
    shape = list(lag_weight.shape)
    if len(shape) != 2 or shape[0] % n_heads or shape[1] % 2:
        raise ValueError(
            f"lag_weight must be [{n_heads} * D, d_model] with d_model even, "
            f"got {shape}"
        )
    column = torch.arange(0, shape[1], 2, device=lags.device)
    inv_freq = base ** (-column.double() / shape[1])  # (d_model // 2,)
    angle = lags.double()[..., None] * inv_freq  # (..., d_model // 2)
    table = torch.cat((angle.sin(), angle.cos()), dim=-1)  # (..., d_model)
    # Half precision would round the sinusoids before they are added up.
    dtype = torch.promote_types(lag_weight.dtype, torch.float32)
    keys = table.to(dtype) @ lag_weight.to(dtype).T  # (..., H * D)
    keys = keys.unflatten(-1, (n_heads, -1)).movedim(-2, 0)  # (H, ..., D)
    return keys.to(lag_weight.dtype)  # (H, ..., D)


def transformer_xl_scores(
    q: Tensor,
    k: Tensor,
    q_positions: Tensor,
    k_positions: Tensor,
    content_bias: Tensor,
    position_bias: Tensor,
    lag_weight: Tensor,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The terms of `transformer_xl_attention`; same arguments and errors.

    Without v and mask, before the scale, in the order of the paper, r being
    the relative key: (a) q.k (B, H, Tq, Tk), (b) q.r (B, H, Tq, Tk),
    (c) content_bias.k (B, H, 1, Tk), (d) position_bias.r (H, Tq, Tk).
    """
    _check(q, k, k, content_bias, position_bias, lag_weight)
    for name, positions, length in (
        ("q_positions", q_positions, q.shape[2]),
        ("k_positions", k_positions, k.shape[2]),
    ):
        _check_integer(name, positions)
        if list(positions.shape) != [length]:
            raise ValueError(
                f"{name} must be [{length}], got {list(positions.shape)}"
            )
    # int64 first: the difference of two uint8 numbers would wrap around.
    lags = q_positions.long()[:, None] - k_positions.long()  # (Tq, Tk)
    r = relative_keys(lags, lag_weight, q.shape[1])  # (H, Tq, Tk, D)
    a = q @ k.transpose(-1, -2)  # (B, H, Tq, Tk)
    b = torch.einsum("bhid,hijd->bhij", q, r)  # (B, H, Tq, Tk)
    c = content_bias[:, None] @ k.transpose(-1, -2)  # (B, H, 1, Tk)
    d = torch.einsum("hd,hijd->hij", position_bias, r)  # (H, Tq, Tk)
    return a, b, c, d


def transformer_xl_attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    q_positions: Tensor,
    k_positions: Tensor,
    content_bias: Tensor,
    position_bias: Tensor,
    lag_weight: Tensor,
    *,
    mask: Tensor | None = None,
) -> Tensor:
    """softmax((a + b + c + d) / sqrt(D)) v, with a vector for every lag.

    This form follows the equation and builds (H, Tq, Tk, D) vectors; the
    file relative_shift.py does without, for positions in a row.

    Args:
        q: (B, H, Tq, D), float.
        k: (B, H, Tk, D), same dtype.
        v: (B, H, Tk, Dv), same dtype.
        q_positions: (Tq,), integer.
        k_positions: (Tk,), integer.
        content_bias: (H, D), same dtype, u of the paper.
        position_bias: (H, D), same dtype, v of the paper.
        lag_weight: (H * D, d_model), same dtype, W_kR; d_model even.
        mask: bool, True = may attend, broadcastable to (B, H, Tq, Tk), but
            not 3-D: where B equals H, the batch would be taken for heads.

    Returns:
        (B, H, Tq, Dv) in the dtype of q.

    Raises:
        TypeError: if positions are not integer, the tensors have no common
            float dtype, or mask is not bool.
        ValueError: if a size does not fit, or if the mask leaves a query
            without any key.
    """
    _check(q, k, v, content_bias, position_bias, lag_weight)
    terms = transformer_xl_scores(
        q, k, q_positions, k_positions, content_bias, position_bias, lag_weight
    )
    logits = sum(terms) / math.sqrt(q.shape[-1])  # (B, H, Tq, Tk)
    if mask is not None:
        _check_mask(mask, list(logits.shape))
        logits = logits.masked_fill(~mask, -math.inf)  # (B, H, Tq, Tk)
    return logits.softmax(dim=-1) @ v  # (B, H, Tq, Dv)


def _check_integer(name, positions) -> None:
    if positions.dtype == torch.bool or (
        positions.is_floating_point() or positions.is_complex()
    ):
        raise TypeError(f"{name} must be integer, got {positions.dtype}")


def _check(q, k, v, content_bias, position_bias, lag_weight) -> None:
    tensors = (q, k, v, content_bias, position_bias, lag_weight)
    if not q.is_floating_point() or len({t.dtype for t in tensors}) > 1:
        raise TypeError(
            "all tensors must have one float dtype, "
            f"got {', '.join(str(t.dtype) for t in tensors)}"
        )
    if any(t.ndim != 4 for t in (q, k, v)) or (
        (*q.shape[:2], q.shape[3]) != (*k.shape[:2], k.shape[3])
        or k.shape[:3] != v.shape[:3]
    ):
        raise ValueError(
            "q, k and v must be [B, H, Tq, D], [B, H, Tk, D] and [B, H, Tk, Dv]"
            f", got {list(q.shape)}, {list(k.shape)} and {list(v.shape)}"
        )
    heads, width = q.shape[1], q.shape[3]
    for name, bias in (
        ("content_bias", content_bias), ("position_bias", position_bias)
    ):
        if list(bias.shape) != [heads, width]:
            raise ValueError(
                f"{name} must be [H, D] = [{heads}, {width}], "
                f"got {list(bias.shape)}"
            )
    if list(lag_weight.shape[:1]) != [heads * width]:
        raise ValueError(
            f"lag_weight must have H * D = {heads * width} rows, "
            f"got {list(lag_weight.shape)}"
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
