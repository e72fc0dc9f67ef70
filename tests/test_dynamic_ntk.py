"""The NTK-aware base that follows the length: speeds, known bases, refusals."""

import math

import pytest
import torch

from posenc_check import scaling
from snippets.rope import apply_rope, rope_inv_freq
from snippets.rope_scaling import dynamic_ntk, ntk_aware
from tests.exact import raises_exactly


def assert_speeds(got, want):
    # Two ways to take a few powers in float64 agree to the last digits.
    want = torch.tensor(want, dtype=torch.float64)
    torch.testing.assert_close(got, want, rtol=1e-13, atol=0)


@pytest.mark.parametrize("base", [0.5, 10_000, 500_000.0])
@pytest.mark.parametrize("factor", [1, 1.5, 4.0])
@pytest.mark.parametrize("length", [1, 99, 100, 101, 170, 6400])
@pytest.mark.parametrize("head_dim", [4, 6, 128])
def test_each_pair_is_slowed_by_a_power_of_the_excess(head_dim, length, factor, base):
    inv_freq, attention_factor = dynamic_ntk(head_dim, length, 100, factor, base)
    assert_speeds(inv_freq, scaling.dynamic_ntk(head_dim, length, 100, factor, base))
    assert inv_freq.dtype == torch.float64 and inv_freq.shape == (head_dim // 2,)
    assert attention_factor == 1.0 and isinstance(attention_factor, float)


@pytest.mark.parametrize(
    "factor, length, base",
    [
        (1, 4096, 20_221.2617), (2, 4096, 30_527.7367), (2, 8192, 72_195.8601),
        (4, 4096, 51_293.7873), (8, 4096, 93_194.2711),
    ],
)
def test_known_bases(factor, length, base):
    inv_freq, _ = dynamic_ntk(128, length, 2048, factor)
    # The literals have nine digits; a power of 64 brings their error back to the base.
    assert inv_freq[1].item() ** -64 == pytest.approx(base, rel=5e-9)
    assert inv_freq[0].item() == 1.0


@pytest.mark.parametrize("factor, speed", [(1, 5.773909923e-5), (2, 3.849273e-5)])
def test_known_speeds_of_the_last_pair(factor, speed):
    # The literals were printed by a library that computes in float32.
    assert dynamic_ntk(128, 4096, 2048, factor)[0][63].item() == pytest.approx(speed, rel=3e-7)


@pytest.mark.parametrize("factor", [1.0, 2.0, 8.0])
@pytest.mark.parametrize("length", [1, 2047, 2048])
def test_up_to_the_trained_length_it_is_plain_rope(length, factor):
    inv_freq, _ = dynamic_ntk(14, length, 2048, factor)
    assert_speeds(inv_freq, rope_inv_freq(14).tolist())


def test_one_token_more_slows_every_pair_but_the_first():
    here, there = dynamic_ntk(14, 2048, 2048)[0], dynamic_ntk(14, 2049, 2048)[0]
    assert here[0] == there[0] and (there[1:] < here[1:]).all()


@pytest.mark.parametrize("factor, fixed", [(1, 2), (2, 3), (4, 5)])
def test_at_twice_the_trained_length_a_factor_counts_as_one_more(factor, fixed):
    inv_freq, _ = dynamic_ntk(14, 4096, 2048, factor)
    assert_speeds(inv_freq, ntk_aware(14, fixed)[0].tolist())


def score(q_freq, k_freq, k_position):
    """Of a query at 4095 and a key, both (1, 1, ..., 1) / 8 before they turn."""
    x = torch.full((1, 1, 1, 64), 1 / 8, dtype=torch.float64)
    q = apply_rope(x, torch.tensor([4095]), q_freq)
    return (q * apply_rope(x, torch.tensor([k_position]), k_freq)).sum()


def test_a_key_cached_at_another_length_meets_the_query_at_another_angle():
    now, then = dynamic_ntk(64, 4096, 2048, 2.0)[0], dynamic_ntk(64, 2048, 2048, 2.0)[0]
    gap = 64
    want = sum(math.cos(gap * speed) for speed in now.tolist()) / 32
    # float64: an angle near 4095 is rounded by 5e-13.
    assert score(now, now, 4095 - gap).item() == pytest.approx(want, abs=1e-12)
    assert abs(score(now, then, 4095 - gap).item() - want) > 0.05


def test_the_default_base_is_ten_thousand_and_the_default_factor_one():
    inv_freq = dynamic_ntk(8, 300, 100)[0]
    assert torch.equal(inv_freq, dynamic_ntk(8, 300, 100, 1.0, 10_000.0)[0])
    assert not torch.equal(inv_freq, dynamic_ntk(8, 300, 100, 1.0, 500.0)[0])
    assert not torch.equal(inv_freq, dynamic_ntk(8, 300, 100, 2.0)[0])


@pytest.mark.parametrize("value", [0, -2, 1, 7])
def test_a_head_dim_that_is_odd_or_below_two_is_refused(value):
    with raises_exactly(ValueError, f"head_dim must be even and positive, got {value}"):
        dynamic_ntk(value, 300, 100)


def test_it_needs_two_pairs():
    with raises_exactly(ValueError, "head_dim must be at least 4, got 2"):
        dynamic_ntk(2, 300, 100)


@pytest.mark.parametrize("value", [0, -5, 0.5, math.nan])
def test_lengths_below_one_are_refused(value):
    with raises_exactly(ValueError, f"length must be at least 1, got {value}"):
        dynamic_ntk(8, value, 100)
    with raises_exactly(ValueError, f"trained_length must be at least 1, got {value}"):
        dynamic_ntk(8, 300, value)


def test_the_smallest_lengths_are_taken():
    assert dynamic_ntk(4, 1, 1)[0].tolist() == [1.0, 0.01]


@pytest.mark.parametrize("value", [0.999, 0, -4.0, math.nan])
def test_a_factor_below_one_is_refused(value):
    with raises_exactly(ValueError, f"factor must be at least 1, got {value}"):
        dynamic_ntk(8, 300, 100, value)


@pytest.mark.parametrize("value", [0, 0.0, -2.5, math.nan])
def test_a_base_that_is_not_positive_is_refused(value):
    with raises_exactly(ValueError, f"base must be positive, got {value}"):
        dynamic_ntk(8, 300, 100, 1.0, value)
