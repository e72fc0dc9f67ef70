"""Two ways to rotate a share of the head: their speeds, what they leave alone, refusals."""

import math

import pytest
import torch

from posenc_check import oracles, scaling
from snippets.partial_rope import partial_inv_freq, proportional_inv_freq
from snippets.rope import apply_rope, rope_inv_freq
from tests.exact import raises_exactly

RULES = {"partial": partial_inv_freq, "proportional": proportional_inv_freq}
both_rules = pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
bases = pytest.mark.parametrize("base", [0.5, 10_000, 500_000.0])


def assert_speeds(got, want):
    # Two ways to take a power in float64 agree to the last digits.
    want = torch.tensor(want, dtype=torch.float64)
    torch.testing.assert_close(got, want, rtol=1e-13, atol=0)
    assert got.dtype == torch.float64


@bases
@pytest.mark.parametrize(
    "head_dim, share, n_pairs",
    [(256, 0.25, 32), (80, 0.4, 16), (14, 0.35, 2), (7, 0.9, 3), (8, 0.25, 1), (8, 1, 4)],
)
def test_partial_is_plain_rope_of_a_narrower_head(head_dim, share, n_pairs, base):
    got = partial_inv_freq(head_dim, share, base)
    assert got.shape == (n_pairs,)
    assert_speeds(got, scaling.partial(head_dim, share, base))


@bases
@pytest.mark.parametrize(
    "head_dim, share, n_turning",
    [(256, 0.25, 32), (80, 0.4, 16), (14, 0.5, 3), (6, 0.4, 1), (2, 1.0, 1), (8, 1, 4)],
)
def test_proportional_keeps_the_fast_pairs_of_the_whole_head(head_dim, share, n_turning, base):
    got = proportional_inv_freq(head_dim, share, base)
    assert got.shape == (head_dim // 2,) and got.count_nonzero() == n_turning
    assert_speeds(got, scaling.proportional(head_dim, share, base))
    assert (got[n_turning:] == 0).all()


def test_known_speeds_of_a_quarter_of_a_head_of_256():
    partial, proportional = (rule(256, 0.25, 1e6) for rule in RULES.values())
    # Literals printed by a library that computes in float32.
    assert partial[1].item() == pytest.approx(0.6493816376, rel=1e-7)
    assert partial[31].item() == pytest.approx(1.5399e-6, rel=5e-5)  # five digits
    assert proportional[1].item() == pytest.approx(0.8976871371, rel=1e-7)
    assert proportional[31].item() == pytest.approx(0.0352269448, rel=1e-7)
    assert (len(partial), len(proportional), proportional.count_nonzero()) == (32, 128, 32)


@both_rules
def test_all_of_the_head_is_plain_rope(rule):
    assert_speeds(rule(14, 1.0), rope_inv_freq(14).tolist())


@both_rules
def test_the_default_base_is_ten_thousand(rule):
    assert torch.equal(rule(16, 0.5), rule(16, 0.5, 10_000.0))
    assert not torch.equal(rule(16, 0.5), rule(16, 0.5, 500.0))


def generic():
    return torch.randn(2, 3, 5, 16, dtype=torch.float64, generator=torch.Generator().manual_seed(0))


POSITIONS = torch.tensor([7, 2, 1, 900, 41])


@pytest.mark.parametrize("layout", ["half", "interleaved"])
def test_under_partial_the_last_coordinates_pass(layout):
    x, inv_freq = generic(), partial_inv_freq(16, 0.5)
    y = apply_rope(x, POSITIONS, inv_freq, layout=layout)
    assert torch.equal(y[..., 8:], x[..., 8:])
    assert (y[..., :8] != x[..., :8]).all()
    want = oracles.rope(x[..., :8], POSITIONS, scaling.partial(16, 0.5), layout)
    # float64: an angle below 1000 is rounded by 1e-13 at most, and |x| is below 5.
    torch.testing.assert_close(y[..., :8], want, rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    "layout, standing",
    [("half", [4, 5, 6, 7, 12, 13, 14, 15]), ("interleaved", [8, 9, 10, 11, 12, 13, 14, 15])],
)
def test_under_proportional_both_coordinates_of_a_standing_pair_pass(layout, standing):
    x = generic()
    y = apply_rope(x, POSITIONS, proportional_inv_freq(16, 0.5), layout=layout)
    turning = [j for j in range(16) if j not in standing]
    assert torch.equal(y[..., standing], x[..., standing])
    assert (y[..., turning] != x[..., turning]).all()


@both_rules
@pytest.mark.parametrize("value", [0, -0.5, 1.001, 2, math.nan])
def test_a_share_outside_its_range_is_refused(rule, value):
    with raises_exactly(ValueError, f"share must be above 0 and up to 1, got {value}"):
        rule(16, value)


@both_rules
@pytest.mark.parametrize("value", [0, 0.0, -2.5, math.nan])
def test_a_base_that_is_not_positive_is_refused(rule, value):
    with raises_exactly(ValueError, f"base must be positive, got {value}"):
        rule(16, 0.5, value)


@pytest.mark.parametrize(
    "head_dim, share, n_rotated",
    [(16, 0.19, 3), (16, 0.1, 1), (16, 0.05, 0), (7, 1, 7), (-8, 0.5, -4)],
)
def test_a_part_that_is_odd_or_below_two_is_refused(head_dim, share, n_rotated):
    text = (
        "int(head_dim * share) must be even and positive, got "
        f"int({head_dim} * {share}) = {n_rotated}"
    )
    with raises_exactly(ValueError, text):
        partial_inv_freq(head_dim, share)


@pytest.mark.parametrize("value", [0, -2, 1, 7])
def test_a_head_dim_that_is_odd_or_below_two_is_refused(value):
    with raises_exactly(ValueError, f"head_dim must be even and positive, got {value}"):
        proportional_inv_freq(value, 0.5)


def test_a_share_that_leaves_no_pair_turning_is_refused():
    with raises_exactly(ValueError, "share must leave a pair turning, got 0.1 of 8"):
        proportional_inv_freq(16, 0.1)
    assert proportional_inv_freq(16, 0.125).tolist() == [1, 0, 0, 0, 0, 0, 0, 0]
