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


def shaw(
    q: Tensor, k: Tensor, v: Tensor, q_positions, k_positions, key_table, value_table, mask=None
) -> Tensor:
    """Equations 3 and 4 of Shaw, Uszkoreit, Vaswani 2018, one pair at a time."""
    batch, heads, t_q, head_dim = q.shape
    reach = (len(key_table) - 1) // 2
    y = torch.zeros(q.shape, dtype=torch.float64)
    for b in range(batch):
        for h in range(heads):
            for i in range(t_q):
                weights, values = [], []
                for j in range(k.shape[2]):
                    row = reach + max(-reach, min(reach, k_positions[j] - q_positions[i]))
                    key = [float(k[b, h, j, c]) + float(key_table[row][c]) for c in range(head_dim)]
                    dot = sum(float(q[b, h, i, c]) * key[c] for c in range(head_dim))
                    seen = mask is None or bool(mask[i, j])
                    weights.append(math.exp(dot / math.sqrt(head_dim)) if seen else 0.0)
                    values.append(v[b, h, j].double() + value_table[row].double())
                for weight, value in zip(weights, values):
                    y[b, h, i] += weight / sum(weights) * value
    return y


def t5_bucket(gap: int, bidirectional: bool, num_buckets: int = 32, max_distance: int = 128) -> int:
    """The bucket rule of Raffel et al. 2020 in whole numbers: no logarithm, so no rounding.

    near * (max / near) ** (j / far) <= distance, raised to the power `far`, without fractions.
    """
    side = num_buckets // 2 if bidirectional else num_buckets
    near, far = side // 2, side - side // 2
    distance = abs(gap) if bidirectional else max(-gap, 0)
    offset = side if bidirectional and gap > 0 else 0
    if distance < near:
        return offset + distance
    steps = 0
    while steps < far - 1 and distance**far * near ** (steps + 1) >= (
        max_distance ** (steps + 1) * near**far
    ):
        steps += 1
    return offset + near + steps


def alibi_slopes(n_heads: int) -> list[float]:
    """Slopes of Press, Smith, Lewis 2022: a geometric series, multiplied up head by head."""
    lower = 1
    while 2 * lower <= n_heads:
        lower *= 2
    series = {}
    for size in (lower, 2 * lower):
        ratio = 0.5 ** (8 / size)
        series[size] = [ratio]
        while len(series[size]) < size:
            series[size].append(series[size][-1] * ratio)
    return series[lower] + series[2 * lower][0 : 2 * (n_heads - lower) : 2]


def alibi_bias(q_positions, k_positions, slopes) -> Tensor:
    """(H, Tq, Tk): one slope less for each step from the query to the key."""
    rows = [
        [[sum([-slope] * abs(i - j)) for j in k_positions] for i in q_positions] for slope in slopes
    ]
    return torch.tensor(rows, dtype=torch.float64)


def ntk_speed(pair: int, head_dim: int, factor: float, base: float = 10000.0) -> float:
    """The NTK-aware speed by its slow-down, factor ** (2 i / (D - 2)), without a new base."""
    return rope_speed(pair, head_dim, base) / factor ** (2 * pair / (head_dim - 2))


def stretched_row(weight: Tensor, row: int, max_len: int) -> Tensor:
    """Row of a table stretched to max_len rows: whole numbers up to one last division."""
    old = len(weight)
    low, rest = divmod(row * old, max_len)
    high = min(low + 1, old - 1)
    return ((max_len - rest) * weight[low].double() + rest * weight[high].double()) / max_len


def cubic_weights(share: float) -> list[float]:
    """Weights of the four neighbours at a share of a step, cubic convolution with a = -3/4."""
    a = -0.75
    near = [(a + 2) * t**3 - (a + 3) * t**2 + 1 for t in (share, 1 - share)]
    far = [a * t**3 - 5 * a * t**2 + 8 * a * t - 4 * a for t in (1 + share, 2 - share)]
    return [far[0], near[0], near[1], far[1]]


def resized_cell(weight: Tensor, old: tuple, new: tuple, row: int, column: int) -> Tensor:
    """One cell of a resized grid: 4 x 4 neighbours around its centre, borders repeated."""
    total = torch.zeros(weight.shape[1], dtype=torch.float64)
    centre = [(at + 0.5) * o / n - 0.5 for at, o, n in zip((row, column), old, new)]
    first = [math.floor(at) for at in centre]
    vertical, horizontal = (cubic_weights(at - low) for at, low in zip(centre, first))
    for i, w_i in enumerate(vertical):
        for j, w_j in enumerate(horizontal):
            r = min(max(first[0] - 1 + i, 0), old[0] - 1)
            c = min(max(first[1] - 1 + j, 0), old[1] - 1)
            total += w_i * w_j * weight[r * old[1] + c].double()
    return total
