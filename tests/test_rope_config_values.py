"""Values of a wrong type or out of their range: what the reader says, in whole sentences."""

import math

import pytest

from posenc_check.rope_config import rope_from_config, rope_problems
from tests.exact import raises_exactly
from tests.rope_configs import config

HIDDEN = "hidden_size must be a multiple of num_attention_heads where head_dim is not given"

REFUSED = {
    # Values of a wrong type.
    "true as a number": (config("linear", factor=True), "factor must be a number, got True"),
    "text as a number": (config("linear", factor="4"), "factor must be a number, got '4'"),
    "fraction as a length": (
        config("yarn", original_max_position_embeddings=1024.0),
        "original_max_position_embeddings must be a positive whole number, got 1024.0",
    ),
    "true as a length": (
        config("default", beside={"head_dim": True}),
        "head_dim must be a positive whole number, got True",
    ),
    "number as a flag": (config("yarn", truncate=0), "truncate must be true or false, got 0"),
    "number as a list": (
        config("longrope", short_factor=2.0),
        "short_factor must be a list of numbers, got 2.0",
    ),
    "text in a list": (
        config("longrope", short_factor=[1.0, "2"]),
        "short_factor must be a list of positive numbers, got '2'",
    ),
    "true in a list": (
        config("longrope", long_factor=[True] * 8),
        "long_factor must be a list of positive numbers, got True",
    ),
    # Values out of their range.
    "factor": (config("linear", factor=0.5), "factor must be at least 1, got 0.5"),
    "factor of infinity": (
        config("linear", factor=math.inf),
        "factor must be between 1e-12 and 1e+12, got inf",
    ),
    "factor of no number": (
        config("linear", factor=math.nan),
        "factor must be between 1e-12 and 1e+12, got nan",
    ),
    "large whole number": (
        config("linear", beside={"max_position_embeddings": 10**400}),
        "max_position_embeddings must be between 1e-12 and 1e+12, got 1" + "0" * 26 + "...",
    ),
    "base": (config("default", rope_theta=1), "rope_theta must be larger than 1, got 1"),
    "negative base": (
        config("default", rope_theta=-10.0),
        "rope_theta must be positive, got -10.0",
    ),
    "betas": (
        config("yarn", beta_fast=2, beta_slow=2),
        "beta_fast must be larger than beta_slow, got 2 and 2",
    ),
    "beta_slow": (config("yarn", beta_slow=0), "beta_slow must be positive, got 0"),
    "default beta": (
        config("yarn", beta_fast=0.5),
        "beta_fast must be larger than beta_slow, got 0.5 and 1",
    ),
    "ramp": (
        config(
            "yarn",
            original_max_position_embeddings=4,
            beta_slow=2,
            beside={"max_position_embeddings": 16},
        ),
        "the ramp must not run backwards, got pair 0 as the last one kept and -1 as the first one "
        "divided",
    ),
    "edges": (
        config("llama3", low_freq_factor=4.0),
        "high_freq_factor must be larger than low_freq_factor, got 4 and 4",
    ),
    "attention": (config("yarn", attention_factor=0), "attention_factor must be positive, got 0"),
    "share": (
        config("default", partial_rotary_factor=1.25),
        "partial_rotary_factor must be at most 1, got 1.25",
    ),
    "long list": (
        config("longrope", long_factor=[2.0] * 9),
        "long_factor must have one number for each of 8 pairs, got 9",
    ),
    "divisor": (
        config("longrope", short_factor=[0.0] * 8),
        "short_factor must be a list of positive numbers, got 0.0",
    ),
    "length of 1": (
        config("longrope", original_max_position_embeddings=1),
        "original_max_position_embeddings must be at least 2, got 1",
    ),
    "odd width": (
        config("default", partial_rotary_factor=0.32),
        "rotated width must be even and at least 2, got 5 from head_dim = hidden_size // "
        "num_attention_heads, 16 of which 0.32 turns",
    ),
    "odd head": (
        config("default", beside={"head_dim": 15}),
        "rotated width must be even and at least 2, got 15 from head_dim, 15",
    ),
    "odd latent head": (
        config("yarn", beside={"qk_rope_head_dim": 7}),
        "rotated width must be even and at least 2, got 7 from qk_rope_head_dim, 7",
    ),
    "odd proportional head": (
        config("proportional", beside={"head_dim": 15}),
        "head_dim must be even, got 15",
    ),
    "no pair": (
        config("proportional", partial_rotary_factor=0.1),
        "rotated width must be even and at least 2, got 0 from head_dim = hidden_size // "
        "num_attention_heads, 16 of which 0.1 turns",
    ),
    "one pair": (
        config("dynamic", beside={"head_dim": 2}),
        "rotated width must be at least 4 for rope_type dynamic, got 2",
    ),
    "heads": (config("default", beside={"num_attention_heads": 11}), f"{HIDDEN}, got 192 and 11"),
    "sections": (
        config("default", mrope_section=[2, 3, 4]),
        "mrope_section must add up to 8 pairs, got [2, 3, 4]",
    ),
    "fractions as sections": (
        config("default", mrope_section=[2.0, 3.0, 3.0]),
        "mrope_section must add up to 8 pairs, got [2.0, 3.0, 3.0]",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_wrong_value_is_refused_by_name(name):
    given, text = REFUSED[name]
    with raises_exactly(ValueError, text):
        rope_from_config(given, length=7)


@pytest.mark.parametrize("name", REFUSED)
def test_the_same_sentence_is_listed(name):
    given, text = REFUSED[name]
    assert rope_problems(given) == [text]
