"""A run that stops goes on where it was, and nothing kept is used for another setting."""

import pytest
import torch

from lab import cells, extrapolation, run, text
from lab.methods import READINGS
from lab.training import Plan, train


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(cells, "FOLDER", tmp_path / "kept")
    return tmp_path / "kept"


def counting(results):
    """A computation that gives the results one after the other and counts its calls."""
    results = iter(results)
    return lambda: next(results)


def test_numbers_are_computed_once_for_a_setting():
    compute = counting([{"loss": 0.1, "lengths": (1, 2)}, {"loss": 0.3}])
    first = cells.numbers("a/b", {"seed": 0, "span": (3, 4)}, compute)
    assert first == {"loss": 0.1, "lengths": [1, 2]}
    assert cells.numbers("a/b", {"seed": 0, "span": (3, 4)}, compute) == first
    assert cells.numbers("a/b", {"seed": 1, "span": (3, 4)}, compute) == {"loss": 0.3}


def test_weights_are_computed_once_for_a_setting():
    compute = counting([{"w": torch.arange(3.0)}, {"w": torch.zeros(2)}])
    for _ in range(2):
        assert torch.equal(cells.weights("a/w", {"seed": 0}, compute)["w"], torch.arange(3.0))
    assert torch.equal(cells.weights("a/w", {"seed": 1}, compute)["w"], torch.zeros(2))


def test_a_run_that_stops_while_it_writes_leaves_no_result(folder, monkeypatch):
    def half(state, part):
        part.write_bytes(b"half")
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(cells.torch, "save", half)
        with pytest.raises(KeyboardInterrupt):
            cells.weights("w", {}, lambda: {"w": torch.zeros(1)})
    assert [path.suffix for path in folder.iterdir()] == [".part"]
    assert cells.weights("w", {}, lambda: {"w": torch.ones(1)})["w"] == 1


def short(monkeypatch):
    """The whole experiment with two readings, one length and three steps."""
    plans = {"fresh": Plan(3, 64, batch=2), "recalibrated": Plan(2, 64, batch=2)}
    names = ("rope", "pi", "drope")
    source = text.load()
    task = extrapolation.experiment(source, plans)
    monkeypatch.setattr(extrapolation, "experiment", lambda source: task)
    monkeypatch.setattr(extrapolation, "READINGS", {name: READINGS[name] for name in names})
    monkeypatch.setattr(extrapolation, "SEEDS", (0, 1))
    monkeypatch.setattr(extrapolation, "LENGTHS", (64,))
    monkeypatch.setattr(extrapolation, "SPAN", (512, 512 + 128))
    return source


def test_a_stopped_experiment_goes_on_and_ends_with_the_same_rows(folder, monkeypatch, capsys):
    source = short(monkeypatch)
    whole, _ = extrapolation.run_all(source)
    assert [(row["seed"], row["method"]) for row in whole] == [
        (seed, name) for seed in (0, 1) for name in ("rope", "pi", "drope")
    ]
    assert len({row["sliding"] for row in whole}) > 3
    # As if it had been stopped after the fourth line, and its last weights had been lost.
    for name in ("pi-1.json", "drope-1.json", "drope-1.pt"):
        (folder / "extrapolation" / name).unlink()
    trained = []

    def spy(model, plan, *args, **kwargs):
        trained.append(plan.steps)
        train(model, plan, *args, **kwargs)

    monkeypatch.setattr("lab.trained.train", spy)
    again, _ = extrapolation.run_all(source)
    assert again == whole and trained == [2]
    extrapolation.run_all(source)
    assert trained == [2]


def test_another_plan_is_trained_anew(monkeypatch):
    source = short(monkeypatch)
    before, _ = extrapolation.run_all(source)
    task = extrapolation.experiment(source)
    longer = task._replace(plans=task.plans | {"fresh": Plan(6, 64, batch=2)})
    monkeypatch.setattr(extrapolation, "experiment", lambda source: longer)
    after, _ = extrapolation.run_all(source)
    assert all(a["sliding"] != b["sliding"] for a, b in zip(before, after, strict=True))


def test_each_line_says_what_is_left(capsys):
    def cell(name, seed):
        return {"rows": [{"name": name, "seed": seed}], "cpu_seconds": 60.0 * (seed + 1)}

    rows, seconds = run.all_cells((0, 3), ("rope", "alibi"), cell, lambda rows: f"{len(rows)} row")
    assert [(row["seed"], row["name"]) for row in rows] == [
        (0, "rope"), (0, "alibi"), (3, "rope"), (3, "alibi")
    ]  # fmt: skip
    assert seconds == 60 + 60 + 240 + 240
    lines = capsys.readouterr().out.splitlines()
    # Two cells took a minute each, so two more are left for two minutes; then 6 / 3 for the last.
    assert [line[:24].split() for line in lines] == [
        [str(i), "of", "4,", left, "min", "left"] for i, left in ((1, "3"), (2, "2"), (3, "2"), (4, "0"))
    ]
    assert lines[2].endswith("seed 3  rope                   240.0 s  1 row")
