"""What the reader refuses, one fault at a time, each with the whole text."""

import pytest

from posenc_check.rope_config import rope_from_config, rope_problems
from tests.exact import raises_exactly
from tests.rope_configs import LEAVE_OUT, SIZES, config

RULES = "default, linear, dynamic, yarn, longrope, llama3, proportional"
NO_ROPE = "config has no rope: no rope_parameters, rope_scaling or rope_theta"

REFUSED = {
    # The rule.
    "rule": (config("ntk"), f"rope_type must be one of {RULES}, got 'ntk'"),
    "rule as a number": (config("", rope_type=3), f"rope_type must be one of {RULES}, got 3"),
    "two rules": (
        config("linear", type="yarn"),
        "rope_type and type must agree, got 'linear' and 'yarn'",
    ),
    "two rules, and nothing that follows from one of them": (
        config("default", type="yarn", factor=0, beside={"hidden_size": 7}),
        "rope_type and type must agree, got 'default' and 'yarn'",
    ),
    # Keys that the rule does not know.
    "attn_factor": (
        config("yarn", attn_factor=1.0),
        "attn_factor is no key of rope_type yarn, got 1.0",
    ),
    "finetuned": (
        config("yarn", finetuned=True),
        "finetuned is no key of rope_type yarn, got True",
    ),
    "factor of no rule": (
        config("default", factor=8.0),
        "factor is no key of rope_type default, got 8.0",
    ),
    "alpha": (config("dynamic", alpha=1000.0), "alpha is no key of rope_type dynamic, got 1000.0"),
    "long value": (
        config("linear", short_factor=[1.0] * 9),
        "short_factor is no key of rope_type linear, got [1.0, 1.0, 1.0, 1.0, 1.0, 1...",
    ),
    "key beside": (
        config("linear", beside={"rope_ratio": 2}),
        "rope_ratio is no key that this reader knows, got 2",
    ),
    "rotary_dim": (
        config("default", beside={"rotary_dim": 8}),
        "rotary_dim is no key that this reader knows, got 8",
    ),
    # What is missing.
    "no base": (
        config("linear", rope_theta=LEAVE_OUT),
        "rope_theta is missing, rope_type linear needs it",
    ),
    "no factor": (
        config("linear", factor=LEAVE_OUT),
        "factor is missing, rope_type linear needs it",
    ),
    "null factor": (config("yarn", factor=None), "factor is missing, rope_type yarn needs it"),
    "no trained length": (
        config("yarn", original_max_position_embeddings=LEAVE_OUT),
        "original_max_position_embeddings is missing, rope_type yarn needs it",
    ),
    "no maximum": (
        config("dynamic", beside={"max_position_embeddings": LEAVE_OUT}),
        "max_position_embeddings is missing, rope_type dynamic needs it",
    ),
    "no edge": (
        config("llama3", high_freq_factor=LEAVE_OUT),
        "high_freq_factor is missing, rope_type llama3 needs it",
    ),
    "no list": (
        config("longrope", long_factor=LEAVE_OUT),
        "long_factor is missing, rope_type longrope needs it",
    ),
    "no share": (
        config("proportional", partial_rotary_factor=LEAVE_OUT),
        "partial_rotary_factor is missing, rope_type proportional needs it",
    ),
    "no ratio": (
        config("longrope", beside={"max_position_embeddings": LEAVE_OUT}),
        "factor is missing, and so is attention_factor or max_position_embeddings",
    ),
    "no head": (
        config("default", beside={"hidden_size": LEAVE_OUT}),
        "head_dim is missing, and so is hidden_size or num_attention_heads",
    ),
    # Two answers to one question.
    "two bases": (
        config("linear", beside={"rope_theta": 1e4}),
        "rope_theta must have one value, got 500.0 in the block and 10000.0 beside it",
    ),
    "old and new share": (
        config("linear", partial_rotary_factor=0.5, beside={"rotary_pct": 0.25}),
        "partial_rotary_factor must have one value, got 0.5 in the block and 0.25 as rotary_pct",
    ),
    "two lengths": (
        config("llama3", beside={"original_max_position_embeddings": 2048}),
        "original_max_position_embeddings must have one value, got 1024 in the block and 2048 "
        "beside it",
    ),
    "two lengths of dynamic": (
        config("dynamic", beside={"original_max_position_embeddings": 2048}),
        "original_max_position_embeddings must equal max_position_embeddings for rope_type "
        "dynamic, got 2048 and 4096",
    ),
    "one mscale": (
        config("yarn", mscale_all_dim=1.0),
        "mscale_all_dim and mscale must be given together, got only mscale_all_dim",
    ),
    "mscale of 0": (config("yarn", mscale=0, mscale_all_dim=1.0), "mscale must be positive, got 0"),
    "attention and mscale": (
        config("yarn", mscale=1.0, mscale_all_dim=1.0, attention_factor=1.2),
        "attention_factor and mscale must not be given together",
    ),
    # The form.
    "a list": ([1, 2], "config must be a JSON object, got list"),
    "nothing about rope": ({"hidden_size": 192, "rope_scaling": None}, NO_ROPE),
    "a block as text": (
        {**SIZES, "rope_scaling": "linear"},
        "rope_scaling must be a JSON object, got 'linear'",
    ),
    "two blocks": (
        {**SIZES, "rope_theta": 500.0, "rope_parameters": {"a": 1}, "rope_scaling": {"a": 2}},
        "rope_parameters and rope_scaling must be equal, or one must be left out, got {'a': 1} "
        "and {'a': 2}",
    ),
    "half nested": (
        config("linear", full_attention={"rope_type": "default"}),
        "a block must be flat or have one part for each layer type, got rope_type beside "
        "full_attention",
    ),
    "nested and local": (
        {**SIZES, "rope_parameters": {"full_attention": {}}, "rope_local_base_freq": 1e4},
        "rope_local_base_freq must be left out where a block names layer types, got 10000.0",
    ),
    "two texts": (
        {**SIZES, "rope_theta": 500.0, "text_config": {"rope_theta": 500.0}},
        "rope must stand in text_config or beside it, got both",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_fault_is_refused_by_name(name):
    given, text = REFUSED[name]
    with raises_exactly(ValueError, text):
        rope_from_config(given, length=7)


@pytest.mark.parametrize("name", REFUSED)
def test_the_same_sentence_is_listed(name):
    given, text = REFUSED[name]
    assert rope_problems(given) == [text]


@pytest.mark.parametrize("rule", ["dynamic", "longrope"])
@pytest.mark.parametrize("length", [None, 0, -1, True, 7.0, "7"])
def test_a_length_is_asked_for(rule, length):
    rest = f"for rope_type {rule}, got {length!r}"
    with raises_exactly(ValueError, f"length must be a positive whole number {rest}"):
        rope_from_config(config(rule), length=length)


def test_a_layer_type_of_a_flat_config_is_refused():
    text = "layer_type must be left out, all layers are alike, got 'full_attention'"
    with raises_exactly(ValueError, text):
        rope_from_config(config("linear"), layer_type="full_attention")


@pytest.mark.parametrize("layer_type", [None, "chunked_attention", "sliding_attention"])
def test_a_layer_type_without_rope_is_refused(layer_type):
    block = config("linear")["rope_parameters"]
    parts = {"full_attention": block, "last_attention": block, "sliding_attention": None}
    text = f"layer_type must be one of full_attention, last_attention, got {layer_type!r}"
    with raises_exactly(ValueError, text):
        rope_from_config({**SIZES, "rope_parameters": parts}, layer_type=layer_type)
