"""Our rules for relative positions against what transformers answered, record by record."""

import math

import pytest
import torch

from posenc_check.peers import relative_grid as grid
from posenc_check.peers import results_file
from snippets.alibi import alibi_slopes
from snippets.deberta import deberta_log_lag, deberta_scores
from snippets.relative_shift import relative_shift
from snippets.t5_bias import t5_bucket
from snippets.transformer_xl import transformer_xl_attention

KEPT = results_file.load("transformers_relative")
GAPS = torch.tensor(grid.GAPS)


def records(kind):
    return [record for record in KEPT["records"] if record["kind"] == kind]


def each(kind, *keys):
    """One test for each record of a kind; keys name it."""
    chosen = records(kind)
    names = [" ".join(str(record[key]) for key in keys) for record in chosen]
    return pytest.mark.parametrize("record", chosen, ids=names)


@each("t5_bucket", "bidirectional", "num_buckets", "max_distance")
def test_every_t5_bucket_is_that_of_transformers(record):
    rule = {key: record[key] for key in ("bidirectional", "num_buckets", "max_distance")}
    assert grid.starts(t5_bucket(GAPS, **rule).tolist(), -grid.REACH) == record["starts"]


def test_the_t5_rules_are_those_of_the_grid():
    keys = ("bidirectional", "num_buckets", "max_distance")
    asked = [{key: record[key] for key in keys} for record in records("t5_bucket")]
    assert asked == grid.t5_rules() and len(asked) > 150
    assert {"bidirectional": True, "num_buckets": 32, "max_distance": 128} in asked


@pytest.mark.parametrize("model", ["Bloom", "Mpt"])
def test_every_alibi_slope_is_that_of_transformers(model):
    answers = [r for r in records("alibi_slopes") if r["model"] == model]
    assert [r["n_heads"] for r in answers] == list(range(1, 65))
    for record in answers:
        # Powers in float32; Bloom raises a base that is rounded already to powers up to 32.
        rel = {"Bloom": 5e-7, "Mpt": 1e-7}[model]
        assert alibi_slopes(record["n_heads"]).tolist() == pytest.approx(record["slopes"], rel=rel)


def test_falcon_rounds_the_slopes_to_bfloat16():
    answers = [r for r in records("alibi_slopes") if r["model"] == "Falcon"]
    assert len(answers) == 64
    for record in answers:
        rounded = alibi_slopes(record["n_heads"]).float().bfloat16()
        assert rounded.double().tolist() == pytest.approx(record["slopes"], rel=1e-8)
    off = [
        max(abs(a / b - 1) for a, b in zip(r["slopes"], alibi_slopes(n + 1).tolist(), strict=True))
        for n, r in enumerate(answers)
    ]
    assert max(off) == pytest.approx(0.00297, rel=0.01)  # 0.3 per cent, with 56 heads
    assert off.index(max(off)) + 1 == 56 and off[7] == 0  # powers of 1/2 stay as they are


@each("deberta_log_lag", "num_buckets", "max_distance")
def test_every_log_lag_of_deberta_is_that_of_transformers(record):
    got = deberta_log_lag(GAPS, record["num_buckets"], record["max_distance"])
    assert record["odd"] and torch.equal(got, -got.flip(0))
    assert grid.starts(got[grid.REACH :].tolist()) == record["starts"]


@each("deberta_relative_position", "num_buckets", "max_distance")
def test_the_matrix_of_deberta_is_query_minus_key(record):
    n_queries, n_keys = 40 * grid.QUERIES, 40 * grid.KEYS
    lag = torch.arange(n_queries)[:, None] - torch.arange(n_keys)
    got = deberta_log_lag(lag, record["num_buckets"], record["max_distance"])
    assert grid.starts(got[0].tolist()) == record["first_row"]
    assert grid.starts(got[:, -1].tolist()) == record["last_column"]


