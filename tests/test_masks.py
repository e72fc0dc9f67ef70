"""causal_mask against a double loop, with a cache and with padding, then refusals."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from snippets.masks import causal_mask
from tests.exact import raises_exactly

ints = st.lists(st.integers(-3, 9), max_size=5)


def loop(q_positions, k_positions):
    return [[k <= q for k in k_positions] for q in q_positions]


def test_four_tokens_give_the_lower_triangle():
    positions = torch.arange(4)
    assert causal_mask(positions, positions).int().tolist() == [
        [1, 0, 0, 0],
        [1, 1, 0, 0],
        [1, 1, 1, 0],
        [1, 1, 1, 1],
    ]


@settings(derandomize=True, deadline=None, max_examples=50)
@given(q_positions=ints, k_positions=ints)
def test_every_entry_compares_two_positions(q_positions, k_positions):
    q, k = (torch.tensor(p, dtype=torch.int64) for p in (q_positions, k_positions))
    mask = causal_mask(q, k)
    assert mask.dtype == torch.bool
    assert mask.shape == (len(q), len(k))
    assert mask.tolist() == loop(q_positions, k_positions)


def test_a_query_after_cached_keys_sees_all_of_them():
    assert causal_mask(torch.tensor([3]), torch.arange(4)).tolist() == [[True] * 4]


def test_a_query_sees_its_own_position_and_none_after_it():
    assert causal_mask(torch.tensor([5]), torch.arange(3, 8)).int().tolist() == [[1, 1, 1, 0, 0]]


def test_each_sequence_is_compared_within_itself():
    q = torch.tensor([[2, 3], [0, 1]])
    k = torch.tensor([[0, 1, 2, 3, 4], [1, 0, 5, 2, 7]])
    mask = causal_mask(q, k)
    assert mask.shape == (2, 1, 2, 5)
    for own, own_q, own_k in zip(mask, q.tolist(), k.tolist(), strict=True):
        assert own[0].tolist() == loop(own_q, own_k)


@pytest.mark.parametrize("name", "uint8 uint16 uint32 uint64 int8 int16 int32".split())
def test_positions_of_any_integer_dtype_are_compared(name):
    q, k = (torch.tensor(p, dtype=getattr(torch, name)) for p in ([5, 120], [0, 5, 127]))
    assert causal_mask(q, k).tolist() == loop([5, 120], [0, 5, 127])


def test_the_mask_stays_on_the_device_of_the_positions():
    q = torch.zeros(2, 3, dtype=torch.int64, device="meta")
    mask = causal_mask(q, q)
    assert (mask.device.type, mask.shape, mask.dtype) == ("meta", (2, 1, 3, 3), torch.bool)


def test_positions_of_two_integer_dtypes_are_compared_by_value():
    mask = causal_mask(torch.tensor([200], dtype=torch.uint8), torch.tensor([-1, 199, 201]))
    assert mask.tolist() == [[True, True, False]]


@pytest.mark.parametrize("name", ["float32", "float64", "bfloat16", "bool", "complex64"])
@pytest.mark.parametrize("argument", ["q_positions", "k_positions"])
def test_positions_that_are_not_integer_are_refused(argument, name):
    positions = {"q_positions": torch.arange(3), "k_positions": torch.arange(4)}
    positions[argument] = positions[argument].to(getattr(torch, name))
    with raises_exactly(TypeError, f"{argument} must be integer, got torch.{name}"):
        causal_mask(**positions)


@pytest.mark.parametrize(
    "q, k", [([3], [2, 4]), ([2, 3], [4]), ([], []), ([1, 2, 3], [1, 2, 4]), ([3], [])]
)
def test_positions_of_another_rank_are_refused(q, k):
    text = f"q_positions and k_positions must both be [T] or both [B, T], got {q} and {k}"
    with raises_exactly(ValueError, text):
        causal_mask(torch.zeros(q, dtype=torch.int64), torch.zeros(k, dtype=torch.int64))


@pytest.mark.parametrize("batches", [(2, 3), (1, 2), (2, 1)])
def test_positions_of_two_batch_sizes_are_refused(batches):
    q, k = (torch.zeros(b, 4, dtype=torch.int64) for b in batches)
    text = (
        "q_positions and k_positions must have the same batch size, "
        f"got {batches[0]} and {batches[1]}"
    )
    with raises_exactly(ValueError, text):
        causal_mask(q, k)
