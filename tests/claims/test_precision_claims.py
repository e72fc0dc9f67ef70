"""The sentences of docs/guides/precision.md, in the order of the page."""

import math

import pytest
import torch
from torch import nn

from posenc_check import oracles
from snippets.rope import apply_rope, rope_inv_freq
from tests.guard.marks import claim

F64, F32, BF16, F16 = torch.float64, torch.float32, torch.bfloat16, torch.float16
EXACT = torch.tensor([oracles.rope_speed(i, 128) for i in range(64)], dtype=F64)


def angles(positions, dtype):
    """As code that keeps everything in one dtype computes them."""
    return (positions.to(dtype)[:, None] * rope_inv_freq(128).to(dtype)).double()


def neighbours(position, dtype):
    first, second = angles(torch.tensor([position, position + 1]), dtype)
    return torch.cos(second - first).mean().item()


@claim(
    "precision-snippet",
    "apply_rope does this whatever the dtype of its input is: a query in bfloat16 at position 100000 is turned "
    "as accurately as one at position 1.",
)
def test_a_query_in_bfloat16():
    x = torch.randn(2, 3, 1, 128, generator=torch.Generator().manual_seed(0)).to(BF16)
    for position in (1, 100000):
        got = apply_rope(x, torch.tensor([position]), rope_inv_freq(128))
        want = oracles.rope(x.double(), [position], EXACT.tolist(), "half")
        assert got.dtype == BF16
        assert ((got.double() - want).abs() <= 2.0**-8 * want.abs() + 1e-6).all()  # one rounding


@claim(
    "precision-integers",
    "Every whole number up to 256 is exact; then only each second one, and from 512 on each fourth.",
)
def test_whole_numbers():
    def exact(first, last):
        whole = torch.arange(first, last + 1)
        return whole[whole.to(BF16).double() == whole].tolist()

    assert exact(0, 256) == [*range(257)]
    assert exact(256, 512) == [*range(256, 513, 2)]
    assert exact(512, 1024) == [*range(512, 1025, 4)]
    with pytest.raises(TypeError):
        apply_rope(torch.zeros(1, 1, 3, 8), torch.tensor([256, 257, 258], dtype=BF16), rope_inv_freq(8))


@claim("precision-distinct", "Of 4096 positions, 769 different ones are left.")
def test_distinct_positions():
    whole = torch.arange(4096)
    assert len(whole.to(BF16).unique()) == 769
    turned = apply_rope(torch.ones(1, 1, 4096, 2, dtype=F64), whole, rope_inv_freq(2))
    assert len(turned[0, 0, :, 0].unique()) == 4096


@claim(
    "precision-apart",
    "So 256 and 257 become one number, and 257 and 258 become two that lie two apart.",
)
def test_one_number_or_two_apart():
    places = torch.tensor([256, 257, 258])
    assert places.to(BF16).tolist() == [256, 256, 258]
    turned = apply_rope(torch.ones(1, 1, 3, 8, dtype=F64), places, rope_inv_freq(8))[0, 0]
    assert (turned[0] - turned[1]).abs().max() > 0.1  # for apply_rope they are three places


@claim(
    "precision-neighbours",
    r"With vectors of ones at \(d = 128\), whose neighbours should score 0.9702 everywhere, 256 and 257 "
    "score 1.0000, 257 and 258 score 0.8921.",
)
def test_neighbours():
    one = torch.ones(1, 1, 2, 128, dtype=F64)
    for position in (256, 257, 131072):
        turned = apply_rope(one, torch.tensor([position, position + 1]), rope_inv_freq(128))[0, 0]
        assert round((turned[0] @ turned[1]).item() / 128, 4) == 0.9702
    assert round(neighbours(256, BF16), 4) == 1.0000 and round(neighbours(257, BF16), 4) == 0.8921
    rounded = torch.tensor([256, 257, 258]).to(BF16).tolist()
    assert rounded == [256, 256, 258]


@claim(
    "precision-float16", "A position in float16 is exact up to 2048, and infinite from 65520 on."
)
def test_float16_positions():
    whole = torch.arange(70000)
    in_half = whole.to(F16)
    assert (in_half.double() != whole).nonzero()[0] == 2048 + 1
    assert in_half.isinf().nonzero()[0] == 65520
    with pytest.raises(TypeError):
        apply_rope(torch.zeros(1, 1, 1, 8), in_half[:1], rope_inv_freq(8))


class Keeps(nn.Module):
    """A module that keeps its speeds, as many do."""

    def __init__(self):
        super().__init__()
        self.register_buffer("inv_freq", rope_inv_freq(128).float(), persistent=False)


@claim(
    "precision-buffer",
    "The speeds are then off by up to 0.4 %, and .float() does not bring them back.",
)
def test_a_buffer_after_a_cast():
    module = Keeps()
    assert (module.inv_freq / EXACT - 1).abs().max() < 1e-6
    back = module.bfloat16().float().inv_freq
    assert round(100 * (back / EXACT - 1).abs().max().item(), 1) == 0.4


@claim(
    "precision-speeds",
    "Of the 64 angles at position 4095 the worst is off by 5 radians, and its cosine carries no information.",
)
def test_speeds_in_bfloat16():
    rounded = rope_inv_freq(128).to(BF16).double()
    off = 4095 * (rounded - EXACT)
    assert len(off) == 64 and round(off.abs().max().item()) == 5
    assert ((4095 * rounded).cos() - (4095 * EXACT).cos()).abs().max() > 1.5


