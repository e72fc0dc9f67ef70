"""The form without large tensors: against the same loop, then what it refuses."""

import pytest
import torch

from posenc_check import oracles
from snippets.shaw import shaw_attention, shaw_bucket
from snippets.shaw_bucketed import shaw_attention_bucketed
from tests.exact import raises_exactly

B, H, TQ, TK, D = 2, 3, 4, 7, 5
Q_POSITIONS, K_POSITIONS = torch.tensor([31, 40, 36, 33]), torch.arange(30, 37)
MASK = torch.ones(TQ, TK, dtype=torch.bool).tril(2)


def generic(*shape, seed=0, dtype=torch.float64):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(shape, dtype=torch.float64, generator=generator).to(dtype)


def inputs(reach=2, dtype=torch.float64):
    shapes = {"q": (B, H, TQ, D), "k": (B, H, TK, D), "v": (B, H, TK, D)}
    shapes |= {"key_table": (2 * reach + 1, D), "value_table": (2 * reach + 1, D)}
    return {n: generic(*s, seed=i, dtype=dtype) for i, (n, s) in enumerate(shapes.items())}


def bucketed(tensors, reach=2, mask=None):
    bucket = shaw_bucket(Q_POSITIONS, K_POSITIONS, reach)
    return shaw_attention_bucketed(**tensors, bucket=bucket, mask=mask)


def oracle(tensors, mask=None):
    q_positions, k_positions = Q_POSITIONS.tolist(), K_POSITIONS.tolist()
    return oracles.shaw(**tensors, q_positions=q_positions, k_positions=k_positions, mask=mask)


def assert_close(got, want):
    # float64 sums of five products and seven weights of numbers below 10.
    torch.testing.assert_close(got, want, rtol=0, atol=1e-12)


@pytest.mark.parametrize("mask", [None, MASK], ids=["full", "masked"])
@pytest.mark.parametrize("reach", [1, 2, 4, 20])
def test_every_output_follows_the_equations(reach, mask):
    tensors = inputs(reach)
    assert_close(bucketed(tensors, reach, mask), oracle(tensors, mask))


def test_a_mask_may_differ_between_sequences_and_heads():
    tensors = inputs()
    mask = generic(B, H, TQ, TK, seed=9) > -0.5
    mask[..., 0] = True
    plain = shaw_attention(**tensors, q_positions=Q_POSITIONS, k_positions=K_POSITIONS, mask=mask)
    assert_close(bucketed(tensors, mask=mask), plain)
    assert (bucketed(tensors) - plain).abs().max() > 0.1


def test_any_rule_for_buckets_may_be_used():
    tensors = inputs(reach=3)
    bucket = torch.arange(TQ * TK).view(TQ, TK) * 5 % 7  # no gap behind it
    got = shaw_attention_bucketed(**tensors, bucket=bucket)
    for i in range(TQ):
        for h in range(H):  # one query and head at a time, keys and values with their vectors added
            q = tensors["q"][:, h : h + 1, i : i + 1]
            k = tensors["k"][:, h : h + 1] + tensors["key_table"][bucket[i]]
            v = tensors["v"][:, h : h + 1] + tensors["value_table"][bucket[i]]
            assert_close(got[:, h, i], oracles.attention(q, k, v)[:, 0, 0])


def test_decoding_slices_equal_the_full_pass():
    tensors, bucket = inputs(), shaw_bucket(Q_POSITIONS, K_POSITIONS, 2)
    full = shaw_attention_bucketed(**tensors, bucket=bucket)
    for i in range(TQ):
        step = {"q": tensors["q"][:, :, i : i + 1], "bucket": bucket[i : i + 1]}
        assert_close(shaw_attention_bucketed(**tensors | step)[:, :, 0], full[:, :, i])


def test_gradients_equal_those_of_the_plain_form():
    tensors = {n: t.requires_grad_() for n, t in inputs().items()}
    got = torch.autograd.grad(bucketed(tensors).square().sum(), tensors.values())
    plain = shaw_attention(**tensors, q_positions=Q_POSITIONS, k_positions=K_POSITIONS)
    want = torch.autograd.grad(plain.square().sum(), tensors.values())
    for one, other in zip(got, want, strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-11)  # float64, sums of hundreds
        assert other.abs().max() > 0.1


@pytest.mark.parametrize("name, atol", [("bfloat16", 0.1), ("float16", 0.02), ("float32", 1e-5)])
def test_the_output_has_the_dtype_of_the_input(name, atol):
    dtype = getattr(torch, name)
    tensors = inputs(dtype=dtype)
    got = bucketed(tensors)
    assert got.dtype == dtype
    # Logits below 10 are rounded a few times, and so are values below 5.
    torch.testing.assert_close(got.double(), oracle(tensors), rtol=0, atol=atol)


@pytest.mark.parametrize("shape", [[7, 4], [1, 7], [4, 1], [1, 4, 7], [4]])
def test_a_bucket_of_another_shape_is_refused(shape):
    with raises_exactly(ValueError, f"bucket must be [Tq, Tk] = [4, 7], got {shape}"):
        shaw_attention_bucketed(**inputs(), bucket=torch.zeros(shape, dtype=torch.int64))


@pytest.mark.parametrize("shape", [[3, 5], [5, 1], [5]])
def test_tables_of_two_shapes_are_refused(shape):
    text = f"key_table and value_table must have one shape, got [5, 5] and {shape}"
    with raises_exactly(ValueError, text):
        bucketed(inputs() | {"value_table": torch.zeros(shape).double()})


def test_the_mask_is_given_by_name():
    q, k, v, *tables = inputs().values()
    with pytest.raises(TypeError, match="positional argument"):
        shaw_attention_bucketed(q, k, v, torch.zeros(4, 7, dtype=torch.int64), *tables, MASK)
