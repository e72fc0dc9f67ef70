"""The view against single gaps, against the biases it stands for, and what it costs."""

import pytest
import torch
from torch.nn.functional import scaled_dot_product_attention

from posenc_check import score_biases as oracles
from snippets.alibi import alibi_bias, alibi_slopes
from snippets.attention import attention
from snippets.kerple import kerple_bias
from snippets.masks import causal_mask
from snippets.sandwich import sandwich_bias
from snippets.t5_bias import T5Bias
from snippets.toeplitz_bias import consecutive_gaps, toeplitz_attention, toeplitz_view

B, H, TQ, TK, D = 2, 3, 4, 7, 6
Q_POSITIONS, K_POSITIONS = torch.arange(TQ) + 38, torch.arange(TK) + 35
GAPS = consecutive_gaps(Q_POSITIONS, K_POSITIONS)


def generic(*shape, seed=0, dtype=torch.float64):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, dtype=torch.float64, generator=generator).to(dtype)


def qkv(t_q=TQ, t_k=TK, dtype=torch.float64):
    shapes = (B, H, t_q, D), (B, H, t_k, D), (B, H, t_k, D)
    return [generic(*shape, seed=seed, dtype=dtype) for seed, shape in enumerate(shapes)]


def t5(q_positions, k_positions):
    torch.manual_seed(0)
    bias = T5Bias(H, bidirectional=True, num_buckets=8, max_distance=6).double()
    return bias(q_positions, k_positions).detach()


def alibi(q_positions, k_positions):
    return alibi_bias(q_positions, k_positions, alibi_slopes(H), dtype=torch.float64)


def kerple(q_positions, k_positions):
    r = torch.tensor([0.5, 1.0, 1.5])
    return kerple_bias(q_positions, k_positions, r, r, kind="log", dtype=torch.float64)


def table_of(bias, gaps=GAPS):
    return bias(torch.zeros_like(gaps[:1]), gaps)[:, 0]


every_bias = pytest.mark.parametrize("bias", [alibi, t5, kerple])


def test_every_entry_of_the_view_is_the_number_of_its_gap():
    table = generic(H, TQ + TK - 1)
    view = toeplitz_view(table, TQ)
    for h in range(H):
        want = oracles.toeplitz(table[h].tolist(), TQ, TK)
        assert torch.equal(view[h].flip(0), want)


def test_a_view_of_a_part_of_a_larger_table_starts_where_the_part_starts():
    larger = generic(TQ + TK + 3, H + 1)
    part = larger[2:-2].T[1:]  # neither contiguous nor at the start of its memory
    assert torch.equal(toeplitz_view(part, TQ), toeplitz_view(part.contiguous(), TQ))
    assert toeplitz_view(part, TQ).data_ptr() == part.data_ptr() != larger.data_ptr()


def test_gaps_by_hand():
    assert GAPS.tolist() == [-6, -5, -4, -3, -2, -1, 0, 1, 2, 3]
    assert toeplitz_view(GAPS[None], TQ)[0].tolist() == [
        [-6, -5, -4, -3, -2, -1, 0],
        [-5, -4, -3, -2, -1, 0, 1],
        [-4, -3, -2, -1, 0, 1, 2],
        [-3, -2, -1, 0, 1, 2, 3],
    ]
    assert consecutive_gaps(torch.tensor([9]), torch.tensor([4])).tolist() == [-5]


def test_one_key_is_taken():
    table = generic(H, TQ)
    assert torch.equal(toeplitz_view(table, TQ), table[..., None])


@every_bias
def test_the_view_equals_the_bias_of_all_pairs(bias):
    view = toeplitz_view(table_of(bias), TQ)
    assert torch.equal(view.flip(1), bias(Q_POSITIONS, K_POSITIONS))


def test_the_view_of_sandwich_differs_by_float64_roundings():
    scales = torch.tensor([1.0, 2.0, 3.0])

    def bias(q, k):
        return sandwich_bias(q, k, scales, dtype=torch.float64)

    view = toeplitz_view(table_of(bias), TQ)
    # Angles of 41 against angles of 6, 64 cosines, times 3.
    torch.testing.assert_close(view.flip(1), bias(Q_POSITIONS, K_POSITIONS), rtol=0, atol=1e-11)


