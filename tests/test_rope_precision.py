"""Which dtypes and devices apply_rope takes, and what they cost in accuracy."""

import pytest
import torch

from posenc_check import oracles
from snippets.rope import LAYOUTS, apply_rope, rope_inv_freq

POSITIONS = torch.tensor([7, 0, 1, 900, 41])

both_layouts = pytest.mark.parametrize("layout", LAYOUTS)


def generic(*shape, dtype=torch.float64):
    numbers = torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    return numbers.to(dtype)


def oracle(x, positions, inv_freq, layout="half"):
    return oracles.rope(x, positions, inv_freq.tolist(), layout)


def assert_close(got, want):
    # float64: an angle below 1000 is rounded by 1e-13 at most, and |x| is below 5.
    torch.testing.assert_close(got, want, rtol=0, atol=1e-12)


@both_layouts
@pytest.mark.parametrize("name", ["bfloat16", "float16", "float32"])
def test_a_narrow_input_costs_one_rounding_of_the_result(name, layout):
    dtype = getattr(torch, name)
    x, inv_freq = generic(2, 3, 5, 8, dtype=dtype), rope_inv_freq(6)
    got = apply_rope(x, POSITIONS + 4000, inv_freq, layout=layout)
    assert got.dtype == dtype
    want = oracle(x, POSITIONS + 4000, inv_freq, layout)
    # The last rounding is eps / 2. Products of float32 sines and numbers below 5 add 1e-6.
    torch.testing.assert_close(got.double(), want, rtol=torch.finfo(dtype).eps / 2, atol=1e-6)


@pytest.mark.parametrize("name", ["bfloat16", "float32"])
def test_sines_are_rounded_to_float32_before_the_products(name):
    x, inv_freq = generic(2, 3, 5, 8, dtype=getattr(torch, name)), rope_inv_freq(8)
    angle = POSITIONS.double()[:, None] * inv_freq
    cos, sin = angle.cos().float(), angle.sin().float()
    a, b = x.float().chunk(2, dim=-1)
    want = torch.cat((a * cos - b * sin, b * cos + a * sin), dim=-1).to(x.dtype)
    assert torch.equal(apply_rope(x, POSITIONS, inv_freq), want)


def test_float64_stays_float64():
    assert apply_rope(generic(2, 3, 5, 8), POSITIONS, rope_inv_freq(8)).dtype == torch.float64


@pytest.mark.parametrize("name", "uint8 int8 int16 int32 int64 float32 float64".split())
def test_positions_of_any_dtype_that_can_count_give_the_same_rotation(name):
    x, inv_freq = generic(2, 3, 4, 8), rope_inv_freq(8)
    positions = torch.tensor([3, 0, 100, 7])
    got = apply_rope(x, positions.to(getattr(torch, name)), inv_freq)
    assert_close(got, oracle(x, positions, inv_freq, "half"))


def test_speeds_in_float32_are_used_as_they_are():
    x, inv_freq = generic(2, 3, 5, 8), rope_inv_freq(8).float()
    assert_close(apply_rope(x, POSITIONS, inv_freq), oracle(x, POSITIONS, inv_freq, "half"))


def test_a_position_that_float32_cannot_hold_counts_in_full():
    x, inv_freq, positions = generic(1, 2, 1, 8), rope_inv_freq(8), torch.tensor([2**24 + 1])
    want = oracle(x, positions, inv_freq)
    # A float64 angle near 2**24 is off by 4e-9; one position more or less would turn by 1 radian.
    torch.testing.assert_close(apply_rope(x, positions, inv_freq), want, rtol=0, atol=1e-7)


def with_float32_angles(x, positions):
    """The form found in many libraries; everything but the angle is as accurate as ours."""
    speed = 1.0 / 10_000.0 ** (torch.arange(0, 64, 2).float() / 64)
    angle = (positions.float()[:, None] * speed).double()
    a, b = x.double().chunk(2, dim=-1)
    cos, sin = angle.cos(), angle.sin()
    return torch.cat((a * cos - b * sin, b * cos + a * sin), dim=-1)


def test_a_position_past_a_hundred_thousand_costs_no_accuracy():
    x, inv_freq = generic(2, 3, 5, 64, dtype=torch.float32), rope_inv_freq(64)
    positions = torch.arange(131_072, 131_077)
    want = oracle(x, positions, inv_freq, "half")
    got = apply_rope(x, positions, inv_freq).double()
    narrow = with_float32_angles(x, positions)
    size = want.norm(dim=-1)
    # Sines and products in float32 cost a few times 6e-8.
    assert ((got - want).norm(dim=-1) / size).max() < 1e-6
    # float32 steps by 1/128 near 131072: angles of fast pairs are off by thousandths of a radian.
    assert ((narrow - want).norm(dim=-1) / size).max() > 5e-4


@both_layouts
def test_autocast_changes_nothing(layout):
    x, inv_freq = generic(2, 3, 5, 8, dtype=torch.float32), rope_inv_freq(6)
    with torch.autocast("cpu", torch.bfloat16):
        inside = apply_rope(x, POSITIONS, inv_freq, layout=layout)
    assert inside.dtype == torch.float32
    assert torch.equal(inside, apply_rope(x, POSITIONS, inv_freq, layout=layout))


@both_layouts
def test_the_gradient_flows_to_x_and_to_the_speeds(layout):
    x = generic(2, 1, 3, 6).requires_grad_()
    inv_freq = rope_inv_freq(4).requires_grad_()
    positions = torch.tensor([2, 5, 9])
    assert torch.autograd.gradcheck(
        lambda x, inv_freq: apply_rope(x, positions, inv_freq, layout=layout, attention_factor=1.5),
        (x, inv_freq),
    )


def test_positions_on_the_cpu_serve_an_x_elsewhere():
    x = torch.zeros(2, 3, 5, 8, device="meta", dtype=torch.float16)
    y = apply_rope(x, POSITIONS, rope_inv_freq(6))
    assert (y.device.type, y.dtype, y.shape) == ("meta", torch.float16, x.shape)


def test_speeds_on_the_cpu_serve_positions_elsewhere():
    positions = torch.zeros(2, 5, device="meta", dtype=torch.int64)
    y = apply_rope(torch.zeros(2, 3, 5, 8, device="meta"), positions, rope_inv_freq(6))
    assert (y.device.type, y.shape) == ("meta", (2, 3, 5, 8))
