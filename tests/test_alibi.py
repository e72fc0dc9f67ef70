"""Slopes and bias against products and sums of single numbers, then what they refuse."""

import pytest
import torch

from posenc_check import oracles
from snippets.alibi import alibi_bias, alibi_slopes
from tests.exact import raises_exactly

Q_POSITIONS, K_POSITIONS = torch.tensor([31, 40, 36, 3]), torch.tensor([30, 31, 90, 37, 9])


@pytest.mark.parametrize("n_heads", [*range(1, 34), 40, 48, 64, 71, 96, 112, 128])
def test_every_slope_follows_the_rule(n_heads):
    want = torch.tensor(oracles.alibi_slopes(n_heads), dtype=torch.float64)
    # The oracle multiplies up to 256 times, each time with a float64 rounding.
    torch.testing.assert_close(alibi_slopes(n_heads), want, rtol=1e-12, atol=0)


KNOWN = {
    1: [1 / 256],
    2: [1 / 16, 1 / 256],
    6: [1 / 4, 1 / 16, 1 / 64, 1 / 256, 1 / 2, 1 / 8],
    8: [1 / 2, 1 / 4, 1 / 8, 1 / 16, 1 / 32, 1 / 64, 1 / 128, 1 / 256],
}


@pytest.mark.parametrize("n_heads", KNOWN)
def test_known_slopes(n_heads):
    assert alibi_slopes(n_heads).tolist() == KNOWN[n_heads]


def test_known_slopes_that_are_no_powers_of_a_half():
    later = [0.70710678, 0.35355339, 0.17677670, 0.08838835]
    assert alibi_slopes(12)[8:].tolist() == pytest.approx(later, abs=5e-9)
    assert alibi_slopes(12)[:8].tolist() == KNOWN[8]
    assert alibi_slopes(16)[[0, -1]].tolist() == pytest.approx([0.70710678, 1 / 256], abs=5e-9)
    assert alibi_slopes(32)[0].item() == pytest.approx(0.84089642, abs=5e-9)


def test_slopes_are_float64_tensors_of_their_own():
    first = alibi_slopes(3)
    assert first.dtype == torch.float64 and first.shape == (3,)
    first.zero_()
    assert alibi_slopes(3).all()


@pytest.mark.parametrize("n_heads", [1, 3, 8])
def test_every_bias_is_the_slope_times_the_distance(n_heads):
    slopes = alibi_slopes(n_heads)
    got = alibi_bias(Q_POSITIONS, K_POSITIONS, slopes, dtype=torch.float64)
    want = oracles.alibi_bias(Q_POSITIONS.tolist(), K_POSITIONS.tolist(), slopes.tolist())
    assert got.shape == (n_heads, 4, 5)
    # The oracle adds up to 87 slopes.
    torch.testing.assert_close(got, want, rtol=1e-13, atol=0)


def test_one_bias_by_hand():
    bias = alibi_bias(torch.tensor([7]), torch.tensor([2, 7, 9]), torch.tensor([0.5, 3.0]))
    assert bias.tolist() == [[[-2.5, 0, -1]], [[-15, 0, -6]]]


def test_decoding_slices_equal_the_full_pass():
    here, slopes = torch.arange(50), alibi_slopes(6)
    full = alibi_bias(here, here, slopes)
    for i in (0, 1, 49):
        step = alibi_bias(here[i : i + 1], here[: i + 1], slopes)
        assert torch.equal(step[:, 0], full[:, i, : i + 1])


@pytest.mark.parametrize("name", ["float16", "bfloat16", "float32", "float64"])
def test_the_product_is_rounded_once(name):
    dtype = getattr(torch, name)
    keys, slopes = torch.arange(5000), alibi_slopes(12)
    got = alibi_bias(keys[-1:], keys, slopes, dtype=dtype)
    distance = (4999 - keys).double()
    want = torch.stack([-s * distance for s in slopes])[:, None]
    assert got.dtype == dtype and torch.equal(got, want.to(dtype))


def test_float32_slopes_are_widened_before_the_product():
    keys, slopes = torch.arange(5000), alibi_slopes(12).float()
    got = alibi_bias(keys[-1:], keys, slopes, dtype=torch.float64)
    assert torch.equal(got, alibi_bias(keys[-1:], keys, slopes.double(), dtype=torch.float64))


def test_the_bias_is_float32_unless_asked():
    assert alibi_bias(Q_POSITIONS, K_POSITIONS, alibi_slopes(2)).dtype == torch.float32


def test_near_keys_differ_in_bfloat16():
    keys = torch.arange(2048)
    bias = alibi_bias(keys[-1:], keys, torch.tensor([0.5]), dtype=torch.bfloat16)
    assert bias[0, 0, -4:].tolist() == [-1.5, -1.0, -0.5, 0.0]


@pytest.mark.parametrize("name", "uint8 uint16 uint32 int8 int16 int32 int64".split())
def test_positions_of_any_integer_dtype_do_not_wrap_around(name):
    q, k = (torch.tensor(p, dtype=getattr(torch, name)) for p in ([5, 127], [0, 127]))
    slopes = torch.ones(1)
    assert alibi_bias(q, k, slopes).tolist() == [[[-5, -122], [-127, 0]]]
    if not name.startswith("u"):
        assert alibi_bias(-q, k, slopes).tolist() == [[[-5, -132], [-127, -254]]]


def test_the_bias_lies_on_the_device_of_the_positions():
    q, k = Q_POSITIONS.to("meta"), K_POSITIONS.to("meta")
    bias = alibi_bias(q, k, alibi_slopes(3))
    assert (bias.device.type, bias.shape) == ("meta", (3, 4, 5))


@pytest.mark.parametrize("value", [8.0, "8", None])
def test_a_number_of_heads_that_is_no_int_is_refused(value):
    with raises_exactly(TypeError, f"n_heads must be an int, got {value!r}"):
        alibi_slopes(value)


@pytest.mark.parametrize("value", [0, -8])
def test_a_number_of_heads_below_one_is_refused(value):
    with raises_exactly(ValueError, f"n_heads must be positive, got {value}"):
        alibi_slopes(value)


def arguments(**replaced):
    good = {"q_positions": Q_POSITIONS, "k_positions": K_POSITIONS, "slopes": alibi_slopes(3)}
    return good | replaced


@pytest.mark.parametrize("argument", ["q_positions", "k_positions", "slopes"])
@pytest.mark.parametrize("shape", [[], [2, 4]])
def test_a_tensor_of_another_rank_is_refused(argument, shape):
    with raises_exactly(ValueError, f"{argument} must be 1-D, got {shape}"):
        alibi_bias(**arguments(**{argument: torch.zeros(shape, dtype=torch.int64)}))


@pytest.mark.parametrize("argument", ["q_positions", "k_positions"])
@pytest.mark.parametrize("name", "bool float32 float64 complex64".split())
def test_positions_that_are_not_integer_are_refused(argument, name):
    bad = arguments()[argument].to(getattr(torch, name))
    with raises_exactly(TypeError, f"{argument} must be integer, got torch.{name}"):
        alibi_bias(**arguments(**{argument: bad}))


def test_the_dtype_is_given_by_name():
    with pytest.raises(TypeError, match="positional argument"):
        alibi_bias(*arguments().values(), torch.float64)