@claim(
    "precision-speeds-relative",
    "The rounded speeds still make a relative rotation, so a test of that property passes.",
)
def test_rounded_speeds_are_relative():
    q, k = torch.randn(2, 1, 2, 5, 128, generator=torch.Generator().manual_seed(0), dtype=F64)
    rounded, here = rope_inv_freq(128).to(BF16).float(), torch.arange(5)

    def scores(speeds, start):
        return apply_rope(q, here + start, speeds) @ apply_rope(k, here + start, speeds).mT

    torch.testing.assert_close(scores(rounded, 3000), scores(rounded, 0), rtol=0, atol=1e-9)
    assert (scores(rounded, 0) - scores(rope_inv_freq(128), 0)).abs().max() > 0.01


@claim(
    "precision-speeds-gap",
    "One that was trained with exact speeds gets wrong scores at large gaps: with vectors of ones the score is "
    "off by 0.003 at gap 100, and by 0.05 at gap 4095.",
)
def test_scores_with_rounded_speeds():
    one = torch.ones(1, 1, 1, 128, dtype=F64)

    def score(gap, speeds):
        turned = (apply_rope(one, torch.tensor([p]), speeds) for p in (9000, 9000 - gap))
        return (torch.linalg.vecdot(*turned) / 128).item()

    rounded = rope_inv_freq(128).to(BF16).float()
    off = {gap: abs(score(gap, rounded) - score(gap, rope_inv_freq(128))) for gap in (100, 4095)}
    assert (round(off[100], 3), round(off[4095], 2)) == (0.003, 0.05)
    assert math.isclose(score(100, rope_inv_freq(128)), (100 * EXACT).cos().mean(), rel_tol=1e-9)


@claim(
    "precision-autocast",
    "Angles from positions @ inv_freq lose their digits there, among positions 300 to 309 by up to 2.1 radians; "
    "those from an elementwise product do not.",
)
def test_angles_under_autocast():
    positions, speeds = torch.arange(300, 309 + 1).float(), rope_inv_freq(128).float()
    exact = positions.double()[:, None] * EXACT
    with torch.autocast("cpu", dtype=BF16):
        by_matrix, by_element = positions[:, None] @ speeds[None], positions[:, None] * speeds
    assert by_matrix.dtype == BF16 and by_element.dtype == F32
    assert round((by_matrix.double() - exact).abs().max().item(), 1) == 2.1
    assert (by_element.double() - exact).abs().max() < 1e-4


@claim("precision-autocast-snippet", "apply_rope gives the same result inside and outside.")
def test_apply_rope_under_autocast():
    x = torch.randn(2, 3, 5, 128, generator=torch.Generator().manual_seed(0))
    positions = torch.arange(300, 305)
    outside = apply_rope(x, positions, rope_inv_freq(128))
    with torch.autocast("cpu", dtype=BF16):
        inside = apply_rope(x, positions, rope_inv_freq(128))
    assert torch.equal(inside, outside)
    want = oracles.rope(x.double(), positions.tolist(), EXACT.tolist(), "half")
    torch.testing.assert_close(inside.double(), want, rtol=0, atol=1e-6)  # float32 products


@claim(
    "precision-float32",
    "Angles in float32 give cosines that are off by up to 0.0002 below position 4096, and by up to 0.0078 "
    "around position 131072.",
)
def test_float32_angles():
    def off(positions):
        exact = positions.double()[:, None] * EXACT
        return (angles(positions, F32).cos() - exact.cos()).abs().max().item()

    assert round(off(torch.arange(4096)), 4) == 0.0002
    assert round(off(torch.arange(131072, 131072 + 1024)), 4) == 0.0078


@claim("precision-late", "Tables that are built in float64 and then rounded have no such growth.")
def test_rounded_late():
    one = torch.zeros(1, 1, 1024, 128)
    one[..., :64] = 1
    for start in (0, 131072):
        positions = torch.arange(start, start + 1024)
        cosines = apply_rope(one, positions, rope_inv_freq(128))[0, 0, :, :64]
        exact = (positions.double()[:, None] * EXACT).cos()
        assert (cosines.double() - exact).abs().max() < 2.0**-24


@claim(
    "precision-cosines",
    "Cosines and sines in bfloat16 are off by at most 0.002, at every position.",
)
def test_cosines_in_bfloat16():
    one = torch.zeros(1, 1, 512, 128, dtype=BF16)
    one[..., :64] = 1
    for start in (0, 4000, 131072, 1_000_000):
        positions = torch.arange(start, start + 512)
        got = apply_rope(one, positions, rope_inv_freq(128))[0, 0].double()
        exact = positions.double()[:, None] * EXACT
        worst = (got - torch.cat((exact.cos(), exact.sin()), -1)).abs().max()
        assert 0.001 < worst < 0.002


@claim(
    "precision-small-positions",
    "Compare with float64 at a position past 256 and at one past 100000, not at small ones, and compare "
    "values: at position 1 all formats agree.",
)
def test_small_positions_show_nothing():
    exact = sum(math.cos(speed) for speed in EXACT.tolist()) / 64
    for dtype in (F32, F16, BF16):
        assert abs(neighbours(1, dtype) - exact) < 1e-5
    assert abs(neighbours(256 + 1, BF16) - exact) > 0.05
    assert abs(neighbours(100000 + 1, F32) - exact) > 1e-5
    x = torch.ones(1, 1, 1, 128, dtype=F64)
    turned = [apply_rope(x, torch.tensor([p]), rope_inv_freq(128))[0, 0, 0] for p in (300, 301)]
    assert abs((turned[0] @ turned[1]).item() / 128 - exact) < 1e-12
