# SPDX-License-Identifier: MIT
# Position encoding, executed 0.1.0: snippets/yarn.py
"""YaRN: slow the pairs that never finished a turn, keep those that did.

Source: Peng et al. 2024, YaRN, section 3 (arXiv:2309.00071). The
paper's ramp is linear in the turns of a pair; the code published with it,
and the libraries that follow it, use a ramp linear in the pair's number.
The two differ: take `yarn` for a model that was trained with that code.
Each rule returns (inv_freq, attention_factor) for `apply_rope`.
Needs only torch; copy this file as it is.

Axes: P pairs, P = head_dim // 2.
"""

import math

import torch
from torch import Tensor


def ntk_by_parts(
    head_dim: int,
    factor: float,
    trained_length: int,
    *,
    base: float = 10_000.0,
    beta_fast: float = 32.0,
    beta_slow: float = 1.0,
) -> tuple[Tensor, float]:
    """The paper's ramp: by the turns of a pair within the trained length.

    Args:
        head_dim: coordinates to rotate in each head, even.
        factor: wanted length over trained length, 1 or more.
        trained_length: length that the model was trained on, 1 or more.
        base: as in plain RoPE, larger than 1.
        beta_fast: pairs with at least so many turns keep their speed.
        beta_slow: pairs with at most so many turns are slowed by factor.

    Returns:
        inv_freq (P,) float64, and the attention factor 1.0.

    Raises:
        ValueError: if head_dim is odd or below 2, a length or factor is below
            1, base is not above 1, or not beta_fast > beta_slow > 0.
    """
    _check(head_dim, factor, trained_length, base, beta_fast, beta_slow)
    pair = torch.arange(head_dim // 2, dtype=torch.float64)  # (P,)
    plain = base ** (-2.0 * pair / head_dim)  # (P,)
    turns = trained_length * plain / (2 * math.pi)  # (P,)
    keep = ((turns - beta_slow) / (beta_fast - beta_slow)).clamp(0, 1)  # (P,)
    return keep * plain + (1 - keep) * plain / factor, 1.0


def yarn_paper(
    head_dim: int,
    factor: float,
    trained_length: int,
    *,
    base: float = 10_000.0,
    beta_fast: float = 32.0,
    beta_slow: float = 1.0,
) -> tuple[Tensor, float]:
    """YaRN as the paper writes it: `ntk_by_parts` with a temperature.

    Args:
        head_dim, factor, trained_length, base, beta_fast, beta_slow: as in
            `ntk_by_parts`.

    Returns:
        inv_freq (P,) float64, and the attention factor `yarn_mscale(factor)`.

    Raises:
        ValueError: as `ntk_by_parts`.
    """
    inv_freq, _ = ntk_by_parts(
        head_dim, factor, trained_length,
        base=base, beta_fast=beta_fast, beta_slow=beta_slow,
    )
    return inv_freq, yarn_mscale(factor)


def yarn(
    head_dim: int,
    factor: float,
    trained_length: int,
    *,
    base: float = 10_000.0,
    beta_fast: float = 32.0,
    beta_slow: float = 1.0,
    truncate: bool = True,
    attention_factor: float | None = None,
) -> tuple[Tensor, float]:
    """YaRN as its published code computes it: a ramp over the pair's number.

    Made for lengths at which the ramp lies among the pairs: where no pair
    makes beta_slow turns, the published bounds slow none.

    Args:
        head_dim, factor, trained_length, base, beta_fast, beta_slow: as in
            `ntk_by_parts`.
        truncate: widen the ramp to whole pairs.
        attention_factor: multiplies cos and sin, so logits get its square;
            `yarn_mscale(factor)` if left out.

    Returns:
        inv_freq (P,) float64, and the attention factor.

    Raises:
        ValueError: as `ntk_by_parts`, or if attention_factor is not positive.
    """
    _check(head_dim, factor, trained_length, base, beta_fast, beta_slow)
    if attention_factor is None:
        attention_factor = yarn_mscale(factor)
    if not attention_factor > 0:
        raise ValueError(
            f"attention_factor must be positive, got {attention_factor}"
        )

    first = _pair_with(beta_fast, head_dim, trained_length, base)
    last = _pair_with(beta_slow, head_dim, trained_length, base)
    if truncate:
        first, last = math.floor(first), math.ceil(last)
    # The bound D - 1, not P - 1, is the published one.
    first, last = max(first, 0), min(last, head_dim - 1)
    if first == last:
        last += 0.001  # a step, not a division by zero
    pair = torch.arange(head_dim // 2, dtype=torch.float64)  # (P,)
    plain = base ** (-2.0 * pair / head_dim)  # (P,)
    slow = ((pair - first) / (last - first)).clamp(0, 1)  # (P,)
    return (1 - slow) * plain + slow * plain / factor, attention_factor


def yarn_mscale(factor: float, mscale: float = 1.0) -> float:
    """0.1 mscale ln(factor) + 1, and 1 where factor is 1 or less.

    DeepSeek's configs give two of them: the attention factor is then
    yarn_mscale(factor, mscale) / yarn_mscale(factor, mscale_all_dim), and
    the softmax scale is multiplied by yarn_mscale(factor, mscale_all_dim) ** 2.

    Args:
        factor: wanted length over trained length, positive.
        mscale: 1 in the paper.

    Returns:
        The attention factor, 1 or more for a positive mscale.

    Raises:
        ValueError: if factor is not positive.
    """
    if not factor > 0:
        raise ValueError(f"factor must be positive, got {factor}")
    return 0.1 * mscale * math.log(factor) + 1.0 if factor > 1 else 1.0


def _pair_with(turns, head_dim, trained_length, base) -> float:
    """The pair, with a fraction, that turns so often in the length."""
    wavelength = trained_length / turns
    return (
        head_dim * math.log(wavelength / (2 * math.pi)) / (2 * math.log(base))
    )


def _check(head_dim, factor, trained_length, base, beta_fast, beta_slow):
    if head_dim < 2 or head_dim % 2:
        raise ValueError(f"head_dim must be even and positive, got {head_dim}")
    if not factor >= 1:
        raise ValueError(f"factor must be at least 1, got {factor}")
    if not trained_length >= 1:
        raise ValueError(
            f"trained_length must be at least 1, got {trained_length}"
        )
    if not base > 1:
        raise ValueError(f"base must be larger than 1, got {base}")
    if not beta_fast > beta_slow > 0:
        raise ValueError(
            "beta_fast must be larger than beta_slow, and that positive, "
            f"got beta_fast={beta_fast}, beta_slow={beta_slow}"
        )
