"""The list of problems: all of them in one go, the odd ones too, and the reader agrees."""

import pytest

from posenc_check.rope_config import rope_from_config, rope_problems
from tests.exact import raises_exactly
from tests.rope_configs import BLOCKS, SIZES, config

RATIO = "max_position_embeddings / original_max_position_embeddings"


@pytest.mark.parametrize("rule", BLOCKS)
def test_a_sound_config_has_no_problems(rule):
    assert rope_problems(config(rule)) == []


@pytest.mark.parametrize("rule", BLOCKS)
def test_reading_changes_nothing_in_what_is_read(rule):
    given = config(rule, factor=None)
    assert rope_problems(given) == rope_problems(config(rule, factor=None))
    assert given == config(rule, factor=None)


def test_all_problems_are_listed_and_the_first_one_is_raised():
    whole = config("yarn", attn_factor=1.0, beta_fast=0.5, truncate="no", mscale=1.0, factor=True)
    whole["rope_theta"] = 1e4
    problems = [
        "attn_factor is no key of rope_type yarn, got 1.0",
        "rope_theta must have one value, got 500.0 in the block and 10000.0 beside it",
        "factor must be a number, got True",
        "truncate must be true or false, got 'no'",
        "beta_fast must be larger than beta_slow, got 0.5 and 1",
        "mscale and mscale_all_dim must be given together, got only mscale",
    ]
    assert rope_problems(whole) == problems
    with raises_exactly(ValueError, problems[0]):
        rope_from_config(whole)


def test_layer_types_are_named():
    parts = {
        "full_attention": config("linear", factor=0)["rope_parameters"],
        "sliding_attention": config("default", factor=2)["rope_parameters"],
    }
    whole = {**SIZES, "rope_parameters": parts}
    problems = [
        "full_attention: factor must be at least 1, got 0",
        "sliding_attention: factor is no key of rope_type default, got 2",
    ]
    assert rope_problems(whole) == problems
    for layer_type, text in zip(parts, problems):
        with raises_exactly(ValueError, text):
            rope_from_config(whole, layer_type=layer_type)


@pytest.mark.parametrize("rule", ["yarn", "longrope"])
def test_a_factor_beside_another_ratio_is_odd_and_counts(rule):
    whole = config(rule, factor=2.5)
    text = f"factor is 2.5, but {RATIO} = 4096 / 1024 = 4; the factor is used"
    assert rope_problems(whole) == [text]
    alone = config(rule, factor=2.5, beside={"max_position_embeddings": 2560})
    assert rope_problems(alone) == []
    got, want = rope_from_config(whole, length=99), rope_from_config(alone, length=99)
    assert got[0].tolist() == want[0].tolist() and got[1] == want[1]


@pytest.mark.parametrize("rule", ["yarn", "longrope"])
@pytest.mark.parametrize("maximum", [1024, None])
def test_a_maximum_that_was_not_raised_is_no_problem(rule, maximum):
    whole = config(rule, factor=2.5, beside={"max_position_embeddings": maximum})
    assert rope_problems(whole) == []


@pytest.mark.parametrize("trained", [4096, 5000])
def test_llama3_that_extends_nothing_is_odd(trained):
    text = (
        "original_max_position_embeddings should be below max_position_embeddings, got "
        f"{trained} and 4096"
    )
    whole = config("llama3", original_max_position_embeddings=trained)
    assert rope_problems(whole) == [text]
    assert rope_from_config(whole)[0].shape == (8,)
