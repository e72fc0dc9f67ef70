"""The exponent is negative: later pairs turn slower, in both schemes.

Position 0 and pair 0 cannot tell the sign, so every test looks at position 1
and pair 1 of width 4, where the angle is 0.01 with the minus sign and 100
with the plus sign. The literals are sin(0.01) and cos(0.01).
"""

import pytest
import torch

from snippets.rope import LAYOUTS, apply_rope, rope_inv_freq
from snippets.sinusoidal import SinusoidalPositionEncoding, sinusoidal_inv_freq, sinusoidal_table

SIN_HUNDREDTH = 0.009999833334166664
COS_HUNDREDTH = 0.9999500004166653
ONE_ROUNDING = 6e-8  # relative, of float32


def plus_sign_table(positions, d_model, base=10_000.0):
    """The wrong table: base ** (+2 i / d_model), everything else right."""
    speed = base ** (2 * torch.arange(d_model // 2, dtype=torch.float64) / d_model)
    angle = positions.double()[:, None] * speed
    return torch.stack((angle.sin(), angle.cos()), dim=-1).flatten(-2)


def turned_unit(pair_columns, inv_freq, layout):
    """The second pair of a head, (1, 0), after a turn by position 1."""
    x = torch.zeros(1, 1, 1, 4, dtype=torch.float64)
    x[..., pair_columns[0]] = 1
    return apply_rope(x, torch.tensor([1]), inv_freq, layout=layout)[0, 0, 0, pair_columns]


COLUMNS = {"half": [1, 3], "interleaved": [2, 3]}


def test_the_second_pair_of_the_table_turns_by_a_hundredth():
    row = sinusoidal_table(torch.tensor([1]), 4)[0]
    assert row[2].item() == pytest.approx(SIN_HUNDREDTH, rel=ONE_ROUNDING)
    assert row[3].item() == pytest.approx(COS_HUNDREDTH, rel=ONE_ROUNDING)


def test_the_module_stores_the_same_two_numbers():
    row = SinusoidalPositionEncoding(4, max_len=2).pe[0, 1]
    assert row[2].item() == pytest.approx(SIN_HUNDREDTH, rel=ONE_ROUNDING)
    assert row[3].item() == pytest.approx(COS_HUNDREDTH, rel=ONE_ROUNDING)


@pytest.mark.parametrize("d_model", [4, 8])
def test_a_table_with_the_plus_sign_is_another_table(d_model):
    positions = torch.tensor([0, 1])
    right, wrong = sinusoidal_table(positions, d_model), plus_sign_table(positions, d_model)
    assert (right[1, 2] - wrong[1, 2]).abs() > 0.1


def test_position_zero_and_pair_zero_cannot_tell_the_sign():
    positions = torch.arange(5)
    right, wrong = sinusoidal_table(positions, 8), plus_sign_table(positions, 8).float()
    assert torch.equal(right[0], wrong[0])
    assert torch.equal(right[:, :2], wrong[:, :2])


@pytest.mark.parametrize("speeds", [sinusoidal_inv_freq, rope_inv_freq])
def test_speeds_fall_with_the_minus_sign_and_rise_with_the_plus_sign(speeds):
    minus = speeds(8)
    plus = 10_000.0 ** (2 * torch.arange(4, dtype=torch.float64) / 8)
    assert (minus.diff() < 0).all() and minus.max() == 1
    assert (plus.diff() > 0).all() and plus[-1] > 1


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_second_pair_of_a_rotation_turns_by_a_hundredth(layout):
    turned = turned_unit(COLUMNS[layout], rope_inv_freq(4), layout)
    # float64 all the way: a few last digits.
    assert turned.tolist() == pytest.approx([COS_HUNDREDTH, SIN_HUNDREDTH], rel=1e-14)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_rotation_with_the_plus_sign_is_another_rotation(layout):
    right = turned_unit(COLUMNS[layout], rope_inv_freq(4), layout)
    plus = 10_000.0 ** (2 * torch.arange(2, dtype=torch.float64) / 4)
    wrong = turned_unit(COLUMNS[layout], plus, layout)
    assert (right - wrong).abs().min() > 0.1
