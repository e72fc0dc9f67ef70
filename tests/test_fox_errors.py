"""What forget_sums, fox_bias and ForgetGate refuse, word for word."""

import pytest
import torch

from snippets.fox import ForgetGate, forget_sums, fox_bias
from tests.exact import raises_exactly

GATES, START = torch.zeros(2, 3, 4), torch.zeros(2, 3)
not_float = pytest.mark.parametrize("name", "bool int64 complex64".split())


@not_float
def test_tensors_that_are_not_floating_point_are_refused(name):
    dtype = getattr(torch, name)
    with raises_exactly(TypeError, f"log_gates must be floating point, got torch.{name}"):
        forget_sums(GATES.to(dtype))
    with raises_exactly(TypeError, f"start must be floating point, got torch.{name}"):
        forget_sums(GATES, START.to(dtype))
    with raises_exactly(TypeError, f"q_sums must be floating point, got torch.{name}"):
        fox_bias(GATES.to(dtype), GATES)
    with raises_exactly(TypeError, f"k_sums must be floating point, got torch.{name}"):
        fox_bias(GATES, GATES.to(dtype))


@pytest.mark.parametrize("shape", [[3, 4], [1, 2, 3, 4]])
def test_gates_of_another_rank_are_refused(shape):
    with raises_exactly(ValueError, f"log_gates must be [B, H, T], got {shape}"):
        forget_sums(torch.zeros(shape))


@pytest.mark.parametrize("shape", [[], [3], [2, 1], [2, 3, 1]])
def test_a_start_of_another_shape_is_refused(shape):
    with raises_exactly(ValueError, f"start must be [B, H] = [2, 3], got {shape}"):
        forget_sums(GATES, torch.zeros(shape))


@pytest.mark.parametrize(
    "q, k",
    [
        ([3, 4], [2, 3, 5]), ([2, 3, 4], [3, 5]), ([2, 3, 4], [2, 1, 5]), ([1, 3, 4], [2, 3, 5]),
        ([2, 3], [2, 3, 5]), ([2, 3, 4], [2, 3]), ([2, 3, 4, 1], [2, 3, 5]),
    ],
)
def test_sums_that_do_not_fit_are_refused(q, k):
    text = f"q_sums and k_sums must be [B, H, Tq] and [B, H, Tk], got {q} and {k}"
    with raises_exactly(ValueError, text):
        fox_bias(torch.zeros(q), torch.zeros(k))


@pytest.mark.parametrize("sizes", [(0, 3), (5, 0), (-1, 3)])
def test_a_size_below_one_is_refused(sizes):
    text = f"d_model and n_heads must be positive, got {sizes[0]} and {sizes[1]}"
    with raises_exactly(ValueError, text):
        ForgetGate(*sizes)


@pytest.mark.parametrize("shape", [[4, 5], [2, 4, 6], [1, 2, 4, 5]])
def test_tokens_of_another_shape_are_refused(shape):
    with raises_exactly(ValueError, f"x must be [B, T, d_model = 5], got {shape}"):
        ForgetGate(5, 3)(torch.zeros(shape))


def test_the_dtype_is_given_by_name():
    with pytest.raises(TypeError, match="positional argument"):
        fox_bias(GATES, GATES, torch.float64)


def test_the_smallest_sizes_are_taken():
    assert ForgetGate(1, 1)(torch.zeros(2, 4, 1)).shape == (2, 1, 4)
