# SPDX-License-Identifier: MIT
"""Scaling rules as people have got them wrong."""

import math
from collections.abc import Callable, Iterator
from dataclasses import replace

import torch
from torch import Tensor

from posenc_check import scaling
from posenc_check.causes import Cause
from posenc_check.contracts.scaling_case import SPEEDS, Setting

F64 = torch.float64


def _with(**changes):
    """The same rule with another number."""

    def speeds(s: Setting) -> list[float]:
        new = {name: change(s) for name, change in changes.items()}
        return SPEEDS[s.rule](replace(s, **new))

    return speeds


def _slowed(slow_down: Callable[[Setting, int, float], float]):
    """Plain speeds over a slow-down of (setting, pair, plain speed)."""

    def speeds(s: Setting) -> list[float]:
        plain = scaling.plain(s.head_dim, s.base)
        return [speed / slow_down(s, i, speed) for i, speed in enumerate(plain)]

    return speeds


def _upside_down(s: Setting) -> list[float]:
    """The ramp runs the other way: fast pairs divided, slow ones kept."""
    plain, right = scaling.plain(s.head_dim, s.base), SPEEDS[s.rule](s)
    return [speed + speed / s.factor - now for speed, now in zip(plain, right)]


def _by_wavelength(s: Setting, pair: int, speed: float) -> float:
    """Blends wavelengths, or with a weight linear in them, where speeds are blended."""
    wavelength, long = 2 * math.pi / speed, s.trained_length / s.low_freq_factor
    short = s.trained_length / s.high_freq_factor
    kept = min(max((long - wavelength) / (long - short), 0), 1)
    return 1 / (kept + (1 - kept) / s.factor)


def _mean_slow_down(s: Setting, pair: int, speed: float) -> float:
    """Blends the wavelengths, with the right weight."""
    turns = s.trained_length * speed / (2 * math.pi)
    low, high = s.low_freq_factor, s.high_freq_factor
    kept = min(max((turns - low) / (high - low), 0), 1)
    return kept + (1 - kept) * s.factor


