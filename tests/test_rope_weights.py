"""Reordering a projection from one pair layout to the other, exactly."""

import pytest
import torch

from snippets.rope import apply_rope, half_from_interleaved, interleaved_from_half, rope_inv_freq
from tests.exact import raises_exactly

D_MODEL, HEAD_DIM = 10, 8
Q_HEADS, K_HEADS = 6, 2
POSITIONS = torch.tensor([3, 0, 40, 7, 11])
CONVERTERS = {"interleaved": interleaved_from_half, "half": half_from_interleaved}

both_converters = pytest.mark.parametrize("convert", CONVERTERS.values())
both_ways = pytest.mark.parametrize(
    "trained, wanted", [("interleaved", "half"), ("half", "interleaved")]
)


def generic(*shape, seed=0):
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def rotated(x, weight, bias, n_heads, layout):
    projected = x @ weight.mT + bias
    heads = projected.unflatten(-1, (n_heads, HEAD_DIM)).transpose(1, 2)
    return apply_rope(heads, POSITIONS, rope_inv_freq(HEAD_DIM), layout=layout)


def scores(weights, layout):
    """Grouped queries: three query heads share each key head."""
    x = generic(2, 5, D_MODEL)
    q_weight, q_bias, k_weight, k_bias = weights
    q = rotated(x, q_weight, q_bias, Q_HEADS, layout)
    k = rotated(x, k_weight, k_bias, K_HEADS, layout)
    return q @ k.repeat_interleave(Q_HEADS // K_HEADS, dim=1).mT


def projections():
    return (
        generic(Q_HEADS * HEAD_DIM, D_MODEL, seed=1), generic(Q_HEADS * HEAD_DIM, seed=2),
        generic(K_HEADS * HEAD_DIM, D_MODEL, seed=3), generic(K_HEADS * HEAD_DIM, seed=4),
    )


def converted(weights, layout):
    heads = (Q_HEADS, Q_HEADS, K_HEADS, K_HEADS)
    return [CONVERTERS[layout](w, n) for w, n in zip(weights, heads, strict=True)]


def test_interleaved_to_half_takes_the_even_rows_of_a_head_first():
    rows = half_from_interleaved(torch.arange(12), 2).tolist()
    assert rows == [0, 2, 4, 1, 3, 5, 6, 8, 10, 7, 9, 11]


def test_half_to_interleaved_takes_turns_between_the_halves_of_a_head():
    rows = interleaved_from_half(torch.arange(12), 2).tolist()
    assert rows == [0, 3, 1, 4, 2, 5, 6, 9, 7, 10, 8, 11]


@both_converters
def test_the_rows_of_a_weight_move_as_those_of_its_bias(convert):
    rows = torch.arange(12)
    weight = rows[:, None, None] * torch.ones(12, 5, 3, dtype=torch.int64)
    assert convert(weight, 2).shape == (12, 5, 3)
    assert torch.equal(convert(weight, 2)[:, 4, 2], convert(rows, 2))


@both_ways
def test_each_conversion_undoes_the_other(trained, wanted):
    weight = generic(Q_HEADS * HEAD_DIM, D_MODEL)
    there = CONVERTERS[wanted](weight, Q_HEADS)
    assert not torch.equal(there, weight)
    assert torch.equal(CONVERTERS[trained](there, Q_HEADS), weight)


@both_ways
def test_converted_projections_give_the_same_scores(trained, wanted):
    weights = projections()
    same = scores(converted(weights, wanted), wanted)
    # float64 sums of 8 products of numbers below 20.
    torch.testing.assert_close(same, scores(weights, trained), rtol=0, atol=1e-11)


@both_ways
def test_projections_left_in_the_other_layout_give_other_scores(trained, wanted):
    weights = projections()
    assert (scores(weights, wanted) - scores(weights, trained)).abs().max() > 1


def test_grouped_keys_need_their_own_head_count():
    weight = torch.arange(12)
    assert not torch.equal(half_from_interleaved(weight, 1), half_from_interleaved(weight, 2))


@both_converters
@pytest.mark.parametrize("n_heads", [0, -2])
def test_a_head_count_below_one_is_refused(convert, n_heads):
    with raises_exactly(ValueError, f"n_heads must be positive, got {n_heads}"):
        convert(torch.zeros(12, 5), n_heads)


@both_converters
@pytest.mark.parametrize("shape, n_heads", [([12], 5), ([], 1), ([0, 5], 2), ([12, 0], 2)])
def test_rows_that_do_not_divide_into_heads_are_refused(convert, shape, n_heads):
    text = f"weight must have rows for n_heads={n_heads} heads, got shape {shape}"
    with raises_exactly(ValueError, text):
        convert(torch.zeros(shape), n_heads)


@both_converters
@pytest.mark.parametrize("n_heads, n_rotated", [(4, None), (2, 5), (2, 0), (2, 8), (2, -2)])
def test_a_rotated_width_that_is_odd_or_outside_the_head_is_refused(convert, n_heads, n_rotated):
    width = 12 // n_heads
    got = width if n_rotated is None else n_rotated
    text = f"n_rotated, by default the whole head, must be even and from 2 to {width}, got {got}"
    with raises_exactly(ValueError, text):
        convert(torch.zeros(12, 5), n_heads, n_rotated=n_rotated)


@both_converters
def test_rows_that_are_not_rotated_keep_their_place(convert):
    rows = convert(torch.arange(14), 2, n_rotated=4).view(2, 7)
    assert rows[:, :4].tolist() == [[0, 2, 1, 3], [7, 9, 8, 10]]
    assert rows[:, 4:].tolist() == [[4, 5, 6], [11, 12, 13]]


@both_converters
def test_heads_of_width_two_stay_as_they_are(convert):
    assert convert(torch.arange(6), 3).tolist() == [0, 1, 2, 3, 4, 5]
