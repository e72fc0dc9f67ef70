"""Each rule of a config against numbers made here from its meaning."""

import math

import pytest

from posenc_check.rope_config import rope_from_config
from tests.rope_configs import BLOCKS, LEAVE_OUT, assert_speeds, config

PLAIN = [500 ** (-i / 8) for i in range(8)]


def test_default():
    inv_freq, attention_factor = rope_from_config(config("default"))
    assert_speeds(inv_freq, PLAIN)
    assert attention_factor == 1.0 and isinstance(attention_factor, float)


def test_linear_divides_every_pair():
    assert_speeds(rope_from_config(config("linear"))[0], [speed / 4 for speed in PLAIN])


@pytest.mark.parametrize("length, scale", [(1, 1), (4096, 1), (6144, 2), (8192, 3)])
def test_dynamic_grows_with_the_length(length, scale):
    base = 500 * scale ** (16 / 14)
    inv_freq, _ = rope_from_config(config("dynamic"), length=length)
    assert_speeds(inv_freq, [base ** (-i / 8) for i in range(8)])


def yarn_by_hand(factor, first, last):
    kept = [min(max((last - i) / (last - first), 0), 1) for i in range(8)]
    return [speed * k + speed / factor * (1 - k) for speed, k in zip(PLAIN, kept)]


def test_yarn_blends_between_two_pairs():
    # 32 turns in 1024 tokens fall to pair 2.09, one turn to pair 6.56.
    assert_speeds(rope_from_config(config("yarn"))[0], yarn_by_hand(4, 2, 7))


def test_yarn_without_truncation_blends_between_fractions_of_pairs():
    first = 8 * math.log(1024 / 64 / math.pi) / math.log(500)
    last = 8 * math.log(1024 / 2 / math.pi) / math.log(500)
    inv_freq, _ = rope_from_config(config("yarn", truncate=False))
    assert_speeds(inv_freq, yarn_by_hand(4, first, last))


def test_yarn_reads_its_betas():
    # 4 turns fall to pair 4.77, half a turn to pair 7.45.
    inv_freq, _ = rope_from_config(config("yarn", beta_fast=4, beta_slow=0.5))
    assert_speeds(inv_freq, yarn_by_hand(4, 4, 8))


@pytest.mark.parametrize(
    "keys, expected",
    [
        ({}, 0.1 * math.log(4) + 1),
        ({"factor": 1.0}, 1.0),
        ({"attention_factor": 1.25}, 1.25),
        ({"attention_factor": 1}, 1.0),
        ({"mscale": 1.0, "mscale_all_dim": 1.0}, 1.0),
        ({"mscale": 2, "mscale_all_dim": 0.5}, (0.2 * math.log(4) + 1) / (0.05 * math.log(4) + 1)),
    ],
)
def test_the_attention_factor_of_yarn(keys, expected):
    _, attention_factor = rope_from_config(config("yarn", **keys))
    assert attention_factor == pytest.approx(expected, rel=1e-14)


@pytest.mark.parametrize(
    "length, name", [(1, "short_factor"), (1024, "short_factor"), (1025, "long_factor")]
)
def test_longrope_takes_the_long_list_above_the_trained_length(length, name):
    inv_freq, attention_factor = rope_from_config(config("longrope"), length=length)
    divisors = BLOCKS["longrope"][name]
    assert_speeds(inv_freq, [speed / divisor for speed, divisor in zip(PLAIN, divisors)])
    assert attention_factor == pytest.approx(math.sqrt(1.2), rel=1e-14)  # ln 4 / ln 1024 = 0.2


@pytest.mark.parametrize(
    "keys, expected", [({"factor": 32.0}, math.sqrt(1.5)), ({"attention_factor": 1.5}, 1.5)]
)
def test_the_attention_factor_of_longrope(keys, expected):
    beside = {"max_position_embeddings": LEAVE_OUT}
    _, attention_factor = rope_from_config(config("longrope", beside=beside, **keys), length=9)
    assert attention_factor == pytest.approx(expected, rel=1e-14)


def test_llama3_has_three_bands():
    turns = [1024 * speed / (2 * math.pi) for speed in PLAIN]
    kept = [min(max((turn - 1) / 3, 0), 1) for turn in turns]
    assert [0, 1, 1] == [kept[7], kept[0], kept[4]] and 0 < kept[5] < 1
    inv_freq, _ = rope_from_config(config("llama3"))
    assert_speeds(inv_freq, [s * k + s / 4 * (1 - k) for s, k in zip(PLAIN, kept)])


def test_proportional_keeps_the_width_of_the_head():
    assert_speeds(rope_from_config(config("proportional"))[0], [*PLAIN[:4], 0, 0, 0, 0])
    inv_freq, _ = rope_from_config(config("proportional", factor=8))
    assert_speeds(inv_freq, [*(speed / 8 for speed in PLAIN[:4]), 0, 0, 0, 0])


def test_a_share_makes_a_smaller_head():
    inv_freq, _ = rope_from_config(config("linear", partial_rotary_factor=0.5))
    assert_speeds(inv_freq, [500 ** (-i / 4) / 4 for i in range(4)])
