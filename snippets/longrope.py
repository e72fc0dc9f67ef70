# SPDX-License-Identifier: MIT
# Position encoding, executed 0.1.0: snippets/longrope.py
"""LongRoPE: a searched divisor for each pair, one list short, one long.

Source: Ding et al. 2024, LongRoPE (arXiv:2402.13753), in the form of the
Phi-3 models: two lists and a switch at the trained length. (The paper also
leaves the first positions unscaled; that is not part of this form.)
Needs only torch; copy this file as it is.

Axes: P pairs, P = head_dim // 2.
"""

import math
from collections.abc import Sequence

import torch
from torch import Tensor


def longrope(
    head_dim: int,
    length: int,
    trained_length: int,
    short_factor: Sequence[float],
    long_factor: Sequence[float],
    *,
    factor: float,
    base: float = 10_000.0,
    attention_factor: float | None = None,
) -> tuple[Tensor, float]:
    """Each speed divided by its own factor; the list depends on the length.

    Keys cached before the switch carry the short list: compute them again
    when length passes trained_length.

    Args:
        head_dim: coordinates to rotate in each head, even.
        length: tokens of the whole sequence, cached ones included.
        trained_length: length before the extension, 2 or more; the long list
            is used from trained_length + 1 on.
        short_factor: P divisors, all positive.
        long_factor: P divisors, all positive.
        factor: longest length over trained_length, 1 or more.
        base: as in plain RoPE.
        attention_factor: multiplies cos and sin at every length, short ones
            too; sqrt(1 + ln(factor) / ln(trained_length)) if left out.

    Returns:
        inv_freq (P,) float64, and the attention factor.

    Raises:
        ValueError: if head_dim is odd or below 2, a length or factor is too
            small, base or attention_factor is not positive, or a list has
            another number of entries or one that is not positive.
    """
    _check(head_dim, length, trained_length, factor, base)
    _check_list("short_factor", short_factor, head_dim)
    _check_list("long_factor", long_factor, head_dim)
    if attention_factor is None:
        growth = math.log(factor) / math.log(trained_length)
        attention_factor = math.sqrt(1 + growth)
    if not attention_factor > 0:
        raise ValueError(
            f"attention_factor must be positive, got {attention_factor}"
        )
    divisors = short_factor if length <= trained_length else long_factor
    pair = torch.arange(head_dim // 2, dtype=torch.float64)  # (P,)
    plain = base ** (-2.0 * pair / head_dim)  # (P,)
    slower = torch.tensor(list(divisors), dtype=torch.float64)  # (P,)
    return plain / slower, attention_factor


def _check(head_dim, length, trained_length, factor, base) -> None:
    if head_dim < 2 or head_dim % 2:
        raise ValueError(f"head_dim must be even and positive, got {head_dim}")
    if not length >= 1:
        raise ValueError(f"length must be at least 1, got {length}")
    if not trained_length >= 2:
        raise ValueError(
            f"trained_length must be at least 2, got {trained_length}"
        )
    if not factor >= 1:
        raise ValueError(f"factor must be at least 1, got {factor}")
    if not base > 0:
        raise ValueError(f"base must be positive, got {base}")


def _check_list(name: str, divisors: Sequence[float], head_dim: int) -> None:
    if len(divisors) != head_dim // 2:
        raise ValueError(
            f"{name} must have head_dim // 2 = {head_dim // 2} entries, "
            f"got {len(divisors)}"
        )
    for divisor in divisors:
        if not divisor > 0:
            raise ValueError(f"{name} must be positive, got {divisor} in it")
