"""The sentences of docs/methods/alibi.md, in the order of the page."""

import math

import torch

from posenc_check import oracles
from snippets.alibi import alibi_bias, alibi_slopes
from snippets.attention import attention
from snippets.masks import causal_mask
from tests.guard.marks import claim

HERE = torch.arange(7)


def random(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


@claim("alibi-subtract", "Subtract from each logit a fixed slope times the distance.")
def test_slope_times_distance_is_subtracted():
    slopes = alibi_slopes(4)
    bias = alibi_bias(HERE + 9, HERE, slopes, dtype=torch.float64)
    for h in range(4):
        for i in range(7):
            for j in range(7):
                assert bias[h, i, j] == -slopes[h] * abs(i + 9 - j)


@claim(
    "alibi-plus-sign", "With a plus sign far keys are preferred, and no error is raised."
)
def test_a_plus_sign_prefers_far_keys():
    bias = alibi_bias(HERE, HERE, alibi_slopes(4), dtype=torch.float64)
    q = k = torch.zeros(1, 4, 7, 6, dtype=torch.float64)
    one_hot = torch.eye(7, dtype=torch.float64).expand(1, 4, 7, 7)
    right, wrong = (attention(q, k, one_hot, bias=sign * bias)[0, 0, 6] for sign in (1, -1))
    assert right.argmax() == 6 and wrong.argmax() == 0


@claim(
    "alibi-formula",
    r"\[ \begin{aligned} e_{ij} &= \frac{q_i^\top k_j}{\sqrt{d}} - s_h\,|i - j| \\ s_h &= 2^{-8h/H} "
    r"\quad \text{for } H \text{ a power of two} \end{aligned} \]",
)
def test_the_formula():
    q, k, v = random(3, 2, 4, 7, 6)
    bias = alibi_bias(HERE, HERE, alibi_slopes(4), dtype=torch.float64)
    numbers = [
        [[-(2 ** (-8 * h / 4)) * abs(i - j) for j in range(7)] for i in range(7)]
        for h in range(1, 5)
    ]
    expected = torch.tensor(numbers, dtype=torch.float64).expand(2, 4, 7, 7)
    causal = causal_mask(HERE, HERE)
    for mask in (None, causal):
        want = oracles.attention(
            q, k, v, bias=expected, mask=None if mask is None else mask.expand(2, 4, 7, 7)
        )
        got = attention(q, k, v, bias=bias, mask=mask)
        torch.testing.assert_close(got, want, rtol=0, atol=1e-12)


@claim(
    "alibi-sign",
    "The bias is negative for every key before the query, and grows more negative with the distance.",
)
def test_far_keys_are_penalised():
    rows = alibi_bias(torch.tensor([6]), HERE, alibi_slopes(8))[:, 0]
    assert (rows[:, :6] < 0).all() and (rows[:, 6] == 0).all()
    assert (rows.diff(dim=-1) > 0).all()


@claim(
    "alibi-eight-heads",
    r"With 8 heads the slopes are the powers of one half from \(1/2\) to \(1/256\).",
)
def test_eight_heads():
    assert alibi_slopes(8).tolist() == [2.0**-h for h in range(1, 9)]


@claim(
    "alibi-half-life",
    "At equal scores, the weight of a key halves about every 1.4 positions in the first of these heads, "
    "and about every 177 in the last.",
)
def test_half_lives():
    slopes = alibi_slopes(8)
    assert f"{math.log(2) / slopes[0]:.1f}" == "1.4" and f"{math.log(2) / slopes[-1]:.0f}" == "177"
    # Through the softmax: equal logits, so the weights show the bias alone.
    q, k, one_hot = torch.zeros(2, 1, 8, 7, 6, dtype=torch.float64).unbind(0) + (torch.eye(7).double(),)
    bias = alibi_bias(HERE, HERE, slopes, dtype=torch.float64)
    weights = attention(q, k, one_hot.expand(1, 8, 7, 7), bias=bias)[0, :, 6]
    torch.testing.assert_close(weights[:, 3] / weights[:, 6], (-3 * slopes).exp())


@claim(
    "alibi-twelve-heads",
    "If the number of heads is no power of two, the slopes of the next lower power come first, then every "
    "second slope of the next higher one: 12 heads have the eight slopes above, followed by "
    r"\(2^{-0.5}, 2^{-1.5}, 2^{-2.5}, 2^{-3.5}\).",
)
def test_other_numbers_of_heads():
    exponents = {12: [1, 2, 3, 4, 5, 6, 7, 8, 0.5, 1.5, 2.5, 3.5], 6: [2, 4, 6, 8, 1, 3], 1: [8]}
    for n_heads, expected in exponents.items():
        torch.testing.assert_close(
            -alibi_slopes(n_heads).log2(), torch.tensor(expected, dtype=torch.float64)
        )


@claim(
    "alibi-no-direction",
    "Without a causal mask, the penalty is the same to the left and to the right; it cannot tell the two "
    "apart.",
)
def test_both_sides_get_one_penalty():
    bias = alibi_bias(HERE, HERE, alibi_slopes(4))
    assert torch.equal(bias, bias.mT) and bias[0, 3, 5] == bias[0, 3, 1] < 0


@claim(
    "alibi-key-index-form",
    "Under a causal mask, and in exact arithmetic, that is the same.",
)
def test_key_index_form_is_the_same_under_the_softmax():
    q, k, v = random(3, 2, 4, 7, 6)
    slopes, mask = alibi_slopes(4), causal_mask(HERE, HERE)
    by_index = slopes[:, None, None] * HERE
    by_distance = alibi_bias(HERE, HERE, slopes, dtype=torch.float64)
    torch.testing.assert_close(
        attention(q, k, v, bias=by_index, mask=mask),
        attention(q, k, v, bias=by_distance, mask=mask),
        rtol=0,
        atol=1e-12,
    )
    without_mask = attention(q, k, v, bias=by_index) - attention(q, k, v, bias=by_distance)
    assert without_mask.abs().max() > 0.01


@claim(
    "alibi-bfloat16",
    "In bfloat16 it is not: at slope one half and 2048 keys, the last four keys get one and the same "
    "number, while the distance form still tells them apart.",
)
def test_key_index_form_in_bfloat16():
    keys, slope = torch.arange(2048), alibi_slopes(8)[:1]
    by_index = (slope * keys).bfloat16()[-4:]
    by_distance = alibi_bias(keys[-1:], keys, slope, dtype=torch.bfloat16)[0, 0, -4:]
    assert by_index.unique().numel() == 1
    assert by_distance.tolist() == [-1.5, -1.0, -0.5, 0.0]


@claim("alibi-no-state", "Nothing is stored.")
def test_nothing_is_stored():
    first, second = alibi_slopes(8), alibi_slopes(8)
    assert type(first) is torch.Tensor and not first.requires_grad
    first.zero_()  # no cache: a caller cannot spoil the slopes of the next one
    assert second.tolist() == alibi_slopes(8).tolist() == [2.0**-h for h in range(1, 9)]
