"""Old and new forms of one config mean the same, and what real models do differently is read."""

import copy

import pytest
import torch

from posenc_check.rope_config import rope_from_config, rope_problems
from tests.rope_configs import BLOCKS, SIZES, assert_speeds, config, example

PLAIN = [500 ** (-i / 8) for i in range(8)]


def old(rule):
    """The same config with the names and places of some years ago."""
    whole = config(rule)
    block = whole.pop("rope_parameters")
    whole["rope_theta"] = block.pop("rope_theta")
    block["type"] = block.pop("rope_type").replace("longrope", "su")
    for key in ("partial_rotary_factor", "original_max_position_embeddings"):
        if key in block:
            whole[key] = block.pop(key)
    return whole | {"rope_scaling": block}


def alone(rule):
    """A block without a config around it."""
    sizes = {"head_dim": 16, "max_position_embeddings": 4096}
    return config(rule)["rope_parameters"] | sizes


def in_text(rule):
    return {"text_config": config(rule), "vision_config": {"hidden_size": 7}, "rope_theta": None}


def with_nulls(rule):
    whole = config(rule) | {"head_dim": None, "rope_scaling": None, "rope_theta": None}
    whole["rope_parameters"] |= {"attention_factor": None, "mscale": None}
    return whole


def twice(rule):
    whole = config(rule)
    return whole | {"rope_scaling": whole["rope_parameters"], "rope_theta": 500}


@pytest.mark.parametrize("rule", BLOCKS)
@pytest.mark.parametrize("form", [old, alone, in_text, with_nulls, twice])
def test_every_form_of_a_config_means_the_same(form, rule):
    given = form(rule)
    before = copy.deepcopy(given)
    want, want_factor = rope_from_config(config(rule), length=5000)
    got, got_factor = rope_from_config(given, length=5000)
    assert torch.equal(got, want) and got_factor == want_factor
    assert rope_problems(given) == []
    assert given == before


def test_layer_types_have_ropes_of_their_own():
    parts = {name: config(name)["rope_parameters"] for name in ("linear", "yarn")}
    for whole in ({**SIZES, "rope_parameters": parts}, {**SIZES, **parts}):
        for name in parts:
            got, factor = rope_from_config(whole, layer_type=name)
            want, want_factor = rope_from_config(config(name))
            assert torch.equal(got, want) and factor == want_factor


def test_truncate_counts_in_a_part_for_one_layer_type():
    part = config("yarn", truncate=False)["rope_parameters"]
    whole = {**SIZES, "rope_parameters": {"full_attention": part}}
    got, _ = rope_from_config(whole, layer_type="full_attention")
    assert torch.equal(got, rope_from_config(config("yarn", truncate=False))[0])
    assert not torch.equal(got, rope_from_config(config("yarn"))[0])


def test_gemma_3_has_a_second_base_for_its_local_layers():
    gemma = example("gemma-3-12b")
    full, _ = rope_from_config(gemma, layer_type="full_attention")
    local, _ = rope_from_config(gemma, layer_type="sliding_attention")
    assert_speeds(full, [1e6 ** (-i / 128) / 8 for i in range(128)])
    assert_speeds(local, [1e4 ** (-i / 128) for i in range(128)])


def test_the_wider_heads_of_full_attention():
    part = config("proportional")["rope_parameters"]
    parts = {"full_attention": part, "sliding_attention": part}
    whole = {**SIZES, "head_dim": 16, "global_head_dim": 24, "rope_parameters": parts}
    pairs = [len(rope_from_config(whole, layer_type=name)[0]) for name in parts]
    assert pairs == [12, 8]


def test_the_turning_part_of_latent_attention_is_a_head_of_its_own():
    inv_freq, attention_factor = rope_from_config(example("deepseek-v3"))
    assert inv_freq.shape == (32,) and attention_factor == 1.0
    assert inv_freq[0] == 1.0
    # 7168 // 128 = 56 is the width of nothing here; the last pair of 64 is slowed 40 times.
    assert inv_freq[31].item() == pytest.approx(1e4 ** (-62 / 64) / 40, rel=1e-12)


def test_names_of_gpt_neox():
    whole = {"head_dim": 64, "rotary_emb_base": 500, "rotary_pct": 0.25}
    assert_speeds(rope_from_config(whole)[0], PLAIN)


def test_kinds_of_position_do_not_change_a_speed():
    block = {"type": "mrope", "mrope_section": [2, 3, 3]}
    whole = {**SIZES, "rope_theta": 500, "rope_scaling": block}
    assert_speeds(rope_from_config(whole)[0], PLAIN)
    assert rope_problems(whole | {"rope_interleave": True}) == []
