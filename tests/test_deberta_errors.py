"""What disentangled attention refuses, word for word."""

import pytest
import torch

from snippets.deberta import deberta_attention, deberta_scores
from tests.exact import raises_exactly
from tests.test_deberta import B, D, H, TK, TQ, inputs, without_values

NAMES = "q k v key_table query_table".split()


def refused(error, text, **replaced):
    """Both functions refuse, where both take the argument."""
    with raises_exactly(error, text):
        deberta_attention(**inputs() | replaced)
    if not {"v", "mask"} & set(replaced):
        with raises_exactly(error, text):
            deberta_scores(**without_values(inputs() | replaced))


@pytest.mark.parametrize("argument", ["q_positions", "k_positions"])
@pytest.mark.parametrize("name", "bool float32 float64 complex64".split())
def test_positions_that_are_not_integer_are_refused(argument, name):
    positions = inputs()[argument].to(getattr(torch, name))
    refused(TypeError, f"{argument} must be integer, got torch.{name}", **{argument: positions})


@pytest.mark.parametrize("argument, length", [("q_positions", TQ), ("k_positions", TK)])
@pytest.mark.parametrize("shape", [[], [1], [6], [2, 5], [2, 7]])
def test_positions_of_another_shape_are_refused(argument, length, shape):
    positions = torch.zeros(shape, dtype=torch.int64)
    refused(ValueError, f"{argument} must be [{length}], got {shape}", **{argument: positions})


@pytest.mark.parametrize("order", ["Paper", "", None])
def test_an_unknown_order_is_refused(order):
    refused(ValueError, f"order must be 'paper' or 'released', got {order!r}", order=order)


def test_a_log_scale_needs_tables_and_distances_that_fit():
    refused(ValueError, "max_distance must exceed 3, got 3", max_distance=3)
    tables = {n: torch.zeros(H, 6, D).double() for n in NAMES[3:]}
    text = "num_buckets must be even and at least 4, got 3"
    refused(ValueError, text, **tables, max_distance=16)


@pytest.mark.parametrize("argument", NAMES)
def test_another_dtype_of_one_tensor_is_refused(argument):
    tensors = inputs() | {argument: inputs()[argument].float()}
    text = "all tensors must have one float dtype, got "
    with raises_exactly(TypeError, text + ", ".join(str(tensors[n].dtype) for n in NAMES)):
        deberta_attention(**tensors)
    if argument != "v":
        seen = tensors | {"v": tensors["k"]}
        with raises_exactly(TypeError, text + ", ".join(str(seen[n].dtype) for n in NAMES)):
            deberta_scores(**without_values(tensors))


def test_integers_are_refused():
    text = "all tensors must have one float dtype, got " + ", ".join(["torch.int64"] * 5)
    with raises_exactly(TypeError, text):
        deberta_attention(**inputs(torch.int64))


WRONG = {
    "q": [(B, H, TQ), (1, H, TQ, D), (B, 1, TQ, D), (B, H, TQ, 1)],
    "k": [(B, H, TK), (1, H, TK, D), (B, H, TK, 1)],
    "v": [(B, H, TK), (1, H, TK, D), (B, 1, TK, D), (B, H, 1, D), (1, B, H, TK, D)],
}


@pytest.mark.parametrize("argument, shape", [(n, s) for n, shapes in WRONG.items() for s in shapes])
def test_queries_keys_and_values_that_do_not_fit_are_refused(argument, shape):
    tensors = inputs() | {argument: torch.zeros(shape).double()}
    q, k, v = (list(tensors[n].shape) for n in "qkv")
    start = "q, k and v must be [B, H, Tq, D], [B, H, Tk, D] and [B, H, Tk, Dv], got"
    with raises_exactly(ValueError, f"{start} {q}, {k} and {v}"):
        deberta_attention(**tensors)
    if argument != "v":
        with raises_exactly(ValueError, f"{start} {q}, {k} and {k}"):
            deberta_scores(**without_values(tensors))


TABLES = [
    ([H, 8, D], [H, 6, D]), ([H, 7, D], [H, 7, D]), ([H, 0, D], [H, 0, D]), ([8, D], [8, D]),
    ([1, 8, D], [1, 8, D]), ([H, 8, 1], [H, 8, 1]), ([H, 8, D, 1], [H, 8, D, 1]),
]  # fmt: skip


@pytest.mark.parametrize("key_shape, query_shape", TABLES)
def test_tables_of_another_shape_are_refused(key_shape, query_shape):
    text = f"both tables must be [H, 2k, D] = [3, 2k, 6], got {key_shape} and {query_shape}"
    tables = torch.zeros(key_shape).double(), torch.zeros(query_shape).double()
    refused(ValueError, text, key_table=tables[0], query_table=tables[1])


def test_options_are_given_by_name():
    with pytest.raises(TypeError, match="positional argument"):
        deberta_attention(*inputs().values(), 16)
