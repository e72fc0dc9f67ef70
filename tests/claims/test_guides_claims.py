"""The sentences of docs/guides/family.md and docs/guides/longer_context.md."""

import math

import torch
from torch.utils.flop_counter import FlopCounterMode

from posenc_check import oracles
from snippets.alibi import alibi_bias, alibi_slopes
from snippets.attention import attention
from snippets.cope import cope_bias
from snippets.fox import forget_sums, fox_bias
from snippets.kerple import kerple_bias
from snippets.llama3_rope import llama3
from snippets.longrope import longrope
from snippets.rope import apply_rope, rope_inv_freq
from snippets.rope_scaling import dynamic_ntk, linear, ntk_aware
from snippets.sandwich import sandwich_bias
from snippets.shaw import shaw_attention
from snippets.sinusoidal import sinusoidal_table
from snippets.transformer_xl import relative_keys, transformer_xl_attention
from snippets.yarn import ntk_by_parts, yarn, yarn_paper
from tests.guard.marks import claim

F64, HERE = torch.float64, torch.arange(7)


def random(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=F64)


Q, K, V = random(3, 2, 4, 7, 6)
TABLES = random(2, 5, 6, seed=1)


def bias(p):
    return attention(Q, K, V, bias=alibi_bias(p, p, alibi_slopes(4), dtype=F64))


def vectors(p):
    return shaw_attention(Q, K, V, p, p, *TABLES)


def rotation(p):
    return attention(*(apply_rope(x, p, rope_inv_freq(6)) for x in (Q, K)), V)


def close(a, b, atol=1e-12):
    torch.testing.assert_close(a, b, rtol=0, atol=atol)


@claim(
    "family-plain-attention",
    r"\[ z_i = \sum_j \operatorname{softmax}_j\!\left(\frac{q_i^\top k_j}{\sqrt{d}}\right) v_j \]",
)
def test_plain_attention():
    close(attention(Q[:, :, 2:], K, V), oracles.attention(Q[:, :, 2:], K, V))


@claim(
    "family-three-operations",
    "All three give the same output when every position is shifted, and three different outputs on the "
    "same inputs.",
)
def test_one_goal_three_operations():
    outputs = [method(HERE) for method in (bias, vectors, rotation)]
    for method, output in zip((bias, vectors, rotation), outputs):
        close(method(HERE + 40), output, atol=1e-10)  # float64 angles of 40 radians
        assert (method(3 * HERE) - output).abs().max() > 0.01
    for a, b in [(0, 1), (1, 2), (2, 0)]:
        assert (outputs[a] - outputs[b]).abs().max() > 0.1
    close(outputs[1], oracles.shaw(Q, K, V, range(7), range(7), *TABLES))


def logits(attend):
    """What is added up before the softmax, from the weights; each row up to a constant."""
    one_hot = torch.eye(7, dtype=F64).expand(2, 4, 7, 7)
    weights = attend(one_hot)
    return (weights / weights[..., :1]).log()


@claim(
    "family-bias-ignores-content",
    "The difference it makes to the logits is the same whatever the queries and keys hold.",
)
def test_a_bias_does_not_look_at_the_content():
    numbers = alibi_bias(HERE, HERE, alibi_slopes(4), dtype=F64)
    expected = numbers - numbers[..., :1]
    for q, k in ((Q, K), (random(2, 4, 7, 6, seed=7), random(2, 4, 7, 6, seed=8))):
        difference = logits(lambda v: attention(q, k, v, bias=numbers)) - logits(
            lambda v: attention(q, k, v)
        )
        close(difference, expected.expand(2, 4, 7, 7), atol=1e-10)
    gap = HERE[:, None] - HERE
    close(numbers[0], -(2.0**-2) * gap.abs().double())


@claim(
    "family-key-vector-meets-query",
    "A relative key vector does: its term is a product with the query.",
)
def test_a_key_vector_looks_at_the_query():
    from snippets.shaw import shaw_bucket

    key_table = TABLES[0]
    bucket = shaw_bucket(HERE, HERE, 2)

    def term(q):
        wide = torch.zeros_like(K)  # no keys: only the relative vectors are left
        one_hot = torch.zeros(2, 4, 7, 6, dtype=F64)
        one_hot[..., :6] = torch.eye(7, 6, dtype=F64)
        weights = shaw_attention(q, wide, one_hot, HERE, HERE, key_table, 0 * key_table)
        return (weights[..., :6] / weights[..., :1]).log()

    for q in (Q, random(2, 4, 7, 6, seed=7)):
        product = (q[:, :, :, None] * key_table[bucket]).sum(-1) / math.sqrt(6)
        close(term(q), (product - product[..., :1])[..., :6], atol=1e-10)
    assert (term(Q) - term(random(2, 4, 7, 6, seed=7))).abs().max() > 0.1


