"""The bucket of each pair: clipped gaps of any integer dtype, and what is refused."""

import pytest
import torch

from snippets.shaw import shaw_bucket
from tests.exact import raises_exactly


@pytest.mark.parametrize("reach", [1, 2, 4, 9])
def test_every_bucket_is_the_clipped_gap(reach):
    q, k = [3, 30, 7, 8], [5, 2, 17, 9, 0, 6, 100]
    want = [[max(-reach, min(reach, j - i)) + reach for j in k] for i in q]
    got = shaw_bucket(torch.tensor(q), torch.tensor(k), reach)
    assert got.dtype == torch.int64 and got.tolist() == want


def test_known_buckets_for_a_reach_of_four():
    got = shaw_bucket(torch.tensor([6]), torch.arange(13), 4)
    assert got.tolist() == [[0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 8, 8]]


@pytest.mark.parametrize("name", "uint8 uint16 int8 int16 int32 int64".split())
def test_positions_of_any_integer_dtype_do_not_wrap_around(name):
    q, k = (torch.tensor(p, dtype=getattr(torch, name)) for p in ([5, 127], [0, 127]))
    assert shaw_bucket(q, k, 200).tolist() == [[195, 322], [73, 200]]


@pytest.mark.parametrize("argument", ["q_positions", "k_positions"])
@pytest.mark.parametrize("name", "bool float32 float64 complex64".split())
def test_positions_that_are_not_integer_are_refused(argument, name):
    good = {"q_positions": torch.arange(4), "k_positions": torch.arange(7)}
    bad = {argument: good[argument].to(getattr(torch, name))}
    with raises_exactly(TypeError, f"{argument} must be integer, got torch.{name}"):
        shaw_bucket(**good | bad, max_distance=2)


@pytest.mark.parametrize("argument", ["q_positions", "k_positions"])
@pytest.mark.parametrize("shape", [[], [2, 4]])
def test_positions_of_another_rank_are_refused(argument, shape):
    good = {"q_positions": torch.arange(4), "k_positions": torch.arange(7)}
    bad = {argument: torch.zeros(shape, dtype=torch.int64)}
    with raises_exactly(ValueError, f"{argument} must be [T], got {shape}"):
        shaw_bucket(**good | bad, max_distance=2)


@pytest.mark.parametrize("value", [0, -1])
def test_a_reach_below_one_is_refused(value):
    with raises_exactly(ValueError, f"max_distance must be positive, got {value}"):
        shaw_bucket(torch.arange(4), torch.arange(7), value)
