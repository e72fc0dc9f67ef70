"""Dtypes, devices and gradients of the three rotations that are not plain RoPE."""

import pytest
import torch

from posenc_check import rope_variants as oracle
from snippets.m_rope import apply_m_rope, m_rope_axes
from snippets.rope import rope_inv_freq
from snippets.rope_2d import LAYOUTS, apply_rope_2d, axial_inv_freq, mixed_inv_freq
from snippets.xpos import apply_xpos, xpos_scale

POSITIONS = torch.tensor([7, 2, 1, 900, 41])
MIXED = mixed_inv_freq(8, 3, generator=torch.Generator().manual_seed(0))
SPEEDS, SCALE, AXES = rope_inv_freq(8), xpos_scale(8), m_rope_axes((2, 1, 1))


def grid(positions):
    return torch.stack((positions, positions.flip(-1)), dim=-1)


def three_axes(positions):
    return torch.stack((positions, positions.flip(-1), positions // 2))


def on_grid(speeds, layout):
    return (
        lambda x, p, speeds=speeds: apply_rope_2d(x, grid(p), speeds, layout=layout),
        lambda x, p: oracle.rope_2d(x, grid(p), speeds, layout),
        speeds,
    )


def with_xpos(keys, layout):
    # A centre far from 0 lets positions be large: 0.29 ** (131072 / 512) is no float32.
    def turn(x, p, speeds=SPEEDS, scale=SCALE):
        centre = float(p.flatten()[0]) if p.device.type == "cpu" else 0.0
        options = {"keys": keys, "layout": layout, "centre": centre}
        return apply_xpos(x, p, speeds, scale, **options)

    def want(x, p):
        centre = float(p.flatten()[0])
        return oracle.xpos(x, p, SPEEDS.tolist(), SCALE.tolist(), keys, layout, centre)

    return turn, want, SPEEDS


# For each its rotation of (x, positions, speeds), the oracle of it, and the speeds.
CASES = {
    **{f"rope_2d axial {layout}": on_grid(axial_inv_freq(8), layout) for layout in LAYOUTS},
    **{f"rope_2d mixed {layout}": on_grid(MIXED, layout) for layout in LAYOUTS},
    "m_rope": (
        lambda x, p, speeds=SPEEDS: apply_m_rope(x, three_axes(p), speeds, AXES),
        lambda x, p: oracle.m_rope(x, three_axes(p), SPEEDS.tolist(), AXES.tolist()),
        SPEEDS,
    ),
    **{
        f"xpos {'keys' if keys else 'queries'} {layout}": with_xpos(keys, layout)
        for keys in (False, True)
        for layout in LAYOUTS
    },
}
every_case = pytest.mark.parametrize("turn, want, speeds", CASES.values(), ids=CASES)


def generic(*shape, dtype=torch.float64):
    numbers = torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    return numbers.to(dtype)


@every_case
@pytest.mark.parametrize("name", ["bfloat16", "float16", "float32"])
def test_a_narrow_input_costs_one_rounding_of_the_result(name, turn, want, speeds):
    dtype = getattr(torch, name)
    x = generic(2, 3, 5, 8, dtype=dtype)
    got, exact = turn(x, POSITIONS + 4000), want(x, POSITIONS + 4000)
    assert got.dtype == dtype
    # The last rounding is eps / 2. Products of float32 sines add a few 1e-7 of the largest.
    atol = 1e-6 * exact.abs().max().item()
    torch.testing.assert_close(got.double(), exact, rtol=torch.finfo(dtype).eps / 2, atol=atol)


@every_case
def test_float64_stays_float64(turn, want, speeds):
    got = turn(generic(2, 3, 5, 8), POSITIONS)
    assert got.dtype == torch.float64
    exact = want(generic(2, 3, 5, 8), POSITIONS)
    # float64: an angle below 1000 is rounded by 1e-13 at most.
    torch.testing.assert_close(got, exact, rtol=0, atol=1e-12 * exact.abs().max().item())


@every_case
@pytest.mark.parametrize("own", [False, True], ids=["shared", "own"])
def test_a_position_past_a_hundred_thousand_costs_no_accuracy(own, turn, want, speeds):
    x = generic(2, 3, 5, 8, dtype=torch.float32)
    positions = torch.arange(131_072, 131_077) + (torch.tensor([[0], [60]]) if own else 0)
    got, exact = turn(x, positions).double(), want(x, positions)
    # Sines and products in float32 cost a few times 6e-8; float32 angles would cost 4e-3.
    assert ((got - exact).norm(dim=-1) / exact.norm(dim=-1)).max() < 1e-6


@every_case
def test_a_position_that_float32_cannot_hold_counts_in_full(turn, want, speeds):
    x, positions = generic(2, 3, 5, 8), torch.arange(5) + 2**24 + 1
    # A float64 angle near 2**24 is off by 4e-9; one position would turn by up to 1 radian.
    torch.testing.assert_close(turn(x, positions), want(x, positions), rtol=0, atol=1e-7)


@every_case
@pytest.mark.parametrize("name", "uint8 int8 int16 int32 int64 float32 float64".split())
def test_positions_of_any_dtype_that_can_count_give_the_same(name, turn, want, speeds):
    x, positions = generic(2, 3, 5, 8), torch.tensor([100, 2, 0, 6, 40])
    assert torch.equal(turn(x, positions.to(getattr(torch, name))), turn(x, positions))


@every_case
def test_speeds_in_float32_are_used_as_they_are(turn, want, speeds):
    x, narrow = generic(2, 3, 5, 8), speeds.float()
    assert torch.equal(turn(x, POSITIONS, narrow), turn(x, POSITIONS, narrow.double()))


def test_scales_in_float32_are_used_as_they_are():
    x, narrow = generic(2, 3, 5, 8), SCALE.float()
    got, same = (
        apply_xpos(x, POSITIONS, SPEEDS, scale, keys=True) for scale in (narrow, narrow.double())
    )
    assert torch.equal(got, same)


@every_case
def test_autocast_changes_nothing(turn, want, speeds):
    x = generic(2, 3, 5, 8, dtype=torch.float32)
    with torch.autocast("cpu", torch.bfloat16):
        inside = turn(x, POSITIONS)
    assert inside.dtype == torch.float32
    assert torch.equal(inside, turn(x, POSITIONS))


@every_case
def test_the_gradient_flows_to_x_and_to_the_speeds(turn, want, speeds):
    x, positions = generic(2, 3, 3, 8).requires_grad_(), torch.tensor([2, 5, 9])
    assert torch.autograd.gradcheck(
        lambda x, speeds: turn(x, positions, speeds), (x, speeds.clone().requires_grad_())
    )


def test_mixed_speeds_are_trained_in_every_head_pair_and_axis():
    speeds = torch.nn.Parameter(MIXED.float())
    y = apply_rope_2d(generic(2, 3, 5, 8, dtype=torch.float32), grid(POSITIONS), speeds)
    y[..., 0].sum().backward()
    assert (speeds.grad[:, 0] != 0).all() and (speeds.grad[:, 1:] == 0).all()
    speeds.grad = None
    y = apply_rope_2d(generic(2, 3, 5, 8, dtype=torch.float32), grid(POSITIONS), speeds)
    (y**3).sum().backward()
    assert speeds.grad.dtype == torch.float32 and (speeds.grad != 0).all()


@every_case
@pytest.mark.parametrize("own", [False, True], ids=["shared", "own"])
def test_meta_tensors_give_the_shape_and_dtype(own, turn, want, speeds):
    x = torch.zeros(2, 3, 5, 8, device="meta", dtype=torch.float16)
    positions = POSITIONS + torch.tensor([[0], [4]]) if own else POSITIONS
    for place in (positions, positions.to("meta")):  # on the CPU, or with x
        y = turn(x, place)
        assert (y.device.type, y.dtype, y.shape) == ("meta", torch.float16, x.shape)


@every_case
def test_an_x_that_is_not_contiguous_gives_the_same(turn, want, speeds):
    x = generic(2, 5, 3, 8).transpose(1, 2)
    assert not x.is_contiguous()
    assert torch.equal(turn(x, POSITIONS), turn(x.contiguous(), POSITIONS))


@every_case
@pytest.mark.parametrize("coordinate", range(8))
def test_a_narrow_input_is_multiplied_by_float32_cosines(coordinate, turn, want, speeds):
    x, third = torch.zeros(2, 3, 5, 8), torch.tensor(1 / 3)
    x[..., coordinate] = 1
    # One float32 product an entry; products in float64 would be rounded elsewhere.
    assert torch.equal(turn(third * x, POSITIONS), third * turn(x, POSITIONS))