@claim(
    "family-rotation-adds-nothing",
    "A rotation adds nothing: it keeps the length of queries and keys, and leaves the values as they are.",
)
def test_a_rotation_adds_nothing():
    for x in (Q, K):
        turned = apply_rope(x, HERE, rope_inv_freq(6))
        close(turned.norm(dim=-1), x.norm(dim=-1))
        assert (turned - x).abs().max() > 0.1
    speeds = [oracles.rope_speed(i, 6) for i in range(3)]
    turned = (oracles.rope(x, range(7), speeds, "half") for x in (Q, K))
    close(rotation(HERE), oracles.attention(*turned, V))  # with the values as they are


@claim(
    "family-value-vector",
    "A value vector changes what is gathered, not only how much of it: with constant weights the output "
    "still depends on the gap.",
)
def test_a_value_vector_changes_what_is_gathered():
    zero = torch.zeros_like(Q)
    equal_weights = shaw_attention(zero, zero, zero, HERE, HERE, 0 * TABLES[0], TABLES[1])
    assert (equal_weights[..., 0, :] - equal_weights[..., 6, :]).abs().max() > 0.1
    expected = torch.stack([TABLES[1][(HERE - i).clamp(-2, 2) + 2].mean(0) for i in range(7)])
    close(equal_weights, expected.expand(2, 4, 7, 6))


SLOPES = torch.tensor([0.5, 0.25, 0.125, 0.0625], dtype=F64)


@claim(
    "family-to-alibi",
    r"A forget gate that is the same for all tokens, and KERPLE's power kernel with \(r_2 = 1\), are both ALiBi.",
)
def test_two_ways_to_alibi():
    alibi, past = alibi_bias(HERE, HERE, SLOPES, dtype=F64), HERE <= HERE[:, None]
    sums = forget_sums(-SLOPES[None, :, None].expand(1, 4, 7))
    assert torch.equal(fox_bias(sums, sums, dtype=F64)[0][:, past], alibi[:, past])
    ones = torch.ones(4, dtype=F64)
    assert torch.equal(kerple_bias(HERE, HERE, SLOPES, ones, kind="power", dtype=F64), alibi)
    assert alibi[0, 6, 2] == -0.5 * 4


@claim(
    "family-one-curve",
    "Sandwich's sum, the product of two sinusoidal rows, and half the RoPE score of two vectors of ones are one "
    "curve.",
)
def test_one_curve():
    one = torch.ones(1, dtype=F64)
    sandwich = sandwich_bias(HERE + 40, HERE, one, width=16, dtype=F64)[0]
    rows = sinusoidal_table(HERE + 40, 16).double() @ sinusoidal_table(HERE, 16).double().T
    close(sandwich, rows, atol=1e-5)  # the table is float32
    ones = torch.ones(1, 1, 7, 16, dtype=F64)
    turned = (apply_rope(ones, p, rope_inv_freq(16))[0, 0] for p in (HERE + 40, HERE))
    q, k = turned
    close(sandwich, q @ k.T / 2, atol=1e-10)


@claim(
    "family-xl-to-vectors",
    r"Transformer-XL with zero vectors \(u\) and \(v\) is relative key vectors, computed instead of looked up.",
)
def test_transformer_xl_as_vectors():
    lag_weight, none = random(6, 8, seed=4), torch.zeros(1, 6, dtype=F64)
    one_head = [x[:, :1] for x in (Q, K, V)]
    got = transformer_xl_attention(*one_head, HERE, HERE, none, none, lag_weight)
    table = relative_keys(torch.arange(6, -7, -1), lag_weight, 1)[0]  # row of gap -6 ... 6
    close(got, shaw_attention(*one_head, HERE, HERE, table, 0 * table))


