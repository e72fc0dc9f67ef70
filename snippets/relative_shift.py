# SPDX-License-Identifier: MIT
# Position encoding, executed 0.1.0: snippets/relative_shift.py
"""Relative shift: products with a row of lags become scores of keys.

Each query meets each lag once, which takes one product of two matrices; the
shift puts every product where its key stands. No gather, no (Tq, Tk, D).

Source: Dai et al. 2019, appendix B (arXiv:1901.02860); the padded form
stands in the authors' code. Needs only torch; copy this file as it is.

Axes: Tq and Tk positions of queries and keys, R lags. The lag is query
position minus key position.
"""

import torch
from torch import Tensor


def relative_shift(x: Tensor, n_keys: int | None = None) -> Tensor:
    """Move row i left by Tq - 1 - i, so that lags become keys: no gather.

    Columns of x stand for the lags Tk - 1, Tk - 2 and so on, the largest
    first; queries are the last Tq of Tk positions in a row. Down to lag 0
    (R = Tk) only keys at or before the query come out right; the rest, above
    the diagonal, belongs to other rows and must be masked. Down to lag
    1 - Tq (R = Tk + Tq - 1) all keys do.

    Args:
        x: (..., Tq, R), products of queries with relative keys.
        n_keys: Tk, from 1 to R; None stands for R.

    Returns:
        (..., Tq, Tk).

    Raises:
        ValueError: if x has no two axes or n_keys is not from 1 to R.
    """
    if x.ndim < 2:
        raise ValueError(f"x must be [..., Tq, R], got {list(x.shape)}")
    n_queries, n_lags = x.shape[-2:]
    n_keys = n_lags if n_keys is None else n_keys
    if not 1 <= n_keys <= n_lags:
        raise ValueError(f"n_keys must be from 1 to {n_lags}, got {n_keys}")
    # Rows that are one longer, read on from entry Tq in rows of the old
    # length: each row starts one entry earlier than the row above it.
    x = torch.nn.functional.pad(x, (1, 0)).flatten(-2)  # (..., Tq * R + Tq)
    x = x[..., n_queries:].unflatten(-1, (n_queries, n_lags))  # (..., Tq, R)
    return x[..., :n_keys]  # (..., Tq, Tk)
