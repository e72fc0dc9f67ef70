"""Our reader against what transformers answered, case by case, and what is kept of it."""

import copy

import pytest
import torch

from posenc_check.peers import results_file
from posenc_check.peers.rope_grid import grid
from posenc_check.peers.transformers_differences import DIFFERENCES, HERE, SPEEDS, THERE
from posenc_check.rope_config import rope_from_config

KEPT = results_file.load("transformers_rope")
RECORDS = {record["name"]: record for record in KEPT["records"]}
RULES = {"default", "linear", "dynamic", "yarn", "longrope", "llama3", "proportional"}


def ours(record):
    """What the reader makes of a case: its numbers, or None if it refuses."""
    try:
        config = copy.deepcopy(record["config"])
        return rope_from_config(
            config, length=record["length"], layer_type=record["layer_type"]
        )
    except ValueError:
        return None


def agree(record) -> bool:
    """Whether both compute the same numbers."""
    inv_freq, attention_factor = ours(record)
    theirs = torch.tensor(record["inv_freq"], dtype=torch.float64)
    if inv_freq.shape != theirs.shape:
        return False
    # They compute in float32: a power of the base and a blend lose up to 9e-7 of a speed.
    close = torch.allclose(inv_freq, theirs, rtol=1e-6, atol=0)
    # Their factor is made of Python's floats.
    return close and attention_factor == pytest.approx(record["attention_factor"], rel=1e-7)


@pytest.mark.parametrize("name", [name for name in RECORDS if name not in DIFFERENCES])
def test_the_reader_computes_what_transformers_computes(name):
    record = RECORDS[name]
    if "error" in record:
        assert ours(record) is None
    else:
        assert agree(record)


@pytest.mark.parametrize("name", DIFFERENCES)
def test_a_listed_difference_is_one(name):
    kind, reason = DIFFERENCES[name]
    record = RECORDS[name]
    assert len(reason) > 20
    found = HERE if ours(record) is None else THERE if "error" in record else SPEEDS
    assert found == kind
    if kind == HERE:
        assert "error" not in record
    if kind == SPEEDS:
        assert not agree(record)


def test_the_kept_answers_are_those_of_the_grid():
    asked = [{key: record[key] for key in grid()[0]} for record in KEPT["records"]]
    assert asked == grid()


def test_the_kept_answers_carry_their_mark_and_their_versions():
    assert KEPT["digest"] == results_file.digest(KEPT["records"])
    assert KEPT["versions"]["transformers"] == "5.24.0"
    assert KEPT["versions"]["torch"] == "2.13.0"
    assert KEPT["command"] == "python -m posenc_check.peers.transformers_rope --record"


def test_the_grid_is_wide():
    regular = [record for name, record in RECORDS.items() if name not in DIFFERENCES]
    computed = [record for record in regular if "error" not in record]
    assert len(computed) >= 60
    assert {record["rope_type"] for record in computed} == RULES
    assert {record["config"].get("head_dim") for record in computed} >= {64, 80, 96, 128, 256}


def test_truncate_in_a_part_is_passed_over_by_transformers():
    part = RECORDS["odd nested truncate False"]
    flat = RECORDS["yarn truncate True"]
    assert part["inv_freq"] == flat["inv_freq"]
    assert part["inv_freq"] != RECORDS["yarn truncate False"]["inv_freq"]


RECORD = [{"name": "a", "inv_freq": [1.0]}, {"name": "b", "inv_freq": [0.5]}]


@pytest.fixture
def results(tmp_path, monkeypatch):
    monkeypatch.setattr(results_file, "RESULTS", tmp_path)
    return tmp_path / "some_library.json"


def test_answers_are_kept_once_and_then_compared(results, capsys):
    assert results_file.finish("some_library", RECORD, {"torch": "2"}, []) == 0
    kept = results_file.load("some_library")
    assert kept["records"] == RECORD and kept["digest"] == results_file.digest(RECORD)
    assert kept["versions"]["torch"] == "2"
    text = results.read_text(encoding="utf-8")
    assert results_file.finish("some_library", RECORD, {"torch": "3"}, []) == 0
    assert results.read_text(encoding="utf-8") == text
    assert capsys.readouterr().out == (
        "some_library: 2 answers kept in some_library.json\n"
        "some_library: all 2 answers are as kept\n"
    )


def test_a_changed_answer_fails_with_a_diff(results, capsys):
    results_file.finish("some_library", RECORD, {}, [])
    text = results.read_text(encoding="utf-8")
    changed = [RECORD[0], {"name": "b", "inv_freq": [0.25]}]
    capsys.readouterr()
    assert results_file.finish("some_library", changed, {}, []) == 1
    assert capsys.readouterr().out == (
        "--- kept\n+++ now\n@@ -2 +2 @@\n"
        '-{"inv_freq": [0.5], "name": "b"}\n'
        '+{"inv_freq": [0.25], "name": "b"}\n'
        "some_library: answers differ from the kept ones; --record keeps the new ones\n"
    )
    assert results.read_text(encoding="utf-8") == text
    assert results_file.finish("some_library", changed, {}, ["--record"]) == 0
    assert results_file.load("some_library")["records"] == changed
