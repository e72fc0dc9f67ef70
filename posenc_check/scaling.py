# SPDX-License-Identifier: MIT
"""Every rule that changes the speeds of RoPE, one pair at a time with `math` alone.

They share no code with snippets/ and are written in another form: as turns and
wavelengths where a snippet has index arithmetic. The reader of configurations
computes with them too. Arguments are taken as correct; the reader checks them.

Each function returns inv_freq, the radians of each pair per position.
"""

import math


def _speed(pair: int, width: int, base: float) -> float:
    return math.exp(-2 * pair / width * math.log(base))


def _clip(value: float) -> float:
    """The middle one of 0, value and 1."""
    return sorted((0.0, value, 1.0))[1]


def _blend(speed: float, factor: float, kept: float) -> float:
    """kept = 1 leaves the speed, kept = 0 divides it by the factor."""
    return speed * (kept + (1 - kept) / factor)


def plain(head_dim: int, base: float = 10_000.0) -> list[float]:
    """No rule (Su et al. 2021, below equation 15)."""
    return [_speed(i, head_dim, base) for i in range(head_dim // 2)]


def linear(head_dim: int, factor: float, base: float = 10_000.0) -> list[float]:
    """Position interpolation (Chen et al. 2023): all pairs are slowed alike."""
    return [speed / factor for speed in plain(head_dim, base)]


def ntk_aware(head_dim: int, factor: float, base: float = 10_000.0) -> list[float]:
    """Slow-down 1 for the first pair, `factor` for the last, a geometric series between."""
    last = head_dim // 2 - 1
    return [speed / factor ** (i / last) for i, speed in enumerate(plain(head_dim, base))]


def dynamic_ntk(
    head_dim: int, length: int, trained_length: int, factor: float = 1.0, base: float = 10_000.0
) -> list[float]:
    """`ntk_aware` with a factor that starts at 1 and grows with the excess over L."""
    excess = max(0, length - trained_length) / trained_length
    return ntk_aware(head_dim, 1 + factor * excess, base)


def ntk_by_parts(
    head_dim: int,
    factor: float,
    trained_length: int,
    base: float = 10_000.0,
    beta_fast: float = 32.0,
    beta_slow: float = 1.0,
) -> list[float]:
    """The ramp of the YaRN paper (Peng et al. 2024, section 3.2): linear in turns."""
    speeds = []
    for speed in plain(head_dim, base):
        turns = trained_length / (2 * math.pi / speed)
        speeds.append(_blend(speed, factor, _clip((turns - beta_slow) / (beta_fast - beta_slow))))
    return speeds


def yarn_ramp_ends(
    head_dim: int,
    trained_length: int,
    base: float,
    beta_fast: float,
    beta_slow: float,
    truncate: bool,
) -> tuple[float, float]:
    """Last pair kept and first pair divided, as (fractions of) pair numbers."""
    step = 2 / head_dim * math.log(base)  # from one log wavelength to the next
    first = math.log(trained_length / beta_fast / (2 * math.pi)) / step
    last = math.log(trained_length / beta_slow / (2 * math.pi)) / step
    if truncate:
        first, last = math.floor(first), math.ceil(last)
    # The released code ends the ramp at head_dim - 1, not at the last pair.
    first, last = max(first, 0), min(last, head_dim - 1)
    return first, last + 0.001 if first == last else last


def yarn(
    head_dim: int,
    factor: float,
    trained_length: int,
    base: float = 10_000.0,
    beta_fast: float = 32.0,
    beta_slow: float = 1.0,
    truncate: bool = True,
) -> list[float]:
    """The ramp of the released code: linear in the number of the pair."""
    ends = yarn_ramp_ends(head_dim, trained_length, base, beta_fast, beta_slow, truncate)
    kept = [_clip((ends[1] - i) / (ends[1] - ends[0])) for i in range(head_dim // 2)]
    return [_blend(speed, factor, k) for speed, k in zip(plain(head_dim, base), kept)]


def yarn_mscale(factor: float, mscale: float = 1.0) -> float:
    """What YaRN multiplies queries and keys with; 1 where nothing is extended."""
    return 1 + mscale * math.log(max(factor, 1)) / 10


def llama3(
    head_dim: int,
    factor: float = 8.0,
    trained_length: int = 8192,
    base: float = 500_000.0,
    low_freq_factor: float = 1.0,
    high_freq_factor: float = 4.0,
) -> list[float]:
    """Llama 3.1: three bands of wavelengths, a blend linear in turns in the middle one."""
    speeds = []
    for speed in plain(head_dim, base):
        wavelength = 2 * math.pi / speed
        if wavelength < trained_length / high_freq_factor:
            kept = 1.0
        elif wavelength > trained_length / low_freq_factor:
            kept = 0.0
        else:
            turns = trained_length / wavelength
            kept = (turns - low_freq_factor) / (high_freq_factor - low_freq_factor)
        speeds.append(_blend(speed, factor, kept))
    return speeds


def longrope(head_dim: int, divisors, base: float = 10_000.0) -> list[float]:
    """LongRoPE (Ding et al. 2024): each pair has a divisor of its own, found by search."""
    return [speed / divisor for speed, divisor in zip(plain(head_dim, base), divisors, strict=True)]


def longrope_attention_factor(factor: float, trained_length: int) -> float:
    """sqrt(1 + ln s / ln L); 1 where nothing is extended."""
    return math.sqrt(1 + math.log(max(factor, 1), trained_length))


def partial(head_dim: int, share: float, base: float = 10_000.0) -> list[float]:
    """Plain RoPE on the first int(head_dim * share) coordinates, a head of its own."""
    return plain(int(head_dim * share), base)


def proportional(head_dim: int, share: float, base: float = 10_000.0) -> list[float]:
    """p-RoPE (Barbero et al. 2024): the fastest pairs of the whole head; the others stand still."""
    turning = int(share * head_dim // 2)
    return [s if i < turning else 0.0 for i, s in enumerate(plain(head_dim, base))]
