"""Counted positions and their bias against loops over single keys, then masks, dtypes, state."""

import pytest
import torch

from posenc_check import score_biases as oracles
from snippets.cope import CoPE, cope_bias, cope_positions
from snippets.masks import causal_mask

B, H, TQ, TK, D, N = 2, 3, 4, 5, 6, 4
MASK = causal_mask(torch.arange(TQ) + 1, torch.arange(TK))


def generic(*shape, seed=0):
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def inputs():
    return generic(B, H, TQ, D), 3 * generic(B, H, TQ, TK, seed=1), generic(N, D, seed=2)


@pytest.mark.parametrize("mask", [None, MASK], ids=["all", "causal"])
def test_every_bias_reads_the_embedding_at_its_count(mask):
    q, logits, embedding = inputs()
    full = None if mask is None else mask.expand(B, H, TQ, TK)
    want = oracles.cope(q, logits, embedding, full)
    got = cope_bias(q, logits, embedding, mask=mask)
    assert got.shape == (B, H, TQ, TK)
    # float64 sums of six products and five gates.
    torch.testing.assert_close(got, want, rtol=0, atol=1e-13)


@pytest.mark.parametrize("shape", [(B, H, TQ, TK), (B, 1, TQ, TK), (H, 1, TK), (1, 1)])
def test_a_mask_may_have_up_to_four_axes_and_axes_of_one(shape):
    q, logits, embedding = inputs()
    mask = generic(*shape, seed=3) > -0.5
    want = oracles.cope(q, logits, embedding, mask.expand(B, H, TQ, TK))
    # float64 sums of six products and five gates.
    got = cope_bias(q, logits, embedding, mask=mask)
    torch.testing.assert_close(got, want, rtol=0, atol=1e-13)


def test_known_positions():
    gates = torch.tensor([0.2, 0.9, 0.5, 1.0])
    assert cope_positions(gates).tolist() == pytest.approx([2.6, 2.4, 1.5, 1.0], abs=5e-7)


def test_known_biases():
    # Half-open gates: the keys lie at 2, 1.5, 1 and 0.5; four embedded positions would do.
    q, embedding = torch.ones(1, 1, 1, 1), torch.tensor([[1.0], [10.0], [100.0], [1000.0]])
    bias = cope_bias(q, torch.zeros(1, 1, 1, 4), embedding)
    assert bias.flatten().tolist() == [100.0, 55.0, 10.0, 5.5]
    # With two embeddings all counts past 1 take the last.
    bias = cope_bias(q, torch.zeros(1, 1, 1, 4), embedding[:2])
    assert bias.flatten().tolist() == [10.0, 10.0, 10.0, 5.5]


def test_open_gates_count_tokens_and_closed_gates_none():
    gates = torch.ones(H, TK)
    assert cope_positions(gates).tolist() == [[5, 4, 3, 2, 1]] * H
    assert cope_positions(0 * gates).tolist() == [[0] * 5] * H


def test_a_masked_key_neither_counts_nor_is_counted():
    q, logits, embedding = inputs()
    want = cope_bias(q, logits, embedding, mask=MASK)
    moved = logits.masked_fill(~MASK, 50.0)
    assert torch.equal(cope_bias(q, moved, embedding, mask=MASK), want)
    minus = logits.masked_fill(~MASK, -torch.inf)
    assert torch.equal(cope_bias(q, minus, embedding), want)


def test_without_a_mask_later_tokens_change_earlier_rows():
    q, logits, embedding = inputs()
    with_future = cope_bias(q, logits, embedding)
    right = cope_bias(q, logits, embedding, mask=MASK)
    assert ((with_future - right)[:, :, 0, :2].abs() > 1e-3).all()


def test_decoding_slices_equal_the_full_pass():
    q, logits, embedding = generic(B, H, 7, D), generic(B, H, 7, 7, seed=1), generic(N, D, seed=2)
    here = torch.arange(7)
    full = cope_bias(q, logits, embedding, mask=causal_mask(here, here))
    for i in (0, 1, 6):
        row = slice(i, i + 1)
        step = cope_bias(q[:, :, row], logits[:, :, row, : i + 1], embedding)
        # Sums of the same float64 gates, with zeros behind them or not.
        torch.testing.assert_close(step, full[:, :, row, : i + 1], rtol=0, atol=1e-13)


def test_a_key_before_all_others_changes_no_count_but_its_own():
    gates = generic(B, H, TQ, TK).sigmoid()
    longer = torch.cat((torch.full((B, H, TQ, 1), 0.7), gates), dim=-1)
    assert torch.equal(cope_positions(longer)[..., 1:], cope_positions(gates))


@pytest.mark.parametrize("name", ["bfloat16", "float16", "float32", "float64"])
def test_the_result_is_at_least_float32(name):
    dtype = getattr(torch, name)
    wide = torch.promote_types(dtype, torch.float32)
    tensors = [t.to(dtype) for t in inputs()]
    got, want = cope_bias(*tensors), oracles.cope(*tensors)
    assert got.dtype == wide
    # Sums of six products and five gates of the same rounded numbers, below 10.
    torch.testing.assert_close(got.double(), want, rtol=0, atol=64 * torch.finfo(wide).eps)
    assert cope_positions(tensors[1].sigmoid()).dtype == wide


def test_many_narrow_gates_are_counted_without_loss():
    gates = torch.ones(1000, dtype=torch.bfloat16)
    assert torch.equal(cope_positions(gates), 1000.0 - torch.arange(1000))
    rounded = gates.flip(0).cumsum(0).flip(0)  # what the plain three calls give
    assert rounded.unique().numel() < 1000 and rounded[-257] == rounded[-256] == 256


def test_the_gradient_agrees_with_differences():
    tensors = [t.requires_grad_() for t in inputs()]
    assert torch.autograd.gradcheck(lambda *t: cope_bias(*t, mask=MASK), tensors)


def test_the_module_starts_without_positions_and_is_its_table():
    layer = CoPE(D, N)
    assert {k: tuple(t.shape) for k, t in layer.state_dict().items()} == {"weight": (N, D)}
    q, logits, embedding = (t.float() for t in inputs())
    assert not layer(q, logits).any()
    layer.load_state_dict({"weight": embedding})
    assert torch.equal(layer(q, logits, mask=MASK), cope_bias(q, logits, embedding, mask=MASK))
    layer(q, logits, mask=MASK).square().sum().backward()
    assert layer.weight.grad.any(dim=1).all()
    layer.reset_parameters()
    assert not layer.weight.any()
