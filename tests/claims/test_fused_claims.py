"""The sentences of docs/guides/fused.md, in the order of the page."""

import math
import warnings

import pytest
import torch
from torch.nn.functional import scaled_dot_product_attention

from posenc_check import oracles
from snippets.alibi import alibi_bias, alibi_slopes
from snippets.attention import attention
from snippets.fox import forget_sums, fox_bias
from snippets.kerple import kerple_bias
from snippets.masks import causal_mask
from snippets.rope import apply_rope, rope_inv_freq
from snippets.sandwich import sandwich_bias
from snippets.t5_bias import T5Bias, t5_bucket
from snippets.toeplitz_bias import consecutive_gaps, toeplitz_attention, toeplitz_view
from tests.exact import raises_exactly
from tests.guard.marks import claim

F64 = torch.float64
K_PLACES = torch.arange(40, 49)
Q_PLACES = K_PLACES[4:]
SLOPES = alibi_slopes(4)


def random(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=F64)


def close(a, b, atol=1e-12):
    torch.testing.assert_close(a, torch.as_tensor(b, dtype=F64), rtol=0, atol=atol)


Q, (K, V) = random(2, 4, 5, 8), random(2, 2, 4, 9, 8, seed=1)
MASK = causal_mask(Q_PLACES, K_PLACES)


def t5_layer():
    torch.manual_seed(0)
    layer = T5Bias(4, bidirectional=False, num_buckets=8, max_distance=20).double()
    torch.nn.init.normal_(layer.weight)
    return layer


def t5():
    return t5_layer()(Q_PLACES, K_PLACES).detach()


def biases():
    sums = forget_sums(-random(2, 4, 9, seed=2).abs())
    return {
        "alibi": alibi_bias(Q_PLACES, K_PLACES, SLOPES, dtype=F64),
        "t5": t5(),
        "sandwich": sandwich_bias(Q_PLACES, K_PLACES, SLOPES.double(), width=16, dtype=F64),
        "fox": fox_bias(sums[..., 4:], sums, dtype=F64),
    }


def fused(bias, **options):
    return scaled_dot_product_attention(Q, K, V, attn_mask=bias.masked_fill(~MASK, -math.inf), **options)


@claim(
    "fused-bias",
    r"With a bias and \(-\infty\) where a query may not attend, it gives what attention gives.",
)
@pytest.mark.parametrize("name", ["alibi", "t5", "sandwich", "fox"])
def test_a_bias_as_mask(name):
    bias = biases()[name]
    close(fused(bias), attention(Q, K, V, bias=bias, mask=MASK))
    whole = bias.expand(2, 4, 5, 9)
    close(fused(bias), oracles.attention(Q, K, V, bias=whole, mask=MASK.expand(2, 4, 5, 9)))


@claim("fused-t5-scale", "T5 models have no scale: pass scale=1.0 for their weights.")
def test_t5_without_scale():
    bias = t5()
    logits = (Q @ K.mT + bias).masked_fill(~MASK, -math.inf)
    close(fused(bias, scale=1.0), logits.softmax(-1) @ V)
    assert (fused(bias) - fused(bias, scale=1.0)).abs().max() > 0.1
    close(attention(Q * math.sqrt(8), K, V, bias=bias, mask=MASK), fused(bias, scale=1.0))


@claim("fused-rope", "RoPE needs nothing else: queries and keys are turned before the call.")
def test_rope():
    speeds = [oracles.rope_speed(i, 8) for i in range(4)]
    turned = [apply_rope(x, p, rope_inv_freq(8)) for x, p in ((Q, Q_PLACES), (K, K_PLACES))]
    got = scaled_dot_product_attention(*turned, V, attn_mask=MASK)
    q, k = (oracles.rope(x, p.tolist(), speeds, "half") for x, p in ((Q, Q_PLACES), (K, K_PLACES)))
    close(got, oracles.attention(q, k, V, mask=MASK.expand(2, 4, 5, 9)))


@claim(
    "fused-true",
    "True means may attend in scaled_dot_product_attention and here. In nn.MultiheadAttention it means may not.",
)
def test_what_true_means():
    close(scaled_dot_product_attention(Q, K, V, attn_mask=MASK), attention(Q, K, V, mask=MASK))
    layer = torch.nn.MultiheadAttention(8, 1, bias=False, batch_first=True).double()
    with torch.no_grad():
        layer.in_proj_weight.copy_(torch.eye(8, dtype=F64).repeat(3, 1))
        layer.out_proj.weight.copy_(torch.eye(8, dtype=F64))
        blocked = layer(Q[:, 0], K[:, 0], V[:, 0], attn_mask=~MASK, need_weights=False)[0]
    close(blocked, attention(Q, K, V, mask=MASK)[:, 0])


