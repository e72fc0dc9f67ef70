"""Layer 4 at work, and proof that its judge can say no."""

import json
import os
import subprocess
import sys

import pytest

from tests.guard.digest import ROOT
from tests.guard.saboteurs import (
    CONTROL,
    Saboteur,
    control_problems,
    idle_problems,
    known_claims,
    list_problems,
    read_saboteurs,
    saboteur_problems,
)

SABOTEURS = [saboteur for saboteur in read_saboteurs() if not saboteur.guard]


@pytest.fixture(scope="module")
def results() -> dict:
    """In a process of its own, that has one thread and can be forked."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.guard.saboteurs", "--json"],
        cwd=ROOT,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_each_edit_applies_exactly_once():
    assert list_problems(read_saboteurs()) == []


def test_without_an_edit_every_claim_passes(results):
    assert len(results[CONTROL]["tests"]) > 50
    assert control_problems(results) == []


@pytest.mark.parametrize("saboteur", SABOTEURS, ids=lambda saboteur: saboteur.id)
def test_edit_is_killed_by_assertion(saboteur, results, record_property):
    problems = saboteur_problems(saboteur, results[saboteur.id])
    assert not problems, "\n".join(problems)
    record_property("saboteur", saboteur.id)


def test_every_claims_test_kills_an_edit(results):
    problems = idle_problems(SABOTEURS, results)
    assert not problems, "\n".join(problems)


# The judge, on results made by hand.

EDIT = Saboteur("minus", "snippets/sum.py", "a + b", "a - b", kills=("sum-rule",))


def one(nodeid="tests/test_sum.py::test_sum[1]", claim="sum-rule", error="AssertionError"):
    outcome = "failed" if error else "passed"
    return {"nodeid": nodeid, "claims": [claim], "outcome": outcome, "error": error}


def ran(*tests):
    return {"status": "ran", "tests": list(tests), "seconds": 0.1}


def test_judge_accepts_an_assertion():
    assert saboteur_problems(EDIT, ran(one())) == []


@pytest.mark.parametrize(
    ("result", "problem"),
    [
        ({"status": "timeout", "tests": []}, "minus: timeout; that is not a kill"),
        ({"status": "does not import (SyntaxError: x)", "tests": []}, "does not import"),
    ],
)
def test_judge_refuses_what_is_not_a_kill(result, problem):
    assert problem in saboteur_problems(EDIT, result)[0]


@pytest.mark.parametrize(
    ("error", "how"), [(None, "which passes"), ("NameError", "which fails with NameError")]
)
def test_judge_refuses_survivors_and_crashes(error, how):
    problems = saboteur_problems(EDIT, ran(one(error=error)))
    assert how in problems[0] and "no claim's test fails with AssertionError" in problems[1]


def test_judge_wants_every_named_claim():
    edit = Saboteur("minus", "f", "a", "b", kills=("sum-rule", "sum-other"))
    assert saboteur_problems(edit, ran(one())) == [
        "minus: survives sum-other, which has no test on f"
    ]


def test_judge_names_a_red_control_and_an_idle_test():
    idle = one("tests/test_sum.py::test_idle", "sum-idle", None)
    results = {"minus": ran(one(), idle), CONTROL: ran(one(error=None), idle)}
    assert control_problems(results) == []
    assert idle_problems([EDIT], results) == [
        "tests/test_sum.py::test_idle (sum-idle): this claim's test kills no saboteur"
    ]
    assert "fails without any edit" in control_problems({CONTROL: ran(one())})[0]


def test_list_names_wrong_entries(tmp_path):
    (tmp_path / "f.py").write_text("x = 1\nx = 1\n")
    entries = [
        Saboteur("twice", "f.py", "x = 1", "x = 2", kills=("a-b",)),
        Saboteur("same", "f.py", "f", "f", kills=("a-b",)),
        Saboteur("nothing", "f.py", "y", "z"),
        Saboteur("nothing", "none.py", "y", "z", guard="x"),
    ]
    text = "\n".join(list_problems(entries, tmp_path))
    for part in (
        "twice: `old` must occur exactly once in f.py: 2 times",
        "no change",
        "nothing: needs `kills`",
        "two saboteurs have this id",
        "No such file",
    ):
        assert part in text


def test_claims_named_elsewhere_are_left_out():
    other = Saboteur("other", "f", "a", "b", kills=("sum-other",))
    by_name = Saboteur("by-name", "f", "a", "b", kills=("test_x.py",))
    skipped = known_claims([EDIT, other, by_name], {"sum-rule", "sum-other", "sum-new"})
    assert skipped == {"minus": {"sum-other"}, "other": {"sum-rule"}, "by-name": set()}
