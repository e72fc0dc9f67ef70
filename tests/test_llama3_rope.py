"""Llama 3.1's three bands against wavelengths, known speeds, and what it refuses."""

import math

import pytest
import torch

from posenc_check import scaling
from snippets.llama3_rope import llama3
from snippets.rope import apply_rope, rope_inv_freq
from tests.exact import raises_exactly


def assert_speeds(got, want):
    # A power in float64, and a blend that subtracts numbers of one size: 1e-13 at most.
    want = torch.tensor(want, dtype=torch.float64)
    torch.testing.assert_close(got, want, rtol=1e-12, atol=0)


@pytest.mark.parametrize("low, high", [(1.0, 4.0), (0.5, 32), (2, 3.0)])
@pytest.mark.parametrize("base", [0.5, 10_000, 500_000.0])
@pytest.mark.parametrize("factor, length", [(1, 8192), (8.0, 8192), (32, 100), (1.5, 1)])
@pytest.mark.parametrize("head_dim", [2, 6, 14, 128])
def test_waves_are_kept_blended_or_slowed_by_their_length(
    head_dim, factor, length, base, low, high
):
    inv_freq, attention_factor = llama3(
        head_dim, factor, length, base=base, low_freq_factor=low, high_freq_factor=high
    )
    assert_speeds(inv_freq, scaling.llama3(head_dim, factor, length, base, low, high))
    assert inv_freq.dtype == torch.float64 and inv_freq.shape == (head_dim // 2,)
    assert attention_factor == 1.0 and isinstance(attention_factor, float)


def test_known_speeds_of_llama_3_1():
    inv_freq, _ = llama3(128)
    known = {
        28: 3.211446106e-3, 29: 2.166570630e-3, 30: 1.371893683e-3, 31: 8.567514597e-4,
        32: 5.248460220e-4, 33: 3.126936499e-4, 34: 1.785077911e-4, 35: 9.556212171e-5,
        63: 3.068925878e-7,
    }
    for pair, speed in known.items():  # printed by a library that computes in float32
        assert inv_freq[pair].item() == pytest.approx(speed, rel=5e-7)


def test_known_bands_and_slow_downs_of_llama_3_1():
    slower = rope_inv_freq(128, 500_000.0) / llama3(128)[0]
    assert_speeds(slower[:29], [1.0] * 29)
    blended = [1.207484, 1.553415, 2.026313, 2.694530, 3.684253, 5.257327]
    assert slower[29:35].tolist() == pytest.approx(blended, abs=6e-7)  # six decimals
    assert_speeds(slower[35:], [8.0] * 29)


def test_known_speeds_of_llama_3_2_with_heads_of_64():
    inv_freq, _ = llama3(64, 32.0)
    known = {
        14: 3.211446106e-3, 15: 1.290548011e-3, 16: 4.295567051e-4, 17: 9.708286234e-5,
        18: 1.946163866e-5, 31: 9.418306490e-8,
    }
    for pair, speed in known.items():  # printed by a library that computes in float32
        assert inv_freq[pair].item() == pytest.approx(speed, rel=5e-7)


def test_the_defaults_are_those_of_llama_3_1():
    given = llama3(14, 8.0, 8192, base=500_000.0, low_freq_factor=1.0, high_freq_factor=4.0)
    assert torch.equal(llama3(14)[0], given[0])


def test_a_factor_of_one_changes_nothing():
    assert_speeds(llama3(128, 1)[0], rope_inv_freq(128, 500_000.0).tolist())


def test_the_rotation_takes_what_it_returns():
    x = torch.randn(2, 3, 5, 8, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    inv_freq, attention_factor = llama3(8)
    y = apply_rope(x, torch.arange(5) + 8192, inv_freq, attention_factor=attention_factor)
    torch.testing.assert_close(y.norm(dim=-1), x.norm(dim=-1), rtol=1e-14, atol=0)  # float64
    assert (y - x).abs().max() > 0.1


@pytest.mark.parametrize("value", [0, -2, 1, 7])
def test_a_head_dim_that_is_odd_or_below_two_is_refused(value):
    with raises_exactly(ValueError, f"head_dim must be even and positive, got {value}"):
        llama3(value)


@pytest.mark.parametrize("value", [0.999, 0, -4.0, math.nan])
def test_a_factor_below_one_is_refused(value):
    with raises_exactly(ValueError, f"factor must be at least 1, got {value}"):
        llama3(8, value)


@pytest.mark.parametrize("value", [0.5, 0, -4096, math.nan])
def test_a_trained_length_below_one_is_refused(value):
    with raises_exactly(ValueError, f"trained_length must be at least 1, got {value}"):
        llama3(8, 8.0, value)


@pytest.mark.parametrize("value", [0, 0.0, -2.5, math.nan])
def test_a_base_that_is_not_positive_is_refused(value):
    with raises_exactly(ValueError, f"base must be positive, got {value}"):
        llama3(8, base=value)


@pytest.mark.parametrize(
    "high, low", [(1.0, 1.0), (1, 4), (4.0, 0), (4.0, -1.0), (0.0, -1.0), (math.nan, 1.0),
                  (4.0, math.nan)],
)
def test_bounds_that_are_not_in_order_are_refused(high, low):
    text = (
        "high_freq_factor must be larger than low_freq_factor, and that "
        f"positive, got {high} and {low}"
    )
    with raises_exactly(ValueError, text):
        llama3(8, high_freq_factor=high, low_freq_factor=low)


def test_the_options_are_given_by_name():
    with pytest.raises(TypeError, match="positional argument"):
        llama3(8, 8.0, 8192, 500_000.0)
