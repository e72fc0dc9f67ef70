"""RoPE on a grid: frequencies and positions, then the rotation against complex numbers."""

import math

import pytest
import torch

from posenc_check import rope_variants as oracle
from snippets.rope import apply_rope, rope_inv_freq
from snippets.rope_2d import (
    LAYOUTS, apply_rope_2d, axial_inv_freq, mixed_inv_freq, patch_positions,
)

GRID = torch.tensor([[7, 3], [0, 90], [1, 0], [90, 41], [41, 8]])
OWN_GRIDS = torch.stack((GRID, GRID.flip(0) + torch.tensor([2, 5])))

both_layouts = pytest.mark.parametrize("layout", LAYOUTS)


def generic(*shape, seed=0):
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def mixed(head_dim, n_heads, base=10.0, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return mixed_inv_freq(head_dim, n_heads, base, generator=generator)


def assert_close(got, want, atol=1e-12):
    # float64: an angle below 200 is rounded by 3e-14 at most, and |x| is below 5.
    torch.testing.assert_close(got, want, rtol=0, atol=atol)


@pytest.mark.parametrize("base", [0.5, 10.0, 100, 10_000.0])
@pytest.mark.parametrize("head_dim", [4, 8, 20, 64])
def test_axial_speeds_are_plain_rope_of_half_the_width_rows_first(head_dim, base):
    want = [oracle.axial_speeds(i, head_dim, base) for i in range(head_dim // 2)]
    got = axial_inv_freq(head_dim, base)
    assert got.shape == (head_dim // 2, 2)
    # Two ways to take a power in float64 agree to the last digits.
    torch.testing.assert_close(got, torch.tensor(want, dtype=torch.float64), rtol=1e-13, atol=0)
    assert (got.count_nonzero(dim=1) == 1).all()


def test_known_axial_speeds():
    per_row = axial_inv_freq(16)[:4, 0].tolist()  # 100 ** (-j / 4)
    assert per_row == pytest.approx([1, 0.31622776601683794, 0.1, 0.03162277660168379], rel=1e-15)


@pytest.mark.parametrize("base", [10.0, 100])
@pytest.mark.parametrize("head_dim, n_heads", [(4, 1), (8, 3), (20, 2)])
def test_mixed_speeds_are_axial_ones_turned_in_each_head(head_dim, n_heads, base):
    got = mixed(head_dim, n_heads, base)
    assert got.shape == (n_heads, head_dim // 2, 2) and got.dtype == torch.float64
    for head in got:
        direction = math.atan2(*head[0].tolist())  # the first pair looks there
        want = [oracle.mixed_speeds(i, head_dim, direction, base) for i in range(head_dim // 2)]
        assert_close(head, torch.tensor(want, dtype=torch.float64), atol=1e-14)  # sines below 1


def test_heads_look_in_all_directions():
    first = mixed(4, 1000)[:, 0]
    eighth = ((torch.atan2(*first.T) / math.pi + 1) * 4).long() % 8
    # 125 are expected in each eighth of the circle, with a standard deviation of 10.
    assert (torch.bincount(eighth, minlength=8) - 125).abs().max() < 50


def test_the_generator_alone_decides_the_directions():
    assert torch.equal(mixed(8, 3), mixed(8, 3))
    assert not torch.equal(mixed(8, 3), mixed(8, 3, seed=1))
    torch.manual_seed(0)
    assert torch.equal(mixed_inv_freq(8, 3), mixed(8, 3))  # the global one, with the same seed


def test_a_head_looks_where_its_number_says():
    share = torch.rand(3, 1, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    turn = [2 * math.pi * number for number in share.flatten().tolist()]
    want = [[math.sin(angle), math.cos(angle)] for angle in turn]
    assert_close(mixed(8, 3)[:, 0], torch.tensor(want, dtype=torch.float64), atol=1e-14)


def test_the_default_bases_are_100_and_10():
    assert torch.equal(axial_inv_freq(8), axial_inv_freq(8, 100.0))
    generator = torch.Generator().manual_seed(0)
    assert torch.equal(mixed_inv_freq(8, 3, generator=generator), mixed(8, 3, 10.0))


def test_patches_are_numbered_row_by_row():
    got = patch_positions(2, 3)
    assert got.tolist() == [[0, 0], [0, 1], [0, 2], [1, 0], [1, 1], [1, 2]]
    assert got.dtype == torch.int64
    assert patch_positions(1, 1).tolist() == [[0, 0]]
    assert patch_positions(3, 1).tolist() == [[0, 0], [1, 0], [2, 0]]


@both_layouts
@pytest.mark.parametrize("positions", [GRID, OWN_GRIDS], ids=["shared", "own"])
@pytest.mark.parametrize("head_dim", [4, 8, 12])
def test_every_pair_turns_by_the_row_and_by_the_column(head_dim, positions, layout):
    x = generic(2, 3, 5, head_dim)
    for inv_freq in (axial_inv_freq(head_dim), mixed(head_dim, 3)):
        got = apply_rope_2d(x, positions, inv_freq, layout=layout)
        assert_close(got, oracle.rope_2d(x, positions, inv_freq, layout))


@both_layouts
@pytest.mark.parametrize("batch", [1, 2, 3])
def test_a_batch_as_large_as_the_heads_hides_no_mix_up(batch, layout):
    x = generic(batch, 3, 5, 6)
    positions = GRID + 7 * torch.arange(batch)[:, None, None]
    inv_freq = generic(3, 3, 2)
    got = apply_rope_2d(x, positions, inv_freq, layout=layout)
    assert_close(got, oracle.rope_2d(x, positions, inv_freq, layout))


def test_the_default_layout_is_half():
    x, inv_freq = generic(2, 3, 5, 8), axial_inv_freq(8)
    half = apply_rope_2d(x, GRID, inv_freq, layout="half")
    assert torch.equal(apply_rope_2d(x, GRID, inv_freq), half)
    assert (half - apply_rope_2d(x, GRID, inv_freq, layout="interleaved")).abs().max() > 1


@pytest.mark.parametrize("axis", [0, 1])
@both_layouts
def test_with_one_axis_it_is_plain_rope(axis, layout):
    x, speed = generic(2, 3, 5, 8), rope_inv_freq(8)
    inv_freq = torch.zeros(4, 2, dtype=torch.float64)
    inv_freq[:, axis] = speed
    got = apply_rope_2d(x, GRID, inv_freq, layout=layout)
    assert_close(got, apply_rope(x, GRID[:, axis], speed, layout=layout))


@both_layouts
@pytest.mark.parametrize("shift", [(1, 0), (0, 1), (17, -4), (1000, 3000)])
def test_scores_depend_only_on_the_offset_on_both_axes(shift, layout):
    q, k = generic(2, 3, 5, 8), generic(2, 3, 5, 8, seed=1)
    for inv_freq in (axial_inv_freq(8), mixed(8, 3)):

        def scores(positions):
            turned = (apply_rope_2d(x, positions, inv_freq, layout=layout) for x in (q, k))
            q_turned, k_turned = turned
            return q_turned @ k_turned.mT

        # Angles near 4000 are rounded by 5e-13; dot products add 8 of them.
        assert_close(scores(GRID + torch.tensor(shift)), scores(GRID), atol=1e-10)
        assert (scores(GRID) - scores(GRID.flip(-1))).abs().max() > 0.1  # rows are no columns


@both_layouts
def test_norms_are_kept_and_the_input_too(layout):
    x = generic(2, 3, 5, 8)
    before = x.clone()
    y = apply_rope_2d(x, GRID, mixed(8, 3), layout=layout)
    assert_close(y.norm(dim=-1), x.norm(dim=-1))
    assert (y - x).abs().max() > 1 and torch.equal(x, before)
