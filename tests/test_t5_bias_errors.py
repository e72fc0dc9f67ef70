"""What t5_bucket and T5Bias refuse, word for word."""

import pytest
import torch

from snippets.t5_bias import T5Bias, t5_bucket
from tests.exact import raises_exactly

HERE = torch.arange(5)


@pytest.mark.parametrize("name", "bool float16 float32 float64 complex64".split())
def test_a_gap_that_is_not_integer_is_refused(name):
    with raises_exactly(TypeError, f"gap must be integer, got torch.{name}"):
        t5_bucket(torch.zeros(5, dtype=getattr(torch, name)), bidirectional=True)


@pytest.mark.parametrize("value", [-4, 0, 2, 3, 31])
def test_a_number_of_buckets_that_is_odd_or_small_is_refused(value):
    text = f"num_buckets must be even and at least 4, got {value}"
    with raises_exactly(ValueError, text):
        t5_bucket(HERE, bidirectional=True, num_buckets=value)
    with raises_exactly(ValueError, text):
        T5Bias(3, bidirectional=True, num_buckets=value)


@pytest.mark.parametrize(
    "bidirectional, near, value", [(False, 16, 16), (False, 16, 0), (True, 8, 8), (True, 8, -1)]
)
def test_a_largest_distance_among_the_near_ones_is_refused(bidirectional, near, value):
    rule = {"bidirectional": bidirectional, "max_distance": value}
    with raises_exactly(ValueError, f"max_distance must exceed {near}, got {value}"):
        t5_bucket(HERE, **rule)
    with raises_exactly(ValueError, f"max_distance must exceed {near}, got {value}"):
        T5Bias(3, **rule)


@pytest.mark.parametrize("bidirectional, smallest", [(False, 17), (True, 9)])
def test_the_smallest_largest_distance_is_taken(bidirectional, smallest):
    bucket = t5_bucket(-torch.arange(40), bidirectional=bidirectional, max_distance=smallest)
    assert bucket[smallest - 1] < bucket[smallest] == bucket.max()


@pytest.mark.parametrize("value", [0, -3])
def test_a_number_of_heads_below_one_is_refused(value):
    with raises_exactly(ValueError, f"n_heads must be positive, got {value}"):
        T5Bias(value, bidirectional=True)


@pytest.mark.parametrize("argument", ["q_positions", "k_positions"])
@pytest.mark.parametrize("name", "bool float32 float64 complex64".split())
def test_positions_that_are_not_integer_are_refused(argument, name):
    positions = {"q_positions": HERE, "k_positions": HERE}
    positions[argument] = HERE.to(getattr(torch, name))
    with raises_exactly(TypeError, f"{argument} must be integer, got torch.{name}"):
        T5Bias(3, bidirectional=True)(**positions)


@pytest.mark.parametrize("q_shape, k_shape", [([], [5]), ([5], []), ([2, 5], [5]), ([5], [2, 5])])
def test_positions_of_another_rank_are_refused(q_shape, k_shape):
    text = f"q_positions and k_positions must be [T], got {q_shape} and {k_shape}"
    q, k = (torch.zeros(shape, dtype=torch.int64) for shape in (q_shape, k_shape))
    with raises_exactly(ValueError, text):
        T5Bias(3, bidirectional=True)(q, k)


def test_the_direction_has_to_be_chosen_by_name():
    with pytest.raises(TypeError, match="bidirectional"):
        T5Bias(3)
    with pytest.raises(TypeError, match="bidirectional"):
        t5_bucket(HERE)
    with pytest.raises(TypeError, match="positional argument"):
        t5_bucket(HERE, True)
