"""The sinusoidal table against scalars from `math`, then what it refuses."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from posenc_check import oracles
from snippets.sinusoidal import sinusoidal_inv_freq, sinusoidal_table
from tests.exact import raises_exactly

# Rounding a number up to 1 to float32 costs 2**-25; angles below 1e6 are off by 1e-9 at most.
ONE_ROUNDING = 2**-25 + 1e-9
WIDTHS = [1, 2, 3, 4, 8, 17]
BASES = [10.0, 10_000.0, 500_000.0]


def assert_is_the_formula(table, positions, d_model, base=10_000.0):
    want = oracles.sinusoid_table(positions, d_model, base)
    torch.testing.assert_close(table.double(), want, rtol=0, atol=ONE_ROUNDING)


@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("d_model", WIDTHS)
def test_every_entry_equals_the_formula(d_model, base):
    positions = [0, 1, 7, 49, 4999, 100_000]
    table = sinusoidal_table(torch.tensor(positions), d_model, base)
    assert table.dtype == torch.float32
    assert_is_the_formula(table, positions, d_model, base)


@pytest.mark.parametrize("base", [0.5, 1, *BASES])
@pytest.mark.parametrize("d_model", WIDTHS)
def test_every_speed_equals_the_formula(d_model, base):
    got = sinusoidal_inv_freq(d_model, base)
    n_pairs = math.ceil(d_model / 2)
    want = [oracles.rope_speed(pair, d_model, base) for pair in range(n_pairs)]
    # Two ways to take a power in float64 agree to a few last digits.
    torch.testing.assert_close(got, torch.tensor(want, dtype=torch.float64), rtol=1e-14, atol=0)


def test_the_default_base_is_ten_thousand():
    assert torch.equal(sinusoidal_inv_freq(6), sinusoidal_inv_freq(6, 10_000.0))
    assert_is_the_formula(sinusoidal_table(torch.tensor([3, 9]), 6), [3, 9], 6)


def test_each_sequence_may_have_positions_of_its_own():
    positions = torch.tensor([[0, 1, 2], [40, 7, 7]])
    table = sinusoidal_table(positions, 5, 100.0)
    assert table.shape == (2, 3, 5)
    for row, own in zip(table, positions.tolist(), strict=True):
        assert_is_the_formula(row, own, 5, 100.0)


@pytest.mark.parametrize("d_model, base", [(1, 10.0), (6, 300.0), (33, 10_000.0)])
@settings(derandomize=True, deadline=None, max_examples=30)
@given(positions=st.lists(st.integers(0, 10**6), max_size=6))
def test_positions_are_data_in_any_order(d_model, base, positions):
    table = sinusoidal_table(torch.tensor(positions, dtype=torch.int64), d_model, base)
    assert_is_the_formula(table, positions, d_model, base)


@pytest.mark.parametrize("name", "uint8 int8 int16 int32 int64 float32 float64".split())
def test_any_dtype_that_can_count_gives_the_same_table(name):
    table = sinusoidal_table(torch.tensor([3, 0, 100], dtype=getattr(torch, name)), 7)
    assert table.dtype == torch.float32
    assert_is_the_formula(table, [3, 0, 100], 7)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_positions_may_lie_between_integers(dtype):
    table = sinusoidal_table(torch.tensor([0.5, 2.25], dtype=dtype), 5)
    assert_is_the_formula(table, [0.5, 2.25], 5)


def test_the_table_lies_on_the_device_of_the_positions():
    table = sinusoidal_table(torch.zeros(2, 5, dtype=torch.int64, device="meta"), 7)
    assert (table.device.type, table.dtype, table.shape) == ("meta", torch.float32, (2, 5, 7))


def test_a_position_that_float32_cannot_hold_counts_in_full():
    position = 2**24 + 1
    table = sinusoidal_table(torch.tensor([position]), 6).double()
    # A float64 angle near 2**24 is off by 4e-9; one position more or less would turn by 1 radian.
    want = oracles.sinusoid_table([position], 6)
    torch.testing.assert_close(table, want, rtol=0, atol=2**-24)


def test_autocast_leaves_the_table_in_float32():
    positions = torch.tensor([3, 4999])
    with torch.autocast("cpu", torch.bfloat16):
        table = sinusoidal_table(positions, 6)
    assert torch.equal(table, sinusoidal_table(positions, 6))


@pytest.mark.parametrize("base", BASES)
def test_speeds_fall_from_one_by_a_constant_ratio(base):
    speed = sinusoidal_inv_freq(12, base)
    assert speed[0] == 1
    ratio = torch.full((5,), base ** (-2 / 12), dtype=torch.float64)
    # Each speed is rounded once, their quotient twice more: a few times 2**-53.
    torch.testing.assert_close(speed[1:] / speed[:-1], ratio, rtol=1e-14, atol=0)


def test_sine_and_cosine_of_a_pair_lie_on_the_unit_circle():
    table = sinusoidal_table(torch.arange(1000, 1050), 10).double()
    radius = table[:, 0::2] ** 2 + table[:, 1::2] ** 2
    # Two squares of numbers that were each rounded by 2**-25.
    torch.testing.assert_close(radius, torch.ones_like(radius), rtol=0, atol=1.5e-7)


def test_the_readings_together_identify_a_position():
    table = sinusoidal_table(torch.arange(5000), 64)
    # Plain differences: the product form of cdist rounds close rows to distance 0.
    assert torch.nn.functional.pdist(table).min() > 0.9


@pytest.mark.parametrize("offset", [1, 5, 300])
def test_an_offset_turns_each_pair_by_the_same_angle(offset):
    position, d_model = 11, 8
    before, after = sinusoidal_table(torch.tensor([position, position + offset]), d_model).double()
    for pair in range(d_model // 2):
        turn = offset * oracles.rope_speed(pair, d_model)
        sin, cos = before[2 * pair : 2 * pair + 2].tolist()
        want = [
            sin * math.cos(turn) + cos * math.sin(turn),
            cos * math.cos(turn) - sin * math.sin(turn),
        ]
        # Both sides come from float32 entries: three roundings of 2**-25 at most.
        assert after[2 * pair : 2 * pair + 2].tolist() == pytest.approx(want, abs=1e-7)


@pytest.mark.parametrize("value", [4.0, "4", None])
def test_a_width_that_is_no_int_is_refused(value):
    with raises_exactly(TypeError, f"d_model must be an int, got {value!r}"):
        sinusoidal_inv_freq(value)
    with raises_exactly(TypeError, f"d_model must be an int, got {value!r}"):
        sinusoidal_table(torch.arange(3), value)


@pytest.mark.parametrize("value", [0, -1])
def test_a_width_below_one_is_refused(value):
    with raises_exactly(ValueError, f"d_model must be positive, got {value}"):
        sinusoidal_inv_freq(value)
    with raises_exactly(ValueError, f"d_model must be positive, got {value}"):
        sinusoidal_table(torch.arange(3), value)


@pytest.mark.parametrize("value", [0, 0.0, -2.5, math.nan])
def test_a_base_that_is_not_positive_is_refused(value):
    with raises_exactly(ValueError, f"base must be positive, got {value}"):
        sinusoidal_inv_freq(4, value)
    with raises_exactly(ValueError, f"base must be positive, got {value}"):
        sinusoidal_table(torch.arange(3), 4, value)


@pytest.mark.parametrize("shape", [[], [2, 3, 4]])
def test_positions_of_another_rank_are_refused(shape):
    with raises_exactly(ValueError, f"positions must be [T] or [B, T], got {shape}"):
        sinusoidal_table(torch.zeros(shape, dtype=torch.int64), 4)


@pytest.mark.parametrize("name", ["bool", "float16", "bfloat16", "complex64"])
def test_positions_of_a_dtype_that_cannot_count_are_refused(name):
    text = f"positions must be integer, float32 or float64, got torch.{name}"
    with raises_exactly(TypeError, text):
        sinusoidal_table(torch.zeros(3, dtype=getattr(torch, name)), 4)


@pytest.mark.parametrize("positions, worst", [([0, -3, 2, -1], "-3"), ([1.0, -0.5], "-0.5")])
def test_a_negative_position_is_refused(positions, worst):
    with raises_exactly(ValueError, f"positions must not be negative, got {worst}"):
        sinusoidal_table(torch.tensor(positions), 4)