@every_bias
@pytest.mark.parametrize("t_q", [1, 3, TK])
def test_attention_equals_the_plain_steps(bias, t_q):
    q, k, v = qkv(t_q)
    gaps = consecutive_gaps(K_POSITIONS[-t_q:], K_POSITIONS)
    got = toeplitz_attention(q, k, v, table_of(bias, gaps))
    want = attention(q, k, v, bias=bias(K_POSITIONS[-t_q:], K_POSITIONS))
    torch.testing.assert_close(got, want, rtol=0, atol=1e-13)  # float64 sums in another order


def test_minus_infinity_after_the_query_is_a_causal_mask():
    q, k, v = qkv()
    got = toeplitz_attention(q, k, v, table_of(alibi).masked_fill(GAPS > 0, -torch.inf))
    mask = causal_mask(Q_POSITIONS, K_POSITIONS)
    want = attention(q, k, v, bias=alibi(Q_POSITIONS, K_POSITIONS), mask=mask)
    torch.testing.assert_close(got, want, rtol=0, atol=1e-13)  # float64 sums in another order


def test_the_scale_of_t5_is_one():
    q, k, v = qkv()
    got = toeplitz_attention(q, k, v, table_of(t5), scale=1.0)
    want = attention(q * D**0.5, k, v, bias=t5(Q_POSITIONS, K_POSITIONS))
    torch.testing.assert_close(got, want, rtol=0, atol=1e-13)  # float64 sums in another order


@pytest.mark.parametrize("name", ["bfloat16", "float16", "float32", "float64"])
def test_the_view_gives_the_bits_of_its_copy(name):
    dtype = getattr(torch, name)
    q, k, v = qkv(dtype=dtype)
    table = table_of(alibi).to(dtype)
    got = toeplitz_attention(q, k, v, table)
    copy = toeplitz_view(table, TQ).contiguous()[None]
    backwards = scaled_dot_product_attention(q.flip(2), k, v, attn_mask=copy)
    assert got.dtype == dtype and torch.equal(got, backwards.flip(2))
    forwards = scaled_dot_product_attention(q, k, v, attn_mask=copy.flip(2))
    # Queries in another order meet other blocks of the matrix product: a last digit.
    torch.testing.assert_close(got, forwards, rtol=0, atol=4 * torch.finfo(dtype).eps)


def test_the_view_takes_no_memory_and_a_copy_takes_all_of_it():
    t_q, t_k = 512, 1024
    table = torch.zeros(H, t_q + t_k - 1)
    view = toeplitz_view(table, t_q)
    assert view.data_ptr() == table.data_ptr() and view.shape == (H, t_q, t_k)
    assert view.stride() == (t_q + t_k - 1, 1, 1)
    assert view.untyped_storage().nbytes() == 4 * H * (t_q + t_k - 1) == 18_420
    for copy in (view.contiguous(), view.clone(), view.flip(1), view + 0):
        assert copy.untyped_storage().nbytes() == 4 * H * t_q * t_k == 6_291_456


def peak_bytes(function):
    """Most bytes that were allocated at one time while function ran, from the profiler."""
    with torch.profiler.profile(profile_memory=True, record_shapes=False) as profile:
        function()
    held = most = 0
    for event in profile.profiler.kineto_results.events():
        if event.name() == "[memory]":
            held += event.nbytes()
            most = max(most, held)
    return most


def test_attention_through_the_view_never_holds_the_square():
    t = 1024
    q, k, v = qkv(t, t, torch.float32)
    table = generic(H, 2 * t - 1, dtype=torch.float32)
    full = toeplitz_view(table, t).flip(1).contiguous()
    square = 4 * H * t * t
    plain = peak_bytes(lambda: attention(q, k, v, bias=full))
    seen = peak_bytes(lambda: toeplitz_attention(q, k, v, table))
    assert plain > 2 * square and seen < square / 4


def test_writing_into_a_view_changes_other_pairs_without_an_error():
    table = torch.arange(1.0, 9.0)[None]
    view = toeplitz_view(table, 4)
    view[0, 0, 3] = 0.0  # meant for one pair
    assert (view[0] == 0).sum() == 4
    view.masked_fill_(torch.eye(4, 5).bool(), -9.0)  # meant for four pairs
    assert (view[0] == -9).sum() == 10


def test_the_gradient_of_the_table_is_summed_over_the_pairs_of_a_gap():
    table = table_of(alibi).requires_grad_()
    q, k, v = (t.requires_grad_() for t in qkv())
    assert torch.autograd.gradcheck(toeplitz_attention, (q, k, v, table))
    toeplitz_view(table, TQ).sum().backward()
    assert table.grad[0].tolist() == [1, 2, 3, 4, 4, 4, 4, 3, 2, 1]
