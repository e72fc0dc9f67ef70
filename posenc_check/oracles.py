# SPDX-License-Identifier: MIT
"""Slow float64 loops and complex numbers, straight from the papers.

They share no code with snippets/ (a test looks at the imports): each value
comes from `math` or `cmath`, one scalar at a time, in another form than the
snippet uses, so that one slip cannot stand on both sides.
"""

import cmath
import math

import torch
from torch import Tensor


def sinusoid(position: float, column: int, d_model: int, base: float = 10000.0) -> float:
    """One entry of the table (Vaswani et al. 2017, section 3.5)."""
    pair, is_cosine = divmod(column, 2)
    angle = position / base ** (2 * pair / d_model)
    return math.cos(angle) if is_cosine else math.sin(angle)


def sinusoid_table(positions, d_model: int, base: float = 10000.0) -> Tensor:
    """The same, as a (T, d_model) float64 table."""
    rows = [[sinusoid(p, j, d_model, base) for j in range(d_model)] for p in positions]
    return torch.tensor(rows, dtype=torch.float64).reshape(len(rows), d_model)


def rope_speed(pair: int, head_dim: int, base: float = 10000.0) -> float:
    """Radians per position of one pair (Su et al. 2021, below equation 15)."""
    return math.exp(-2 * pair / head_dim * math.log(base))


def pair_columns(pair: int, head_dim: int, layout: str) -> tuple[int, int]:
    """The two coordinates of a pair."""
    return {"interleaved": (2 * pair, 2 * pair + 1), "half": (pair, pair + head_dim // 2)}[layout]


def rope_vector(x, position: float, speeds, layout: str) -> list[float]:
    """Turn each pair of one vector as a complex number: z * exp(i * position * speed)."""
    x = [float(v) for v in x]
    y = list(x)
    for pair, speed in enumerate(speeds):
        first, second = pair_columns(pair, 2 * len(speeds), layout)
        z = complex(x[first], x[second]) * cmath.exp(1j * position * speed)
        y[first], y[second] = z.real, z.imag
    return y


def rope(x: Tensor, positions, speeds, layout: str) -> Tensor:
    """`rope_vector` for every vector of x (B, H, T, D); positions (T,) or (B, T)."""
    y = torch.empty(x.shape, dtype=torch.float64)
    positions = torch.as_tensor(positions, dtype=torch.float64).expand(x.shape[0], x.shape[2])
    for b in range(x.shape[0]):
        for h in range(x.shape[1]):
            for t in range(x.shape[2]):
                turned = rope_vector(x[b, h, t], float(positions[b, t]), speeds, layout)
                y[b, h, t] = torch.tensor(turned, dtype=torch.float64)
    return y


def rotation_matrix(position: float, speeds, layout: str) -> Tensor:
    """R(position) as an explicit (D, D) matrix (Su et al. 2021, equation 15)."""
    head_dim = 2 * len(speeds)
    matrix = torch.zeros(head_dim, head_dim, dtype=torch.float64)
    for pair, speed in enumerate(speeds):
        first, second = pair_columns(pair, head_dim, layout)
        angle = position * speed
        matrix[first, first], matrix[first, second] = math.cos(angle), -math.sin(angle)
        matrix[second, first], matrix[second, second] = math.sin(angle), math.cos(angle)
    return matrix


def attention(q: Tensor, k: Tensor, v: Tensor, bias=None, mask=None) -> Tensor:
    """Equation 1 of Vaswani et al. 2017, one weight at a time.

    bias and mask are (B, H, Tq, Tk) or None; mask True = may attend.
    """
    batch, heads, t_q, head_dim = q.shape
    y = torch.zeros(batch, heads, t_q, v.shape[-1], dtype=torch.float64)
    for b in range(batch):
        for h in range(heads):
            for i in range(t_q):
                weights = []
                for j in range(k.shape[2]):
                    dot = sum(float(q[b, h, i, c]) * float(k[b, h, j, c]) for c in range(head_dim))
                    extra = 0.0 if bias is None else float(bias[b, h, i, j])
                    seen = mask is None or bool(mask[b, h, i, j])
                    weights.append(math.exp(dot / math.sqrt(head_dim) + extra) if seen else 0.0)
                for j, weight in enumerate(weights):
                    y[b, h, i] += weight / sum(weights) * v[b, h, j].double()
    return y
