# SPDX-License-Identifier: MIT
# Position encoding, executed 0.1.0: snippets/llama3_rope.py
"""Llama 3.1's RoPE: long waves slowed, short ones kept, a blend between.

Source: Meta's code for Llama 3.1 (meta-llama/llama-models, apply_scaling);
the model: Grattafiori et al. 2024 (arXiv:2407.21783).
Needs only torch; copy this file as it is.

Axes: P pairs, P = head_dim // 2.
"""

import math

import torch
from torch import Tensor


def llama3(
    head_dim: int,
    factor: float = 8.0,
    trained_length: int = 8192,
    *,
    base: float = 500_000.0,
    low_freq_factor: float = 1.0,
    high_freq_factor: float = 4.0,
) -> tuple[Tensor, float]:
    """Speeds by the turns of a pair within the original trained length.

    Args:
        head_dim: coordinates to rotate in each head, even.
        factor: how much slower long waves turn: 8 in Llama 3.1, 32 in 3.2.
        trained_length: length before the extension, 1 or more.
        base: as in plain RoPE.
        low_freq_factor: pairs with at most so many turns are slowed by factor.
        high_freq_factor: pairs with at least so many turns keep their speed.

    Returns:
        inv_freq (P,) float64, and the attention factor 1.0.

    Raises:
        ValueError: if head_dim is odd or below 2, a length or factor is below
            1, base is not positive, or the two bounds are not in order.
    """
    if head_dim < 2 or head_dim % 2:
        raise ValueError(f"head_dim must be even and positive, got {head_dim}")
    if not factor >= 1:
        raise ValueError(f"factor must be at least 1, got {factor}")
    if not trained_length >= 1:
        raise ValueError(
            f"trained_length must be at least 1, got {trained_length}"
        )
    if not base > 0:
        raise ValueError(f"base must be positive, got {base}")
    if not high_freq_factor > low_freq_factor > 0:
        raise ValueError(
            "high_freq_factor must be larger than low_freq_factor, and that "
            f"positive, got {high_freq_factor} and {low_freq_factor}"
        )
    pair = torch.arange(head_dim // 2, dtype=torch.float64)  # (P,)
    plain = base ** (-2.0 * pair / head_dim)  # (P,)
    wavelength = 2 * math.pi / plain  # (P,)
    turns = trained_length / wavelength  # (P,)
    smooth = (turns - low_freq_factor) / (high_freq_factor - low_freq_factor)
    smooth = smooth.clamp(0, 1)  # (P,)
    return smooth * plain + (1 - smooth) * plain / factor, 1.0
