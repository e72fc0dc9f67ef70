"""Where one method is another one exactly: proven by running both."""

import math

import pytest
import torch

from snippets.alibi import alibi_bias, alibi_slopes
from snippets.attention import attention
from snippets.cope import cope_bias
from snippets.fire import Fire, fire_distance
from snippets.fox import ForgetGate, forget_sums, fox_bias
from snippets.kerple import kerple_bias
from snippets.masks import causal_mask
from snippets.rope import apply_rope, rope_inv_freq
from snippets.sandwich import sandwich_bias
from snippets.shaw import shaw_attention
from snippets.sinusoidal import sinusoidal_table
from tests.score_bias_cases import generic

B, H, T, D = 2, 3, 9, 6
HERE = torch.arange(T) + 20
SEEN = causal_mask(HERE, HERE)
SLOPES = alibi_slopes(H)


def alibi(positions=HERE, slopes=SLOPES):
    return alibi_bias(positions, positions, slopes, dtype=torch.float64)


def test_a_constant_forget_gate_is_alibi():
    log_gates = (-SLOPES)[:, None].expand(B, H, T)  # the gate of a head is exp(-slope)
    sums = forget_sums(log_gates)
    got = fox_bias(sums, sums, dtype=torch.float64)
    # Powers of two: no sum is rounded, so every bit agrees.
    assert torch.equal(got.tril(), alibi().tril().expand(B, H, T, T))
    assert torch.equal(got.triu(), -alibi().triu().expand(B, H, T, T))  # later keys: other sign


def test_a_forget_gate_that_ignores_its_token_is_alibi():
    gate = ForgetGate(D, H).double()
    torch.nn.init.zeros_(gate.linear.weight)
    with torch.no_grad():
        gate.linear.bias.copy_(-torch.expm1(SLOPES).log())  # sigmoid(b) = exp(-slope)
    sums = forget_sums(gate(generic(B, T, D)))
    got = fox_bias(sums, sums, dtype=torch.float64)
    # Nine float64 roundings of a logarithm and back.
    torch.testing.assert_close(got.tril(), alibi().tril().expand(B, H, T, T), rtol=0, atol=1e-14)


def test_the_power_kernel_with_power_one_is_alibi():
    got = kerple_bias(HERE, HERE, SLOPES, torch.ones(H), kind="power", dtype=torch.float64)
    assert torch.equal(got, alibi())


def test_the_logarithm_kernel_goes_over_into_alibi():
    for r2 in (1e-3, 1e-6):
        small = torch.full((H,), r2, dtype=torch.float64)
        got = kerple_bias(HERE, HERE, SLOPES / small, small, kind="log", dtype=torch.float64)
        # log(1 + x) = x - x * x / 2 + ...: the next term is slope * r2 * d * d / 2.
        assert (got - alibi()).abs().max() <= SLOPES.max() * r2 * (T - 1) ** 2 / 2 + 1e-9


@pytest.mark.parametrize("width", [4, 10, 128])
def test_sandwich_is_the_inner_product_of_the_rows_of_the_sinusoidal_table(width):
    table = sinusoidal_table(HERE, width).double()
    got = sandwich_bias(HERE, HERE, torch.ones(1), width=width, dtype=torch.float64)[0]
    # The table holds float32 numbers: up to 128 products, each with two roundings of 3e-8.
    torch.testing.assert_close(got, table @ table.T, rtol=0, atol=1e-5)


def test_sandwich_is_the_score_of_rope_between_vectors_of_ones():
    ones = torch.ones(1, 1, T, 10).double()
    turned = apply_rope(ones, HERE, rope_inv_freq(10))
    got = sandwich_bias(HERE, HERE, torch.tensor([2.0]), width=10, dtype=torch.float64)
    torch.testing.assert_close(turned @ turned.mT, got[None], rtol=0, atol=1e-12)  # as above


