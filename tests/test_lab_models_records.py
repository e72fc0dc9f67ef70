"""The records of lab/models: every part is there, numbers have their shape, and they fit together.

The models are not installed here; `make models` measures again and compares.
"""

import importlib
import math

import pytest

from lab import record
from lab.models import files, texts
from lab.models.__main__ import EXPERIMENTS

RECORDS = {name: record.read(f"models_{name}") for name in EXPERIMENTS}  # refuses a wrong digest
MODULES = {name: importlib.import_module(f"lab.models.{name}") for name in EXPERIMENTS}


def rows(name: str, **wanted) -> list[dict]:
    return [r for r in RECORDS[name]["rows"] if all(r.get(k) == v for k, v in wanted.items())]


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_part_is_recorded_with_what_it_was_made_of(name):
    module, kept = MODULES[name], RECORDS[name]
    units = module.units()
    assert [{key: row[key] for key in unit} for row, unit in zip(kept["rows"], units)] == units
    assert len(kept["rows"]) == len(units)
    assert kept["command"] == f"python -m lab.models {name} --record"
    assert kept["files"] == files.SHA256 and set(kept["versions"]) == set(files.PACKAGES)
    assert kept["texts"] == texts.sources(module.TEXTS) and kept["licence"] == texts.LICENCE
    for key, value in module.SETTING.items():
        assert kept[key] == as_json(value)


def as_json(value):
    return [as_json(v) for v in value] if isinstance(value, tuple) else value


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_number_is_finite(name):
    def numbers(value):
        if isinstance(value, (list, dict)):
            for inner in value.values() if isinstance(value, dict) else value:
                yield from numbers(inner)
        elif isinstance(value, (int, float)):
            yield value

    found = list(numbers(RECORDS[name]["rows"]))
    assert found and all(map(math.isfinite, found))


def test_shapes_of_the_encoders_rows():
    order = MODULES["encoder_order"]
    for row in rows("encoder_order"):
        assert len(row["cosine"]) == len(row["difference"]) == len(order.PAIRS)
        assert len(row["permuted_tokens"]) == len(row["permuted_with_positions"]) == 4
    assert all(row["tokens"] in (1022, 2042) for row in rows("encoder_limit", part="long"))


def test_shapes_of_the_decoders_rows():
    for row in rows("decoder_length"):
        assert len(row["loss"]) == row["length"] // 512
    for row in rows("decoder_faults"):
        assert all(len(row[name]) == 8 for name in ("loss", "accuracy", "kl", "same_first"))
    assert all(len(row["tokens"]) == 40 for row in rows("decoder_words"))
    assert all(len(row["difference"]) == 64 for row in rows("cache_offset"))


def test_our_decoder_is_transformers_llama():
    for row in rows("decoder_check"):
        if "tokens" in row:
            assert row["same"] and row["count"] > 5000
        else:
            # float32 sums through 30 layers, in another order; logits are as large as 39
            assert row["difference"] < 2e-4 and row["largest_logit"] > 30, row


@pytest.mark.parametrize("text", MODULES["decoder_faults"].TEXTS)
def test_right_turns_are_no_fault(text):
    (right,) = rows("decoder_faults", text=text, fault="right")
    assert set(right["kl"]) == {0.0} and set(right["same_first"]) == {1.0}
    (cache,) = rows("decoder_faults", text=text, fault="right cache")
    assert max(map(abs, cache["kl"])) < 1e-5
    assert cache["loss"] == pytest.approx(right["loss"], abs=1e-4)


@pytest.mark.parametrize("text", MODULES["decoder_faults"].TEXTS)
def test_faults_of_a_cache_leave_the_first_call_alone(text):
    (right,) = rows("decoder_faults", text=text, fault="right")
    for fault in ("cache restart at 0", "every new token at 0", "cache one too far"):
        (row,) = rows("decoder_faults", text=text, fault=fault)
        assert row["loss"][:4] == pytest.approx(right["loss"][:4], abs=1e-4)
        assert min(row["kl"][4:]) > 100 * max(map(abs, row["kl"][:4]))


@pytest.mark.parametrize("text", MODULES["decoder_length"].TEXTS)
def test_the_same_tokens_at_the_same_positions_have_the_same_loss(text):
    (long,) = rows("decoder_length", text=text, rule="plain", start=0, length=12288)
    same = {"abs": 1e-4}  # float32 sums over other blocks of the same text
    (whole,) = rows("decoder_context", text=text, length=8192)
    assert whole["loss"] == pytest.approx(long["loss"][15], **same)
    (no_gap,) = rows("decoder_gap", text=text, rule="plain", gap=0)
    assert no_gap["loss"] == pytest.approx(sum(long["loss"][2:4]) / 2, **same)


def test_rules_that_do_not_reach_the_trained_length_change_nothing():
    """Dynamic NTK is plain up to there; and without the first half there is no far position."""
    for text in MODULES["decoder_gap"].TEXTS:
        for gap in (None, 0, 2048, 4096, 6144):
            found = [rows("decoder_gap", text=text, rule=rule, gap=gap)[0]["loss"]
                     for rule in ("plain", "dynamic NTK")]
            assert found[0] == found[1]
