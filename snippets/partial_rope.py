# SPDX-License-Identifier: MIT
# Position encoding, executed 0.1.0: snippets/partial_rope.py
"""Two ways to rotate a part of each head: fewer pairs, or fewer speeds.

Sources: partial rotary as in GPT-NeoX-20B, Black et al. 2022
(arXiv:2204.06745); p-RoPE, Barbero et al. 2024 (arXiv:2410.06205). Both take
a share of the head, and give different speeds for it.
Needs only torch; copy this file as it is.

Axes: P pairs.
"""

import torch
from torch import Tensor


def partial_inv_freq(
    head_dim: int, share: float, base: float = 10_000.0
) -> Tensor:
    """Plain RoPE over the first coordinates; the rest is not rotated.

    Args:
        head_dim: width of each head.
        share: part of the head that is rotated, above 0 and up to 1.
        base: as in plain RoPE.

    Returns:
        (P,) float64, 2P = int(head_dim * share), from 1 down to nearly
        1 / base.

    Raises:
        ValueError: if share is out of range, 2P is odd or below 2, or base
            is not positive.
    """
    _check(share, base)
    n_rotated = int(head_dim * share)
    if n_rotated < 2 or n_rotated % 2:
        raise ValueError(
            "int(head_dim * share) must be even and positive, got "
            f"int({head_dim} * {share}) = {n_rotated}"
        )
    pair = torch.arange(n_rotated // 2, dtype=torch.float64)  # (P,)
    return base ** (-2.0 * pair / n_rotated)


def proportional_inv_freq(
    head_dim: int, share: float, base: float = 10_000.0
) -> Tensor:
    """p-RoPE: the fast pairs of the whole head turn, the slow ones stand.

    Args:
        head_dim: width of each head, even.
        share: part of the pairs that turn, above 0 and up to 1.
        base: as in plain RoPE.

    Returns:
        (P,) float64, P = head_dim // 2, of which the last are 0: layout
        "half" pairs coordinate j with j + P, standing pairs included.

    Raises:
        ValueError: if head_dim is odd or below 2, share is out of range or
            leaves no pair turning, or base is not positive.
    """
    if head_dim < 2 or head_dim % 2:
        raise ValueError(f"head_dim must be even and positive, got {head_dim}")
    _check(share, base)
    n_turning = int(share * head_dim // 2)
    if n_turning < 1:
        raise ValueError(
            f"share must leave a pair turning, got {share} of {head_dim // 2}"
        )
    pair = torch.arange(head_dim // 2, dtype=torch.float64)  # (P,)
    plain = base ** (-2.0 * pair / head_dim)  # (P,)
    return plain.where(pair < n_turning, 0.0)


def _check(share: float, base: float) -> None:
    if not 0 < share <= 1:
        raise ValueError(f"share must be above 0 and up to 1, got {share}")
    if not base > 0:
        raise ValueError(f"base must be positive, got {base}")
