"""The records of the lab: whole, consistent in themselves, and with margins that hold."""

from statistics import mean

import pytest

from lab import extrapolation, margins, recall, recall_shares, record
from lab.methods import READINGS


@pytest.fixture(scope="module")
def losses():
    return record.read("extrapolation")


@pytest.fixture(scope="module")
def answers():
    return record.read("recall")


def places(found):
    return [(row["seed"], row["method"], row["length"]) for row in found["rows"]]


def test_every_method_seed_and_length_is_recorded(losses, answers):
    for found, module, methods in (
        (losses, extrapolation, READINGS), (answers, recall, recall.METHODS)
    ):
        assert places(found) == [
            (seed, method, length)
            for seed in module.SEEDS for method in methods for length in module.LENGTHS
        ]  # fmt: skip
        assert found["seeds"] == list(module.SEEDS) and found["trained_length"] == 64
        plans = {stage: plan._asdict() for stage, plan in module.PLANS.items()}
        assert found["plans"] == plans
        assert found["command"] == f"python -m lab.{module.NAME} --record"


def test_the_sliding_loss_is_that_of_the_last_four_bins(losses):
    for row in losses["rows"]:
        assert len(row["by_position"]) == row["length"] // 8
        # Four numbers and their mean, each rounded to four decimals.
        assert row["sliding"] == pytest.approx(mean(row["by_position"][-4:]), abs=1.1e-4)


def test_rules_change_nothing_at_the_trained_length(losses):
    at_64 = {(row["seed"], row["method"]): row for row in losses["rows"] if row["length"] == 64}
    for seed in losses["seeds"]:
        for rule in ("pi", "ntk", "yarn"):
            for kind in ("sliding", "plain", "by_position"):
                assert at_64[seed, rule][kind] == at_64[seed, "rope"][kind]
        stretched, learned = (at_64[seed, name] for name in ("learned_stretched", "learned"))
        assert stretched["sliding"] == learned["sliding"]


def test_all_methods_of_a_seed_were_asked_the_same_questions(answers):
    asked = {}
    for row in answers["rows"]:
        assert all(0 <= right <= n for right, n in zip(row["right"], row["asked"], strict=True))
        assert sum(row["asked"]) == 1024
        assert asked.setdefault((row["seed"], row["length"]), row["asked"]) == row["asked"]


@pytest.mark.parametrize("margin", margins.MARGINS, ids=lambda margin: margin.text)
def test_every_margin_holds_in_every_seed(losses, margin):
    found = margins.differences(margin, losses["rows"])
    assert len(found) == len(losses["seeds"])
    assert all(margin.least <= difference <= margin.most for difference in found), found


@pytest.mark.parametrize("bound", recall_shares.BOUNDS, ids=lambda bound: bound.text)
def test_every_bound_holds_in_every_seed(answers, bound):
    found = recall_shares.shares(answers["rows"], bound.method, bound.length, bound.beyond)
    assert len(found) == len(answers["seeds"])
    assert all(bound.least <= share <= bound.most for share in found), found


def test_a_margin_or_bound_that_a_seed_breaks_is_named(monkeypatch):
    rows = [
        {"method": method, "length": 64, "seed": seed, "sliding": loss, "right": [1], "asked": [4]}
        for method, seed, loss in (("a", 0, 2.0), ("b", 0, 1.0), ("a", 1, 1.5), ("b", 1, 1.25))
    ]
    made_up = margins.Margin("a over b", ("a", 64), ("b", 64), least=0.5)
    monkeypatch.setattr(margins, "MARGINS", [made_up])
    assert margins.differences(made_up, rows) == [1.0, 0.25]
    assert margins.broken(rows) == ["a over b: 0.250"]
    bounds = [recall_shares.Bound("a", "a", 64, 0, least=0.5), recall_shares.Bound("b", "b", 64, 0)]
    monkeypatch.setattr(recall_shares, "BOUNDS", bounds)
    assert recall_shares.broken(rows) == ["a: 0.250"] * 2
