# SPDX-License-Identifier: MIT
"""Which coordinates, pairs and layers turn: no speed depends on it, a rotation does."""

from posenc_check.rope_config_values import Values


def layout_notes(values: Values) -> list[str]:
    """What to know beside the speeds before a model's queries are turned."""
    beside, lines = values.block.beside, []
    if values.given("qk_rope_head_dim"):
        lines.append(
            "qk_rope_head_dim: the rotated part of a head is kept apart, behind the others"
        )
    if beside.get("rope_interleave") is True:
        lines.append("rope_interleave: pairs are neighbours, layout interleaved")
    if values.given("mrope_section"):
        lines.append(
            "mrope_section: pairs are shared by time, height and width; plain RoPE is right for "
            "text alone"
        )
    return lines + _still_layers(beside.get("no_rope_layers"), beside.get("no_rope_layer_interval"))


def _still_layers(layers, interval) -> list[str]:
    """A list has 1 for a layer that turns; where it is missing or empty, the interval counts."""
    if isinstance(layers, list) and layers:
        still = any(each != 1 for each in layers)
        return ["no_rope_layers: some layers do not turn at all"] if still else []
    if type(interval) is int and interval >= 1:
        return [f"no_rope_layer_interval: one layer in {interval} does not turn at all"]
    return []
