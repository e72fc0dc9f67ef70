"""The projected sinusoids of lags: every entry, their order, far lags and half precision."""

import math

import pytest
import torch

from posenc_check import relative
from snippets.transformer_xl import relative_keys
from tests.test_transformer_xl import D, H, generic


@pytest.mark.parametrize("d_model, base", [(2, 10_000.0), (6, 10_000.0), (12, 100.0)])
def test_relative_keys_are_projected_sinusoids(d_model, base):
    lags, weight = torch.tensor([[0, 1, 7], [-1, -300, 5000]]), generic(H * D, d_model)
    got = relative_keys(lags, weight, H, base)
    assert got.shape == (H, 2, 3, D)
    for h in range(H):
        for i in range(2):
            for j in range(3):
                want = relative.relative_key(int(lags[i, j]), h, weight, D, base)
                assert got[h, i, j].tolist() == pytest.approx(want, abs=1e-12)


def test_sines_come_before_cosines():
    (got,) = relative_keys(torch.tensor([2]), torch.eye(4).double(), 1)[0]
    want = [math.sin(2), math.sin(0.02), math.cos(2), math.cos(0.02)]
    assert got.tolist() == pytest.approx(want, abs=1e-15)


def test_far_lags_are_not_rounded():
    lags = torch.tensor([2**24 + 1, -(2**40) - 1])
    got = relative_keys(lags, torch.tensor([[1.0, 0.0]]).double(), 1)
    want = [math.sin(2**24 + 1), -math.sin(2**40 + 1)]
    assert got.flatten().tolist() == pytest.approx(want, abs=1e-15)


@pytest.mark.parametrize("name", ["bfloat16", "float16"])
def test_relative_keys_are_rounded_once(name):
    lags, weight = torch.arange(-300, 300, 7), generic(H * D, 64).to(getattr(torch, name))
    exact = relative_keys(lags, weight.double(), H)
    got = relative_keys(lags, weight, H)
    assert got.dtype == weight.dtype
    # Half a unit in the last place of the result; float32 sums of 64 terms add 1e-5.
    bound = exact.abs() * torch.finfo(weight.dtype).eps / 2 + 1e-5
    assert ((got.double() - exact).abs() <= bound).all()


def test_lags_of_an_unsigned_dtype_are_taken():
    weight = generic(H * D, 6)
    got = relative_keys(torch.tensor([3, 40_000], dtype=torch.uint16), weight, H)
    assert torch.equal(got, relative_keys(torch.tensor([3, 40_000]), weight, H))


def test_a_float32_weight_is_multiplied_in_float32():
    lags, weight = torch.arange(50), generic(H * D, 64).float()
    wide = relative_keys(lags, weight.double(), H)
    # Sums of 64 float32 products differ from float64 in the last digits, not in more.
    assert not torch.equal(relative_keys(lags, weight, H), wide.float())
    torch.testing.assert_close(relative_keys(lags, weight, H).double(), wide, rtol=0, atol=1e-5)
