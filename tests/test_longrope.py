"""LongRoPE's two lists: divisors, the switch between them, the attention factor, refusals."""

import math

import pytest
import torch

from posenc_check import scaling
from snippets.longrope import longrope
from snippets.rope import rope_inv_freq
from tests.exact import raises_exactly

SHORT, LONG = [1.0, 1.05, 1.5, 2.25], (1, 1.2, 7.5, 30.0)


def assert_speeds(got, want):
    # A power and a quotient in float64 agree to the last digits.
    want = torch.tensor(want, dtype=torch.float64)
    torch.testing.assert_close(got, want, rtol=1e-13, atol=0)


@pytest.mark.parametrize("base", [0.5, 10_000, 500_000.0])
@pytest.mark.parametrize("head_dim", [2, 6, 96])
def test_each_pair_has_a_divisor_of_its_own(head_dim, base):
    short = [1 + 0.1 * i for i in range(head_dim // 2)]
    long = [1 + 0.7 * i**1.5 for i in range(head_dim // 2)]
    for length, divisors in ((50, short), (500, long)):
        inv_freq, _ = longrope(head_dim, length, 100, short, long, factor=8.0, base=base)
        assert_speeds(inv_freq, scaling.longrope(head_dim, divisors, base))
        assert inv_freq.dtype == torch.float64 and inv_freq.shape == (head_dim // 2,)


@pytest.mark.parametrize(
    "length, divisors", [(1, SHORT), (4095, SHORT), (4096, SHORT), (4097, LONG), (131_072, LONG)]
)
def test_the_long_list_begins_one_token_past_the_trained_length(length, divisors):
    inv_freq, _ = longrope(8, length, 4096, SHORT, LONG, factor=32.0)
    assert_speeds(rope_inv_freq(8) / inv_freq, divisors)


@pytest.mark.parametrize("length", [1, 4097])
@pytest.mark.parametrize(
    "factor, trained_length, known",
    [
        (32, 4096, 1.1902380714), (4.0, 4096, 1.0801234497), (8.0, 8192, 1.1094003925),
        (512, 4096, 1.3228756555), (1, 4096, 1.0),
    ],
)
def test_known_attention_factors_hold_at_every_length(factor, trained_length, known, length):
    _, got = longrope(8, length, trained_length, SHORT, LONG, factor=factor)
    assert got == pytest.approx(known, abs=6e-11)  # ten decimals
    # Two logarithms and a root in float64.
    want = scaling.longrope_attention_factor(factor, trained_length)
    assert got == pytest.approx(want, rel=1e-15) and isinstance(got, float)


@pytest.mark.parametrize("length", [1, 4097])
def test_an_attention_factor_that_is_given_is_used(length):
    inv_freq, got = longrope(8, length, 4096, SHORT, LONG, factor=32.0, attention_factor=0.7)
    assert got == 0.7
    assert torch.equal(inv_freq, longrope(8, length, 4096, SHORT, LONG, factor=32.0)[0])


def test_the_default_base_is_ten_thousand():
    usual = longrope(8, 1, 4096, SHORT, LONG, factor=4.0)[0]
    assert torch.equal(usual, longrope(8, 1, 4096, SHORT, LONG, factor=4.0, base=10_000.0)[0])


def call(head_dim=8, length=10, trained_length=4096, short=SHORT, long=LONG, **options):
    """longrope where each argument is right unless it is given."""
    return longrope(head_dim, length, trained_length, short, long, **({"factor": 4.0} | options))


def test_the_call_that_these_tests_spoil_is_right():
    assert_speeds(call()[0], scaling.longrope(8, SHORT))
    assert call(length=1, trained_length=2, factor=1)[1] == 1.0


@pytest.mark.parametrize("value", [0, -2, 1, 7])
def test_a_head_dim_that_is_odd_or_below_two_is_refused(value):
    with raises_exactly(ValueError, f"head_dim must be even and positive, got {value}"):
        call(head_dim=value)


@pytest.mark.parametrize("value", [0, -5, math.nan])
def test_a_length_below_one_is_refused(value):
    with raises_exactly(ValueError, f"length must be at least 1, got {value}"):
        call(length=value)


@pytest.mark.parametrize("value", [1, 0, -4096, math.nan])
def test_a_trained_length_below_two_is_refused(value):
    with raises_exactly(ValueError, f"trained_length must be at least 2, got {value}"):
        call(trained_length=value)


@pytest.mark.parametrize("value", [0.999, 0, -4.0, math.nan])
def test_a_factor_below_one_is_refused(value):
    with raises_exactly(ValueError, f"factor must be at least 1, got {value}"):
        call(factor=value)


@pytest.mark.parametrize("value", [0, 0.0, -2.5, math.nan])
def test_a_base_that_is_not_positive_is_refused(value):
    with raises_exactly(ValueError, f"base must be positive, got {value}"):
        call(base=value)


@pytest.mark.parametrize("name", ["short", "long"])
@pytest.mark.parametrize("n_entries", [0, 3, 5, 8])
def test_a_list_of_another_length_is_refused(name, n_entries):
    text = f"{name}_factor must have head_dim // 2 = 4 entries, got {n_entries}"
    with raises_exactly(ValueError, text):
        call(**{name: [1.0] * n_entries})


@pytest.mark.parametrize("name", ["short", "long"])
@pytest.mark.parametrize("value", [0, -1.5, math.nan])
@pytest.mark.parametrize("place", [0, 3])
def test_a_divisor_that_is_not_positive_is_refused(name, value, place):
    divisors = [1.0, 2.0, 3.0, 4.0]
    divisors[place] = value
    with raises_exactly(ValueError, f"{name}_factor must be positive, got {value} in it"):
        call(**{name: divisors})


@pytest.mark.parametrize("value", [0, 0.0, -1.0, math.nan])
def test_an_attention_factor_that_is_not_positive_is_refused(value):
    with raises_exactly(ValueError, f"attention_factor must be positive, got {value}"):
        call(attention_factor=value)


def test_the_factor_is_given_by_name():
    with pytest.raises(TypeError, match="positional argument"):
        longrope(8, 10, 4096, SHORT, LONG, 4.0)
