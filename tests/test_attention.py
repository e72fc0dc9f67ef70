"""attention against a loop over single weights, against torch, then what it refuses."""

import pytest
import torch
from torch.nn.functional import scaled_dot_product_attention

from posenc_check import oracles
from snippets.attention import attention
from tests.exact import raises_exactly

B, H, TQ, TK, D, DV = 2, 3, 4, 5, 6, 7
MASK = torch.tensor([[1, 0, 0, 1, 0], [0, 1, 0, 0, 0], [1, 1, 1, 1, 1], [0, 0, 1, 0, 1]]).bool()


def generic(*shape, dtype=torch.float64, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, dtype=torch.float64, generator=generator).to(dtype)


def qkv(dtype=torch.float64):
    return (
        generic(B, H, TQ, D, dtype=dtype),
        generic(B, H, TK, D, dtype=dtype, seed=1),
        generic(B, H, TK, DV, dtype=dtype, seed=2),
    )


def full(t):
    return None if t is None else t.expand(B, H, TQ, TK)


BIAS = generic(H, TQ, TK, seed=3)
both_extras = pytest.mark.parametrize(
    "bias, mask", [(None, None), (BIAS, None), (None, MASK), (BIAS, MASK)],
    ids=["plain", "bias", "mask", "both"],
)


@both_extras
def test_every_output_is_the_weighted_sum_of_values(bias, mask):
    got = attention(*qkv(), bias=bias, mask=mask)
    want = oracles.attention(*qkv(), full(bias), full(mask))
    # float64 sums of six products and five exponentials of numbers below 10.
    torch.testing.assert_close(got, want, rtol=0, atol=1e-13)


@both_extras
def test_torch_computes_the_same(bias, mask):
    extra = bias
    if mask is not None:
        extra = (torch.zeros(TQ, TK) if bias is None else bias).masked_fill(~mask, -torch.inf)
    want = scaled_dot_product_attention(*qkv(), attn_mask=None if extra is None else extra.double())
    # The same float64 sums in another order.
    torch.testing.assert_close(attention(*qkv(), bias=bias, mask=mask), want, rtol=0, atol=1e-13)


def test_a_bias_may_differ_from_sequence_to_sequence():
    bias = generic(B, 1, TQ, TK, seed=4)
    got = attention(*qkv(), bias=bias)
    want = oracles.attention(*qkv(), full(bias))
    torch.testing.assert_close(got, want, rtol=0, atol=1e-13)  # float64, as above


def test_a_key_outside_the_mask_has_no_influence():
    q, k, v = qkv()
    mask = torch.tensor([True, True, False, True, False])
    with_all = attention(q, k, v, mask=mask)
    k[:, :, ~mask], v[:, :, ~mask] = 1e3, 1e6
    assert torch.equal(attention(q, k, v, mask=mask), with_all)
    assert not torch.equal(attention(q, k, v), with_all)


def test_a_constant_added_to_a_row_of_the_bias_changes_nothing():
    moved = BIAS + torch.arange(TQ)[:, None]
    torch.testing.assert_close(
        attention(*qkv(), bias=moved), attention(*qkv(), bias=BIAS), rtol=0, atol=1e-13
    )  # softmax subtracts it again, one float64 rounding later


@pytest.mark.parametrize("name", ["float16", "bfloat16", "float32"])
def test_output_has_the_dtype_of_q_even_with_a_wider_bias(name):
    dtype = getattr(torch, name)
    got = attention(*qkv(dtype), bias=BIAS.float())
    assert got.dtype == dtype
    want = oracles.attention(*qkv(dtype), full(BIAS))
    # Logits below 4, weights and sums each carry a rounding of that dtype.
    torch.testing.assert_close(got.double(), want, rtol=0, atol=16 * torch.finfo(dtype).eps)


def test_permuting_keys_with_their_values_changes_nothing():
    q, k, v = qkv()
    order = torch.tensor([3, 0, 4, 1, 2])
    torch.testing.assert_close(
        attention(q, k[:, :, order], v[:, :, order]), attention(q, k, v), rtol=0, atol=1e-13
    )  # float64 sums in another order


