# SPDX-License-Identifier: MIT
"""Biases of ALiBi as people have got them wrong: (H, Tq, Tk), from positions."""

from collections.abc import Callable, Iterator, Sequence

import torch
from torch import Tensor

from posenc_check import oracles
from posenc_check.wrong_forms.alibi_slopes import WRONG_SLOPES


def bias(slopes: Sequence[float], distance: Tensor) -> Tensor:
    """(H, Tq, Tk)."""
    return -torch.tensor(slopes, dtype=torch.float64)[:, None, None] * distance


def restarted(n_heads: int, q: Tensor, k: Tensor) -> list[tuple[str, Callable[[], Tensor]]]:
    """What goes wrong only where there are more keys than queries."""
    slopes = oracles.alibi_slopes(n_heads)
    return [
        (
            "the queries are counted from 0, but they are the last of the keys",
            lambda: bias(slopes, (torch.arange(len(q))[:, None] - k).abs()),
        ),
        (
            "the bias is 0 for every key: it was built for the queries alone, and broadcast",
            lambda: bias([0.0] * n_heads, (q[:, None] - k).double()),
        ),
    ]


def bias_forms(n_heads: int, q: Tensor, k: Tensor) -> Iterator[tuple[str, Callable[[], Tensor]]]:
    """q and k hold the positions."""
    slopes, gap = oracles.alibi_slopes(n_heads), (q[:, None] - k).double()  # (Tq, Tk)
    yield (
        "the sign: the bias grows with the distance, and far keys are preferred",
        lambda: bias(slopes, -gap.abs()),
    )
    yield (
        "the distance keeps its sign: keys after the query get a bonus",
        lambda: bias(slopes, gap),
    )
    yield "no slope: every head subtracts the distance", lambda: bias([1.0] * n_heads, gap.abs())
    yield (
        "every head has the slope of the first one",
        lambda: bias(slopes[:1] * n_heads, gap.abs()),
    )
    yield "the distance is squared", lambda: bias(slopes, gap**2)
    yield "the logarithm of the distance is taken", lambda: bias(slopes, gap.abs().log1p())
    yield (
        "the slope belongs to the query, not to the head: the axes are taken for each other",
        lambda: bias(slopes, gap.abs()).transpose(0, 1) if len(q) == n_heads else torch.zeros(0),
    )
    yield from _rounded(slopes, q, k)
    for text, wrong in WRONG_SLOPES:
        yield text, lambda wrong=wrong: bias(wrong(n_heads), gap.abs())


def _rounded(slopes: Sequence[float], q: Tensor, k: Tensor) -> Iterator:
    """Far from 0 a short dtype gives neighbours one number."""
    column = torch.tensor(slopes, dtype=torch.float64)[:, None, None]
    for dtype in (torch.bfloat16, torch.float16):
        name = str(dtype).removeprefix("torch.")
        text = (
            f"slope * key in {name}: neighbouring keys get one number; "
            "take the distance first, it is small where it matters"
        )
        for product in (
            lambda dtype=dtype: column.to(dtype) * k.to(dtype),
            lambda dtype=dtype: (column * k).to(dtype),
        ):
            yield text, lambda product=product: product().double().expand(-1, len(q), -1)
        yield (
            f"the positions are rounded to {name} before the distance is taken",
            lambda dtype=dtype: bias(
                slopes, (q.to(dtype).double()[:, None] - k.to(dtype).double()).abs()
            ),
        )
