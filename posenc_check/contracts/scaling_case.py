# SPDX-License-Identifier: MIT
"""One question to a scaling rule: all numbers it may depend on, and the right answer."""

from collections.abc import Callable
from dataclasses import dataclass

from posenc_check import scaling

WORDS = (
    "head_dim base factor trained_length length max_len beta_fast beta_slow truncate "
    "attention_factor mscale mscale_all_dim low_freq_factor high_freq_factor "
    "short_factor long_factor share"
).split()


@dataclass(frozen=True)
class Setting:
    """The numbers of a rule; length is that of the sequence, None if the rule takes none."""

    rule: str
    head_dim: int
    base: float
    factor: float
    trained_length: int
    length: int | None = None
    beta_fast: float = 32.0
    beta_slow: float = 1.0
    truncate: bool = True
    attention_factor: float | None = None
    mscale: float | None = None
    mscale_all_dim: float | None = None
    low_freq_factor: float = 1.0
    high_freq_factor: float = 4.0
    share: float = 0.25

    @property
    def divisors(self) -> dict[str, list[float]]:
        """LongRoPE's two lists: growing along the pairs, and growing faster."""
        n = self.head_dim // 2
        last = max(n - 1, 1)
        short = [1 + i / (4 * last) for i in range(n)]
        long = [1 + (2 * self.factor - 1) * (i / last) ** 2 for i in range(n)]
        return {"short_factor": short, "long_factor": long}

    def values(self) -> dict:
        """Every word of the vocabulary."""
        values = {word: getattr(self, word, None) for word in WORDS}
        values["max_len"] = round(self.factor * self.trained_length)
        return values | self.divisors


def _dynamic(s: Setting) -> list[float]:
    length = s.trained_length if s.length is None else s.length
    return scaling.dynamic_ntk(s.head_dim, length, s.trained_length, s.factor, s.base)


def _longrope(s: Setting) -> list[float]:
    long = (s.length or 0) > s.trained_length
    return scaling.longrope(
        s.head_dim, s.divisors["long_factor" if long else "short_factor"], s.base
    )


SPEEDS: dict[str, Callable[[Setting], list[float]]] = {
    "plain": lambda s: scaling.plain(s.head_dim, s.base),
    "linear": lambda s: scaling.linear(s.head_dim, s.factor, s.base),
    "ntk_aware": lambda s: scaling.ntk_aware(s.head_dim, s.factor, s.base),
    "dynamic_ntk": _dynamic,
    "ntk_by_parts": lambda s: scaling.ntk_by_parts(
        s.head_dim, s.factor, s.trained_length, s.base, s.beta_fast, s.beta_slow
    ),
    "yarn": lambda s: scaling.yarn(
        s.head_dim, s.factor, s.trained_length, s.base, s.beta_fast, s.beta_slow, s.truncate
    ),
    "llama3": lambda s: scaling.llama3(
        s.head_dim, s.factor, s.trained_length, s.base, s.low_freq_factor, s.high_freq_factor
    ),
    "longrope": _longrope,
    "proportional": lambda s: scaling.proportional(s.head_dim, s.share, s.base),
}


def attention_factor(s: Setting) -> float:
    """What the rule multiplies queries and keys with; a given one is final."""
    if s.attention_factor is not None:
        return s.attention_factor
    if s.rule == "yarn":
        if s.mscale and s.mscale_all_dim:
            top, bottom = (scaling.yarn_mscale(s.factor, m) for m in (s.mscale, s.mscale_all_dim))
            return top / bottom
        return scaling.yarn_mscale(s.factor)
    if s.rule == "longrope":
        return scaling.longrope_attention_factor(s.factor, s.trained_length)
    return 1.0

