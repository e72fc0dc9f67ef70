"""The bias against single cosines, known values, dtypes, then what it refuses."""

import pytest
import torch

from posenc_check import score_biases as oracles
from snippets.sandwich import sandwich_bias
from tests.exact import raises_exactly

Q_POSITIONS, K_POSITIONS = torch.tensor([31, 400, 36, 3]), torch.tensor([30, 31, 90, 37, 9])
SCALES = torch.tensor([2.0, 0.25, 1.0], dtype=torch.float64)


@pytest.mark.parametrize(
    "rule", [{"width": 2}, {"width": 6, "base": 0.5}, {"width": 10, "base": 50.0}, {"width": 128}]
)
def test_every_bias_is_a_sum_of_cosines_of_the_gap(rule):
    got = sandwich_bias(Q_POSITIONS, K_POSITIONS, SCALES, **rule, dtype=torch.float64)
    lists = [t.tolist() for t in (Q_POSITIONS, K_POSITIONS, SCALES)]
    assert got.shape == (3, 4, 5)
    # Angles up to 400 carry 4e-14; up to 64 cosines, times 2.
    torch.testing.assert_close(got, oracles.sandwich(*lists, **rule), rtol=0, atol=1e-11)


def test_known_values():
    keys = torch.tensor([0, 1, 2, 10, 100, 1000, 10_000])
    bias = sandwich_bias(keys[:1], keys, torch.ones(1), dtype=torch.float64)[0, 0]
    known = [64, 62.0937, 57.3819, 42.8200, 30.5435, 10.1777, -1.7852]
    assert bias.tolist() == pytest.approx(known, abs=5e-5)


def test_it_is_largest_at_the_query_even_and_not_monotonic():
    here = torch.arange(60)
    bias = sandwich_bias(here, here, SCALES, dtype=torch.float64)
    torch.testing.assert_close(bias, bias.mT, rtol=0, atol=1e-12)  # float64 angles below 60
    assert (bias.argmax(-1) == here).all()
    row = bias[2, 0]
    assert row[0].item() == pytest.approx(64, abs=1e-12)
    assert (row[:12].diff() < 0).all() and row[12] > row[11]  # the first rise, from 11 to 12


def test_shifting_all_positions_changes_nothing():
    far = 100_000
    want = sandwich_bias(Q_POSITIONS, K_POSITIONS, SCALES)
    # float64 angles of 1e5 carry 1e-11, far below the float32 result.
    moved = sandwich_bias(Q_POSITIONS + far, K_POSITIONS + far, SCALES)
    torch.testing.assert_close(moved, want, rtol=2e-7, atol=1e-8)


def test_decoding_slices_equal_the_full_pass():
    here = torch.arange(50)
    full = sandwich_bias(here, here, SCALES, dtype=torch.float64)
    for i in (0, 1, 49):
        step = sandwich_bias(here[i : i + 1], here[: i + 1], SCALES, dtype=torch.float64)
        # The same float64 sums of 64 products in another order, times 2.
        torch.testing.assert_close(step[:, 0], full[:, i, : i + 1], rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", ["float16", "bfloat16", "float32", "float64"])
def test_the_sum_is_rounded_once(name):
    dtype = getattr(torch, name)
    exact = sandwich_bias(Q_POSITIONS, K_POSITIONS, SCALES, dtype=torch.float64)
    got = sandwich_bias(Q_POSITIONS, K_POSITIONS, SCALES, dtype=dtype)
    assert got.dtype == dtype and torch.equal(got, exact.to(dtype))
    assert sandwich_bias(Q_POSITIONS, K_POSITIONS, SCALES).dtype == torch.float32


def test_a_float64_scale_keeps_its_digits():
    one, third = torch.ones(1).double(), torch.tensor([1 / 3], dtype=torch.float64)
    want = sandwich_bias(Q_POSITIONS, K_POSITIONS, one, dtype=torch.float64) / 3
    got = sandwich_bias(Q_POSITIONS, K_POSITIONS, third, dtype=torch.float64)
    torch.testing.assert_close(got, want, rtol=1e-15, atol=0)  # one rounding each way


def test_autocast_does_not_reach_the_angles():
    want = sandwich_bias(Q_POSITIONS, K_POSITIONS, SCALES)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert torch.equal(sandwich_bias(Q_POSITIONS, K_POSITIONS, SCALES), want)


def test_neighbours_stay_apart_past_the_whole_numbers_of_float32():
    far = torch.tensor([2**24 + 1, 2**24])
    got = sandwich_bias(far[:1], far, torch.ones(1), dtype=torch.float64)
    # float64 angles of 2e7 carry 4e-9 each.
    want = oracles.sandwich([1], [1, 0], [1.0], width=128)
    torch.testing.assert_close(got, want, rtol=0, atol=1e-6)


@pytest.mark.parametrize("name", ["uint8", "uint16", "int8"])
def test_narrow_positions_do_not_wrap_around(name):
    q, k = (torch.tensor(p, dtype=getattr(torch, name)) for p in ([0, 127], [127, 5]))
    assert torch.equal(sandwich_bias(q, k, SCALES), sandwich_bias(q.long(), k.long(), SCALES))


def test_the_bias_lies_on_the_device_of_the_positions():
    q, k = Q_POSITIONS.to("meta"), K_POSITIONS.to("meta")
    bias = sandwich_bias(q, k, SCALES)
    assert (bias.device.type, bias.shape) == ("meta", (3, 4, 5))


GOOD = {"q_positions": Q_POSITIONS, "k_positions": K_POSITIONS, "scales": SCALES}


@pytest.mark.parametrize("argument", GOOD)
@pytest.mark.parametrize("shape", [[], [2, 4]])
def test_a_tensor_of_another_rank_is_refused(argument, shape):
    bad = torch.zeros(shape, dtype=GOOD[argument].dtype)
    with raises_exactly(ValueError, f"{argument} must be 1-D, got {shape}"):
        sandwich_bias(**(GOOD | {argument: bad}))


@pytest.mark.parametrize("argument", ["q_positions", "k_positions"])
@pytest.mark.parametrize("name", "bool float32 float64 complex64".split())
def test_positions_that_are_not_integer_are_refused(argument, name):
    bad = GOOD[argument].to(getattr(torch, name))
    with raises_exactly(TypeError, f"{argument} must be integer, got torch.{name}"):
        sandwich_bias(**(GOOD | {argument: bad}))


@pytest.mark.parametrize("name", "bool int64 complex64".split())
def test_scales_that_are_not_floating_point_are_refused(name):
    bad = SCALES.to(getattr(torch, name))
    with raises_exactly(TypeError, f"scales must be floating point, got torch.{name}"):
        sandwich_bias(**(GOOD | {"scales": bad}))


@pytest.mark.parametrize("value", [-2, 0, 1, 7])
def test_a_width_that_is_odd_or_small_is_refused(value):
    with raises_exactly(ValueError, f"width must be even and at least 2, got {value}"):
        sandwich_bias(**GOOD, width=value)


@pytest.mark.parametrize("value", [0, -1.0])
def test_a_base_that_is_not_positive_is_refused(value):
    with raises_exactly(ValueError, f"base must be positive, got {value}"):
        sandwich_bias(**GOOD, base=value)


def test_options_are_given_by_name():
    with pytest.raises(TypeError, match="positional argument"):
        sandwich_bias(*GOOD.values(), 128)
