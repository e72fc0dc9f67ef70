# SPDX-License-Identifier: MIT
"""What a config does to each pair, as plain numbers: for the table, the plot and --json."""

import itertools
import math

from posenc_check import scaling
from posenc_check.rope_config_speeds import LENGTH_RULES, speeds, unscaled
from posenc_check.rope_config_values import Rope


def numbers(rope: Rope, length: int | None = None) -> dict:
    """All numbers of one Rope; only its name and problems if it is refused."""
    found = {"layer_type": rope.layer_type, "rope_type": rope.rule, "problems": rope.problems}
    if rope.refused:
        return found
    asked = length
    if rope.rule in LENGTH_RULES and length is None:
        # The longest sequence that the config speaks of.
        length = rope.max_length or rope.trained_length
    inv_freq, attention_factor = speeds(rope, length)
    plain = unscaled(rope)
    slow_down = [old / new if new else None for old, new in zip(plain, inv_freq)]
    wavelengths = [2 * math.pi / speed for speed in plain]
    found |= {
        "head_dim": rope.whole_head,
        "rotated": rope.width,
        "pairs": len(inv_freq),
        "base": rope.base,
        "factor": rope.said.get("factor"),
        "trained_length": rope.trained_length,
        "trained_length_from": rope.trained_key if rope.trained_length else None,
        "max_position_embeddings": rope.max_length,
        "length": length,
        "inv_freq": inv_freq,
        "wavelengths": wavelengths,
        "slow_down": slow_down,
        "bands": bands(rope, wavelengths, slow_down),
        "never_turn": None,
        "attention_factor": attention_factor,
        "logits_times": attention_factor**2,
        "softmax_scale_times": None,
    }
    # The maximum of a linear config is the length after scaling, not one to count turns in.
    extended = rope.rule == "linear" and rope.trained_key == "max_position_embeddings"
    if rope.trained_length and not extended:
        found["never_turn"] = sum(
            slow is None or each > rope.trained_length for each, slow in zip(wavelengths, slow_down)
        )
    if rope.said.get("mscale_all_dim"):
        mscale = scaling.yarn_mscale(rope.said["factor"], rope.said["mscale_all_dim"])
        found["softmax_scale_times"] = mscale**2
    return found | {"notes": notes(rope, found, asked)}


def band(rope: Rope, slow_down: float | None) -> str:
    """What happens to a pair, in one word."""
    if slow_down is None:
        return "still"
    if rope.rule == "longrope":
        return "listed"
    # Rounding of a few operations in float64, far below any real blend.
    if math.isclose(slow_down, 1, rel_tol=1e-9):
        return "kept"
    if rope.rule != "dynamic" and math.isclose(slow_down, rope.said["factor"], rel_tol=1e-9):
        return "divided"
    return "blended"


def bands(rope: Rope, wavelengths: list[float], slow_down: list) -> list[dict]:
    """Neighbouring pairs with one fate, as rows."""
    rows = []
    for name, group in itertools.groupby(enumerate(slow_down), lambda one: band(rope, one[1])):
        group = list(group)
        first, last = group[0][0], group[-1][0]
        factors = [value for _, value in group if value is not None]
        rows.append(
            {
                "band": name,
                "pairs": [first, last],
                "wavelengths": [wavelengths[first], wavelengths[last]],
                "slow_down": [min(factors), max(factors)] if factors else None,
            }
        )
    return rows


def notes(rope: Rope, found: dict, asked: int | None) -> list[str]:
    """What a reader of the numbers should know; nothing here is a fault."""
    said, lines = rope.said, list(rope.layout)
    if rope.rule in LENGTH_RULES:
        lines.append(
            f"computed for {_length(rope, found['length'], asked)} tokens; keys cached at a length "
            "with other speeds no longer fit"
        )
        if rope.rule == "dynamic" and asked is None:
            lines.append(
                f"up to {count(found['length'])} tokens nothing is slowed; "
                f"try --length {2 * found['length']}"
            )
    elif found["length"] is not None:
        lines.append(f"a length changes nothing for rope_type {rope.rule}")
    if rope.rule == "yarn" and rope.trained_length == rope.max_length and said["factor"] > 1:
        reach = count(said["factor"] * rope.trained_length)
        lines.append(f"max_position_embeddings is the trained length; the factor reaches {reach}")
    if found["softmax_scale_times"]:
        lines.append(
            "mscale_all_dim: DeepSeek's attention also multiplies its softmax scale, by "
            f"{found['softmax_scale_times']:.4f}"
        )
    if rope.layer_type and said.get("truncate") is False:
        lines.append("truncate: transformers 5.24.0 does not read it in a part for one layer type")
    return lines


def _length(rope: Rope, length: int, asked: int | None) -> str:
    if asked is not None:
        return f"a sequence of {count(length)}"
    return f"the {'maximum' if rope.max_length else 'trained'} length, {count(length)}"


def count(value: float) -> str:
    """A number of tokens: 2 559 195, or 6.28 where a fraction matters."""
    return f"{value:.2f}" if value < 100 and value % 1 else f"{value:,.0f}".replace(",", " ")
