# SPDX-License-Identifier: MIT
"""What each rule of rope asks of its keys."""

from posenc_check import scaling
from posenc_check.rope_config_values import Rope, Values


def _factor(values: Values, rope: Rope) -> None:
    rope.said["factor"] = values.number("factor", least=1)


def _ratio(rope: Rope) -> None:
    """A factor says how much longer; the two lengths say it too, and may say otherwise.

    A ratio of 1 is a config whose owner left the old maximum in place.
    """
    factor, trained, longest = rope.said["factor"], rope.trained_length, rope.max_length
    if factor and trained and longest and longest != trained and longest / trained != factor:
        rope.doubtful.append(
            f"factor is {factor:g}, but max_position_embeddings / original_max_position_embeddings "
            f"= {longest} / {trained} = {longest / trained:g}; the factor is used"
        )


def _dynamic(values: Values, rope: Rope) -> None:
    _factor(values, rope)
    # This rule measures length by the maximum, whatever else is called original.
    if rope.max_length and rope.trained_length != rope.max_length:
        values.refuse(
            "original_max_position_embeddings must equal max_position_embeddings for rope_type "
            f"dynamic, got {rope.trained_length} and {rope.max_length}"
        )
    if rope.width == 2:
        values.refuse("rotated width must be at least 4 for rope_type dynamic, got 2")


def _yarn(values: Values, rope: Rope) -> None:
    _factor(values, rope)
    fast, slow = values.number("beta_fast"), values.number("beta_slow")
    fast, slow = 32.0 if fast is None else fast, 1.0 if slow is None else slow
    truncate = values.flag("truncate")
    rope.said |= {"beta_fast": fast, "beta_slow": slow}
    rope.said["truncate"] = True if truncate is None else truncate
    if fast <= slow:
        values.refuse(f"beta_fast must be larger than beta_slow, got {fast:g} and {slow:g}")
    _attention(values, rope, ("mscale", "mscale_all_dim"))
    if not values.refused:
        first, last = ramp_ends(rope)
        if first > last:
            values.refuse(
                f"the ramp must not run backwards, got pair {first:g} as the last one kept and "
                f"{last:g} as the first one divided"
            )
    _ratio(rope)


def ramp_ends(rope: Rope) -> tuple[float, float]:
    said = rope.said
    return scaling.yarn_ramp_ends(
        rope.width,
        rope.trained_length,
        rope.base,
        said["beta_fast"],
        said["beta_slow"],
        said["truncate"],
    )


def _attention(values: Values, rope: Rope, mscales: tuple[str, ...]) -> None:
    rope.said["attention_factor"] = values.number("attention_factor")
    present = [key for key in mscales if values.given(key)]
    for key in present:
        rope.said[key] = values.number(key)
    if len(present) == 1:
        other = mscales[1 - mscales.index(present[0])]
        values.refuse(
            f"{present[0]} and {other} must be given together, got only {present[0]}"
        )
    if present and values.given("attention_factor"):
        values.refuse(f"attention_factor and {present[0]} must not be given together")


def _longrope(values: Values, rope: Rope) -> None:
    _factor(values, rope)
    for key in ("short_factor", "long_factor"):
        rope.said[key] = values.numbers(key, rope.width // 2)
    if rope.trained_length == 1:
        values.refuse("original_max_position_embeddings must be at least 2, got 1")
    _attention(values, rope, ())
    if not values.given("factor") and not values.given("attention_factor"):
        if rope.max_length is None:
            values.refuse(
                "factor is missing, and so is attention_factor or max_position_embeddings"
            )
        elif rope.trained_length:
            rope.said["factor"] = rope.max_length / rope.trained_length
    _ratio(rope)


def _llama3(values: Values, rope: Rope) -> None:
    _factor(values, rope)
    low, high = values.number("low_freq_factor"), values.number("high_freq_factor")
    rope.said |= {"low_freq_factor": low, "high_freq_factor": high}
    if low and high and high <= low:
        values.refuse(
            f"high_freq_factor must be larger than low_freq_factor, got {high:g} and {low:g}"
        )
    if rope.max_length and rope.trained_length and rope.trained_length >= rope.max_length:
        rope.doubtful.append(
            "original_max_position_embeddings should be below max_position_embeddings, got "
            f"{rope.trained_length} and {rope.max_length}"
        )


RULES = {
    "default": lambda values, rope: None,
    "linear": _factor,
    "dynamic": _dynamic,
    "yarn": _yarn,
    "longrope": _longrope,
    "llama3": _llama3,
    "proportional": _factor,
}
