"""What every attention of the snippets takes as a mask, and what it refuses: one rule for all."""

import pytest
import torch

from snippets.attention import attention
from snippets.deberta import deberta_attention
from snippets.shaw import shaw_attention, shaw_bucket
from snippets.shaw_bucketed import shaw_attention_bucketed
from snippets.transformer_xl import transformer_xl_attention
from tests.exact import raises_exactly

B, H, TQ, TK, D, D_MODEL = 2, 3, 4, 7, 5, 6
MASK = torch.ones(TQ, TK, dtype=torch.bool).tril(2)


def generic(*shape, seed=0, device="cpu"):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(shape, dtype=torch.float64, generator=generator).to(device)


def qkv(device):
    return [generic(B, H, t, D, seed=i, device=device) for i, t in enumerate((TQ, TK, TK))]


def places(device):
    return torch.arange(3, 3 + TQ, device=device), torch.arange(TK, device=device)


def plain(mask, device="cpu"):
    return attention(*qkv(device), mask=mask)


def deberta(mask, device="cpu"):
    tables = generic(2, H, 8, D, seed=3, device=device)
    return deberta_attention(*qkv(device), *places(device), *tables, mask=mask)


def shaw(mask, device="cpu"):
    tables = generic(2, 9, D, seed=3, device=device)
    return shaw_attention(*qkv(device), *places(device), *tables, mask=mask)


def shaw_bucketed(mask, device="cpu"):
    tables = generic(2, 9, D, seed=3, device=device)
    bucket = shaw_bucket(*places(device), 4)
    return shaw_attention_bucketed(*qkv(device), bucket, *tables, mask=mask)


def transformer_xl(mask, device="cpu"):
    biases = generic(2, H, D, seed=3, device=device)
    weight = generic(H * D, D_MODEL, seed=4, device=device)
    return transformer_xl_attention(*qkv(device), *places(device), *biases, weight, mask=mask)


every_form = pytest.mark.parametrize("form", [plain, deberta, shaw, shaw_bucketed, transformer_xl])


@every_form
@pytest.mark.parametrize("shape", [(B, 1, TQ, TK), (1, H, 1, TK), (1, TK), (TK,)])
def test_a_mask_may_have_axes_of_one_and_fewer(form, shape):
    mask = generic(*shape, seed=9) > -0.5
    mask[..., 0], mask[..., 1] = True, False
    full = form(mask.expand(B, H, TQ, TK).contiguous())
    assert torch.equal(form(mask), full)
    assert not torch.allclose(form(None), full)


@every_form
@pytest.mark.parametrize("name", ["float32", "uint8", "int64"])
def test_a_mask_that_is_not_bool_is_refused(form, name):
    with raises_exactly(TypeError, f"mask must be bool, got torch.{name}"):
        form(MASK.to(getattr(torch, name)))


@every_form
@pytest.mark.parametrize("shape", [[H, TQ, TK], [1, TQ, TK], [H, 1, TK]])
def test_a_mask_of_three_axes_is_refused(form, shape):
    text = f"mask must be [B, 1, Tq, Tk] or [1, H, Tq, Tk], not 3-D, got {shape}"
    with raises_exactly(ValueError, text):
        form(torch.ones(shape, dtype=torch.bool))


@every_form
@pytest.mark.parametrize(
    "shape", [[TK, TQ], [3, TK], [TQ, TK + 1], [5, H, TQ, TK], [B, 2, TQ, TK], [1, B, H, TQ, TK], [5]]
)
def test_a_mask_that_does_not_fit_is_refused(form, shape):
    text = f"mask must broadcast to [B, H, Tq, Tk] = [2, 3, 4, 7], got {shape}"
    with raises_exactly(ValueError, text):
        form(torch.ones(shape, dtype=torch.bool))


@every_form
def test_a_mask_row_without_any_key_is_refused(form):
    mask = MASK.clone()
    mask[1] = False
    with raises_exactly(ValueError, "mask leaves a query without any key"):
        form(mask)
    with raises_exactly(ValueError, "mask leaves a query without any key"):
        form(torch.stack((MASK, mask))[:, None])


@every_form
def test_values_are_looked_at_in_eager_mode_only(form, monkeypatch):
    assert form(MASK.to("meta"), device="meta").shape == (B, H, TQ, D)
    monkeypatch.setattr(torch.compiler, "is_compiling", lambda: True)
    assert form(torch.zeros_like(MASK)).isnan().all()
