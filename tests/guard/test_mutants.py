"""Layer 5 at work: the record fits this tree, one snippet runs, and the judge can say no."""

import ast
import json
import os
import shutil
import subprocess
import sys

import pytest

from tests.guard.digest import ROOT
from tests.guard.mutant_record import (
    MUTATOR,
    deciding_files,
    digest,
    read_reasons,
    read_record,
    record_problems,
    snippet_tests,
    stems,
    verdict_problems,
)
from tests.guard.mutants import mutants

STEMS = stems(ROOT)
LIVE = "relative_shift"  # the snippet that runs in every `make test`


@pytest.mark.parametrize("stem", STEMS)
def test_every_mutant_was_killed_or_has_a_reason(stem):
    record = read_record(ROOT)
    problems = record_problems(stem, record, ROOT)
    problems = problems or verdict_problems(stem, record[stem], read_reasons(ROOT).get(stem, {}))
    assert not problems, "\n".join(problems)


def test_record_and_reasons_are_of_snippets_only():
    assert sorted(read_record(ROOT)) == STEMS
    assert set(read_reasons(ROOT)) <= set(STEMS)


# A snippet of nothing but trouble, and its test.
SMALL = """
TABLE = (1, 2)[1]


def countdown(n):
    while n > 0:
        n -= 1
    return max(n, n)


def untested(n):
    return n + 1


def fixed():
    return float(8)
"""
SMALL_TEST = """
import pytest
from snippets.small import TABLE, countdown, fixed, untested


@pytest.fixture
def eight():
    assert fixed() == 8


def test_countdown():
    assert countdown(3) == 0


def test_eight(eight):
    assert untested and TABLE
"""
RUN = """
import json, sys
from pathlib import Path
from tests.guard.mutant_runs import run_snippet
stem, root, small = sys.argv[1:]
live = run_snippet(stem, Path(root))
print(json.dumps([live, run_snippet("small", Path(small), patience=1)]))
"""