def linear_network(fire, weights, offsets):
    """f(x) = weights * x + offsets for x from 0 on: one hidden unit that is x itself."""
    with torch.no_grad():
        fire.network[0].weight.fill_(1), fire.network[0].bias.zero_()
        fire.network[2].weight.copy_(weights[:, None]), fire.network[2].bias.copy_(offsets)


def fire_of_one_unit(**start):
    return Fire(H, hidden=1, **start).double()


def test_fire_with_a_falling_network_falls_with_the_distance():
    fire = fire_of_one_unit(threshold=24.0)
    linear_network(fire, -torch.tensor([0.5, 1.0, 2.0]), torch.tensor([0.0, 1.0, -1.0]))
    rows = fire(HERE, HERE)
    assert (rows.diff(dim=-1)[:, SEEN[:, 1:]] > 0).all()
    want = fire_distance(HERE, HERE, fire.c.detach(), torch.tensor(24.0))
    torch.testing.assert_close(rows[1], 1 - want, rtol=0, atol=1e-15)


def test_fire_below_its_threshold_is_the_logarithm_kernel():
    fire = fire_of_one_unit(c=0.25, threshold=32.0)
    linear_network(fire, -SLOPES, torch.zeros(H))
    # -slope * log(1 + c d) / log(1 + c L): r1 = slope / log(1 + c L), r2 = c.
    r1, r2 = SLOPES / math.log1p(0.25 * 32.0), torch.full((H,), 0.25)
    want = kerple_bias(HERE, HERE, r1, r2, kind="log", dtype=torch.float64)
    got = fire(HERE, HERE)
    torch.testing.assert_close(got.tril(), want.tril(), rtol=1e-14, atol=0)  # one division
    past = fire(HERE + 20, HERE + 20)  # positions up to 48
    assert (past.tril() - want.tril()).abs().max() > 1e-2


def test_fire_with_a_small_c_goes_over_into_alibi():
    fire = fire_of_one_unit(c=1e-6, threshold=32.0)
    linear_network(fire, -32 * SLOPES, torch.zeros(H))
    got = fire(HERE, HERE).detach()
    # log(1 + c d) / log(1 + c L) = d / L * (1 + c (L - d) / 2 + ...).
    torch.testing.assert_close(got.tril(), alibi().tril(), rtol=2e-5, atol=0)


def test_cope_with_open_gates_is_a_table_of_relative_keys():
    q, k, v = (generic(B, H, T, D, seed=seed) for seed in range(3))
    embedding = generic(5, D, seed=4)
    logits = torch.full((B, H, T, T), 50.0, dtype=torch.float64)  # sigmoid(50) is 1 in float64
    assert (logits.sigmoid() == 1).all()
    bias = cope_bias(q, logits, embedding, mask=SEEN) / math.sqrt(D)
    got = attention(q, k, v, bias=bias, mask=SEEN)
    # The key at distance d stands at d + 1; Shaw's row of gap -d is 4 - d, from 4 to 0.
    rows = embedding[[4, 4, 3, 2, 1]]
    table = torch.cat((rows, torch.zeros(4, D)))
    want = shaw_attention(q, k, v, HERE, HERE, table.double(), 0 * table.double(), mask=SEEN)
    torch.testing.assert_close(got, want, rtol=0, atol=1e-13)  # float64 sums in another order


def test_cope_with_gates_of_one_value_counts_in_steps_of_it():
    q, embedding = generic(B, H, T, D), generic(40, D, seed=4)
    half = cope_bias(q, torch.zeros(B, H, T, T).double(), embedding, mask=SEEN)
    places = ((HERE[:, None] - HERE + 1) / 2).clamp(min=0)  # distance + 1, halved
    low, high = embedding[places.floor().long()], embedding[places.ceil().long()]
    share = (places % 1)[..., None]
    want = torch.einsum("bhid,ijd->bhij", q, low * (1 - share) + high * share)
    torch.testing.assert_close(half.tril(), want.tril(), rtol=0, atol=1e-13)  # float64 sums
