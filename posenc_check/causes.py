# SPDX-License-Identifier: MIT
"""The likely cause of a difference: the known wrong form that gives what was got.

A wrong form is simulated, never recognised by its code: whatever a subject looks like inside, it
is judged by its numbers alone.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class Cause:
    """A fault in words, and what a subject with this fault alone would return."""

    text: str
    simulate: Callable[[], Tensor]


def likely(got: Tensor, expected: Tensor, tolerance, causes) -> str:
    """The first cause that explains `got` and is told apart from the right answer; "" if none.

    causes are some Cause, or a function that makes them from what was got.
    """
    for cause in causes(got) if callable(causes) else causes:
        simulated = cause.simulate()
        if simulated.shape != got.shape or within(simulated, expected, tolerance):
            continue
        # A wrong answer may be larger than the right one, and then rounds more.
        if within(got, simulated, torch.as_tensor(tolerance) + 1e-6 * simulated.abs()):
            return cause.text
    return _factor(got, expected, tolerance)


def within(got: Tensor, expected: Tensor, tolerance) -> bool:
    """Equal up to the tolerance; NaN equals NaN."""
    same = (got == expected) | (got.isnan() & expected.isnan())
    return bool((same | ((got - expected).abs() <= tolerance)).all())


def _factor(got: Tensor, expected: Tensor, tolerance) -> str:
    """Everything multiplied by the same number."""
    size = (expected * expected).sum()
    if not torch.isfinite(got).all() or not size:
        return ""
    factor = float((got * expected).sum() / size)
    if factor and within(got, factor * expected, tolerance):
        return f"every value is multiplied by {factor:.6g}"
    return ""
