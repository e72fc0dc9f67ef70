# SPDX-License-Identifier: MIT
# Position encoding, executed 0.1.0: snippets/deberta.py
"""DeBERTa: content meets content, key lags and query lags, in three terms.

Source: He et al. 2020, section 3.1, equations 2 to 4 (arXiv:2006.03654). The
buckets on a log scale, and another row of the third term, stand in the
authors' code. Needs only torch; copy this file as it is.

Axes: B batch, H heads, Tq and Tk positions of queries and keys, D head_dim,
2k rows of the tables. The lag is query position minus key position.
"""

import math

import torch
from torch import Tensor


def deberta_bucket(lag: Tensor, reach: int) -> Tensor:
    """delta of the paper, DeBERTa v1: 0 ... 2k - 1 for lags -k ... k - 1.

    Args:
        lag: any shape, integer; query minus key for delta(i, j).
        reach: k, 1 or more; longer lags share the first and last row.

    Returns:
        int64, shape of lag.

    Raises:
        TypeError: if lag is not integer.
        ValueError: if reach is below 1.
    """
    _check_integer("lag", lag)
    if reach < 1:
        raise ValueError(f"reach must be positive, got {reach}")
    return (lag.long() + reach).clamp(0, 2 * reach - 1)


def deberta_log_lag(
    lag: Tensor, num_buckets: int = 256, max_distance: int = 512
) -> Tensor:
    """DeBERTa v2: lags up to num_buckets / 2 as they are, then on a log scale.

    The result grows on beyond num_buckets: `deberta_bucket` clamps it.

    Args:
        lag: any shape, integer.
        num_buckets: k, the reach of the result, even, 4 or more.
        max_distance: at max_distance - 1 the result is num_buckets - 1.

    Returns:
        int64, shape and sign of lag.

    Raises:
        TypeError: if lag is not integer.
        ValueError: if num_buckets is odd or below 4, or max_distance does not
            exceed num_buckets / 2 + 1.
    """
    _check_integer("lag", lag)
    if num_buckets < 4 or num_buckets % 2:
        raise ValueError(
            f"num_buckets must be even and at least 4, got {num_buckets}"
        )
    near = num_buckets // 2
    if max_distance <= near + 1:
        raise ValueError(
            f"max_distance must exceed {near + 1}, got {max_distance}"
        )
    lag = lag.long()
    ratio = lag.abs().clamp(min=near).double() / near
    far = ratio.log() / math.log((max_distance - 1) / near) * (near - 1)
    # At an exact power the quotient of logarithms may land a rounding above.
    far = near + (far - 1e-9).ceil().long()
    return torch.where(lag.abs() <= near, lag, lag.sign() * far)


def deberta_scores(
    q: Tensor,
    k: Tensor,
    q_positions: Tensor,
    k_positions: Tensor,
    key_table: Tensor,
    query_table: Tensor,
    *,
    max_distance: int | None = None,
    order: str = "paper",
) -> tuple[Tensor, Tensor, Tensor]:
    """The terms of `deberta_attention`; same arguments and errors.

    Without v and mask, before the scale: content to content, content to
    position, position to content, each (B, H, Tq, Tk).
    """
    _check(q, k, k, key_table, query_table)
    if order not in ("paper", "released"):
        raise ValueError(f"order must be 'paper' or 'released', got {order!r}")
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
    lag = q_positions.long()[:, None] - k_positions.long()  # (Tq, Tk)
    reach = key_table.shape[1] // 2
    if max_distance is not None:
        lag = deberta_log_lag(lag, reach, max_distance)  # (Tq, Tk)
    here = deberta_bucket(lag, reach)  # (Tq, Tk)
    back = here if order == "released" else deberta_bucket(-lag, reach)
    here, back = (x.expand(*q.shape[:2], -1, -1) for x in (here, back.T))
    c2c = q @ k.transpose(-1, -2)  # (B, H, Tq, Tk)
    c2p = (q @ key_table.transpose(-1, -2)).gather(-1, here)  # (B, H, Tq, Tk)
    # A key looks up its row among products of its own, hence the transposes.
    p2c = (k @ query_table.transpose(-1, -2)).gather(-1, back)  # (B, H, Tk, Tq)
    return c2c, c2p, p2c.transpose(-1, -2)  # 3 x (B, H, Tq, Tk)


def deberta_attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    q_positions: Tensor,
    k_positions: Tensor,
    key_table: Tensor,
    query_table: Tensor,
    *,
    max_distance: int | None = None,
    order: str = "paper",
    mask: Tensor | None = None,
) -> Tensor:
    """softmax of the three terms / sqrt(3 D), times the values.

    Args:
        q: (B, H, Tq, D), float.
        k: (B, H, Tk, D), same dtype.
        v: (B, H, Tk, Dv), same dtype.
        q_positions: (Tq,), integer.
        k_positions: (Tk,), integer.
        key_table: (H, 2k, D), same dtype, K_r of the paper: queries read it.
        query_table: (H, 2k, D), same dtype, Q_r of the paper: keys read it.
        max_distance: None clips lags to k (v1); a number: log scale (v2).
        order: the row of query_table: "paper" takes delta(j, i), "released"
            delta(i, j) as the authors' code and its weights do.
        mask: bool, True = may attend, broadcastable to (B, H, Tq, Tk), but
            not 3-D: where B equals H, the batch would be taken for heads.

    Returns:
        (B, H, Tq, Dv) in the dtype of q.

    Raises:
        TypeError: if positions are not integer, the tensors have no common
            float dtype, or mask is not bool.
        ValueError: if a size does not fit, order is unknown, max_distance is
            too small, or the mask leaves a query without any key.
    """
    _check(q, k, v, key_table, query_table)
    terms = deberta_scores(
        q, k, q_positions, k_positions, key_table, query_table,
        max_distance=max_distance, order=order
    )
    logits = sum(terms) / math.sqrt(3 * q.shape[-1])  # (B, H, Tq, Tk)
    if mask is not None:
        _check_mask(mask, list(logits.shape))
        logits = logits.masked_fill(~mask, -math.inf)  # (B, H, Tq, Tk)
    return logits.softmax(dim=-1) @ v  # (B, H, Tq, Dv)


def _check_integer(name, tensor) -> None:
    if tensor.dtype == torch.bool or (
        tensor.is_floating_point() or tensor.is_complex()
    ):
        raise TypeError(f"{name} must be integer, got {tensor.dtype}")


def _check(q, k, v, key_table, query_table) -> None:
    tensors = (q, k, v, key_table, query_table)
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
    heads, width, shape = q.shape[1], q.shape[3], list(key_table.shape)
    if shape != list(query_table.shape) or len(shape) != 3 or (
        shape[::2] != [heads, width] or shape[1] < 2 or shape[1] % 2
    ):
        raise ValueError(
            f"both tables must be [H, 2k, D] = [{heads}, 2k, {width}], "
            f"got {shape} and {list(query_table.shape)}"
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