@claim(
    "fused-three-axes",
    r"A mask of shape \((B, T, T)\) is taken for one of each head by scaled_dot_product_attention where "
    r"\(B = H\), in silence. attention refuses masks of three axes: pass \((B, 1, T, T)\) or \((1, H, T, T)\).",
)
def test_a_mask_of_three_axes():
    q, k, v = random(3, 2, 2, 6, 8, seed=3)  # B = H = 2
    here = torch.arange(6)
    masks = torch.stack((causal_mask(here, here), causal_mask(here, here).flip(0)))
    with raises_exactly(
        ValueError, "mask must be [B, 1, Tq, Tk] or [1, H, Tq, Tk], not 3-D, got [2, 6, 6]"
    ):
        attention(q, k, v, mask=masks)
    by_row, by_head = (attention(q, k, v, mask=m) for m in (masks[:, None], masks[None]))
    close(scaled_dot_product_attention(q, k, v, attn_mask=masks), by_head)
    close(by_row, torch.cat([attention(*(x[b : b + 1] for x in (q, k, v)), mask=masks[b]) for b in (0, 1)]))
    assert (by_row - by_head).abs().max() > 0.1


@claim(
    "fused-is-causal",
    "is_causal=True lines up with the first key. One decoded query then returns the first value.",
)
def test_is_causal():
    one = scaled_dot_product_attention(Q[:, :, 4:], K, V, is_causal=True)
    close(one, V[:, :, :1])
    right = attention(Q[:, :, 4:], K, V, mask=causal_mask(Q_PLACES[4:], K_PLACES))
    close(right, attention(Q, K, V, mask=MASK)[:, :, 4:])
    assert (right - one).abs().max() > 0.1


NONE = MASK & torch.tensor([[True], [True], [False], [True], [True]])  # the third query sees nothing


@claim(
    "fused-empty-row",
    "A query that may attend to nothing gets zeros on a CPU in torch 2.13.0, where a plain softmax gives NaN and "
    "attention refuses.",
)
def test_a_query_that_sees_nothing():
    assert torch.__version__.split("+")[0] == "2.13.0"
    got = scaled_dot_product_attention(Q, K, V, attn_mask=NONE)
    assert (got[:, :, 2] == 0).all() and (got[:, :, 3] != 0).all()
    assert torch.full((3,), -math.inf).softmax(0).isnan().all()
    with pytest.raises(ValueError, match="mask leaves a query without any key"):
        attention(Q, K, V, mask=NONE)


@claim(
    "fused-finite-minus",
    r"The lowest number of the dtype instead of \(-\infty\) gives such a query the mean of all values, masked ones "
    "included; -10000 gives it attention as if nothing were masked.",
)
def test_a_very_negative_number():
    lowest = torch.finfo(F64).min
    number = torch.zeros(5, 9, dtype=F64).masked_fill(~NONE, lowest)
    got = scaled_dot_product_attention(Q, K, V, attn_mask=number)
    close(got[:, :, 2], V.mean(2))
    close(got[:, :, 3], attention(Q, K, V, mask=MASK)[:, :, 3])
    number = torch.zeros(5, 9, dtype=F64).masked_fill(~NONE, -10000.0)
    got = scaled_dot_product_attention(Q, K, V, attn_mask=number)
    close(got[:, :, 2], attention(Q, K, V)[:, :, 2])


def gap_table():
    gaps = consecutive_gaps(Q_PLACES, K_PLACES)
    return alibi_bias(torch.zeros_like(gaps[:1]), gaps, SLOPES, dtype=F64)[:, 0]


@claim(
    "fused-view",
    r"Written once, it can be read as a square by a view whose rows overlap: row \(i + 1\) begins one number later.",
)
def test_a_view_with_overlapping_rows():
    table = gap_table()
    view = toeplitz_view(table, 5)
    close(view.flip(1), alibi_bias(Q_PLACES, K_PLACES, SLOPES, dtype=F64))
    assert view.untyped_storage().data_ptr() == table.untyped_storage().data_ptr()
    assert view.stride()[1:] == (1, 1)
    gaps = consecutive_gaps(Q_PLACES, K_PLACES)
    causal = table.masked_fill(gaps > 0, -math.inf)
    close(toeplitz_attention(Q, K, V, causal), attention(Q, K, V, bias=view.flip(1), mask=MASK))