@claim(
    "family-cope-to-vectors",
    r"If all gates were 1, CoPE's bias would be that of relative key vectors \(e\sqrt{d}\), one for each distance.",
)
def test_cope_as_vectors():
    embedding, past = random(9, 6, seed=5), HERE <= HERE[:, None]
    wide_open = torch.full((2, 4, 7, 7), 40.0, dtype=F64)
    assert (wide_open.sigmoid() == 1).all()
    got = cope_bias(Q, wide_open, embedding, mask=past)
    distance = (HERE[:, None] - HERE).clamp(min=0)
    vectors = embedding[distance + 1]  # the token itself counts as one
    close(got[..., past], (Q[:, :, :, None] * vectors).sum(-1)[..., past], atol=1e-10)
    # Shaw's term is divided by sqrt(d) with the rest of the logit, CoPE's is not.
    table = torch.cat((embedding[1:8].flip(0), torch.zeros(6, 6, dtype=F64)))  # gaps -6 ... 6
    shaw = shaw_attention(Q, K, V, HERE, HERE, math.sqrt(6) * table, 0 * table, mask=past)
    close(attention(Q, K, V, bias=got, mask=past), shaw)
    # No finite product of query and key opens a gate to 1, only one that rounds to it.
    assert (Q @ K.mT).sigmoid().max() < 1


@claim(
    "family-rules",
    "Llama 3's rule is YaRN's ramp with other bounds and no factor; with a factor of one, linear, NTK-aware, "
    "by-parts, YaRN, and Llama 3 are plain RoPE (dynamic NTK and LongRoPE are not).",
)
def test_rules_within_rules():
    ramp = ntk_by_parts(64, 8.0, 8192, base=500_000.0, beta_fast=4.0, beta_slow=1.0)[0]
    torch.testing.assert_close(llama3(64)[0], ramp, rtol=1e-14, atol=0)
    plain = rope_inv_freq(64)
    for inv_freq, factor in (
        linear(64, 1), ntk_aware(64, 1), yarn(64, 1, 4096), ntk_by_parts(64, 1, 4096),
        yarn_paper(64, 1, 4096), llama3(64, 1, base=10_000.0),
    ):
        torch.testing.assert_close(inv_freq, plain, rtol=1e-12, atol=0)
        assert factor == 1
    for inv_freq, _ in (
        dynamic_ntk(64, 8192, 4096, 1),
        longrope(64, 8192, 4096, [1.5] * 32, [2.0] * 32, factor=1),
        longrope(64, 4096, 4096, [1.5] * 32, [2.0] * 32, factor=1),
    ):
        assert (plain[1:] / inv_freq[1:]).min() > 1.01


@claim(
    "longer-context-probe",
    r"Fit a linear regression from row to position on the sinusoid's rows below 64 at \(d = 32\): between 128 and "
    "399 the rows are right, and the regression is wrong by more than 10 positions on average.",
)
def test_right_rows_and_a_wrong_regression():
    positions = torch.arange(400)
    rows = sinusoidal_table(positions, 32).double()
    close(rows, oracles.sinusoid_table(range(400), 32), atol=2.0**-24)
    table = torch.cat((rows, torch.ones(400, 1, dtype=F64)), 1)
    fit = torch.linalg.lstsq(table[:64], positions[:64].double(), driver="gelsd").solution
    error = (table @ fit - positions).abs()
    assert error[:64].max() < 1e-5 and error[128:].mean() > 10


@claim(
    "longer-context-rope-flip",
    "There are a query and a key whose score is positive at every gap of training and negative at a larger "
    "one.",
)
def test_a_positive_score_turns_negative():
    x = torch.zeros(1, 1, 4098, 128, dtype=F64)
    x[..., 63] = 1.0  # the slowest pair
    gaps = torch.cat((torch.arange(4097), torch.tensor([27205])))
    score = (apply_rope(x, gaps, rope_inv_freq(128)) * x).sum(-1).flatten()
    assert score[:-1].min() > 0 > score[-1]


@claim(
    "longer-context-no-speed-up",
    "Counting operations shows it: with and without the rotation, the two matrix products cost the same, "
    "and four times as much at twice the length.",
)
def test_operations_with_and_without_rope():
    def flops(length, rope):
        q, k, v = random(3, 1, 2, length, 8)
        with FlopCounterMode(display=False) as counter:
            if rope:
                q, k = (apply_rope(x, torch.arange(length), rope_inv_freq(8)) for x in (q, k))
            attention(q, k, v)
        return counter.get_total_flops()

    assert flops(16, True) == flops(16, False) == 2 * (2 * 2 * 16 * 16 * 8)
    assert flops(32, True) == 4 * flops(16, True)


