# SPDX-License-Identifier: MIT
"""From a block that passed its checks to numbers."""

from posenc_check import scaling
from posenc_check.rope_config_values import Rope

LENGTH_RULES = ("dynamic", "longrope")


def speeds(rope: Rope, length: int | None = None) -> tuple[list[float], float]:
    """The numbers of a Rope that is not refused."""
    if rope.rule in LENGTH_RULES:
        if not isinstance(length, int) or isinstance(length, bool) or length < 1:
            raise ValueError(
                f"length must be a positive whole number for rope_type {rope.rule}, got {length!r}"
            )
    return RULES[rope.rule](rope, length)


def unscaled(rope: Rope) -> list[float]:
    """The speeds without a rule."""
    if rope.rule == "proportional":
        return scaling.plain(rope.head_dim, rope.base)
    return scaling.plain(rope.width, rope.base)


def _default(rope, length):
    return unscaled(rope), 1.0


def _linear(rope, length):
    return scaling.linear(rope.width, rope.said["factor"], rope.base), 1.0


def _dynamic(rope, length):
    factor, trained = rope.said["factor"], rope.trained_length
    return scaling.dynamic_ntk(rope.width, length, trained, factor, rope.base), 1.0


def _yarn(rope, length):
    said = rope.said
    inv_freq = scaling.yarn(
        rope.width,
        said["factor"],
        rope.trained_length,
        rope.base,
        said["beta_fast"],
        said["beta_slow"],
        said["truncate"],
    )
    if said["attention_factor"] is not None:
        return inv_freq, float(said["attention_factor"])
    # Without the two mscales this is yarn_mscale(factor) / 1.
    above = scaling.yarn_mscale(said["factor"], said.get("mscale", 1.0))
    below = scaling.yarn_mscale(said["factor"], said.get("mscale_all_dim", 0.0))
    return inv_freq, above / below


def _longrope(rope, length):
    said, trained = rope.said, rope.trained_length
    divisors = said["long_factor"] if length > trained else said["short_factor"]
    inv_freq = scaling.longrope(rope.width, divisors, rope.base)
    if said["attention_factor"] is not None:
        return inv_freq, float(said["attention_factor"])
    return inv_freq, scaling.longrope_attention_factor(said["factor"], trained)


def _llama3(rope, length):
    said = rope.said
    low, high = said["low_freq_factor"], said["high_freq_factor"]
    inv_freq = scaling.llama3(
        rope.width, said["factor"], rope.trained_length, rope.base, low, high
    )
    return inv_freq, 1.0


def _proportional(rope, length):
    factor = rope.said["factor"] or 1
    inv_freq = scaling.proportional(rope.head_dim, rope.share, rope.base)
    return [speed / factor for speed in inv_freq], 1.0


RULES = {
    "default": _default,
    "linear": _linear,
    "dynamic": _dynamic,
    "yarn": _yarn,
    "longrope": _longrope,
    "llama3": _llama3,
    "proportional": _proportional,
}
