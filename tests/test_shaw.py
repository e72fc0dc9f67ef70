"""Relative vectors against a loop over single pairs, then what they refuse."""

import pytest
import torch

from posenc_check import oracles
from snippets.shaw import shaw_attention
from tests.exact import raises_exactly

B, H, TQ, TK, D = 2, 3, 4, 7, 5
Q_POSITIONS, K_POSITIONS = torch.tensor([31, 40, 36, 33]), torch.arange(30, 37)
MASK = torch.ones(TQ, TK, dtype=torch.bool).tril(2)


def generic(*shape, seed=0, dtype=torch.float64):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(shape, dtype=torch.float64, generator=generator).to(dtype)


def inputs(reach=2, dtype=torch.float64, **replaced):
    """Everything that the function takes, with sizes that all differ."""
    shapes = {
        "q": (B, H, TQ, D), "k": (B, H, TK, D), "v": (B, H, TK, D),
        "key_table": (2 * reach + 1, D), "value_table": (2 * reach + 1, D),
    }
    tensors = {n: generic(*s, seed=i, dtype=dtype) for i, (n, s) in enumerate(shapes.items())}
    return tensors | {"q_positions": Q_POSITIONS, "k_positions": K_POSITIONS} | replaced


def oracle(mask=None, **tensors):
    positions = {n: t.tolist() for n, t in tensors.items() if n.endswith("positions")}
    return oracles.shaw(**tensors | positions, mask=mask)


def assert_close(got, want):
    # float64 sums of five products and seven weights of numbers below 10.
    torch.testing.assert_close(got, want, rtol=0, atol=1e-12)


@pytest.mark.parametrize("mask", [None, MASK], ids=["full", "masked"])
@pytest.mark.parametrize("reach", [1, 2, 4, 20])
def test_every_output_follows_the_equations(reach, mask):
    tensors = inputs(reach)
    assert_close(shaw_attention(**tensors, mask=mask), oracle(mask, **tensors))


def test_a_mask_may_differ_between_sequences_and_heads():
    tensors = inputs()
    mask = generic(B, H, TQ, TK, seed=9) > -0.5
    mask[..., 0] = True
    got = shaw_attention(**tensors, mask=mask)
    for b in range(B):
        for h in range(H):
            one = {n: tensors[n][b : b + 1, h : h + 1] for n in "qkv"}
            assert_close(got[b, h], oracle(mask[b, h], **tensors | one)[0, 0])


def test_decoding_slices_equal_the_full_pass():
    tensors = inputs()
    full = shaw_attention(**tensors)
    for i in range(TQ):
        step = {"q": tensors["q"][:, :, i : i + 1], "q_positions": Q_POSITIONS[i : i + 1]}
        assert_close(shaw_attention(**tensors | step)[:, :, 0], full[:, :, i])


def test_a_single_pair_by_hand():
    one = torch.ones(1, 1, 1, 1, dtype=torch.float64)
    table = torch.tensor([[10.0], [20.0], [30.0]], dtype=torch.float64)
    here, right = torch.tensor([4]), torch.tensor([5])
    assert shaw_attention(one, one, one, here, right, table, table).item() == 31
    assert shaw_attention(one, one, one, right, here, table, table).item() == 11
    assert shaw_attention(one, one, one, here, here, table, table).item() == 21


@pytest.mark.parametrize("name, atol", [("bfloat16", 0.1), ("float16", 0.02), ("float32", 1e-5)])
def test_the_output_has_the_dtype_of_the_input(name, atol):
    dtype = getattr(torch, name)
    tensors = inputs(dtype=dtype)
    got = shaw_attention(**tensors)
    assert got.dtype == dtype
    # Logits below 10 are rounded a few times, and so are values below 5.
    torch.testing.assert_close(got.double(), oracle(**tensors), rtol=0, atol=atol)


def test_both_tables_get_gradients_in_the_rows_in_use():
    tensors = inputs(reach=2, q_positions=K_POSITIONS[3:], k_positions=K_POSITIONS)
    tables = [tensors[n].requires_grad_() for n in ("key_table", "value_table")]
    shaw_attention(**tensors, mask=torch.ones(TQ, TK).tril(3).bool()).square().sum().backward()
    for table in tables:  # the causal mask leaves the gaps -2, -1 and 0
        assert (table.grad.abs().sum(1) > 0).tolist() == [True, True, True, False, False]


TABLES = [([5, 5], [3, 5]), ([4, 5], [4, 5]), ([1, 5], [1, 5]), ([5], [5]), ([5, 5, 1], [5, 5, 1])]


@pytest.mark.parametrize("key_shape, value_shape", TABLES)
def test_tables_of_another_shape_are_refused(key_shape, value_shape):
    text = f"key_table and value_table must both be [2k + 1, D], got {key_shape} and {value_shape}"
    with raises_exactly(ValueError, text):
        tables = torch.zeros(key_shape).double(), torch.zeros(value_shape).double()
        shaw_attention(**inputs(key_table=tables[0], value_table=tables[1]))


@pytest.mark.parametrize("argument", ["q", "k", "v", "tables"])
def test_widths_that_differ_are_refused(argument):
    widths = {n: 1 if n == argument else D for n in ("q", "k", "v", "tables")}
    wrong = {n: generic(*inputs()[n].shape[:-1], widths[n]) for n in "qkv"}
    wrong |= {n: generic(5, widths["tables"]) for n in ("key_table", "value_table")}
    q, k, v, tables = widths.values()
    text = f"q, k, v and the tables must have one width, got {q}, {k}, {v} and {tables}"
    with raises_exactly(ValueError, text):
        shaw_attention(**inputs(**wrong))


def test_values_of_another_number_than_keys_are_refused():
    text = "k and v must have one shape, got [2, 3, 7, 5] and [2, 3, 1, 5]"
    with raises_exactly(ValueError, text):
        shaw_attention(**inputs(v=generic(B, H, 1, D)))


@pytest.mark.parametrize("n_queries, n_keys", [(1, 7), (4, 1), (7, 7), (5, 7), (4, 8)])
def test_positions_of_another_number_are_refused(n_queries, n_keys):
    text = f"positions must be [4] and [7] to fit q and k, got [{n_queries}] and [{n_keys}]"
    with raises_exactly(ValueError, text):
        positions = {"q_positions": torch.arange(n_queries), "k_positions": torch.arange(n_keys)}
        shaw_attention(**inputs(**positions))


def test_the_mask_is_given_by_name():
    with pytest.raises(TypeError, match="positional argument"):
        shaw_attention(*inputs().values(), MASK)