@claim(
    "longer-context-base",
    "With base 10000 and heads of width 128, 18 of 64 pairs have not completed a turn at length 4096; "
    "with base 500000 it is 32 at that length, and 29 at length 8192.",
)
def test_incomplete_pairs_by_base():
    def incomplete(base, length):
        return int((length * rope_inv_freq(128, base) < 2 * math.pi).sum())

    assert (incomplete(10_000.0, 4096), incomplete(500_000.0, 4096)) == (18, 32)
    assert incomplete(500_000.0, 8192) == 29


@claim(
    "longer-context-rules-differ",
    "Interpolation moves all of them and brings neighbours closer; the NTK-aware base nearly keeps the "
    "fast pairs, and leaves slow ones partly outside.",
)
def test_two_rules_move_different_pairs():
    plain = rope_inv_freq(128)
    by_pi, by_ntk = plain / linear(128, 4.0)[0], plain / ntk_aware(128, 4.0)[0]
    torch.testing.assert_close(by_pi, torch.full((64,), 4.0, dtype=F64))
    assert by_ntk[0] == 1 and by_ntk[:8].max() < 1.25
    assert (by_ntk[46:63] < 4).all() and math.isclose(by_ntk[63], 4, rel_tol=1e-12)


@claim(
    "longer-context-slow-pairs",
    r"YaRN's ramp keeps fast pairs and brings slow ones inside: at four times 4096 tokens, base 10000 and "
    r"\(d = 128\), all 18 slow pairs go more than a step past their trained angles without a rule, 17 with the "
    "NTK-aware base, and none with interpolation or YaRN.",
)
def test_slow_pairs_of_each_rule():
    plain = rope_inv_freq(128, 10000)
    slow = plain * 4096 < 2 * math.pi
    assert slow.sum() == 18

    def past(speeds):
        # One trained step of slack: the last positions lie between trained ones.
        return ((4 * 4096 - 1) * speeds[slow] > 4096 * plain[slow]).sum().item()

    assert past(plain) == 18 and past(ntk_aware(128, 4)[0]) == 17
    assert past(linear(128, 4)[0]) == past(yarn(128, 4, 4096)[0]) == 0
    assert (yarn(128, 4, 4096)[0][:20] == plain[:20]).all()


def weight_of_a_leader(lead, n_keys):
    """The share of one key whose logit is `lead` above those of all others."""
    q = torch.full((1, 1, 1, 4), 1.0, dtype=F64)
    k, v = torch.zeros(1, 1, n_keys, 4, dtype=F64), torch.zeros(1, 1, n_keys, 1, dtype=F64)
    k[..., 0, :], v[..., 0, :] = lead / 2, 1.0  # logit: 4 * lead / 2 / sqrt(4)
    return attention(q, k, v).item()


@claim(
    "longer-context-fading",
    "A key whose logit is 5 above all others gets 12.9 % of the weight among 1000 keys and 0.1 % among 131072.",
)
def test_a_fading_leader():
    shares = [round(100 * weight_of_a_leader(5, n), 1) for n in (1000, 131072)]
    assert shares == [12.9, 0.1]


@claim(
    "longer-context-log",
    "To hold its share, the lead has to grow with the logarithm of the number of keys.",
)
def test_a_lead_that_grows():
    for n in (100, 1000, 20000):
        lead = 3 + math.log(n - 1)
        assert math.isclose(weight_of_a_leader(lead, n), 1 / (1 + math.exp(-3)), rel_tol=1e-9)


@claim(
    "longer-context-cache",
    "Keys and values of eight heads of width 128, in 32 layers, take 131072 bytes per token in half "
    "precision, 16 GiB at 131072 tokens.",
)
def test_bytes_of_the_cache():
    token = torch.zeros(1, 8, 1, 128, dtype=torch.bfloat16)
    cached = apply_rope(token, torch.tensor([5]), rope_inv_freq(128))  # a key as it is cached
    per_token = 2 * 32 * cached.numel() * cached.element_size()  # keys and values
    assert per_token == 131072 and per_token * 131072 == 16 * 2**30
