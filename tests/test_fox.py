"""The bias against products of gates, decoding with a running sum, precision, the gate."""

import math

import pytest
import torch

from posenc_check import score_biases as oracles
from snippets.fox import ForgetGate, forget_sums, fox_bias

B, H, T, WIDTH = 2, 3, 7, 5


def generic(*shape, seed=0):
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


GATES = (generic(B, H, T) + 1).sigmoid()


def full_bias(log_gates, **options):
    sums = forget_sums(log_gates)
    return fox_bias(sums, sums, **options)


def test_every_bias_is_the_log_of_the_product_of_gates_after_the_key():
    got = full_bias(GATES.log(), dtype=torch.float64)
    assert got.shape == (B, H, T, T)
    # float64 sums of up to seven logarithms of numbers above 0.1.
    torch.testing.assert_close(got.tril(), oracles.fox(GATES), rtol=0, atol=1e-13)


def test_one_bias_by_hand():
    gates = torch.tensor([[[0.3, 0.5, 0.25, 1.0]]])
    bias = full_bias(gates.log())[0, 0] / math.log(2)
    assert bias[3].tolist() == pytest.approx([-3, -2, 0, 0], abs=1e-6)
    assert bias[0].tolist() == pytest.approx([0, 1, 3, 3], abs=1e-6)  # after the query: mask it


def test_the_gate_of_the_first_token_does_not_matter():
    log_gates = GATES.log()
    other = log_gates.clone()
    other[..., 0] -= 100
    # A float64 sum that starts at -100 loses two of its digits.
    torch.testing.assert_close(full_bias(other), full_bias(log_gates), rtol=0, atol=1e-6)


def test_open_gates_change_nothing():
    assert not full_bias(torch.zeros(B, H, T)).any()


def test_a_bias_never_forgets_backwards():
    bias = full_bias(GATES.log())
    rows = bias[..., -1, :]
    assert (rows.diff() > 0).all() and (rows[..., -1] == 0).all()
    assert (bias[..., 1:, 0].diff() < 0).all()


def test_decoding_with_a_running_sum_equals_the_full_pass():
    log_gates = GATES.log()
    want, cache = full_bias(log_gates), forget_sums(log_gates[..., :3])
    for i in range(3, T):
        new = forget_sums(log_gates[..., i : i + 1], cache[..., -1])
        cache = torch.cat((cache, new), dim=-1)
        assert torch.equal(fox_bias(new, cache)[:, :, 0], want[:, :, i, : i + 1])
    chunk = forget_sums(log_gates[..., 3:], forget_sums(log_gates[..., :3])[..., -1])
    torch.testing.assert_close(chunk, forget_sums(log_gates)[..., 3:], rtol=1e-14, atol=0)


def test_a_decoded_token_without_the_sum_of_the_cache_is_wrong():
    log_gates = GATES.log()
    want, cache = full_bias(log_gates), forget_sums(log_gates)
    forgotten = fox_bias(forget_sums(log_gates[..., -1:]), cache)[:, :, 0]
    assert ((forgotten - want[:, :, -1]).abs() > 0.5).all()


def test_sums_are_float64_so_that_neighbours_stay_apart_far_out():
    log_gates = torch.full((1, 1, 100_000), -0.7)
    bias = fox_bias(forget_sums(log_gates)[..., -1:], forget_sums(log_gates)[..., -3:])
    assert bias.flatten().tolist() == pytest.approx([-1.4, -0.7, 0], abs=1e-6)
    narrow = log_gates.cumsum(-1)  # float32: numbers near -70 000 are 1/128 apart
    assert ((narrow[..., -1] - narrow[..., -3]) + 1.4).abs() > 1e-3


@pytest.mark.parametrize("name", ["float16", "bfloat16", "float32", "float64"])
def test_the_difference_is_rounded_once(name):
    dtype = getattr(torch, name)
    exact = full_bias(GATES.log(), dtype=torch.float64)
    got = full_bias(GATES.log(), dtype=dtype)
    assert got.dtype == dtype and torch.equal(got, exact.to(dtype))
    assert full_bias(GATES.log()).dtype == torch.float32
    assert forget_sums(GATES.log().to(dtype)).dtype == torch.float64


def test_the_gradient_agrees_with_differences():
    log_gates = GATES[:1, :2, :4].log().requires_grad_()
    assert torch.autograd.gradcheck(lambda g: full_bias(g, dtype=torch.float64), log_gates)


def test_the_gate_is_the_log_of_a_sigmoid_for_each_head():
    gate, x = ForgetGate(WIDTH, H).double(), generic(B, T, WIDTH)
    got = gate(x)
    assert got.shape == (B, H, T)
    weight, offset = gate.linear.weight.tolist(), gate.linear.bias.tolist()
    for b in range(B):
        for h in range(H):
            for t in range(T):
                z = sum(w * float(v) for w, v in zip(weight[h], x[b, t], strict=True)) + offset[h]
                assert got[b, h, t].item() == pytest.approx(-math.log(1 + math.exp(-z)), rel=1e-12)
    assert {k: tuple(p.shape) for k, p in gate.named_parameters()} == {
        "linear.weight": (H, WIDTH), "linear.bias": (H,)
    }  # fmt: skip


def test_a_closed_gate_stays_finite_and_learns():
    gate = ForgetGate(WIDTH, H)
    torch.nn.init.constant_(gate.linear.bias, -200.0)
    got = gate(generic(B, T, WIDTH).float())
    got.sum().backward()
    assert got.isfinite().all() and (got < -190).all() and gate.linear.bias.grad.all()
    assert torch.sigmoid(torch.tensor(-200.0)).log().isinf()  # the two steps one after the other


@pytest.mark.parametrize("name", ["bfloat16", "float32", "float64"])
def test_the_gate_is_at_least_float32(name):
    dtype = getattr(torch, name)
    x = generic(B, T, WIDTH).to(dtype)
    want = torch.promote_types(dtype, torch.float32)
    assert ForgetGate(WIDTH, H).to(dtype)(x).dtype == want