@pytest.fixture(scope="module")
def runs(tmp_path_factory) -> list[dict]:
    """Of the live snippet and of the small one; in a process that can be forked."""
    small = tmp_path_factory.mktemp("small")
    for folder, stem, text in (("snippets", "small", SMALL), ("tests", "test_small", SMALL_TEST)):
        (small / folder).mkdir()
        (small / folder / "__init__.py").touch()
        (small / folder / f"{stem}.py").write_text(text)
    shutil.copy(ROOT / "pytest.ini", small)
    done = subprocess.run(
        [sys.executable, "-c", RUN, LIVE, ROOT, small],
        cwd=ROOT,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_mutants_of_one_snippet_die_here_and_now(runs):
    recorded = read_record(ROOT)[LIVE]
    assert runs[0]["mutants"] > 20
    for part in ("mutants", "killed", "not killed"):
        assert runs[0][part] == recorded[part]


def test_each_way_of_not_being_killed_is_told_apart(runs):
    not_killed = runs[1]["not killed"]
    assert not_killed["does not import"] == ["2:15 1 -> 2 | TABLE = (1, 2)[2]"]
    assert "8:11 max -> min | return min(n, n)" in not_killed["survived"]
    assert "12:15 + -> - | return n - 1" in not_killed["survived"]
    assert "7:8 delete | n -= 1" in not_killed["timeout"]
    assert "7:13 - -> + | n += 1" in not_killed["timeout"]
    assert not_killed["breaks tests/test_small.py::test_eight"] == [
        "16:17 8 -> 9 | return float(9)",
    ]
    named = sum(len(names) for names in not_killed.values())
    assert runs[1]["killed"] == runs[1]["mutants"] - named >= 3
    assert runs[1]["files"] == ["tests/test_small.py"]


# The mutator, on lines made by hand.


def full_names(source: str) -> list[str]:
    return [mutant.full_name for mutant in mutants(source)]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("x = a + b", ["1:8 + -> - | x = a - b"]),
        ("x = a < b <= c", ["1:8 < -> <= | x = a <= b <= c", "1:13 <= -> < | x = a < b < c"]),
        ("x = -a", ["1:4 drop - | x = a"]),
        ("x = a * b", ["1:8 * -> / | x = a / b", "1:4 add - | x = -(a * b)"]),
        ("x = 4, 0, 0.5", [
            "1:4 4 -> 5 | x = (5, 0, 0.5)",
            "1:7 0 -> 1 | x = (4, 1, 0.5)",
            "1:10 0.5 -> 1.0 | x = (4, 0, 1.0)",
        ]),
        ("x = 0.0", ["1:4 0.0 -> 1.0 | x = 1.0"]),
        ("def f(a=1): pass", ["1:8 1 -> 2 | def f(a=2):"]),
        ("x = not a", ["1:4 drop not | x = a"]),
        ("x = True", ["1:4 True -> False | x = False"]),
        ("x = a and b", [
            "1:4 and -> or | x = a or b", "1:4 drop operand | x = b", "1:10 drop operand | x = a",
        ]),
        ('x = "half"', ["1:4 'half' -> 'halfx' | x = 'halfx'"]),
        ("x = f(a, b)", ["1:6 swap a, b | x = f(b, a)"]),
        ("x = f(a=b)", ["1:6 drop a= | x = f()"]),
        ("x = math.sin(a)", ["1:4 sin -> cos | x = math.cos(a)"]),
        ("x = min(a, b)", ["1:4 min -> max | x = max(a, b)"]),
        ("x = a.abs()", ["1:4 drop .abs() | x = a"]),
        ("x = a[:b]", ["1:6 other part | x = a[b:]"]),
        ("f(a)", ["1:0 delete | f(a)"]),
        ("x -= a", ["1:5 - -> + | x += a", "1:0 delete | x -= a"]),
        ("def f(a):\n    a = g(a)\n    b = a", ["2:4 delete | a = g(a)"]),
        ("x = a if b else c", ["1:9 add not | x = a if not b else c"]),
        ("x = a in (b, c)", [
            "1:9 in -> not in | x = a not in (b, c)",
            "1:10 drop b | x = a in (c,)", "1:13 drop c | x = a in (b,)",
        ]),
        ("for a in (b, c): pass", [
            "1:10 drop b | for a in (c,):", "1:13 drop c | for a in (b,):",
        ]),
        ("x = a.to(b, c)", [
            "1:4 drop .to() | x = a", "1:9 swap b, c | x = a.to(c, b)",
            "1:9 drop b | x = a.to(c)", "1:12 drop c | x = a.to(b)",
        ]),
        ('if a:\n    raise ValueError(f"no {a + 1} of " "them")', [
            "1:3 add not | if not a:", "1:0 delete | if a:",
            "2:4 ValueError -> TypeError | raise TypeError(f'no {a + 1} of them')",
        ]),
    ],
)  # fmt: skip
def test_every_change_has_a_mutant(source, expected):
    assert sorted(full_names(source)) == sorted(expected)


@pytest.mark.parametrize(
    "source",
    [
        '"""Words, 1 + 1."""',
        'def f():\n    """Words."""',
        'class A:\n    """Words."""',
        '__all__ = ["f"]',
        "x: Literal[1] = a",
        'def f(a: "Tensor") -> "Tensor":\n    pass  # 1 + 1',
        'x = f"{a + 1} words"',
        "x = None",
        "x = min(a)",
        "import math",
    ],
)
def test_what_does_not_decide_a_result_stays(source):
    assert [name for name in full_names(source) if "min -> max" not in name] == []


def test_names_of_a_snippet_are_distinct_and_each_mutant_compiles():
    found = mutants((ROOT / "snippets/rope.py").read_text(encoding="utf-8"))
    assert len({mutant.full_name for mutant in found}) == len(found) > 200
    assert len({ast.dump(mutant.tree) for mutant in found}) == len(found)
    for mutant in found:
        compile(mutant.tree, "rope", "exec")


def test_the_same_change_twice_in_one_place_is_counted():
    names = [name.split(" | ")[0] for name in full_names("x = a or (b or c)")]
    assert "1:10 drop operand" in names and "1:10 drop operand (2)" in names


# The judge, on a record made by hand.

FOUND = {"not killed": {"survived": ["3:4 a -> b | x = b"], "timeout": ["5:0 delete | x -= 1"]}}
REASONS = {
    "3:4 a -> b | x = b": ("survived", "b is a"),
    "5:0 delete | x -= 1": ("timeout", "a loop without end"),
}


def test_judge_accepts_a_reason_for_each():
    assert verdict_problems("x", FOUND, REASONS) == []
    assert verdict_problems("x", {"not killed": {"does not import": ["1:0 a -> b | b"]}}, {}) == []


