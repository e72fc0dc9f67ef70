"""What narrow numbers do to an angle: positions, speeds, sines, and the whole of a module.

The score here is that of two equal vectors whose 64 pairs have one size, at positions m and
m + 1: the mean of cos(angle), where only the number of bits of the angle is changed.
"""

import math

import pytest
import torch
from torch import nn

from posenc_check import oracles
from snippets.rope import apply_rope, rope_inv_freq

HEAD_DIM = 128
SPEEDS = rope_inv_freq(HEAD_DIM)
EXACT = [math.exp(-2 * pair / HEAD_DIM * math.log(10_000)) for pair in range(HEAD_DIM // 2)]
BF16, FP16, FP32 = torch.bfloat16, torch.float16, torch.float32


def angles(positions, dtype):
    """Positions, speeds and their products, all rounded to dtype."""
    return (torch.as_tensor(positions).to(dtype)[:, None] * SPEEDS.to(dtype)).double()


def score(position, dtype):
    here, there = angles([position, position + 1], dtype)
    return torch.cos(there - here).mean().item()


def exact_score(offset):
    return sum(math.cos(offset * speed) for speed in EXACT) / len(EXACT)


def test_in_exact_numbers_the_score_of_neighbours_is_the_same_everywhere():
    assert exact_score(1) == pytest.approx(0.9702138094651193, abs=1e-15)
    for position in (1, 255, 4095, 131_071):
        # An angle near 1e5 is rounded by 1.5e-11 in float64.
        assert score(position, torch.float64) == pytest.approx(exact_score(1), abs=1e-11)


@pytest.mark.parametrize(
    "dtype, position, known",
    [
        (BF16, 1, 0.970209), (BF16, 127, 0.967561), (BF16, 255, 0.951288),
        (BF16, 256, 1.0), (BF16, 257, 0.892089), (BF16, 4095, 1.0), (BF16, 32767, 1.0),
        (FP16, 255, 0.970588), (FP16, 2047, 0.951288), (FP16, 2048, 1.0), (FP16, 4095, 1.0),
        (FP32, 255, 0.970214), (FP32, 4095, 0.970213), (FP32, 32767, 0.970225),
    ],
)  # fmt: skip
def test_known_scores_of_neighbours_when_angles_are_rounded(dtype, position, known):
    assert score(position, dtype) == pytest.approx(known, abs=6e-7)  # six digits are written


@pytest.mark.parametrize("dtype, first", [(BF16, 256), (FP16, 2048)], ids=["bfloat16", "float16"])
def test_past_the_last_exact_integer_neighbours_fall_together_or_lie_two_apart(dtype, first):
    """Not every pair of neighbours falls together: the ones between lie too far apart."""
    found = [score(position, dtype) for position in range(first, first + 8)]
    rounded = torch.arange(first, first + 9).to(dtype).tolist()
    steps = [int(b - a) for a, b in zip(rounded, rounded[1:])]
    assert steps == [0, 2, 2, 0, 0, 2, 2, 0]
    for step, value in zip(steps, found):
        assert value == 1.0 if step == 0 else value < 0.91


@pytest.mark.parametrize(
    "position, in_bf16, in_fp16",
    [
        (256, 256, 256), (257, 256, 257), (259, 260, 259), (511, 512, 511), (4095, 4096, 4096),
        (65_519, 65_536, 65_504), (65_520, 65_536, math.inf), (100_000, 99_840, math.inf),
    ],
)  # fmt: skip
def test_known_positions_after_rounding(position, in_bf16, in_fp16):
    assert torch.tensor(position).to(BF16).item() == in_bf16
    assert torch.tensor(position).to(FP16).item() == in_fp16


@pytest.mark.parametrize("length, distinct", [(256, 256), (512, 385), (4096, 769), (131_072, 1409)])
def test_how_many_positions_bfloat16_can_tell_apart(length, distinct):
    assert torch.arange(length).to(BF16).unique().numel() == distinct


def test_a_float16_position_past_65519_turns_by_nan():
    assert angles([65_519], FP16).isfinite().all()
    assert angles([65_520], FP16).cos().isnan().all()


@pytest.mark.parametrize(
    "position, worst_angle, worst_cosine",
    [(127, 0.155343, 0.079922), (4095, 5.00891, 1.678785), (131_072, 160.324, 1.813473)],
)
def test_speeds_rounded_to_bfloat16_turn_wrongly_in_proportion_to_the_position(
    position, worst_angle, worst_cosine
):
    rounded = SPEEDS.to(BF16).double()
    error = (position * (rounded - SPEEDS)).abs().max().item()
    assert error == pytest.approx(worst_angle, rel=4e-6)
    cosines = ((position * rounded).cos() - (position * SPEEDS).cos()).abs().max().item()
    assert cosines == pytest.approx(worst_cosine, abs=6e-7)
    assert ((rounded - SPEEDS) / SPEEDS).abs().max() <= 2**-8


def test_rounded_speeds_still_make_a_relative_rotation_but_another_one():
    """The model notices only if it was trained with other speeds."""
    q, k = torch.randn(2, 1, 1, 1, HEAD_DIM, generator=torch.Generator().manual_seed(0)).double()

    def at(m, n, speeds):
        turned = [apply_rope(x, torch.tensor([p]), speeds) for x, p in ((q, m), (k, n))]
        return (turned[0] * turned[1]).sum().item()

    rounded = SPEEDS.to(BF16).double()
    assert at(9000, 5000, rounded) == pytest.approx(at(4000, 0, rounded), abs=1e-9)
    assert abs(at(4000, 0, rounded) - at(4000, 0, SPEEDS)) > 1


@pytest.mark.parametrize("dtype, bound", [(BF16, 2**-9), (FP16, 2**-12)], ids=["bf16", "fp16"])
def test_sines_that_are_only_rounded_at_the_end_are_equally_good_everywhere(dtype, bound):
    for position in (127, 4095, 131_072, 1_000_000):
        exact = position * SPEEDS
        both = torch.cat((exact.cos(), exact.sin()))
        worst = (both.to(dtype).double() - both).abs().max()
        assert 0.9 * bound < worst <= bound


def test_float32_angles_are_off_by_thousandths_past_a_hundred_thousand():
    positions = torch.arange(131_072, 132_096)
    exact = positions.double()[:, None] * SPEEDS
    worst = (angles(positions, FP32).cos() - exact.cos()).abs().max().item()
    assert worst == pytest.approx(0.00776, abs=5e-6)
    near = torch.arange(4096)
    worst = (angles(near, FP32).cos() - (near.double()[:, None] * SPEEDS).cos()).abs().max().item()
    assert worst == pytest.approx(0.00023, abs=5e-6)


def test_autocast_rounds_angles_that_come_from_a_matrix_product():
    positions, speeds = torch.arange(300, 310).float(), SPEEDS.float()
    exact = positions.double()[:, None] * SPEEDS
    with torch.autocast("cpu", BF16):
        product = positions[:, None] @ speeds[None]
        elementwise = positions[:, None] * speeds
        summed_over_nothing = torch.einsum("i,j->ij", positions, speeds)
        q = apply_rope(torch.ones(1, 1, 10, HEAD_DIM), torch.arange(300, 310), SPEEDS)
    assert (product.dtype, elementwise.dtype, q.dtype) == (BF16, FP32, FP32)
    assert (product - exact).abs().max() > 1  # radians
    # float32 steps by 2**-15 near 300: half a step for the product, and the rounding of the speed.
    assert (elementwise - exact).abs().max() < 2**-15
    # Without a summed index einsum multiplies element by element, and autocast leaves it alone.
    assert torch.equal(summed_over_nothing, elementwise)
    outside = apply_rope(torch.ones(1, 1, 10, HEAD_DIM), torch.arange(300, 310), SPEEDS)
    assert torch.equal(q, outside)


class WithBuffer(nn.Module):
    """Speeds kept as a buffer, as many models do."""

    def __init__(self):
        super().__init__()
        self.register_buffer("inv_freq", SPEEDS.float(), persistent=False)


def test_casting_a_module_rounds_the_speeds_it_keeps_for_good():
    module = WithBuffer().bfloat16()
    assert module.inv_freq.dtype == BF16
    back = module.float().inv_freq.double()
    assert torch.equal(back, SPEEDS.float().to(BF16).double())
    assert ((back - SPEEDS) / SPEEDS).abs().max().item() == pytest.approx(0.0037, abs=5e-5)


@pytest.mark.parametrize("position", [1, 255, 256, 257, 4095, 100_000])
def test_apply_rope_keeps_the_score_of_neighbours_in_bfloat16(position):
    x = torch.ones(1, 1, 2, HEAD_DIM, dtype=BF16)
    here, there = apply_rope(x, torch.tensor([position, position + 1]), SPEEDS)[0, 0].double()
    # Each coordinate, below 1.5, is rounded once by at most 2**-8; errors of 128 of them cancel.
    assert (here * there).mean().item() == pytest.approx(exact_score(1), abs=2**-9)
    want = oracles.rope_vector([1.0] * HEAD_DIM, position, EXACT, "half")
    torch.testing.assert_close(here, torch.tensor(want).double(), rtol=2**-8, atol=1e-6)
