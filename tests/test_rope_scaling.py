"""The speeds of both rules against single powers, then what they refuse."""

import math

import pytest
import torch

from posenc_check import oracles
from snippets.rope import apply_rope
from snippets.rope_scaling import linear, ntk_aware
from tests.exact import raises_exactly

RULES = {"linear": linear, "ntk_aware": ntk_aware}

both_rules = pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
bases = pytest.mark.parametrize("base", [0.5, 100.0, 10_000, 500_000.0])
factors = pytest.mark.parametrize("factor", [1, 1.5, 4.0, 32])


def assert_speeds(got, want):
    # Two ways to take a few powers in float64 agree to the last digits.
    want = torch.tensor(want, dtype=torch.float64)
    torch.testing.assert_close(got, want, rtol=1e-13, atol=0)


@bases
@factors
@pytest.mark.parametrize("head_dim", [2, 4, 14, 128])
def test_interpolation_divides_every_speed(head_dim, factor, base):
    inv_freq, _ = linear(head_dim, factor, base)
    pairs = range(head_dim // 2)
    assert_speeds(inv_freq, [oracles.rope_speed(i, head_dim, base) / factor for i in pairs])


@bases
@factors
@pytest.mark.parametrize("head_dim", [4, 6, 14, 128])
def test_the_ntk_rule_slows_each_pair_by_a_power_of_the_factor(head_dim, factor, base):
    inv_freq, _ = ntk_aware(head_dim, factor, base)
    pairs = range(head_dim // 2)
    assert_speeds(inv_freq, [oracles.ntk_speed(i, head_dim, factor, base) for i in pairs])


def test_known_speeds_of_interpolation():
    inv_freq, _ = linear(128, 4.0)
    assert inv_freq[0].item() == 0.25
    # The literal was printed by a library that computes in float32.
    assert inv_freq[63].item() == pytest.approx(2.8869548e-5, rel=2**-23)


@pytest.mark.parametrize(
    "factor, base", [(2, 20_221.2617), (4, 40_889.9424), (8, 82_684.6226), (16, 167_198.739)]
)
def test_known_bases_of_the_ntk_rule(factor, base):
    inv_freq, _ = ntk_aware(128, factor)
    # The literals have nine digits; a power of 64 brings their error back to the base.
    assert inv_freq[1].item() ** -64 == pytest.approx(base, rel=5e-9)
    assert_speeds(inv_freq[:1], [1.0])


@both_rules
def test_the_default_base_is_ten_thousand(rule):
    assert torch.equal(rule(8, 4.0)[0], rule(8, 4.0, 10_000.0)[0])
    assert not torch.equal(rule(8, 4.0)[0], rule(8, 4.0, 500.0)[0])


@both_rules
def test_a_factor_of_one_changes_nothing(rule):
    assert_speeds(rule(14, 1)[0], [oracles.rope_speed(i, 14) for i in range(7)])


@both_rules
def test_the_speeds_are_float64_and_the_factor_of_attention_is_one(rule):
    inv_freq, attention_factor = rule(14, 4)
    assert inv_freq.dtype == torch.float64 and inv_freq.shape == (7,)
    assert attention_factor == 1.0 and isinstance(attention_factor, float)


@both_rules
def test_the_rotation_takes_what_a_rule_returns(rule):
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(2, 3, 5, 8, dtype=torch.float64, generator=generator)
    positions = torch.tensor([7, 0, 1, 900, 41])
    inv_freq, attention_factor = rule(8, 4.0)
    got = apply_rope(x, positions, inv_freq, attention_factor=attention_factor)
    speed = {"linear": lambda i: oracles.rope_speed(i, 8) / 4}.get(
        rule.__name__, lambda i: oracles.ntk_speed(i, 8, 4.0)
    )
    want = oracles.rope(x, positions, [speed(i) for i in range(4)], "half")
    # float64: an angle below 1000 is rounded by 1e-13 at most, and |x| is below 5.
    torch.testing.assert_close(got, want, rtol=0, atol=1e-12)


@both_rules
@pytest.mark.parametrize("value", [0, -2, 1, 7])
def test_a_head_dim_that_is_odd_or_below_two_is_refused(rule, value):
    with raises_exactly(ValueError, f"head_dim must be even and positive, got {value}"):
        rule(value, 4.0)


def test_the_ntk_rule_needs_two_pairs():
    with raises_exactly(ValueError, "head_dim must be at least 4, got 2"):
        ntk_aware(2, 4.0)
    assert linear(2, 4.0)[0].tolist() == [0.25]


@both_rules
@pytest.mark.parametrize("value", [0.999, 0, -4.0, math.nan])
def test_a_factor_below_one_is_refused(rule, value):
    with raises_exactly(ValueError, f"factor must be at least 1, got {value}"):
        rule(8, value)


@both_rules
@pytest.mark.parametrize("value", [0, 0.0, -2.5, math.nan])
def test_a_base_that_is_not_positive_is_refused(rule, value):
    with raises_exactly(ValueError, f"base must be positive, got {value}"):
        rule(8, 4.0, value)