def test_the_gradient_flows_through_q_k_v_and_bias():
    q, k, v = (t[:1, :1, :3].requires_grad_() for t in qkv())
    bias = generic(3, 3).requires_grad_()
    assert torch.autograd.gradcheck(
        lambda q, k, v, bias: attention(q, k, v, bias=bias, mask=MASK[:3, :3]), (q, k, v, bias)
    )


def test_meta_tensors_give_a_shape():
    q, k, v = (t.to("meta") for t in qkv())
    assert attention(q, k, v, mask=MASK.to("meta")).shape == (B, H, TQ, DV)


def test_the_two_forms_that_a_mask_of_three_axes_could_mean():
    q, k, v = (t.expand(2, 2, -1, -1) for t in (x[:, :1] for x in qkv()))  # B = H = 2
    masks = torch.stack((MASK, MASK.flip(1)))
    for mask in (masks[:, None], masks[None]):
        want = oracles.attention(q, k, v, None, mask.expand(2, 2, TQ, TK))
        torch.testing.assert_close(attention(q, k, v, mask=mask), want, rtol=0, atol=1e-13)  # as above
    by_row, by_head = attention(q, k, v, mask=masks[:, None]), attention(q, k, v, mask=masks[None])
    assert (by_row - by_head).abs().max() > 0.1


@pytest.mark.parametrize("name", ["int64", "bool", "complex64"])
def test_tensors_that_are_not_floating_point_are_refused(name):
    q, k, v = (t.to(getattr(torch, name)) for t in qkv(torch.float32))
    with raises_exactly(TypeError, f"q, k and v must be floating point, got torch.{name}"):
        attention(q, k, v)


@pytest.mark.parametrize("odd_one", [0, 1, 2])
def test_tensors_of_two_dtypes_are_refused(odd_one):
    tensors = list(qkv(torch.float32))
    tensors[odd_one] = tensors[odd_one].double()
    names = ["torch.float32"] * 3
    names[odd_one] = "torch.float64"
    text = f"q, k and v must have one dtype, got {names[0]}, {names[1]} and {names[2]}"
    with raises_exactly(TypeError, text):
        attention(*tensors)


RIGHT = {"q": [B, H, TQ, D], "k": [B, H, TK, D], "v": [B, H, TK, DV]}
WRONG = [
    {"q": [H, TQ, D]}, {"k": [H, TK, D]}, {"v": [H, TK, DV]}, {"q": [1, B, H, TQ, D]},
    {"q": [1, H, TQ, D]}, {"k": [1, H, TK, D]}, {"v": [1, H, TK, DV]},
    {"q": [B, 1, TQ, D]}, {"k": [B, 1, TK, D]}, {"v": [B, 1, TK, DV]},
    {"q": [B, H, TQ, D + 1]}, {"k": [B, H, TK, 1]}, {"v": [B, H, TK + 1, DV]}, {"v": [B, H, 1, DV]},
    {"q": [B, H, TQ, D, 1], "k": [B, H, TK, D, 1], "v": [B, H, TK, DV, 1]},
]


@pytest.mark.parametrize("wrong", WRONG, ids=str)
def test_ranks_and_sizes_that_do_not_fit_are_refused(wrong):
    shapes = list((RIGHT | wrong).values())
    text = (
        "q, k and v must be [B, H, Tq, D], [B, H, Tk, D] and [B, H, Tk, Dv], "
        f"got {shapes[0]}, {shapes[1]} and {shapes[2]}"
    )
    with raises_exactly(ValueError, text):
        attention(*(torch.zeros(shape) for shape in shapes))


@pytest.mark.parametrize("shape", [(TQ, TK + 1), (B + 1, H, TQ, TK), (1, B, H, TQ, TK), (TK, TQ)])
def test_a_bias_or_mask_of_another_size_is_refused(shape):
    text = f"must broadcast to [B, H, Tq, Tk] = {[B, H, TQ, TK]}, got {list(shape)}"
    with raises_exactly(ValueError, f"bias {text}"):
        attention(*qkv(), bias=torch.zeros(shape))
    with raises_exactly(ValueError, f"mask {text}"):
        attention(*qkv(), mask=torch.ones(shape, dtype=torch.bool))


@pytest.mark.parametrize("name", ["bool", "int64"])
def test_a_bias_that_is_not_floating_point_is_refused(name):
    with raises_exactly(TypeError, f"bias must be floating point, got torch.{name}"):
        attention(*qkv(), bias=MASK.to(getattr(torch, name)))
