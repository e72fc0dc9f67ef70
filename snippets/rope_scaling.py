# SPDX-License-Identifier: MIT
# Position encoding, executed 0.1.0: snippets/rope_scaling.py
"""Longer context for RoPE: other frequencies, fed to the same rotation.

Each rule returns (inv_freq, attention_factor) for `apply_rope`.

Sources: position interpolation, Chen et al. 2023, section 2.3
(arXiv:2306.15595); NTK-aware base, bloc97 2023, as written down in Peng et
al. 2024, section 3.1 (arXiv:2309.00071); its dynamic form, here with the
factor of the library transformers: factor 1 is the paper's.
Needs only torch; copy this file as it is.

Axes: P pairs, P = head_dim // 2.
"""

import torch
from torch import Tensor


def linear(
    head_dim: int, factor: float, base: float = 10_000.0
) -> tuple[Tensor, float]:
    """Position interpolation: every pair turns factor times slower.

    Args:
        head_dim: coordinates to rotate in each head, even.
        factor: wanted length over trained length, 1 or more.
        base: as in plain RoPE.

    Returns:
        inv_freq (P,) float64, and the attention factor 1.0.

    Raises:
        ValueError: if head_dim is odd or below 2, factor is below 1, or base
            is not positive.
    """
    _check(head_dim, factor, base)
    pair = torch.arange(head_dim // 2, dtype=torch.float64)  # (P,)
    return base ** (-2.0 * pair / head_dim) / factor, 1.0


def ntk_aware(
    head_dim: int, factor: float, base: float = 10_000.0
) -> tuple[Tensor, float]:
    """NTK-aware base: base * factor ** (D / (D - 2)).

    The first pair keeps its speed, the last one turns exactly factor times
    slower, and the pairs between are spread over the range.

    Args:
        head_dim: coordinates to rotate in each head, even, 4 or more.
        factor: wanted length over trained length, 1 or more.
        base: as in plain RoPE.

    Returns:
        inv_freq (P,) float64, and the attention factor 1.0.

    Raises:
        ValueError: if head_dim is odd or below 4, factor is below 1, or base
            is not positive.
    """
    _check(head_dim, factor, base)
    if head_dim < 4:
        raise ValueError(f"head_dim must be at least 4, got {head_dim}")
    pair = torch.arange(head_dim // 2, dtype=torch.float64)  # (P,)
    base = base * factor ** (head_dim / (head_dim - 2))
    return base ** (-2.0 * pair / head_dim), 1.0


def dynamic_ntk(
    head_dim: int,
    length: int,
    trained_length: int,
    factor: float = 1.0,
    base: float = 10_000.0,
) -> tuple[Tensor, float]:
    """NTK-aware base for the length at hand; plain RoPE up to trained_length.

    With factor 1 the base grows for length / trained_length. A larger factor
    asks for more than it says: twice the trained length at factor f counts
    as f + 1. Cached keys carry the speeds of the length that they were
    rotated for, and the values and keys of upper layers depend on them.

    Args:
        head_dim: coordinates to rotate in each head, even, 4 or more.
        length: tokens so far, cached ones included; 1 or more.
        trained_length: length that the model was trained on, 1 or more.
        factor: how fast the base grows with the length, 1 or more.
        base: as in plain RoPE.

    Returns:
        inv_freq (P,) float64, and the attention factor 1.0.

    Raises:
        ValueError: if head_dim is odd or below 4, a length or factor is
            below 1, or base is not positive.
    """
    if not length >= 1:
        raise ValueError(f"length must be at least 1, got {length}")
    if not trained_length >= 1:
        raise ValueError(
            f"trained_length must be at least 1, got {trained_length}"
        )
    _check(head_dim, factor, base)
    longest = max(length, trained_length)
    stretch = factor * longest / trained_length - (factor - 1)
    return ntk_aware(head_dim, stretch, base)


def _check(head_dim: int, factor: float, base: float) -> None:
    if head_dim < 2 or head_dim % 2:
        raise ValueError(f"head_dim must be even and positive, got {head_dim}")
    if not factor >= 1:
        raise ValueError(f"factor must be at least 1, got {factor}")
    if not base > 0:
        raise ValueError(f"base must be positive, got {base}")
