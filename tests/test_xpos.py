"""xPos against complex exponentials, known factors, and the scores that it makes."""

import itertools

import pytest
import torch

from posenc_check import oracles
from posenc_check import rope_variants as oracle
from snippets.rope import apply_rope, rope_inv_freq
from snippets.xpos import LAYOUTS, apply_xpos, xpos_scale

POSITIONS = torch.tensor([7, 2, 1, 900, 41])
OWN_POSITIONS = torch.tensor([[7, 2, 1, 900, 41], [3, 3, 2, 500, 1]])

both_layouts = pytest.mark.parametrize("layout", LAYOUTS)
both_sides = pytest.mark.parametrize("keys", [False, True], ids=["queries", "keys"])


def generic(*shape, seed=0):
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def assert_close(got, want, rtol=1e-12):
    # float64: an angle below 1000 is rounded by 1e-13 at most; a power costs as much again.
    torch.testing.assert_close(got, want, rtol=0, atol=rtol * want.abs().max().item())


@pytest.mark.parametrize("gamma", [0.4, 1, 7.5])
@pytest.mark.parametrize("head_dim", [2, 6, 64])
def test_the_scale_is_linear_in_the_number_of_the_pair(head_dim, gamma):
    want = [(i / (head_dim / 2) + gamma) / (1 + gamma) for i in range(head_dim // 2)]
    got = xpos_scale(head_dim, gamma)
    assert got.dtype == torch.float64
    assert got.tolist() == pytest.approx(want, rel=1e-15)  # a sum and a quotient


def test_known_scales():
    z = xpos_scale(64)
    assert z[[0, 16, 31]].tolist() == pytest.approx([0.285714, 0.642857, 0.977679], abs=6e-7)
    at_gaps = {128: [0.731110, 0.895424, 0.994372], 2048: [0.006664, 0.170788, 0.913660]}
    for gap, known in at_gaps.items():  # literals with six decimals
        assert (z ** (gap / 512))[[0, 16, 31]].tolist() == pytest.approx(known, abs=6e-7)
    assert torch.equal(z, xpos_scale(64, 0.4))


@both_layouts
@both_sides
@pytest.mark.parametrize("positions", [POSITIONS, OWN_POSITIONS], ids=["shared", "own"])
@pytest.mark.parametrize("head_dim, base", [(4, 10_000.0), (6, 100.0)])
def test_every_pair_turns_and_grows_or_shrinks(head_dim, base, positions, keys, layout):
    x = generic(2, 3, 5, head_dim)
    inv_freq, scale = rope_inv_freq(head_dim, base), xpos_scale(head_dim)
    lists = inv_freq.tolist(), scale.tolist()
    for options in ({}, {"centre": 450.5, "scale_base": 64.0}):
        got = apply_xpos(x, positions, inv_freq, scale, keys=keys, layout=layout, **options)
        assert_close(got, oracle.xpos(x, positions, *lists, keys, layout, **options))


@both_sides
def test_the_defaults_are_interleaved_pairs_centre_0_and_scale_base_512(keys):
    x, scale = generic(2, 3, 5, 8), xpos_scale(8)
    given = {"centre": 0.0, "scale_base": 512.0, "layout": "interleaved"}
    want = apply_xpos(x, POSITIONS, rope_inv_freq(8), scale, keys=keys, **given)
    assert torch.equal(apply_xpos(x, POSITIONS, rope_inv_freq(8), scale, keys=keys), want)
    other = apply_xpos(x, POSITIONS, rope_inv_freq(8), scale, keys=keys, layout="half")
    assert (want - other).abs().max() > 1


@both_layouts
def test_queries_shrink_and_keys_grow_with_the_position(layout):
    x, inv_freq, scale = generic(2, 3, 5, 8), rope_inv_freq(8), xpos_scale(8)
    plain = apply_rope(x, POSITIONS, inv_freq, layout=layout)
    q, k = (
        apply_xpos(x, POSITIONS, inv_freq, scale, keys=keys, layout=layout)
        for keys in (False, True)
    )
    assert (q.norm(dim=-1) < plain.norm(dim=-1)).all()
    assert (k.norm(dim=-1) > plain.norm(dim=-1)).all()
    assert_close(q * k, plain * plain)  # the two powers are inverse


@both_layouts
@both_sides
def test_at_the_centre_it_is_plain_rope(keys, layout):
    x, inv_freq, scale = generic(2, 3, 5, 8), rope_inv_freq(8), xpos_scale(8)
    positions = torch.full((5,), 41)
    got = apply_xpos(x, positions, inv_freq, scale, keys=keys, centre=41.0, layout=layout)
    assert_close(got, oracles.rope(x, positions, inv_freq.tolist(), layout))


Q, K = generic(2, 3, 5, 6), generic(2, 3, 5, 6, seed=1)


def scores(q, k, positions, **options):
    inv_freq, scale = rope_inv_freq(q.shape[3]), xpos_scale(q.shape[3])
    q = apply_xpos(q, positions, inv_freq, scale, keys=False, **options)
    return q @ apply_xpos(k, positions, inv_freq, scale, keys=True, **options).mT


@both_layouts
@pytest.mark.parametrize("shift", [0, 100, 3000])
def test_a_score_depends_only_on_the_gap(shift, layout):
    positions = torch.tensor([3, 0, 9, 200, 4])
    got = scores(Q, K, positions + shift, scale_base=100.0, layout=layout)
    speeds, scale, want = rope_inv_freq(6).tolist(), xpos_scale(6).tolist(), torch.empty_like(got)
    for b, h, i, j in itertools.product(*map(range, got.shape)):
        gap = (positions[i] - positions[j]).item()
        q, k = Q[b, h, i].tolist(), K[b, h, j].tolist()
        want[b, h, i, j] = oracle.xpos_score(q, k, gap, speeds, scale, layout, 100.0)
    # Powers up to z ** 32 = 4e-18 meet their inverses; angles near 3000 are off by 5e-13.
    assert_close(got, want, rtol=1e-11)


@pytest.mark.parametrize("centre", [17.0, 1000.5])
def test_the_centre_changes_no_score(centre):
    # As above, with angles below 1000.
    assert_close(scores(Q, K, POSITIONS, centre=centre), scores(Q, K, POSITIONS), rtol=1e-11)


def test_two_centres_change_the_scores():
    """The fault of a centre that follows the length of the current call."""
    inv_freq, scale = rope_inv_freq(6), xpos_scale(6)
    q = apply_xpos(Q, POSITIONS, inv_freq, scale, keys=False, centre=500.0)
    k = apply_xpos(K, POSITIONS, inv_freq, scale, keys=True, centre=32.0)
    assert (q @ k.mT - scores(Q, K, POSITIONS)).abs().max() > 0.5


def ones_score(gap):
    """Of all-ones vectors of width 64: the query at 1000 + gap, the key at 1000."""
    x, positions = torch.ones(1, 1, 2, 64, dtype=torch.float64), torch.tensor([1000 + gap, 1000])
    return scores(x, x, positions, centre=1000.0)[0, 0, 0, 1].item()


def test_scores_fade_for_past_keys_and_not_for_future_ones():
    assert ones_score(100) == pytest.approx(33.2, abs=0.05)  # literals with one decimal
    assert ones_score(-100) == pytest.approx(38.7, abs=0.05)
    rope = {gap: 2 * sum(torch.cos(gap * rope_inv_freq(64))).item() for gap in (100, 1000)}
    for gap in rope:
        # Slow pairs carry what is left of the score, and z shrinks each of them.
        assert abs(ones_score(gap)) < abs(rope[gap]) < abs(ones_score(-gap))


@both_sides
def test_the_norm_is_not_kept_and_the_input_is(keys):
    x = generic(2, 3, 5, 8)
    before = x.clone()
    y = apply_xpos(x, POSITIONS, rope_inv_freq(8), xpos_scale(8), keys=keys)
    assert (y.norm(dim=-1) - x.norm(dim=-1)).abs().min() > 1e-4 and torch.equal(x, before)
