"""What the four terms refuse, word for word."""

import pytest
import torch

from snippets.transformer_xl import relative_keys, transformer_xl_attention, transformer_xl_scores
from tests.exact import raises_exactly
from tests.test_transformer_xl import D_MODEL, MASK, B, D, H, TK, TQ, inputs, without_values


def refused(error, text, **replaced):
    """Both functions refuse, where both take the argument."""
    with raises_exactly(error, text):
        transformer_xl_attention(**inputs(**replaced))
    if not {"v", "mask"} & set(replaced):
        with raises_exactly(error, text):
            transformer_xl_scores(**without_values(inputs(**replaced)))


@pytest.mark.parametrize("name", "bool float32 float64 complex64".split())
def test_lags_and_positions_that_are_not_integer_are_refused(name):
    dtype = getattr(torch, name)
    with raises_exactly(TypeError, f"lags must be integer, got torch.{name}"):
        relative_keys(torch.zeros(3, dtype=dtype), torch.zeros(6, 4), 2)
    for argument in ("q_positions", "k_positions"):
        positions = inputs()[argument].to(dtype)
        text = f"{argument} must be integer, got torch.{name}"
        refused(TypeError, text, **{argument: positions})


@pytest.mark.parametrize("argument, length", [("q_positions", TQ), ("k_positions", TK)])
@pytest.mark.parametrize("shape", [[], [1], [5], [2, 4], [2, 7]])
def test_positions_of_another_shape_are_refused(argument, length, shape):
    positions = torch.zeros(shape, dtype=torch.int64)
    refused(ValueError, f"{argument} must be [{length}], got {shape}", **{argument: positions})


@pytest.mark.parametrize("shape", [[6], [2, 3, 4], [5, 4], [6, 3]])
def test_a_weight_of_another_form_is_refused(shape):
    text = f"lag_weight must be [2 * D, d_model] with d_model even, got {shape}"
    with raises_exactly(ValueError, text):
        relative_keys(torch.arange(3), torch.zeros(shape), 2)


@pytest.mark.parametrize("argument", "q k content_bias position_bias lag_weight".split())
def test_another_dtype_of_one_tensor_is_refused(argument):
    dtypes = {n: "torch.float64" for n in "q k v content_bias position_bias lag_weight".split()}
    dtypes[argument] = "torch.float32"
    tensor = {argument: inputs()[argument].float()}
    with raises_exactly(
        TypeError, f"all tensors must have one float dtype, got {', '.join(dtypes.values())}"
    ):
        transformer_xl_attention(**inputs(**tensor))
    dtypes["v"] = dtypes["k"]
    with raises_exactly(
        TypeError, f"all tensors must have one float dtype, got {', '.join(dtypes.values())}"
    ):
        transformer_xl_scores(**without_values(inputs(**tensor)))


def test_values_of_another_dtype_are_refused():
    others = "torch.float64, torch.float64, torch.float32, " + ", ".join(["torch.float64"] * 3)
    text = f"all tensors must have one float dtype, got {others}"
    refused(TypeError, text, v=inputs()["v"].float())


def test_integers_are_refused():
    text = "all tensors must have one float dtype, got " + ", ".join(["torch.int64"] * 6)
    with raises_exactly(TypeError, text):
        transformer_xl_attention(**inputs(torch.int64))


WRONG = {
    "q": [(B, H, TQ), (1, H, TQ, D), (B, 1, TQ, D), (B, H, TQ, 1)],
    "k": [(B, H, TK), (1, H, TK, D), (B, H, TK, 1)],
    "v": [(B, H, TK), (1, H, TK, D), (B, 1, TK, D), (B, H, 1, D), (1, B, H, TK, D)],
}


@pytest.mark.parametrize("argument, shape", [(n, s) for n, shapes in WRONG.items() for s in shapes])
def test_queries_keys_and_values_that_do_not_fit_are_refused(argument, shape):
    wrong = {argument: torch.zeros(shape).double()}
    q, k, v = (list(t.shape) for t in [(inputs() | wrong)[n] for n in "qkv"])
    start = "q, k and v must be [B, H, Tq, D], [B, H, Tk, D] and [B, H, Tk, Dv], got"
    with raises_exactly(ValueError, f"{start} {q}, {k} and {v}"):
        transformer_xl_attention(**inputs(**wrong))
    if argument != "v":
        with raises_exactly(ValueError, f"{start} {q}, {k} and {k}"):
            transformer_xl_scores(**without_values(inputs(**wrong)))


@pytest.mark.parametrize("argument", ["content_bias", "position_bias"])
@pytest.mark.parametrize("shape", [[D], [1, D], [H, 1], [H, 1, D]])
def test_a_bias_of_another_shape_is_refused(argument, shape):
    text = f"{argument} must be [H, D] = [3, 5], got {shape}"
    refused(ValueError, text, **{argument: torch.zeros(shape).double()})


@pytest.mark.parametrize("shape", [[], [D, D_MODEL], [2 * H * D, D_MODEL]])
def test_a_weight_for_other_heads_is_refused(shape):
    text = f"lag_weight must have H * D = 15 rows, got {shape}"
    refused(ValueError, text, lag_weight=torch.zeros(shape).double())


def test_the_mask_is_given_by_name():
    with pytest.raises(TypeError, match="positional argument"):
        transformer_xl_attention(*inputs().values(), MASK)
