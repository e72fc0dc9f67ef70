"""FlexAttention on a CPU, without its compiler: what a function of one score can express."""

import math

import pytest
import torch
from torch.nn.attention.flex_attention import create_block_mask, flex_attention

from snippets.alibi import alibi_slopes
from snippets.attention import attention
from snippets.fox import forget_sums
from snippets.masks import causal_mask
from tests.exact import raises_exactly
from tests.score_bias_cases import HEADS, alibi, fox, generic, log_gates, t5

B, TQ, TK, D = 2, 4, 7, 8
K_POSITIONS = torch.arange(TK) + 37
Q_POSITIONS = K_POSITIONS[-TQ:]
MASK = causal_mask(Q_POSITIONS, K_POSITIONS)

# torch 2.13.0 says on its first eager call that it is slow.
pytestmark = pytest.mark.filterwarnings(
    r"ignore:flex_attention called without torch.compile\(\):UserWarning"
)


def qkv():
    shapes = (B, HEADS, TQ, D), (B, HEADS, TK, D), (B, HEADS, TK, D)
    return [generic(*shape, seed=seed) for seed, shape in enumerate(shapes)]


def close(got, want):
    # float64 sums of seven keys in another order; FlexAttention keeps its scores in float64.
    torch.testing.assert_close(got, want, rtol=0, atol=1e-13)


def alibi_score(score, b, h, i, j):
    return score - SLOPES[h] * (Q_POSITIONS[i] - K_POSITIONS[j]).abs()


SLOPES = alibi_slopes(HEADS)
# T5's buckets are looked up once for each gap, not for each pair.
GAPS = torch.arange(TQ + TK - 1) + (K_POSITIONS[0] - Q_POSITIONS[-1])
TABLE = t5(torch.zeros(1, dtype=torch.int64), GAPS)[:, 0]
SUMS = forget_sums(log_gates(64))


def t5_score(score, b, h, i, j):
    return score + TABLE[h, K_POSITIONS[j] - Q_POSITIONS[i] - GAPS[0]]


def fox_score(score, b, h, i, j):
    return score + SUMS[b, h, Q_POSITIONS[i]] - SUMS[b, h, K_POSITIONS[j]]


SCORES = {"alibi": (alibi_score, alibi), "t5": (t5_score, t5), "fox": (fox_score, fox)}
every_score = pytest.mark.parametrize("score, bias", SCORES.values(), ids=SCORES)


@every_score
def test_a_function_of_one_score_equals_the_bias(score, bias):
    want = attention(*qkv(), bias=bias(Q_POSITIONS, K_POSITIONS))
    close(flex_attention(*qkv(), score_mod=score), want)


@every_score
def test_the_mask_compares_positions_here_too(score, bias):
    blocks = create_block_mask(
        lambda b, h, i, j: K_POSITIONS[j] <= Q_POSITIONS[i], None, None, TQ, TK, device="cpu"
    )
    want = attention(*qkv(), bias=bias(Q_POSITIONS, K_POSITIONS), mask=MASK)
    close(flex_attention(*qkv(), score_mod=score, block_mask=blocks), want)


def test_the_scale_of_t5_is_one_here_too():
    q, k, v = qkv()
    want = attention(q * math.sqrt(D), k, v, bias=t5(Q_POSITIONS, K_POSITIONS))
    close(flex_attention(q, k, v, score_mod=t5_score, scale=1.0), want)


def test_indices_in_place_of_positions_shift_a_cached_query():
    def by_index(score, b, h, i, j):
        return score - SLOPES[h] * (i - j).abs()

    want = attention(*qkv(), bias=alibi(Q_POSITIONS, K_POSITIONS))
    assert (flex_attention(*qkv(), score_mod=by_index) - want).abs().max() > 0.05


def test_a_row_without_any_key_is_zero():
    for y in (
        flex_attention(*qkv(), score_mod=lambda s, b, h, i, j: torch.where(i == 1, -math.inf, s)),
        flex_attention(
            *qkv(),
            block_mask=create_block_mask(
                lambda b, h, i, j: i != 1, None, None, TQ, TK, device="cpu"
            ),
        ),
    ):
        assert not y[:, :, 1].any() and y[:, :, 0].all()


def test_a_sum_over_keys_such_as_that_of_cope_is_out_of_reach():
    """The function sees one number: its sum over keys is that number, without an error."""

    def summed(score, b, h, i, j):
        return score + score.sigmoid().cumsum(-1)

    q, k, v = qkv()
    gates = (q @ k.mT / math.sqrt(D)).sigmoid()
    got = flex_attention(q, k, v, score_mod=summed)
    close(got, attention(q, k, v, bias=gates))
    assert (got - attention(q, k, v, bias=gates.cumsum(-1))).abs().max() > 0.05


def test_queries_cannot_learn_on_a_cpu():
    q, k, v = qkv()
    text = (
        "FlexAttention does not support backward on CPU. "
        "Please set the input requires_grad to False or use another device."
    )
    with raises_exactly(NotImplementedError, text):
        flex_attention(q.requires_grad_(), k, v, score_mod=alibi_score)
