"""What the masks of torch's fused attention mean on a CPU: bool, causal, empty rows, dtypes."""

import math

import pytest
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.attention.bias import causal_lower_right
from torch.nn.functional import scaled_dot_product_attention

from snippets.attention import attention
from snippets.masks import causal_mask
from tests.exact import raises_exactly
from tests.score_bias_cases import alibi
from tests.test_fused_attention import D, K_POSITIONS, MASK, TK, TQ, close, differs, qkv


def test_true_means_may_attend_here_and_must_not_in_multihead_attention():
    q, k, v = qkv()
    only = torch.eye(TQ, TK).bool()
    close(scaled_dot_product_attention(q, k, v, attn_mask=only), v[:, :, :TQ])
    torch.manual_seed(0)
    layer, x = torch.nn.MultiheadAttention(D, 2, batch_first=True), torch.ones(1, 5, D)
    assert torch.equal(layer(x, x, x, attn_mask=~torch.eye(5).bool())[1], torch.eye(5)[None])


def test_is_causal_counts_rows_from_the_first_key_and_hides_what_was_cached():
    q, k, v = qkv()
    want = attention(q, k, v, mask=MASK)
    wrong = scaled_dot_product_attention(q, k, v, is_causal=True)
    assert differs(wrong, want)
    upper_left = torch.ones(TQ, TK).tril().bool()
    close(wrong, attention(q, k, v, mask=upper_left))
    one = scaled_dot_product_attention(q[:, :, -1:], k, v, is_causal=True)
    assert torch.equal(one, v[:, :, :1])  # the new token sees the first key and no other
    close(scaled_dot_product_attention(q, k, v, attn_mask=MASK), want)
    close(scaled_dot_product_attention(q, k, v, attn_mask=causal_lower_right(TQ, TK)), want)
    square = scaled_dot_product_attention(k, k, v, is_causal=True)
    close(square, attention(k, k, v, mask=causal_mask(K_POSITIONS, K_POSITIONS)))


def test_a_bias_beside_is_causal_is_combined_or_refused_depending_on_the_kernel():
    q, k, v = qkv()
    bias = alibi(K_POSITIONS, K_POSITIONS)
    here = k, k, v
    want = attention(*here, bias=bias, mask=causal_mask(K_POSITIONS, K_POSITIONS))
    close(scaled_dot_product_attention(*here, attn_mask=bias[None], is_causal=True), want)
    text = (
        "_scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True"
    )
    with sdpa_kernel(SDPBackend.MATH), raises_exactly(RuntimeError, text):
        scaled_dot_product_attention(*here, attn_mask=bias[None], is_causal=True)
    learned = bias[None].clone().requires_grad_()  # a mask that learns takes that kernel too
    with raises_exactly(RuntimeError, text):
        scaled_dot_product_attention(*here, attn_mask=learned, is_causal=True)


@pytest.mark.parametrize("kernel", [SDPBackend.MATH, SDPBackend.FLASH_ATTENTION])
@pytest.mark.parametrize("name", ["bfloat16", "float32", "float64"])
@pytest.mark.parametrize("numbers", [False, True])
def test_a_row_without_any_key_is_zero_and_so_is_its_gradient(kernel, name, numbers):
    q, k, v = (t.requires_grad_() for t in qkv(getattr(torch, name)))
    mask = MASK.clone()
    mask[1] = False
    extra = torch.zeros(TQ, TK, dtype=q.dtype).masked_fill(~mask, -math.inf) if numbers else mask
    with sdpa_kernel(kernel):
        y = scaled_dot_product_attention(q, k, v, attn_mask=extra)
    assert not y[:, :, 1].any() and y[:, :, 0].all()
    y.sum().backward()
    assert not q.grad[:, :, 1].any() and q.grad.isfinite().all()
    assert extra[1].float().masked_fill(~mask[1], -math.inf).softmax(-1).isnan().all()
    with raises_exactly(ValueError, "mask leaves a query without any key"):
        attention(q, k, v, mask=mask)


def test_a_large_negative_number_in_place_of_infinity_shows_all_masked_keys():
    q, k, v = qkv(torch.float32)
    numbers = torch.zeros(TQ, TK).masked_fill(~MASK, torch.finfo(torch.float32).min)
    numbers[1] = torch.finfo(torch.float32).min
    got = scaled_dot_product_attention(q, k, v, attn_mask=numbers)
    close(got[:, :, 1], v.mean(2))


@pytest.mark.parametrize("mask, queries", [("double", "float"), ("c10::BFloat16", "float")])
def test_numbers_of_another_dtype_are_refused_unless_they_are_float32(mask, queries):
    text = (
        "Expected attn_mask dtype to be bool or float or to match query dtype, "
        f"but got attn_mask.dtype: {mask} and  query.dtype: {queries} instead."
    )
    dtype = {"double": torch.float64, "c10::BFloat16": torch.bfloat16}[mask]
    with raises_exactly(RuntimeError, text):
        scaled_dot_product_attention(*qkv(torch.float32), attn_mask=torch.zeros(TQ, TK).to(dtype))