def test_judge_names_survivors_and_timeouts():
    assert verdict_problems("x", FOUND, {}) == [
        "x 3:4 a -> b | x = b: survived; no test notices, no reason in tests/guard/mutants.toml",
        "x 5:0 delete | x -= 1: timeout; no test notices, no reason in tests/guard/mutants.toml",
    ]


def test_judge_wants_the_outcome_that_the_reason_is_for():
    swapped = {name: ("timeout", reason) for name, (_, reason) in REASONS.items()}
    problems = verdict_problems("x", FOUND, swapped)
    assert len(problems) == 2 and "x = b: survived" in problems[0] and "stale" in problems[1]
    broken = {"not killed": {"breaks tests/test_x.py": list(REASONS)}}
    assert len(verdict_problems("x", broken, REASONS)) == 4


def test_judge_names_a_stale_reason_and_where_it_went():
    moved = {"not killed": {"survived": ["4:4 a -> b | x = b"]}}
    problems = verdict_problems("x", moved, {"3:4 a -> b | x = b": ("survived", "b is a")})
    assert "4:4 a -> b | x = b: survived" in problems[0]
    assert problems[1] == (
        "x 3:4 a -> b | x = b: stale reason in tests/guard/mutants.toml: dead or gone; "
        "perhaps it is now 4:4 a -> b | x = b"
    )
    assert problems[1:] == [problems[1]]
    assert "dead or gone" in verdict_problems("x", {"not killed": {}}, REASONS)[0]


@pytest.fixture
def tree(tmp_path):
    """A snippet, a test of it, a helper of the test, and one that is not its own."""
    for file, text in {
        "snippets/x.py": "x = 1",
        "tests/test_x.py": "from snippets.x import x\nfrom tests import exact\n",
        "snippets/x_y.py": "",
        "tests/test_x_y.py": "import snippets.x",
        "tests/test_x_more.py": "x = 1",
        "tests/exact.py": "import tests.methods",
        "tests/methods.py": "",
        "tests/claims/test_a_claims.py": "import snippets.x",
    }.items():
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_text(text)
    return tmp_path


def test_a_snippets_tests_are_those_that_import_it(tree):
    assert snippet_tests("x", tree) == ["tests/claims/test_a_claims.py", "tests/test_x.py"]
    assert deciding_files({"tests/test_x.py"}, tree) == [
        "tests/exact.py", "tests/methods.py", "tests/test_x.py",
    ]  # fmt: skip


@pytest.mark.parametrize("file", ["snippets/x.py", "tests/test_x.py", "tests/exact.py"])
def test_a_record_of_other_code_is_stale(tree, file):
    files = ["tests/exact.py", "tests/test_x.py"]
    record = {"x": {"digest": digest("x", files, tree), "files": files}}
    assert record_problems("x", record, tree) == []
    (tree / "tests/test_x_more.py").write_text("y = 2")
    assert record_problems("x", record, tree) == []
    (tree / file).write_text("y = 2")
    problem = record_problems("x", record, tree)[0]
    assert "x: changed since its mutants ran: make mutants" in problem and file in problem
    assert record_problems("y", record, tree) == ["y: its mutants have never run: make mutants"]


@pytest.mark.parametrize("file", MUTATOR)
def test_a_record_of_another_mutator_is_stale(tree, file):
    (tree / "tests/guard").mkdir()
    record = {"x": {"digest": digest("x", [], tree), "files": []}}
    (tree / file).write_text("x = 1")
    assert "the mutator" in record_problems("x", record, tree)[0]


@pytest.mark.parametrize(
    ("toml", "message"),
    [
        ("[[untested]]", "tables are equivalent, timeout, got untested"),
        ('[[equivalent]]\nsnippet = "x"\nmutants = ["a"]\nreason = " "', "x a: needs one reason"),
        ('[[timeout]]\nsnippet = "x"\nmutants = ["a", "a"]\nreason = "b"', "needs one reason"),
    ],
)
def test_reasons_that_are_none_are_refused(tmp_path, toml, message):
    (tmp_path / "tests/guard").mkdir(parents=True)
    (tmp_path / "tests/guard/mutants.toml").write_text(toml)
    with pytest.raises(ValueError, match=message):
        read_reasons(tmp_path)
