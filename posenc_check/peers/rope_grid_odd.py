# SPDX-License-Identifier: MIT
"""Configurations with a fault, an ambiguity, or a form that one side does not read."""

from posenc_check.peers.rope_case import (
    NESTED_LAYERS,
    block,
    case,
    factors,
    llama3,
    longrope,
    nested,
    yarn,
)


def odd_cases():
    return [*_ignored(), *_numbers(), *_lists(), *_missing(), *_contradictions(), *_forms()]


def _ignored():
    """Keys that a library passes over."""
    full = yarn(32.0, 4096, 150_000, truncate=False)["rope_parameters"]
    keys = nested(full, {"rope_type": "default", "rope_theta": 1e4})
    keys |= {"layer_type": "full_attention", "max_position_embeddings": 131072}
    yield case("odd nested truncate False", model="Olmo3", **keys)
    keys = block("default") | {"partial_rotary_factor": 0.5}
    yield case("odd partial default in Llama", **keys)
    yield case("odd key attn_factor", **yarn(attn_factor=2.0))
    yield case("odd key factor for default", **block("default", factor=8.0))
    yield case("odd one mscale", **yarn(mscale=0.5))
    yield case("odd mscale of 0", **yarn(mscale=0, mscale_all_dim=0.5))


def _numbers():
    yield case("odd factor below 1", **block("linear", factor=0.5))
    yield case("odd factor true", **block("linear", factor=True))
    yield case("odd factor text", **block("linear", factor="4"))
    yield case("odd attention_factor 0", **yarn(attention_factor=0.0))
    yield case("odd betas swapped", **yarn(beta_fast=1, beta_slow=32))
    yield case("odd betas equal", **yarn(beta_fast=4, beta_slow=4))
    yield case("odd beta_slow of 0", **yarn(beta_slow=0))
    yield case("odd ramp backwards", **yarn(4.0, 64, beta_fast=32, beta_slow=16))
    yield case("odd llama3 edges swapped", **llama3(low=4.0, high=1.0))
    yield case("odd partial above 1", **block("linear", factor=2.0, partial_rotary_factor=1.5))
    keys = block("linear", factor=2.0, partial_rotary_factor=0.3125)
    yield case("odd width 25", head_dim=80, **keys)


def _lists():
    lists = {"short_factor": factors(32, 0.03), "long_factor": [2.0]}
    keys = longrope(32)
    keys["rope_parameters"] |= lists
    yield case("odd long_factor with one number", length=4097, **keys)
    keys = longrope(32)
    keys["rope_parameters"]["short_factor"] = factors(31, 0.03)
    yield case("odd short_factor with 31 numbers", length=9, **keys)


def _missing():
    keys = {"rope_parameters": {"rope_type": "linear", "factor": 2.0}}
    yield case("odd no base", **keys)
    keys = block("yarn", factor=4.0)
    yield case("odd no trained length", **keys)
    keys = yarn()
    keys["rope_parameters"]["factor"] = None
    yield case("odd yarn without factor", **keys)
    yield case("odd proportional without share", **block("proportional"))
    keys = llama3()
    keys["rope_parameters"].pop("high_freq_factor")
    yield case("odd llama3 without high_freq_factor", **keys)
    yield case("odd rope_type", **block("ntk", factor=2.0))


def _contradictions():
    keys = block("default") | {"rope_theta": 500_000.0}
    yield case("odd two bases", **keys)
    keys = yarn() | {"original_max_position_embeddings": 2048}
    yield case("odd two trained lengths", **keys)
    keys = block("linear", factor=2.0, type="dynamic")
    yield case("odd two rules", **keys)
    keys = yarn(attention_factor=1.5, mscale=1.0, mscale_all_dim=0.5)
    yield case("odd attention_factor and mscale", **keys)
    keys = block("dynamic", factor=2.0) | {"original_max_position_embeddings": 4096}
    yield case("odd dynamic with two lengths", length=8000, **keys)
    keys = block("linear", factor=2.0) | {"rope_scaling": {"rope_type": "linear", "factor": 4.0}}
    yield case("odd two blocks", **keys)


def _forms():
    """Forms of one meaning that are not read by every class."""
    keys = longrope(32)
    keys["rope_scaling"] = keys.pop("rope_parameters")
    keys["rope_scaling"]["type"] = "su"
    for key in ("rope_type", "rope_theta", "original_max_position_embeddings"):
        keys["rope_scaling"].pop(key)
    keys |= {"rope_theta": 1e4, "original_max_position_embeddings": 4096}
    yield case("odd old name su", model="Phi3", length=9, num_key_value_heads=4, **keys)
    full = yarn(4.0, 2048)["rope_parameters"]
    keys = {"rope_parameters": dict.fromkeys(NESTED_LAYERS, full), "layer_type": "full_attention"}
    yield case("odd nested without layer_types", **keys)
