"""The algebra of RoPE: absolute rotations of q and k meet as a relative one.

Most of these properties also hold for a wrong base, sign or layout; the
oracle tests of test_rope.py pin those. Here the rotations are explicit
matrices, and each property stands beside a case where it fails.
"""

import pytest
import torch

from posenc_check import oracles
from snippets.attention import attention
from snippets.rope import LAYOUTS, apply_rope, rope_inv_freq

HEAD_DIM = 8
SPEEDS = rope_inv_freq(HEAD_DIM)
PAIRS_OF_POSITIONS = [(2, 9), (9, 2), (0, 3), (5, -4), (700, 123)]

both_layouts = pytest.mark.parametrize("layout", LAYOUTS)
many_positions = pytest.mark.parametrize("m, n", PAIRS_OF_POSITIONS)


def generic(*shape, seed=0):
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def snippet_matrix(position, layout):
    """R(position) as apply_rope does it: column c is the turned unit vector c."""
    units = torch.eye(HEAD_DIM, dtype=torch.float64)[None, None]
    positions = torch.full((HEAD_DIM,), position)
    return apply_rope(units, positions, SPEEDS, layout=layout)[0, 0].mT


def assert_close(got, want, atol=1e-12):  # angles below 1000 in float64: 1e-13
    torch.testing.assert_close(got, want, rtol=0, atol=atol)


@both_layouts
@pytest.mark.parametrize("position", [0, 1, 7, 900])
def test_apply_rope_is_the_matrix_of_the_paper(position, layout):
    want = oracles.rotation_matrix(position, SPEEDS.tolist(), layout)
    assert_close(snippet_matrix(position, layout), want)


@both_layouts
@many_positions
def test_two_rotations_meet_as_the_rotation_by_n_minus_m(m, n, layout):
    product = snippet_matrix(m, layout).mT @ snippet_matrix(n, layout)
    assert_close(product, oracles.rotation_matrix(n - m, SPEEDS.tolist(), layout))
    reverse = oracles.rotation_matrix(m - n, SPEEDS.tolist(), layout)
    assert (product - reverse).abs().max() > 0.1


@both_layouts
@pytest.mark.parametrize("position", [0, 1, 7, 900])
def test_a_rotation_is_orthogonal_and_no_reflection(position, layout):
    matrix = snippet_matrix(position, layout)
    assert_close(matrix.mT @ matrix, torch.eye(HEAD_DIM, dtype=torch.float64))
    assert torch.linalg.det(matrix).item() == pytest.approx(1, abs=1e-12)


@both_layouts
@many_positions
def test_a_score_is_q_times_k_turned_by_the_offset(m, n, layout):
    q, k = generic(2, 3, 1, HEAD_DIM), generic(2, 3, 1, HEAD_DIM, seed=1)
    turned_q = apply_rope(q, torch.tensor([m]), SPEEDS, layout=layout)
    turned_k = apply_rope(k, torch.tensor([n]), SPEEDS, layout=layout)
    want = (q * oracles.rope(k, [n - m], SPEEDS.tolist(), layout)).sum(dim=-1)
    assert_close((turned_q * turned_k).sum(dim=-1), want)


@both_layouts
@pytest.mark.parametrize("shift", [1, 17, 100_000])
def test_scores_depend_only_on_the_offset(shift, layout):
    q, k = generic(2, 3, 5, HEAD_DIM), generic(2, 3, 5, HEAD_DIM, seed=1)

    def scores(first):
        positions = torch.arange(first, first + 5)
        return apply_rope(q, positions, SPEEDS, layout=layout) @ apply_rope(
            k, positions, SPEEDS, layout=layout
        ).mT

    # An angle near 1e5 is rounded by 2e-11 at most, and less for the slower pairs.
    assert_close(scores(shift), scores(0), atol=1e-10)
    assert (scores(0) - q @ k.mT).abs().max() > 0.1


def test_rotating_one_side_only_makes_scores_depend_on_the_absolute_position():
    q, k = generic(2, 3, 5, HEAD_DIM), generic(2, 3, 5, HEAD_DIM, seed=1)
    here, shifted = (q @ apply_rope(k, torch.arange(5) + s, SPEEDS).mT for s in (0, 17))
    assert (here - shifted).abs().max() > 1


def test_the_sequences_of_a_batch_may_be_shifted_each_by_its_own_amount():
    q, k = generic(2, 3, 5, HEAD_DIM), generic(2, 3, 5, HEAD_DIM, seed=1)
    shifted = torch.arange(5) + torch.tensor([[40], [100_000]])
    here, there = (
        apply_rope(q, p, SPEEDS) @ apply_rope(k, p, SPEEDS).mT for p in (torch.arange(5), shifted)
    )
    assert_close(there, here, atol=1e-10)  # angles near 1e5: 2e-11


def test_values_are_not_rotated():
    q, k, v = (generic(2, 3, 1, HEAD_DIM, seed=seed) for seed in range(3))
    position = torch.tensor([41])
    y = attention(apply_rope(q, position, SPEEDS), apply_rope(k, position, SPEEDS), v)
    assert torch.equal(y, v)  # with one key, attention returns its value
    assert (apply_rope(v, position, SPEEDS) - v).abs().max() > 1