def test_the_rules_of_deberta_are_those_of_the_grid():
    for kind in ("deberta_log_lag", "deberta_relative_position"):
        asked = tuple((r["num_buckets"], r["max_distance"]) for r in records(kind))
        assert asked == grid.DEBERTA and (256, 512) in asked


@each("relative_shift", "model", "n_queries", "n_lags", "n_keys")
def test_every_shift_is_that_of_transformers(record):
    n_queries, n_lags, n_keys = (record[key] for key in ("n_queries", "n_lags", "n_keys"))
    got = relative_shift(grid.numbered(n_queries, n_lags), n_keys)[0, 0]
    assert got.tolist() == record["rows"]  # what has to be masked included


def test_the_shifts_are_those_of_the_grid():
    for model in ("Parakeet", "XLNet"):
        chosen = [r for r in records("relative_shift") if r["model"] == model]
        asked = tuple((r["n_queries"], r["n_lags"], r["n_keys"]) for r in chosen)
        assert asked == grid.SHIFTS


def heads(x):
    return x.unflatten(-1, (grid.HEADS, grid.WIDTH)).movedim(-2, 0)


@each("deberta_scores", "reach", "max_distance")
def test_the_terms_of_deberta_are_those_of_transformers_in_the_released_order(record):
    hidden, here = grid.HEADS * grid.WIDTH, torch.arange(grid.KEYS) + 30
    q, k = (grid.wave(1, grid.HEADS, grid.KEYS, grid.WIDTH, seed=seed) for seed in (1, 2))
    table = grid.wave(2 * record["reach"], hidden, seed=3)
    tables = [heads(table @ grid.wave(hidden, hidden, seed=seed).T) for seed in (4, 5)]
    want = torch.tensor(record["scores"], dtype=torch.float64)
    for order, agrees in (("released", True), ("paper", False)):
        rule = {"max_distance": record["max_distance"], "order": order}
        _, c2p, p2c = deberta_scores(q, k, here, here, *tables, **rule)
        got = (c2p + p2c).flatten() / math.sqrt(3 * grid.WIDTH)
        # They take the root in float32 and nine digits are kept.
        assert torch.allclose(got, want, rtol=1e-7, atol=1e-8) == agrees
        assert agrees or (got - want).abs().max() > 0.5


def test_the_attention_of_xlnet_is_that_of_transformer_xl():
    hidden = grid.HEADS * grid.WIDTH
    q = grid.wave(1, grid.HEADS, grid.QUERIES, grid.WIDTH, seed=1)
    k, v = (grid.wave(1, grid.HEADS, grid.KEYS, grid.WIDTH, seed=seed) for seed in (2, 3))
    biases = [grid.wave(grid.HEADS, grid.WIDTH, seed=seed) for seed in (4, 5)]
    k_positions = torch.arange(grid.KEYS) + 30
    q_positions = k_positions[-grid.QUERIES :]  # the first keys are a memory
    got = transformer_xl_attention(
        q, k, v, q_positions, k_positions, *biases, grid.wave(hidden, hidden, seed=6)
    )
    (record,) = records("xlnet_attention")
    want = torch.tensor(record["output"], dtype=torch.float64)
    torch.testing.assert_close(got.flatten(), want, rtol=0, atol=1e-8)  # nine digits are kept


def test_the_kept_answers_carry_their_mark_and_their_versions():
    assert KEPT["digest"] == results_file.digest(KEPT["records"])
    assert KEPT["versions"]["transformers"] == "5.24.0"
    assert KEPT["versions"]["torch"] == "2.13.0"
    assert KEPT["command"] == "python -m posenc_check.peers.transformers_relative --record"
    kinds = {"t5_bucket", "alibi_slopes", "deberta_log_lag", "deberta_relative_position"}
    kinds |= {"relative_shift", "deberta_scores", "xlnet_attention"}
    assert {record["kind"] for record in KEPT["records"]} == kinds
