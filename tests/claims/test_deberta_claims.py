"""The sentences of docs/methods/deberta.md, in the order of the page."""

import math

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from snippets.deberta import deberta_attention, deberta_bucket, deberta_log_lag, deberta_scores
from tests.guard.marks import claim

F64, HEADS, WIDTH, REACH = torch.float64, 3, 4, 3
PLACES = torch.arange(40, 47)


def random(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=F64)


def close(a, b, atol=1e-12):
    torch.testing.assert_close(a, torch.as_tensor(b, dtype=F64), rtol=0, atol=atol)


Q, K, V = random(3, 2, HEADS, 7, WIDTH)
KEY_TABLE, QUERY_TABLE = random(2, HEADS, 2 * REACH, WIDTH, seed=1)


def delta(i, j, k=REACH):
    return min(max(i - j + k, 0), 2 * k - 1)


def one_by_one(third=lambda i, j: delta(j, i), scale=math.sqrt(3 * WIDTH)):
    """The output, one pair at a time."""
    y = torch.zeros(2, HEADS, 7, WIDTH, dtype=F64)
    for b in range(2):
        for h in range(HEADS):
            for i in range(7):
                logits = torch.stack([
                    Q[b, h, i] @ K[b, h, j] + Q[b, h, i] @ KEY_TABLE[h, delta(i, j)]
                    + K[b, h, j] @ QUERY_TABLE[h, third(i, j)]
                    for j in range(7)
                ]) / scale
                y[b, h, i] = logits.softmax(0) @ V[b, h]
    return y


def attend(places=PLACES, **options):
    return deberta_attention(Q, K, V, places, places, KEY_TABLE, QUERY_TABLE, **options)


@claim(
    "deberta-scores",
    r"\[ \begin{aligned} A_{ij} ={}& q_i^\top k_j + q_i^\top K^r_{\delta(i,j)} + k_j^\top Q^r_{\delta(j,i)} \\ "
    r"\text{logit} ={}& A_{ij} / \sqrt{3d} \end{aligned} \]",
)
def test_attention():
    close(attend(), one_by_one())


@claim(
    "deberta-delta",
    r"\[ \delta(i,j) = \operatorname{clip}(i - j + k,\ 0,\ 2k - 1) \]",
)
@pytest.mark.parametrize("reach", [1, 3, 256])
def test_rows(reach):
    for i, j in ((0, 0), (5, 2), (2, 5), (900, 1), (1, 900), (4, 3)):
        assert deberta_bucket(torch.tensor([i - j]), reach).item() == delta(i, j, reach)


@claim(
    "deberta-scale",
    r"Three terms are added, so the scale is \(\sqrt{3d}\): with unit-normal parts it keeps the variance of a "
    "logit at one.",
)
def test_variance_of_a_logit():
    q, k = random(2, 8, 4, 60, 32, seed=5)
    tables = random(2, 4, 2 * 64, 32, seed=6)
    places = torch.arange(60)
    logits = sum(deberta_scores(q, k, places, places, *tables)) / math.sqrt(3 * 32)
    assert abs(logits.var().item() - 1) < 0.05  # 115200 logits, not independent
    # The same number from the function: with one-hot values the weights are the logits' softmax.
    one_hot = torch.eye(60, dtype=F64).expand(8, 4, 60, 60)
    weights = deberta_attention(q, k, one_hot, places, places, *tables)
    close(weights, logits.softmax(-1))


@claim(
    "deberta-third-term",
    r"In the second term a query at \(i\) looks at a key at \(j\): row \(\delta(i,j)\). In the third a key at "
    r"\(j\) looks at a query at \(i\): row \(\delta(j,i)\), the other way round.",
)
def test_rows_of_both_terms():
    _, second, third = deberta_scores(Q, K, PLACES, PLACES, KEY_TABLE, QUERY_TABLE)
    for h in range(HEADS):
        for i in range(7):
            for j in range(7):
                close(second[1, h, i, j], Q[1, h, i] @ KEY_TABLE[h, delta(i, j)])
                close(third[1, h, i, j], K[1, h, j] @ QUERY_TABLE[h, delta(j, i)])


@claim(
    "deberta-slip-passes",
    "The result still depends on the gap alone, so a test of that property passes.",
)
def test_what_the_slip_passes():
    slip = attend(order="released")
    close(attend(PLACES + 900, order="released"), slip)
    close(slip, one_by_one(third=delta))
    assert (slip - attend()).abs().max() > 0.1


def rows_read(lags, order):
    """Row of the query table that the third term reads at each lag, k = 3."""
    table = torch.eye(2 * REACH, dtype=F64).expand(HEADS, -1, -1)  # row r times the key below is r
    key = torch.arange(2.0 * REACH, dtype=F64).expand(1, HEADS, 1, -1)
    zero = torch.zeros(1).long()
    return {
        lag: deberta_scores(key, key, zero + lag, zero, table, table, order=order)[2].unique().item()
        for lag in lags
    }


