"""The sentences of docs/methods/fox.md, in the order of the page."""

import math

import pytest
import torch

from snippets.alibi import alibi_bias
from snippets.attention import attention
from snippets.fox import ForgetGate, forget_sums, fox_bias
from snippets.masks import causal_mask
from tests.guard.marks import claim

F64, HERE = torch.float64, torch.arange(7)


def random(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=F64)


def close(a, b, atol=1e-12):
    torch.testing.assert_close(a, torch.as_tensor(b, dtype=F64), rtol=0, atol=atol)


LOG_GATES = -random(2, 3, 7).abs()


def bias(log_gates=LOG_GATES):
    sums = forget_sums(log_gates)
    return fox_bias(sums, sums, dtype=F64)


@claim(
    "fox-bias",
    r"\[ \begin{aligned} f_t &= \operatorname{sigmoid}(w^\top x_t + \beta) \\ b_{ij} &= \sum_{t=j+1}^{i} \ln f_t "
    r"\end{aligned} \]",
)
def test_bias():
    gate, x = ForgetGate(5, 3).double(), random(2, 7, 5, seed=1)
    log_gates = gate(x)
    got = bias(log_gates)
    for b in range(2):
        for h in range(3):
            w, beta = gate.linear.weight[h], gate.linear.bias[h]
            logs = [math.log(1 / (1 + math.exp(-(w @ x[b, t] + beta).item()))) for t in range(7)]
            for i in range(7):
                for j in range(i + 1):
                    close(got[b, h, i, j].detach(), math.fsum(logs[j + 1 : i + 1]))


@claim(
    "fox-difference",
    "The sum over a range is a difference of two running sums, so no loop over pairs is needed.",
)
def test_a_difference_of_sums():
    sums = forget_sums(LOG_GATES)
    close(sums, torch.stack([LOG_GATES[..., : t + 1].sum(-1) for t in range(7)], -1))
    for i, j in ((6, 0), (4, 3), (5, 5)):
        close(bias()[..., i, j], sums[..., i] - sums[..., j])
        close(bias()[..., i, j], LOG_GATES[..., j + 1 : i + 1].sum(-1))


@claim("fox-is-alibi", r"With one constant gate it is ALiBi under a causal mask, exactly, with slope \(-\ln f\).")
def test_a_constant_gate():
    slopes = torch.tensor([0.5, 0.25, 0.125], dtype=F64)
    constant = -slopes[None, :, None].expand(2, 3, 7)
    past = causal_mask(HERE, HERE)
    got, alibi = bias(constant)[0], alibi_bias(HERE, HERE, slopes, dtype=F64)
    assert torch.equal(got[:, past], alibi[:, past])
    assert got[0, 6, 2] == -0.5 * 4


def attend(q, k, v, q_sums, k_sums, mask=None):
    return attention(q, k, v, bias=fox_bias(q_sums, k_sums, dtype=F64), mask=mask)


@claim(
    "fox-decoding",
    "Start it at zero with each new token, and every cached key seems to have faded by too little.",
)
def test_decoding():
    (q, k, v), sums = random(3, 2, 3, 7, 4, seed=2), forget_sums(LOG_GATES)
    want = attend(q, k, v, sums, sums, causal_mask(HERE, HERE))[:, :, 6:]
    carried = forget_sums(LOG_GATES[..., 6:], start=sums[..., 5])
    close(carried, sums[..., 6:])
    close(attend(q[:, :, 6:], k, v, carried, sums), want)
    fresh = forget_sums(LOG_GATES[..., 6:])
    assert (attend(q[:, :, 6:], k, v, fresh, torch.cat((sums[..., :6], fresh), -1)) - want).abs().max() > 0.01
    wrong = fox_bias(fresh, sums[..., :6], dtype=F64)
    assert (wrong > fox_bias(carried, sums[..., :6], dtype=F64)).all()


@claim(
    "fox-logsigmoid",
    r"For a gate near 0 the sigmoid underflows and its logarithm is \(-\infty\); logsigmoid stays finite.",
)
def test_a_gate_near_zero():
    gate = ForgetGate(1, 1)
    with torch.no_grad():
        gate.linear.weight.fill_(1.0)
        gate.linear.bias.zero_()
    logit = torch.full((1, 1, 1), -200.0)
    assert torch.sigmoid(logit).log().item() == -math.inf
    assert gate(logit).item() == -200.0 and gate(-logit).item() > -1e-30


@claim(
    "fox-precision",
    "In bfloat16, after 2000 tokens with gates of 0.9, the bias of the last key but one is lost.",
)
def test_sums_in_bfloat16():
    log_gates = torch.full((1, 1, 2000), math.log(0.9), dtype=F64)
    sums = forget_sums(log_gates)
    close(fox_bias(sums[..., -1:], sums, dtype=F64)[0, 0, 0, -2], math.log(0.9), atol=1e-11)
    half = sums.bfloat16()
    assert (half[..., -1] - half[..., -2]).item() == 0
    assert forget_sums(log_gates.bfloat16()).dtype == F64


@claim(
    "fox-needs-mask",
    "For a key after the query the same formula gives a positive number, a reward.",
)
def test_keys_after_the_query():
    got, after = bias(), ~causal_mask(HERE, HERE)
    assert (got[..., after] > 0).all() and (got[..., ~after] <= 0).all()


@claim(
    "fox-not-toeplitz",
    "The bias depends on content, so its rows are not shifted copies of one another.",
)
def test_rows_are_no_shifted_copies():
    got = bias()
    assert (got[..., 1:, 1:] - got[..., :-1, :-1]).abs().max() > 0.1
    one = bias(torch.full((1, 1, 7), -0.3, dtype=F64))
    close(one[..., 1:, 1:], one[..., :-1, :-1])


@claim(
    "fox-key-sums",
    "Under a causal mask the sum of the query is the same for all its keys and cancels in the softmax: minus the "
    "sums of the keys, one number for each, give the same output.",
)
def test_sums_of_the_keys_alone():
    (q, k, v), sums, mask = random(3, 2, 3, 7, 4, seed=2), forget_sums(LOG_GATES), causal_mask(HERE, HERE)
    keys_alone = -sums[:, :, None]  # (B, H, 1, T)
    close(attention(q, k, v, bias=keys_alone, mask=mask), attend(q, k, v, sums, sums, mask))
    assert (attention(q, k, v, mask=mask) - attend(q, k, v, sums, sums, mask)).abs().max() > 0.01


@claim(
    "fox-one-gate",
    "It cannot fade a token and keep an older one.",
)
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_older_keys_have_faded_more(seed):
    got = bias(-random(2, 3, 7, seed=seed).abs())
    for i in range(7):
        row = got[..., i, : i + 1]
        assert (row.diff(dim=-1) >= 0).all()  # an older key has faded at least as much