def _dynamic_ratio(s: Setting, pair: int, speed: float) -> float:
    growth = s.factor * (s.length or s.trained_length) / s.trained_length
    return max(growth, 1) ** (pair / (s.head_dim // 2 - 1))


def _base_times_factor(s: Setting, pair: int, speed: float) -> float:
    return s.factor ** (2 * pair / s.head_dim)


def _other_list(s: Setting) -> list[float]:
    short = (s.length or 0) > s.trained_length
    return scaling.longrope(
        s.head_dim, s.divisors["short_factor" if short else "long_factor"], s.base
    )


BANDS, RAMPS = ("yarn", "ntk_by_parts", "llama3"), ("yarn", "ntk_by_parts")
CHANGES: list[tuple[str, tuple[str, ...], Callable[[Setting], list[float]]]] = [
    (
        "factor is taken upside down: the pairs turn faster, not slower",
        ("linear", "ntk_aware", *BANDS),
        _with(factor=lambda s: 1 / s.factor),
    ),
    ("factor is applied twice", ("linear", "ntk_aware", *BANDS), _with(factor=lambda s: s.factor**2)),
    (
        "the ramp is upside down: the fast pairs are divided and the slow ones kept",
        BANDS,
        _upside_down,
    ),
    ("the length is not followed", ("dynamic_ntk", "longrope"), _with(length=lambda s: None)),
    (
        "the extended length stands where the trained one belongs",
        (*BANDS, "dynamic_ntk", "longrope"),
        _with(trained_length=lambda s: round(s.factor * s.trained_length)),
    ),
    (
        "the flag truncate is not followed",
        ("yarn",),
        _with(truncate=lambda s: not s.truncate),
    ),
    (
        "beta_fast and beta_slow are taken for each other",
        RAMPS,
        _with(beta_fast=lambda s: s.beta_slow, beta_slow=lambda s: s.beta_fast),
    ),
    (
        "beta_fast and beta_slow are not followed",
        RAMPS,
        _with(beta_fast=lambda s: 32.0, beta_slow=lambda s: 1.0),
    ),
    (
        "low_freq_factor and high_freq_factor are not followed",
        ("llama3",),
        _with(low_freq_factor=lambda s: 1.0, high_freq_factor=lambda s: 4.0),
    ),
    (
        "the trained length is not followed",
        BANDS,
        _with(trained_length=lambda s: 8192 if s.rule == "llama3" else 4096),
    ),
    ("the blend is linear in the wavelength, not in L / wavelength", ("llama3",), _slowed(_by_wavelength)),
    ("wavelengths are blended where speeds should be", ("llama3",), _slowed(_mean_slow_down)),
    (
        "the base is multiplied by factor alone: the exponent D / (D - 2) is missing",
        ("ntk_aware",),
        _slowed(_base_times_factor),
    ),
    (
        "the maximum length stands where the length of the sequence belongs",
        ("dynamic_ntk",),
        _with(length=lambda s: round(s.factor * s.trained_length)),
    ),
    (
        "the growth is factor * length / L, without factor - 1 taken off",
        ("dynamic_ntk",),
        _slowed(_dynamic_ratio),
    ),
    ("short_factor and long_factor are taken for each other", ("longrope",), _other_list),
    ("the base is not followed", tuple(SPEEDS), _with(base=lambda s: 10_000.0)),
    ("the factor is not followed: the speeds are plain", tuple(SPEEDS), _with(factor=lambda s: 1.0)),
    (
        "integer division: 2 i // D is 0, and all pairs turn alike",
        tuple(SPEEDS),
        lambda s: [1.0] * (s.head_dim // 2),
    ),
    (
        "exponent sign: the speeds are base ** (+2 i / D) and grow",
        tuple(SPEEDS),
        lambda s: [1 / speed for speed in scaling.plain(s.head_dim, s.base)],
    ),
    (
        "the exponent lacks its factor 2: base ** (-i / D)",
        tuple(SPEEDS),
        lambda s: [math.sqrt(speed) for speed in scaling.plain(s.head_dim, s.base)],
    ),
    (
        "the exponent doubles the column, not the pair: base ** (-4 i / D)",
        tuple(SPEEDS),
        lambda s: [speed**2 for speed in scaling.plain(s.head_dim, s.base)],
    ),
    (
        "the speeds end at 1 / base: the exponent is divided by D / 2 - 1, not by D / 2",
        tuple(SPEEDS),
        lambda s: [s.base ** (-i / (s.head_dim // 2 - 1)) for i in range(s.head_dim // 2)],
    ),
]


def causes(s: Setting) -> Iterator[Cause]:
    """Faults of this rule, then other rules taken for it."""
    for text, rules, speeds in CHANGES:
        if s.rule in rules:
            yield Cause(text, lambda speeds=speeds: _tensor(speeds(s)))
    for rule, speeds in SPEEDS.items():
        if rule != s.rule:
            text = f"these are the speeds of another rule, {rule}"
            yield Cause(text, lambda speeds=speeds: _tensor(speeds(s)))


def factor_causes(s: Setting, right: float) -> Iterator[Cause]:
    """Wrong attention factors."""
    computed = scaling.yarn_mscale(s.factor)
    given = s.attention_factor
    found = [("the attention factor is left out", 1.0)]
    if given is not None:
        found.append(("the given attention factor is multiplied with the computed one", given * computed))
        found.append(("the given attention factor is ignored", computed))
    if s.mscale is not None:
        found.append(("mscale and mscale_all_dim are ignored", computed))
        found.append(("mscale_all_dim is ignored", scaling.yarn_mscale(s.factor, s.mscale)))
    found += [
        ("the attention factor is squared", right * right),
        ("the attention factor is the root of what it should be", math.sqrt(right)),
        ("a logarithm of base 10 stands for the natural one", 1 + math.log10(s.factor) / 10),
        ("1 is missing: 0.1 ln(s)", math.log(s.factor) / 10),
    ]
    for text, value in found:
        yield Cause(text, lambda value=value: torch.tensor([value], dtype=F64))


def _tensor(speeds) -> Tensor:
    return torch.tensor(speeds, dtype=F64)
