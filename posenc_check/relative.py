# SPDX-License-Identifier: MIT
"""Transformer-XL and DeBERTa one pair and one product at a time, straight from the papers.

They share no code with snippets/: a sinusoid is a part of a complex exponential, a row of
a table comes from the paper's three cases, and a bucket on the log scale from whole numbers.
"""

import cmath
import itertools
import math

import torch
from torch import Tensor

from posenc_check import oracles


def dot(x, y) -> float:
    return math.fsum(float(a) * float(b) for a, b in zip(x, y, strict=True))


def weighted(logits: Tensor, v: Tensor, mask=None) -> Tensor:
    """Softmax of ready logits, times the values; mask (Tq, Tk) or None."""
    nothing = torch.zeros(*logits.shape[:3], 1), torch.zeros(*v.shape[:3], 1)
    mask = None if mask is None else mask.expand(logits.shape)
    return oracles.attention(*nothing, v, bias=logits, mask=mask)


def sinusoid(lag: int, column: int, d_model: int, base: float = 10_000.0) -> float:
    """One entry of R (Dai et al. 2019, section 3.3); the sines come first."""
    is_cosine, pair = divmod(column, d_model // 2)
    turned = cmath.exp(1j * lag * math.exp(-2 * pair / d_model * math.log(base)))
    return turned.real if is_cosine else turned.imag


def relative_key(lag: int, head: int, lag_weight: Tensor, width: int, base=10_000.0) -> list[float]:
    """W_kR R of one lag for one head, D numbers."""
    d_model = lag_weight.shape[1]
    column = [sinusoid(lag, c, d_model, base) for c in range(d_model)]
    return [dot(lag_weight[head * width + row], column) for row in range(width)]


def transformer_xl_terms(
    q, k, q_positions, k_positions, content_bias, position_bias, lag_weight
) -> list[Tensor]:
    """(a), (b), (c), (d) of Dai et al. 2019, section 3.3: four tensors (B, H, Tq, Tk)."""
    batch, heads, t_q, width = q.shape
    terms = [torch.zeros(batch, heads, t_q, k.shape[2], dtype=torch.float64) for _ in range(4)]
    for b, h, i, j in itertools.product(*map(range, terms[0].shape)):
        r = relative_key(int(q_positions[i]) - int(k_positions[j]), h, lag_weight, width)
        terms[0][b, h, i, j] = dot(q[b, h, i], k[b, h, j])
        terms[1][b, h, i, j] = dot(q[b, h, i], r)
        terms[2][b, h, i, j] = dot(content_bias[h], k[b, h, j])
        terms[3][b, h, i, j] = dot(position_bias[h], r)
    return terms


def transformer_xl(q, k, v, *rest, mask=None) -> Tensor:
    """The output of one layer's heads; rest as in `transformer_xl_terms`."""
    return weighted(sum(transformer_xl_terms(q, k, *rest)) / math.sqrt(q.shape[3]), v, mask)


def shifted(x, n_keys: int) -> list[list]:
    """Rows of x hold the products with the lags n_keys - 1, n_keys - 2, ...; keys instead.

    None where x has no product for the lag of a query and a key.
    """
    rows = []
    for i in range(len(x)):
        products = dict(zip(range(n_keys - 1, n_keys - 1 - len(x[i]), -1), x[i]))
        rows.append([products.get(n_keys - len(x) + i - j) for j in range(n_keys)])
    return rows


def deberta_delta(i: int, j: int, reach: int) -> int:
    """Equation 3 of He et al. 2020."""
    if i - j <= -reach:
        return 0
    if i - j >= reach:
        return 2 * reach - 1
    return i - j + reach


def deberta_log_lag(lag: int, num_buckets: int = 256, max_distance: int = 512) -> int:
    """The first n with ((max - 1) / near) ** (n / (near - 1)) >= |lag| / near, in whole numbers."""
    near = num_buckets // 2
    if abs(lag) <= near:
        return lag
    n, wanted = 0, abs(lag) ** (near - 1)
    while (max_distance - 1) ** n * near ** (near - 1) < wanted * near**n:
        n += 1
    return near + n if lag > 0 else -near - n


def deberta_terms(
    q, k, q_positions, k_positions, key_table, query_table, max_distance=None, order="paper"
) -> list[Tensor]:
    """The three terms of equation 4 of He et al. 2020: tensors (B, H, Tq, Tk)."""
    reach = len(key_table[0]) // 2
    shape = (*q.shape[:3], k.shape[2])
    terms = [torch.zeros(shape, dtype=torch.float64) for _ in range(3)]
    for b, h, i, j in itertools.product(*map(range, shape)):
        lag = int(q_positions[i]) - int(k_positions[j])
        if max_distance is not None:
            lag = deberta_log_lag(lag, reach, max_distance)
        there, back = deberta_delta(lag, 0, reach), deberta_delta(0, lag, reach)
        terms[0][b, h, i, j] = dot(q[b, h, i], k[b, h, j])
        terms[1][b, h, i, j] = dot(q[b, h, i], key_table[h][there])
        row = {"paper": back, "released": there}[order]
        terms[2][b, h, i, j] = dot(k[b, h, j], query_table[h][row])
    return terms


def deberta(q, k, v, *rest, mask=None, **options) -> Tensor:
    """The output of the heads; rest and options as in `deberta_terms`."""
    return weighted(sum(deberta_terms(q, k, *rest, **options)) / math.sqrt(3 * q.shape[3]), v, mask)
