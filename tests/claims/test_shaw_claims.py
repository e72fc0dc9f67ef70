"""The sentences of docs/methods/shaw.md, in the order of the page."""

import pytest
import torch

from posenc_check import oracles
from snippets.shaw import shaw_attention, shaw_bucket
from snippets.shaw_bucketed import shaw_attention_bucketed
from tests.guard.marks import claim


def random(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def inputs(k=2, length=7):
    q, keys, v = random(3, 2, 3, length, 4)
    tables = random(2, 2 * k + 1, 4, seed=1)
    return q, keys, v, tables


def close(a, b):
    torch.testing.assert_close(a, b, rtol=0, atol=1e-12)  # float64 sums of a few dozen terms


@claim(
    "shaw-formula",
    r"\[ \begin{aligned} e_{ij} &= \frac{q_i^\top \bigl(k_j + a^K_{c(j - i)}\bigr)}{\sqrt{d}} \\ z_i &= "
    r"\sum_j \operatorname{softmax}_j(e_{ij})\,\bigl(v_j + a^V_{c(j - i)}\bigr) \\ c(r) &= \max(-k, "
    r"\min(k, r)) + k \end{aligned} \]",
)
@pytest.mark.parametrize("start", [0, 30])
def test_the_equations(start):
    q, keys, v, tables = inputs()
    positions = torch.arange(start, start + 7)
    got = shaw_attention(q[:, :, 2:], keys, v, positions[2:], positions, *tables)
    close(got, oracles.shaw(q[:, :, 2:], keys, v, range(2, 7), range(7), *tables))


@claim(
    "shaw-two-places",
    r"For a query at position \(i\) and a key at position \(j\), one learned vector is added to the key, in "
    "the logit, and another one to the value, in the sum.",
)
def test_each_table_has_its_place():
    q, keys, v, tables = inputs()
    here, zero = torch.arange(7), torch.zeros(5, 4, dtype=torch.float64)
    bucket = shaw_bucket(here, here, 2)
    logits = (q[:, :, :, None] * (keys[:, :, None] + tables[0][bucket])).sum(-1) / 2  # sqrt(4)
    weights = logits.softmax(-1)
    close(shaw_attention(q, keys, v, here, here, tables[0], zero), weights @ v)
    gathered = (weights[..., None] * (v[:, :, None] + tables[1][bucket])).sum(-2)
    close(shaw_attention(q, keys, v, here, here, *tables), gathered)


@claim("shaw-at-most", r"A query meets at most \(2k + 1\) different vectors.")
def test_a_query_meets_few_vectors():
    for k in (1, 3):
        here = torch.arange(40)
        met = [len(row.unique()) for row in shaw_bucket(here, here, k)]
        assert max(met) == 2 * k + 1


@claim(
    "shaw-buckets",
    r"Gaps are clipped to the range from \(-k\) to \(k\), both ends included, which leaves \(2k + 1\) "
    "buckets.",
)
@pytest.mark.parametrize("k", [1, 3, 7])
def test_number_of_buckets(k):
    here = torch.arange(3 * k + 2)
    assert shaw_bucket(here, here, k).unique().tolist() == list(range(2 * k + 1))


@claim(
    "shaw-inclusive",
    r"The gaps \(k\) and \(k + 1\) share the last bucket; \(k - 1\) does not.",
)
def test_both_ends_are_included():
    k, query = 4, torch.tensor([20])
    gaps = torch.tensor([k - 1, k, k + 1, -k + 1, -k, -k - 1])
    assert shaw_bucket(query, query + gaps, k).tolist() == [[2 * k - 1, 2 * k, 2 * k, 1, 0, 0]]


@claim(
    "shaw-sign",
    "The sign matters: the gap is the key's position minus the query's, so a key to the left has a bucket "
    r"below \(k\).",
)
def test_the_sign_of_the_gap():
    here = torch.arange(4)
    assert shaw_bucket(here, here, 1)[0].tolist() == [1, 2, 2, 2]
    assert shaw_bucket(torch.tensor([9]), torch.tensor([8]), 4).item() == 3


@claim(
    "shaw-bucketed-equal",
    "Multiplying it with each of them once, and looking the products up, gives the same output without "
    "the large tensor.",
)
def test_the_form_without_the_large_tensor():
    q, keys, v, tables = inputs()
    here = torch.arange(7)
    mask = here[:, None] >= here
    got = shaw_attention_bucketed(q, keys, v, shaw_bucket(here, here, 2), *tables, mask=mask)
    close(got, oracles.shaw(q, keys, v, range(7), range(7), *tables, mask=mask))
    close(got, shaw_attention(q, keys, v, here, here, *tables, mask=mask))
    with torch.profiler.profile(profile_memory=True) as plain:
        shaw_attention(q, keys, v, here, here, *tables)
    with torch.profiler.profile(profile_memory=True) as bucketed:
        shaw_attention_bucketed(q, keys, v, shaw_bucket(here, here, 2), *tables)
    large = 2 * 3 * 7 * 7 * 4 * 8  # bytes of (B, H, Tq, Tk, D) in float64
    assert largest_allocation(plain) >= large > largest_allocation(bucketed)


def largest_allocation(profile):
    return max(event.self_cpu_memory_usage for event in profile.events())


@claim(
    "shaw-both-tables",
    "Both tables take part: each has a gradient, and leaving out either one changes the output.",
)
def test_both_tables_take_part():
    q, keys, v, tables = inputs()
    here = torch.arange(7)
    k_table, v_table = (t.clone().requires_grad_() for t in tables)
    whole = shaw_attention(q, keys, v, here, here, k_table, v_table)
    whole.square().sum().backward()
    for t in (k_table, v_table):
        assert (t.grad.abs().sum(dim=1) > 0).all()
    zero = torch.zeros_like(tables[0])
    for left_out in ((zero, tables[1]), (tables[0], zero)):
        assert (shaw_attention(q, keys, v, here, here, *left_out) - whole).abs().max() > 0.1


@claim(
    "shaw-shift",
    "Positions enter through gaps alone: shift all of them, and nothing changes.",
)
def test_only_gaps_count():
    q, keys, v, tables = inputs()
    here = torch.arange(7)
    whole = shaw_attention(q, keys, v, here, here, *tables)
    assert torch.equal(shaw_attention(q, keys, v, here + 90, here + 90, *tables), whole)
    assert (shaw_attention(q, keys, v, here + 1, here, *tables) - whole).abs().max() > 0.01


@claim(
    "shaw-blind-beyond",
    r"Exchange two tokens, key and value, that both lie \(k\) or more to the left, and the output of the "
    "query stays the same.",
)
def test_beyond_the_clip_order_is_lost():
    q, keys, v, tables = inputs()
    here = torch.arange(7)

    def last_output(order):
        return shaw_attention(q[:, :, 6:], keys[:, :, order], v[:, :, order], here[6:], here, *tables)

    close(last_output([1, 0, 2, 3, 4, 5, 6]), last_output([0, 1, 2, 3, 4, 5, 6]))
    close(last_output([4, 1, 2, 3, 0, 5, 6]), last_output([0, 1, 2, 3, 4, 5, 6]))  # exactly k away
    near = last_output([0, 1, 2, 3, 5, 4, 6]) - last_output([0, 1, 2, 3, 4, 5, 6])
    assert near.abs().max() > 0.01


@claim(
    "shaw-buckets-in-use",
    r"With no more than \(k\) positions clipping never happens, and a wrong clip passes; at length \(n\) "
    r"only \(\min(2k + 1,\, 2n - 1)\) buckets occur.",
)
def test_short_inputs_do_not_clip():
    for k in (1, 3, 7):
        for n in (1, 2, k, k + 1, k + 5):
            here = torch.arange(n)
            assert len(shaw_bucket(here, here, k).unique()) == min(2 * k + 1, 2 * n - 1)
    here, k = torch.arange(4), 4
    unclipped = here[None, :] - here[:, None] + k
    assert torch.equal(shaw_bucket(here, here, k), unclipped)


@claim("shaw-parameters", r"The tables hold \(2(2k + 1)d\) numbers, however long the text.")
def test_size_of_the_tables():
    here = torch.arange(7)
    for k in (1, 2):
        q, keys, v, tables = inputs(k)
        used = tables.clone().requires_grad_()
        shaw_attention(q, keys, v, here, here * 100, *used).square().sum().backward()
        shaw_attention(q, keys, v, here, here, *used).square().sum().backward()
        assert int((used.grad != 0).sum()) == 2 * (2 * k + 1) * 4  # every number is used