@claim(
    "deberta-released",
    r"Rows renamed from \(r\) to \(2k - r\) make the two equal as long as every lag is above \(-k\) and below "
    r"\(k\). Beyond, no renaming works: with \(k = 3\), lags 2 and 3 share a row in the released form and have two "
    "in the paper's, and with lags -2 and -3 it is the other way round.",
)
def test_renamed_rows():
    def renamed(table):
        turned = table.clone()
        turned[:, 1:] = table[:, 1:].flip(1)  # row 2k - r holds what row r held
        turned[:, 0] = table[:, -1]
        return turned

    assert (attend(order="released") - attend()).abs().max() > 0.1

    def third(lags, table, order):
        """The third term of one query at each of the lags to key 0."""
        q, k = Q[:, :, :1].expand(-1, -1, len(lags), -1), K[:, :, :1]
        return deberta_scores(q, k, lags, torch.zeros(1).long(), KEY_TABLE, table, order=order)[2]

    lags = torch.arange(-6, 7)  # k = 3
    for paper, released, equal in (
        (QUERY_TABLE, renamed(QUERY_TABLE), range(-6, 3)),  # the paper's weights, released code
        (renamed(QUERY_TABLE), QUERY_TABLE, range(-2, 7)),  # the other way
    ):
        gap = third(lags, released, "released") - third(lags, paper, "paper")
        agree = gap.abs().amax(dim=(0, 1, 3)) < 1e-12
        assert lags[agree].tolist() == list(equal)
    # No other renaming either: two lags that share a row in one form have two in the other.
    read = {order: rows_read((-3, -2, 2, 3), order) for order in ("paper", "released")}
    assert read["released"][2] == read["released"][3] and read["paper"][2] != read["paper"][3]
    assert read["paper"][-2] == read["paper"][-3] and read["released"][-2] != read["released"][-3]
    tables = random(2, HEADS, 2 * 7, WIDTH, seed=7)  # k = 7: every lag is above -k
    paper = deberta_attention(Q, K, V, PLACES, PLACES, *tables)
    released = deberta_attention(Q, K, V, PLACES, PLACES, tables[0], renamed(tables[1]), order="released")
    close(released, paper)


@claim(
    "deberta-log",
    "Version 2 keeps short lags and puts long ones on a logarithmic scale: with 256 buckets and a largest "
    "distance of 512, lags up to 128 stay as they are, 150 becomes 143, 256 becomes 192 and 511 becomes 255.",
)
def test_log_lags():
    lags = torch.arange(0, 128 + 1)
    for sign in (1, -1):
        assert torch.equal(deberta_log_lag(sign * lags, 256, 512), sign * lags)
        for lag, becomes in ((150, 143), (256, 192), (511, 255)):
            assert deberta_log_lag(torch.tensor([sign * lag])).item() == sign * becomes
    assert (deberta_log_lag(torch.arange(600)).diff() >= 0).all()


@claim(
    "deberta-log-unclipped",
    "The function itself does not stop there: 600 becomes 270. The clip to the rows of the table comes after it.",
)
def test_log_lags_go_on():
    lag = deberta_log_lag(torch.tensor([600]))
    assert lag.item() == 270
    assert deberta_bucket(lag, 256).item() == 2 * 256 - 1


@claim(
    "deberta-edges",
    r"Row 0 holds lags of \(-k\) and below, row \(2k - 1\) lags of \(k - 1\) and above: the two sides differ by "
    "one.",
)
@pytest.mark.parametrize("reach", [1, 3, 8])
def test_edges(reach):
    lags = torch.arange(-20, 21)
    rows = deberta_bucket(lags, reach)
    assert lags[rows == 0].max() == -reach and lags[rows == 2 * reach - 1].min() == reach - 1
    assert len(rows.unique()) == 2 * reach


@claim(
    "deberta-scale-wrong",
    r"\(\sqrt{d}\) in its place makes logits larger by \(\sqrt 3\).",
)
def test_the_wrong_scale():
    wrong = one_by_one(scale=math.sqrt(WIDTH))
    assert (attend() - wrong).abs().max() > 0.1
    # Smaller queries and rows of keys make up for it.
    made_up = deberta_attention(math.sqrt(3) * Q, K, V, PLACES, PLACES, KEY_TABLE, math.sqrt(3) * QUERY_TABLE)
    close(made_up, wrong)


@claim(
    "deberta-bias-needs-content",
    "They can be handed to a fused kernel as a bias only after they have been computed for every pair.",
)
def test_the_terms_as_a_bias():
    from torch.nn.functional import scaled_dot_product_attention

    _, second, third = deberta_scores(Q, K, PLACES, PLACES, KEY_TABLE, QUERY_TABLE)
    scale = 1 / math.sqrt(3 * WIDTH)
    fused = scaled_dot_product_attention(Q, K, V, attn_mask=(second + third) * scale, scale=scale)
    close(fused, attend())
    other = deberta_scores(Q.flip(-1), K, PLACES, PLACES, KEY_TABLE, QUERY_TABLE)[1]
    assert (other - second).abs().max() > 0.1 and second.shape == (2, HEADS, 7, 7)


@claim(
    "deberta-cost",
    r"Each query is multiplied with \(2k\) rows and each key with \(2k\) rows, whatever the length; the look-ups "
    "grow with the square of the length.",
)
def test_operations():
    def flops(length, reach):
        q, table = random(1, 1, length, WIDTH), random(1, 2 * reach, WIDTH)
        with FlopCounterMode(display=False) as counter:
            terms = deberta_scores(q, q, torch.arange(length), torch.arange(length), table, table)
        assert terms[1].shape == terms[2].shape == (1, 1, length, length)
        return counter.get_total_flops() - 2 * length * length * WIDTH  # without content to content

    for length in (8, 16):
        assert flops(length, REACH) == 2 * (2 * length * 2 * REACH * WIDTH)
