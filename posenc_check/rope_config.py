# SPDX-License-Identifier: MIT
"""The speeds that a model's config.json stands for, or the reason why it has none.

Read are whole configs and blocks (`rope_parameters`, `rope_scaling`) alone, flat or with one
part for each layer type, with the old names of keys too. A block alone needs the head_dim
added to it. A null counts as left out.

Which faults are refused: those after which two careful readers could compute two results. An
unknown rule, a key that the rule does not know, a missing or impossible value, two places that
disagree, one mscale without the other. What is odd but has one clear result is computed, and
listed by `rope_problems`: a factor that is not the ratio of the two lengths (the factor
counts), a trained length that is not below the maximum.
"""

import torch
from torch import Tensor

from posenc_check.rope_config_blocks import rope_blocks
from posenc_check.rope_config_checks import check
from posenc_check.rope_config_speeds import speeds
from posenc_check.rope_config_values import Rope


def rope_from_config(
    config: dict, *, length: int | None = None, layer_type: str | None = None
) -> tuple[Tensor, float]:
    """The speeds of one type of layer, and the factor for queries and keys.

    Args:
        config: a whole config.json, or one block of it with head_dim added.
        length: tokens in the sequence; the rules dynamic and longrope need it.
        layer_type: which part, where layers differ.

    Returns:
        inv_freq (P,) float64 in radians per position, and the attention factor.

    Raises:
        ValueError: the first fault that leaves no clear result.
    """
    rope = _choose(read_ropes(config), layer_type)
    if rope.refused:
        raise ValueError(rope.refused[0])
    inv_freq, attention_factor = speeds(rope, length)
    return torch.tensor(inv_freq, dtype=torch.float64), attention_factor


def rope_problems(config: dict) -> list[str]:
    """Everything that is wrong or odd in a config, refused or not; empty if all is well."""
    try:
        return [text for rope in read_ropes(config) for text in rope.problems]
    except ValueError as error:
        return [str(error)]


def read_ropes(config: dict) -> list[Rope]:
    """What every block says, checked."""
    return [check(block) for block in rope_blocks(config)]


def _choose(ropes: list[Rope], layer_type: str | None) -> Rope:
    names = [rope.layer_type for rope in ropes]
    if layer_type in names:
        return ropes[names.index(layer_type)]
    if names == [None]:
        raise ValueError(f"layer_type must be left out, all layers are alike, got {layer_type!r}")
    raise ValueError(f"layer_type must be one of {', '.join(names)}, got {layer_type!r}")