@claim(
    "fused-view-bytes",
    "For 12 heads and 8192 tokens in float32 the row takes 0.8 MB and the square 3.2 GB.",
)
def test_bytes():
    table = torch.zeros(12, 2 * 8192 - 1)
    view = toeplitz_view(table, 8192)
    assert round(view.untyped_storage().nbytes() / 1e6, 1) == 0.8
    assert view.shape == (12, 8192, 8192) and round(view.numel() * 4 / 1e9, 1) == 3.2


@claim(
    "fused-view-refuses",
    "The view serves ALiBi, T5, KERPLE and Sandwich for consecutive positions; consecutive_gaps refuses other "
    "positions.",
)
def test_other_positions():
    with raises_exactly(ValueError, "k_positions must be consecutive"):
        consecutive_gaps(Q_PLACES, 2 * K_PLACES)
    gaps = consecutive_gaps(Q_PLACES, K_PLACES)
    row = sandwich_bias(gaps[:1] * 0, gaps, SLOPES.double(), width=16, dtype=F64)[:, 0]
    close(toeplitz_view(row, 5).flip(1), biases()["sandwich"])
    r1, zero = SLOPES.double(), torch.zeros(1, dtype=torch.int64)
    kernel = kerple_bias(zero, gaps, r1, r1, kind="log", dtype=F64)[:, 0]
    close(toeplitz_view(kernel, 5).flip(1), kerple_bias(Q_PLACES, K_PLACES, r1, r1, kind="log", dtype=F64))
    torch.manual_seed(0)
    layer = T5Bias(4, bidirectional=False, num_buckets=8, max_distance=20).double()
    torch.nn.init.normal_(layer.weight)
    close(toeplitz_view(layer(zero, gaps).detach()[:, 0], 5).flip(1), t5())


@claim("fused-view-write", "Do not write into it: one number stands in many places.")
def test_writing():
    table = gap_table()
    toeplitz_view(table, 5)[:, 2, 3] = 100.0
    assert (toeplitz_view(table, 5) == 100).sum(dim=(1, 2)).tolist() == [5] * 4


@claim(
    "fused-key-numbers",
    "Under a causal mask ALiBi and FoX need even less, one number for each key, since what depends on the query "
    "alone cancels.",
)
def test_one_number_for_each_key():
    sums = forget_sums(-random(2, 4, 9, seed=2).abs())
    by_key = {"alibi": SLOPES.double()[:, None, None] * K_PLACES, "fox": -sums[:, :, None]}
    for name, numbers in by_key.items():
        assert numbers.shape[-2:] == (1, 9)
        close(fused(numbers.expand(*numbers.shape[:-2], 5, 9)), fused(biases()[name]), atol=1e-11)


def flex(score_mod, q_rows=slice(None)):
    from torch.nn.attention.flex_attention import flex_attention

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "flex_attention called without torch.compile")
        return flex_attention(Q[:, :, q_rows], K, V, score_mod=score_mod)


def masked(score, query, key):
    return torch.where(key <= query, score, -math.inf)


@claim(
    "fused-flex",
    "ALiBi, T5 and FoX can be written this way, and give the same on a CPU without compilation.",
)
def test_flex():
    known = biases()
    sums = forget_sums(-random(2, 4, 9, seed=2).abs())
    slopes, table = SLOPES.double(), t5_layer().weight.detach()  # (buckets, H)

    def alibi(score, b, h, i, j):
        return masked(score - slopes[h] * (i + 4 - j).abs(), i + 4, j)

    def t5_bias(score, b, h, i, j):
        bucket = t5_bucket(j - (i + 4), bidirectional=False, num_buckets=8, max_distance=20)
        return masked(score + table[bucket, h], i + 4, j)

    def fox(score, b, h, i, j):
        return masked(score + sums[b, h, i + 4] - sums[b, h, j], i + 4, j)

    for name, score_mod in (("alibi", alibi), ("t5", t5_bias), ("fox", fox)):
        close(flex(score_mod), attention(Q, K, V, bias=known[name], mask=MASK))


@claim(
    "fused-flex-offset", "The indices are rows, not positions: with a cache, add the offset."
)
def test_flex_with_a_cache():
    slopes = SLOPES.double()
    want = attention(Q, K, V, bias=biases()["alibi"], mask=MASK)

    def score_mod(offset):
        return lambda score, b, h, i, j: masked(score - slopes[h] * (i + offset - j).abs(), i + offset, j)

    close(flex(score_mod(4)), want)
    assert (flex(score_mod(0)) - want).abs().max() > 0.1
