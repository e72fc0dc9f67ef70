# SPDX-License-Identifier: MIT
"""Biases of the scores, one pair of positions at a time, straight from the papers.

They share no code with snippets/: sums run token by token, logarithms are
taken of products, a cosine is the real part of a complex number.
"""

import cmath
import math

import torch
from torch import Tensor


def table(rows) -> Tensor:
    """Nested lists of numbers as a float64 tensor."""
    return torch.tensor(rows, dtype=torch.float64)


def kerple(q_positions, k_positions, r1, r2, kind: str) -> Tensor:
    """(H, Tq, Tk): minus r1 ln(1 + r2 d), or minus r1 d^r2 (Chi et al. 2022)."""

    def value(one, two, distance):
        if kind == "log":
            return one * math.log(1 / (1 + two * distance))
        return -one * math.exp(two * math.log(distance)) if distance else 0.0

    return table(
        [
            [[value(one, two, max(i - j, j - i)) for j in k_positions] for i in q_positions]
            for one, two in zip(r1, r2, strict=True)
        ]
    )


def fire_distance(q_position: int, k_position: int, c: float, threshold: float) -> float:
    """Log of c d + 1 to the base c max(L, i) + 1: a quotient of logarithms (Li et al. 2023)."""
    longest = q_position if q_position > threshold else threshold
    return math.log(c * (q_position - k_position) + 1, c * longest + 1)


def fire(q_positions, k_positions, c, threshold, first, second) -> Tensor:
    """(H, Tq, Tk) for keys at or before the query, 0 elsewhere.

    first and second are (weights, offsets) of the two layers, as lists.
    """
    n_heads = len(second[1])
    bias = torch.zeros(n_heads, len(q_positions), len(k_positions), dtype=torch.float64)
    for row, i in enumerate(q_positions):
        for column, j in enumerate(k_positions):
            if j > i:
                continue
            x = fire_distance(i, j, c, threshold)
            hidden = [max(w[0] * x + b, 0.0) for w, b in zip(*first, strict=True)]
            for h in range(n_heads):
                terms = [w * unit for w, unit in zip(second[0][h], hidden, strict=True)]
                bias[h, row, column] = sum(terms) + second[1][h]
    return bias


def cope(q: Tensor, logits: Tensor, embedding: Tensor, mask=None) -> Tensor:
    """q e[p] for each pair, with the gates added one key after the other (Golovneva et al. 2024).

    mask is (B, H, Tq, Tk) or None; masked keys are not counted.
    """
    bias = torch.zeros(logits.shape, dtype=torch.float64)
    last = len(embedding) - 1
    for b, h, i, j in torch.cartesian_prod(*map(torch.arange, logits.shape)).tolist():
        place = 0.0
        for key in range(j, logits.shape[3]):
            if mask is None or bool(mask[b, h, i, key]):
                place += 1 / (1 + math.exp(-float(logits[b, h, i, key])))
        place = min(place, last)
        # A hat of width one over each whole position: at most two reach the place.
        for whole in range(last + 1):
            weight = max(0.0, 1 - abs(place - whole))
            dot = sum(float(x) * float(e) for x, e in zip(q[b, h, i], embedding[whole]))
            bias[b, h, i, j] += weight * dot
    return bias


def fox(gates: Tensor) -> Tensor:
    """Log of the product of gates j + 1 ... i for keys at or before the query (Lin et al. 2025).

    gates: (B, H, T) between 0 and 1. Returns (B, H, T, T), 0 after the query.
    """
    batch, heads, length = gates.shape
    bias = torch.zeros(batch, heads, length, length, dtype=torch.float64)
    for b in range(batch):
        for h in range(heads):
            for i in range(length):
                for j in range(i + 1):
                    kept = math.prod(float(gates[b, h, t]) for t in range(j + 1, i + 1))
                    bias[b, h, i, j] = math.log(kept)
    return bias


def sandwich(q_positions, k_positions, scales, width: int, base: float = 10000.0) -> Tensor:
    """(H, Tq, Tk): real part of the sum of turns by the gap (Chi et al. 2022, Sandwich)."""
    speeds = [math.exp(-2 * pair / width * math.log(base)) for pair in range(width // 2)]
    return table(
        [
            [
                [s * sum(cmath.exp(1j * (i - j) * w).real for w in speeds) for j in k_positions]
                for i in q_positions
            ]
            for s in scales
        ]
    )


def toeplitz(row, n_queries: int, n_keys: int) -> Tensor:
    """(Tq, Tk), queries in order, of one number for each gap in rising order."""
    return table(
        [[row[j - i + n_queries - 1] for j in range(n_keys)] for i in range(n_queries)]
    )
