"""The shift against a look-up by lag, and a whole attention with it against the plain form."""

import math

import pytest
import torch

from posenc_check import relative
from snippets.relative_shift import relative_shift
from snippets.transformer_xl import relative_keys, transformer_xl_attention
from tests.exact import raises_exactly
from tests.test_transformer_xl import B, D, H, TK, TQ, generic, inputs


def numbered(*shape):
    return torch.arange(1, torch.Size(shape).numel() + 1).view(shape)


def test_three_queries_and_three_lags():
    got = relative_shift(numbered(3, 3)).tolist()
    assert got == [[3, 0, 4], [5, 6, 0], [7, 8, 9]]  # above the diagonal stands something else


@pytest.mark.parametrize("n_queries, n_keys", [(1, 1), (1, 6), (3, 3), (4, 7), (5, 6), (6, 4)])
def test_every_key_with_a_lag_gets_its_product(n_queries, n_keys):
    for n_lags in range(n_keys, n_queries + n_keys + 2):
        x = numbered(n_queries, n_lags)
        got, want = relative_shift(x, n_keys), relative.shifted(x.tolist(), n_keys)
        assert got.shape == (n_queries, n_keys)
        meant = [[value is not None for value in row] for row in want]
        for i in range(n_queries):
            for j in range(n_keys):
                assert want[i][j] in (None, got[i, j])
        # With lags down to 1 - Tq nothing is left to mask; down to 0, what lies ahead.
        if n_lags >= n_keys + n_queries - 1:
            assert all(map(all, meant))
        if n_lags == n_keys:
            behind = torch.ones(n_queries, n_keys, dtype=torch.bool).tril(n_keys - n_queries)
            assert meant == behind.tolist()


def test_above_the_diagonal_stand_zeros_and_products_of_the_next_query():
    x = numbered(4, 7)
    got = relative_shift(x)
    for i in range(3):
        ahead = got[i, 7 - 4 + i + 1 :].tolist()
        assert ahead == [0, *x[i + 1, : 2 - i].tolist()]


def test_all_other_axes_stay_as_they_are():
    x = generic(B, H, TQ, TK)
    got = relative_shift(x)
    for b in range(B):
        for h in range(H):
            assert torch.equal(got[b, h], relative_shift(x[b, h]))
    assert torch.equal(relative_shift(x.mT.contiguous().mT), got)


@pytest.mark.parametrize("name", "bfloat16 float16 float32 int64".split())
def test_no_number_and_no_dtype_is_changed(name):
    x = numbered(3, 5).to(getattr(torch, name))
    assert relative_shift(x).dtype == x.dtype
    assert relative_shift(x)[-1].tolist() == [11, 12, 13, 14, 15]


def test_gradients_go_where_the_numbers_came_from():
    x = generic(3, 4, 6).requires_grad_()
    assert torch.autograd.gradcheck(lambda x: relative_shift(x, 5), (x,))


def with_shift(tensors, lags, mask):
    """Attention by a product with a row of lags, as fast code has it."""
    q, k, v = (tensors[n] for n in "qkv")
    r = relative_keys(lags, tensors["lag_weight"], H)
    by_content = (q + tensors["content_bias"][:, None]) @ k.mT
    by_lag = relative_shift((q + tensors["position_bias"][:, None]) @ r.mT, TK)
    logits = (by_content + by_lag) / math.sqrt(D)
    return logits.masked_fill(~mask, -math.inf).softmax(-1) @ v


CAUSAL = torch.ones(TQ, TK, dtype=torch.bool).tril(TK - TQ)


def plain(mask):
    k_positions = torch.arange(50, 50 + TK)
    tensors = inputs(q_positions=k_positions[-TQ:], k_positions=k_positions)
    return tensors, transformer_xl_attention(**tensors, mask=mask)


def test_lags_down_to_zero_are_enough_under_a_causal_mask():
    tensors, want = plain(CAUSAL)
    got = with_shift(tensors, torch.arange(TK - 1, -1, -1), CAUSAL)
    torch.testing.assert_close(got, want, rtol=0, atol=1e-12)  # float64 sums of thirty products


def test_without_a_mask_lags_of_keys_ahead_are_needed():
    everything = torch.ones_like(CAUSAL)
    tensors, want = plain(None)
    got = with_shift(tensors, torch.arange(TK - 1, -TQ, -1), everything)
    torch.testing.assert_close(got, want, rtol=0, atol=1e-12)
    short = with_shift(tensors, torch.arange(TK - 1, -1, -1), everything)
    assert (short - want)[:, :, :-1].abs().amax((0, 1, 3)).min() > 0.1  # wrong for all but the last
    torch.testing.assert_close(short[:, :, -1], want[:, :, -1], rtol=0, atol=1e-12)


def test_lags_from_the_smallest_on_are_the_wrong_way_round():
    tensors, want = plain(CAUSAL)
    got = with_shift(tensors, torch.arange(TK), CAUSAL)
    assert (got - want).abs().amax((0, 1, 3)).min() > 0.1  # for every query


@pytest.mark.parametrize("shape", [[], [4]])
def test_too_few_axes_are_refused(shape):
    with raises_exactly(ValueError, f"x must be [..., Tq, R], got {shape}"):
        relative_shift(torch.zeros(shape))


@pytest.mark.parametrize("n_keys", [-1, 0, 6])
def test_a_number_of_keys_that_does_not_fit_is_refused(n_keys):
    with raises_exactly(ValueError, f"n_keys must be from 1 to 5, got {n_keys}"):
        relative_shift(torch.zeros(3, 5), n_keys)
