"""apply_rope against complex numbers, and what it leaves alone."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from posenc_check import oracles
from snippets.rope import LAYOUTS, apply_rope, rope_inv_freq

POSITIONS = torch.tensor([7, 0, 1, 900, 41])
OWN_POSITIONS = torch.tensor([[7, 0, 1, 900, 41], [3, 3, 2, 500, 0]])

both_layouts = pytest.mark.parametrize("layout", LAYOUTS)


def generic(*shape):
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(0))


def oracle(x, positions, inv_freq, layout):
    return oracles.rope(x, positions, inv_freq.tolist(), layout)


def assert_close(got, want):
    # float64: an angle below 1000 is rounded by 1e-13 at most, and |x| is below 5.
    torch.testing.assert_close(got, want, rtol=0, atol=1e-12)


@both_layouts
@pytest.mark.parametrize("base", [100.0, 10_000.0, 500_000.0])
@pytest.mark.parametrize("head_dim", [2, 4, 8, 14])
def test_every_pair_turns_as_a_complex_number(head_dim, base, layout):
    x, inv_freq = generic(2, 3, 5, head_dim), rope_inv_freq(head_dim, base)
    got = apply_rope(x, POSITIONS, inv_freq, layout=layout)
    assert_close(got, oracle(x, POSITIONS, inv_freq, layout))


@both_layouts
@pytest.mark.parametrize("head_dim, n_pairs", [(8, 1), (8, 3), (7, 2), (3, 1)])
def test_coordinates_beyond_the_rotated_pairs_pass_unchanged(head_dim, n_pairs, layout):
    x, inv_freq = generic(2, 3, 5, head_dim), rope_inv_freq(2 * n_pairs)
    got = apply_rope(x, POSITIONS, inv_freq, layout=layout)
    assert_close(got, oracle(x, POSITIONS, inv_freq, layout))
    assert torch.equal(got[..., 2 * n_pairs :], x[..., 2 * n_pairs :])


@both_layouts
def test_each_sequence_may_have_positions_of_its_own(layout):
    x, inv_freq = generic(2, 3, 5, 8), rope_inv_freq(6)
    got = apply_rope(x, OWN_POSITIONS, inv_freq, layout=layout)
    assert_close(got, oracle(x, OWN_POSITIONS, inv_freq, layout))


@both_layouts
@settings(derandomize=True, deadline=None, max_examples=30)
@given(
    batch=st.integers(0, 2), heads=st.integers(1, 2), n_pairs=st.integers(1, 3),
    positions=st.lists(st.integers(-900, 900), max_size=3),
)
def test_any_size_and_position_agrees(layout, batch, heads, n_pairs, positions):
    x = generic(batch, heads, len(positions), 2 * n_pairs)
    positions, inv_freq = torch.tensor(positions, dtype=torch.int64), rope_inv_freq(2 * n_pairs)
    got = apply_rope(x, positions, inv_freq, layout=layout)
    assert_close(got, oracle(x, positions, inv_freq, layout))


@pytest.mark.parametrize("layout, columns", [("half", [0, 2]), ("interleaved", [0, 1])])
def test_the_first_pair_turns_by_one_radian_from_first_to_second_coordinate(layout, columns):
    x = torch.zeros(1, 1, 1, 4, dtype=torch.float64)
    x[..., columns[0]] = 1
    got = apply_rope(x, torch.tensor([1]), rope_inv_freq(4), layout=layout)[0, 0, 0]
    want = torch.zeros(4, dtype=torch.float64)
    want[columns] = torch.tensor([0.5403023058681398, 0.8414709848078965], dtype=torch.float64)
    assert_close(got, want)  # cos(1) and sin(1)


def test_the_default_layout_is_half():
    x, inv_freq = generic(2, 3, 5, 8), rope_inv_freq(8)
    half = apply_rope(x, POSITIONS, inv_freq, layout="half")
    assert torch.equal(apply_rope(x, POSITIONS, inv_freq), half)
    interleaved = apply_rope(x, POSITIONS, inv_freq, layout="interleaved")
    assert (half - interleaved).abs().max() > 1


@pytest.mark.parametrize("base", [0.5, 1, 100.0, 10_000.0, 500_000.0])
@pytest.mark.parametrize("head_dim", [2, 6, 64])
def test_every_speed_equals_the_formula(head_dim, base):
    want = [oracles.rope_speed(pair, head_dim, base) for pair in range(head_dim // 2)]
    got = rope_inv_freq(head_dim, base)
    # Two ways to take a power in float64 agree to a few last digits.
    torch.testing.assert_close(got, torch.tensor(want, dtype=torch.float64), rtol=1e-14, atol=0)


def test_the_default_base_is_ten_thousand():
    assert torch.equal(rope_inv_freq(6), rope_inv_freq(6, 10_000.0))


def test_the_base_sets_the_longest_wavelength():
    head_dim = 64
    slow, fast = rope_inv_freq(head_dim, 1e6)[-1], rope_inv_freq(head_dim, 1e4)[-1]
    ratio = 100 ** ((head_dim - 2) / head_dim)
    assert (fast / slow).item() == pytest.approx(ratio, rel=1e-13)  # a few float64 roundings


@both_layouts
def test_attention_factor_scales_the_rotated_coordinates_only(layout):
    x, inv_freq = generic(2, 3, 5, 8), rope_inv_freq(6)
    got = apply_rope(x, POSITIONS, inv_freq, layout=layout, attention_factor=1.5)
    plain = oracle(x, POSITIONS, inv_freq, layout)
    assert_close(got[..., :6], 1.5 * plain[..., :6])
    assert torch.equal(got[..., 6:], x[..., 6:])


def test_positions_may_lie_between_integers():
    x, inv_freq, positions = generic(2, 3, 2, 8), rope_inv_freq(8), torch.tensor([0.5, 2.25])
    assert_close(apply_rope(x, positions, inv_freq), oracle(x, positions, inv_freq, "half"))


def test_the_input_is_not_changed():
    x = generic(2, 3, 5, 8)
    before = x.clone()
    apply_rope(x, POSITIONS, rope_inv_freq(6))
    assert torch.equal(x, before)


def test_the_norm_of_every_vector_is_kept():
    x = generic(2, 3, 5, 8)
    got = apply_rope(x, POSITIONS, rope_inv_freq(8))
    assert_close(got.norm(dim=-1), x.norm(dim=-1))
    assert not math.isclose(got[0, 0, 0, 0], x[0, 0, 0, 0])
