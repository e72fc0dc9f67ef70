"""Which methods go through torch's fused attention, and which cannot."""

import math

import pytest
import torch
from torch.nn.functional import scaled_dot_product_attention

from snippets.attention import attention
from snippets.cope import cope_bias
from snippets.masks import causal_mask
from snippets.partial_rope import partial_inv_freq
from snippets.rope import apply_rope, rope_inv_freq
from snippets.shaw import shaw_attention, shaw_bucket
from snippets.xpos import apply_xpos, xpos_scale
from tests.score_bias_cases import BIASES, HEADS, generic

B, TQ, TK, D = 2, 4, 7, 8
# Four new tokens behind three cached ones, far from position 0.
K_POSITIONS = torch.arange(TK) + 37
Q_POSITIONS = K_POSITIONS[-TQ:]
MASK = causal_mask(Q_POSITIONS, K_POSITIONS)
# Sums of seven keys in another order, of numbers below 4.
ATOL = {torch.float64: 1e-13, torch.float32: 4e-6, torch.bfloat16: 2**-6}


def qkv(dtype=torch.float64):
    shapes = (B, HEADS, TQ, D), (B, HEADS, TK, D), (B, HEADS, TK, D)
    return [generic(*shape, seed=seed).to(dtype) for seed, shape in enumerate(shapes)]


def close(got, want):
    assert got.dtype == want.dtype
    torch.testing.assert_close(got, want, rtol=0, atol=ATOL[want.dtype])


def differs(got, want):
    return (got - want).abs().max() > 0.05


every_bias = pytest.mark.parametrize("bias", BIASES.values(), ids=BIASES)


@every_bias
@pytest.mark.parametrize("name", ["bfloat16", "float32", "float64"])
def test_a_bias_of_the_scores_goes_in_as_a_mask_of_numbers(bias, name):
    q, k, v = qkv(getattr(torch, name))
    # bfloat16 queries take float32 numbers, so that far distances are not rounded away.
    dtype = torch.promote_types(q.dtype, torch.float32)
    numbers = bias(Q_POSITIONS, K_POSITIONS).to(dtype)
    masked = numbers.masked_fill(~MASK, -math.inf)
    got = scaled_dot_product_attention(q, k, v, attn_mask=masked)
    close(got, attention(q, k, v, bias=numbers, mask=MASK))
    assert differs(got, scaled_dot_product_attention(q, k, v, attn_mask=MASK))


@every_bias
def test_the_bias_learns_through_the_fused_call(bias):
    numbers = bias(Q_POSITIONS, K_POSITIONS)
    grads = []
    for fused in (True, False):
        leaf = numbers.clone().requires_grad_()
        if fused:
            masked = leaf.masked_fill(~MASK, -math.inf)
            y = scaled_dot_product_attention(*qkv(), attn_mask=masked)
        else:
            y = attention(*qkv(), bias=leaf, mask=MASK)
        y.square().sum().backward()
        grads.append(leaf.grad)
    close(*grads)


def test_t5_goes_in_with_a_scale_of_one():
    q, k, v = qkv()
    numbers = BIASES["t5"](Q_POSITIONS, K_POSITIONS)
    masked = numbers.masked_fill(~MASK, -math.inf)
    # softmax(q k + bias): the plain steps divide by sqrt(D), so q is multiplied first.
    want = attention(q * math.sqrt(D), k, v, bias=numbers, mask=MASK)
    close(scaled_dot_product_attention(q, k, v, attn_mask=masked, scale=1.0), want)
    assert differs(scaled_dot_product_attention(q, k, v, attn_mask=masked), want)


ROTARY = {
    "half": lambda x, p, keys: apply_rope(x, p, rope_inv_freq(D)),
    "interleaved": lambda x, p, keys: apply_rope(x, p, rope_inv_freq(D), layout="interleaved"),
    "partial": lambda x, p, keys: apply_rope(x, p, partial_inv_freq(D, 0.5)),
    "xpos": lambda x, p, keys: apply_xpos(x, p, rope_inv_freq(D), xpos_scale(D), keys=keys),
}


@pytest.mark.parametrize("turn", ROTARY.values(), ids=ROTARY)
@pytest.mark.parametrize("name", ["float32", "float64"])
def test_turned_queries_and_keys_need_nothing_else(turn, name):
    q, k, v = qkv(getattr(torch, name))
    q, k = turn(q, Q_POSITIONS, False), turn(k, K_POSITIONS, True)
    got = scaled_dot_product_attention(q, k, v, attn_mask=MASK)
    close(got, attention(q, k, v, mask=MASK))


def test_shaw_keys_go_in_as_a_bias_and_shaw_values_do_not():
    q, k, v = qkv()
    keys, values = generic(2, 5, D, seed=8)
    rest = q, k, v, Q_POSITIONS, K_POSITIONS
    rows = shaw_bucket(Q_POSITIONS, K_POSITIONS, 2)
    bias = torch.einsum("bhid,ijd->bhij", q, keys[rows]) / math.sqrt(D)
    masked = bias.masked_fill(~MASK, -math.inf)
    got = scaled_dot_product_attention(q, k, v, attn_mask=masked)
    close(got, shaw_attention(*rest, keys, 0 * values, mask=MASK))
    # Whatever the mask, values of zero come out as zero; Shaw's values add their own vectors.
    nothing = scaled_dot_product_attention(q, k, 0 * v, attn_mask=masked)
    assert not nothing.any()
    assert shaw_attention(q, k, 0 * v, *rest[3:], keys, values, mask=MASK).abs().min() > 0


def test_cope_goes_in_only_after_all_logits_have_been_computed():
    q, k, v = qkv()
    logits = q @ k.mT / math.sqrt(D)
    assert logits.shape == (B, HEADS, TQ, TK)  # what a fused kernel is there to avoid
    bias = cope_bias(q, logits, generic(4, D, seed=6), mask=MASK)
    got = scaled_dot_product_attention(q, k, v, attn_mask=bias.masked_fill(~MASK, -math.inf))
    close(got, attention(q, k, v, bias=bias, mask=MASK))
