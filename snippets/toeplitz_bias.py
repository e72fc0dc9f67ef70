# SPDX-License-Identifier: MIT
# Position encoding, executed 0.1.0: snippets/toeplitz_bias.py
"""A bias that depends on the gap alone, kept as one row of numbers a head.

Any bias of consecutive positions that looks at key minus query only, such as
T5's (arXiv:1910.10683) or ALiBi's (arXiv:2108.12409), has Tq + Tk - 1
different numbers a head. A view with overlapping rows shows them as
(Tq, Tk) without a copy. The row of a later query starts earlier, which a view
cannot say, so queries go backwards: last one first.
Needs only torch; copy this file as it is.

Axes: B batch, H heads, Tq and Tk positions of queries and keys, D head_dim.
"""

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention


def consecutive_gaps(q_positions: Tensor, k_positions: Tensor) -> Tensor:
    """All gaps, key position minus query position, in rising order.

    Ask a bias for them with one query at position 0:
    `alibi_bias(torch.zeros_like(gaps[:1]), gaps, slopes)[:, 0]`.

    Args:
        q_positions: (Tq,), integer, each one more than the one before.
        k_positions: (Tk,), integer, likewise.

    Returns:
        (Tq + Tk - 1,), int64.

    Raises:
        TypeError: if positions are not integer.
        ValueError: if positions are not 1-D, empty, or not consecutive.
    """
    for name, positions in (
        ("q_positions", q_positions), ("k_positions", k_positions)
    ):
        shape = list(positions.shape)
        if positions.ndim != 1 or shape[0] == 0:
            raise ValueError(f"{name} must be 1-D and not empty, got {shape}")
        if positions.dtype == torch.bool or (
            positions.is_floating_point() or positions.is_complex()
        ):
            raise TypeError(f"{name} must be integer, got {positions.dtype}")
        # Values are looked at in eager mode only, for export and compile.
        if not (torch.compiler.is_compiling() or positions.is_meta):
            if not bool((positions.long().diff() == 1).all()):
                raise ValueError(f"{name} must be consecutive")
    n_gaps = q_positions.shape[0] + k_positions.shape[0] - 1
    first = k_positions.long()[0] - q_positions.long()[-1]
    return first + torch.arange(n_gaps, device=q_positions.device)


def toeplitz_view(table: Tensor, n_queries: int) -> Tensor:
    """The bias of each pair, last query first, in the memory of the table.

    Read it only: its rows overlap, so that writing into one changes others.

    Args:
        table: (H, Tq + Tk - 1), a number for each gap in rising order.
        n_queries: Tq.

    Returns:
        (H, Tq, Tk), a view; row 0 belongs to the last query.

    Raises:
        TypeError: if n_queries is not an int.
        ValueError: if table is not 2-D, or shorter than Tq.
    """
    if not isinstance(n_queries, (int, torch.SymInt)):
        raise TypeError(f"n_queries must be an int, got {n_queries!r}")
    if table.ndim != 2 or not 1 <= n_queries <= table.shape[1]:
        raise ValueError(
            "table must be [H, Tq + Tk - 1] with Tq from 1 on, "
            f"got {list(table.shape)} and Tq = {n_queries}"
        )
    n_keys = table.shape[1] - n_queries + 1
    head, gap = table.stride()
    # One step down and one step right are the same step of the table. (Tensor
    # unfold says the same, but export then fixes the number of keys.)
    size = (table.shape[0], n_queries, n_keys)
    return table.as_strided(size, (head, gap, gap))  # (H, Tq, Tk)


def toeplitz_attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    table: Tensor,
    *,
    scale: float | None = None,
) -> Tensor:
    """softmax(q k^T * scale + bias) v; a gap of -inf in the table is masked.

    Args:
        q: (B, H, Tq, D), float.
        k: (B, H, Tk, D), same dtype.
        v: (B, H, Tk, D), same dtype.
        table: (H, Tq + Tk - 1), same dtype.
        scale: 1 / sqrt(D) unless given; T5 takes 1.0.

    Returns:
        (B, H, Tq, D) in the dtype of q.

    Raises:
        TypeError: if the dtypes differ.
        ValueError: if table does not fit Tq and Tk.
    """
    if not q.dtype == k.dtype == v.dtype == table.dtype:
        raise TypeError(
            "q, k, v and table must have one dtype, "
            f"got {q.dtype}, {k.dtype}, {v.dtype} and {table.dtype}"
        )
    wanted = [q.shape[1], q.shape[2] + k.shape[2] - 1]
    if list(table.shape) != wanted:
        raise ValueError(
            f"table must be [H, Tq + Tk - 1] = {wanted}, "
            f"got {list(table.shape)}"
        )
    bias = toeplitz_view(table, q.shape[2])  # (H, Tq, Tk)
    backwards = q.flip(2)  # (B, H, Tq, D)
    y = scaled_dot_product_attention(
        backwards, k, v, attn_mask=bias[None], scale=scale
    )
    return y.flip(2)  # (B, H, Tq, D)
