"""Results of another tree, of a red run or of part of a run never count."""

import json

import pytest

from tests.guard.digest import ROOT, tree_digest
from tests.guard.record import RUN_FILE, git_commit, new_run, read_run, versions, write_run

pytest_plugins = ["pytester"]

TEST_FILE = """
import pytest
from tests.guard.marks import claim

@claim("a-b", "A sentence.")
@pytest.mark.parametrize("x", [1, 2])
def test_a(x):
    pass

def test_notebook(record_property):
    record_property("notebook", "docs/n.py")
    record_property("cell", "print(1)")
    record_property("saboteur", "wrong")
"""
INI = """
[pytest]
addopts = --codeblocks -p tests.guard.results -p no:cacheprovider
testpaths = tests docs
"""


@pytest.fixture
def tree(tmp_path):
    (tmp_path / "docs/_generated").mkdir(parents=True)
    (tmp_path / "docs/a.md").write_text("one")
    return tmp_path


def test_digest_sees_content_names_and_new_files(tree):
    first = tree_digest(tree)
    (tree / "docs/a.md").write_text("two")
    second = tree_digest(tree)
    (tree / "docs/a.md").rename(tree / "docs/b.md")
    third = tree_digest(tree)
    (tree / "README.md").write_text("")
    assert len({first, second, third, tree_digest(tree)}) == 4


@pytest.mark.parametrize("made", ["docs/_generated/x.svg", "docs/__pycache__/x.pyc", "site/x"])
def test_digest_ignores_what_is_made(tree, made):
    before = tree_digest(tree)
    (tree / made).parent.mkdir(exist_ok=True)
    (tree / made).write_text("made")
    assert tree_digest(tree) == before


def test_results_are_of_this_tree_and_green(tree):
    assert read_run(tree) == (None, f"{RUN_FILE} is missing: no full test run was made here")
    run = new_run(tree) | {"exitstatus": 0}
    write_run(run, tree)
    assert read_run(tree) == (run, "")
    write_run(run | {"exitstatus": 1}, tree)
    assert read_run(tree)[1] == f"{RUN_FILE} records a run that failed (exit status 1)"
    write_run(run, tree)
    (tree / "docs/a.md").write_text("edited after the run")
    assert read_run(tree)[0] is None
    assert read_run(tree)[1].endswith("belongs to another tree: files changed after that run")


def test_versions_are_neutral_and_git_is_optional(tree):
    assert versions()["torch"].count("+") == 0
    assert git_commit(tree) is None


@pytest.fixture
def project(pytester, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    pytester.makeini(INI)
    pytester.mkdir("docs").joinpath("a.md").write_text("```python\nassert True\n```\n")
    pytester.mkdir("tests").joinpath("test_a.py").write_text(TEST_FILE)
    return pytester


def recorded(project) -> dict | None:
    path = project.path / RUN_FILE
    return json.loads(path.read_text()) if path.is_file() else None


def test_full_run_is_recorded(project):
    assert project.runpytest_subprocess().ret == 0
    run = recorded(project)
    assert run["exitstatus"] == 0 and run["digest"] == tree_digest(project.path)
    assert run["claims"] == [
        {
            "id": "a-b",
            "texts": [["tests/test_a.py::test_a", "A sentence."]],
            "tests": {f"tests/test_a.py::test_a[{n}]": "passed" for n in (1, 2)},
        }
    ]
    assert [(b["file"], b["code"], b["outcome"]) for b in run["blocks"]] == [
        ("docs/a.md", "assert True\n", "passed")
    ]
    assert run["cells"] == [{"file": "docs/n.py", "code": "print(1)", "outcome": "passed"}]
    assert run["saboteurs"] == ["wrong"]


@pytest.mark.parametrize("part", [["tests"], ["-k", "test_a"], ["--collect-only"], ["--lf"]])
def test_part_of_a_run_is_not_recorded(project, part):
    project.runpytest_subprocess(*part)
    assert recorded(project) is None


@pytest.mark.parametrize(
    ("mark", "outcome"),
    [
        ("@pytest.mark.skip", "skipped"),
        ("@pytest.mark.xfail(strict=False)", "xpassed"),
        ("@pytest.mark.xfail(raises=ZeroDivisionError)", "xfailed"),
    ],
)
def test_skip_and_xfail_make_the_run_red(project, mark, outcome):
    body = "1 / 0" if outcome == "xfailed" else "pass"
    text = TEST_FILE + f"\n{mark}\ndef test_b():\n    {body}\n"
    (project.path / "tests/test_a.py").write_text(text)
    result = project.runpytest_subprocess()
    assert result.ret == 1
    result.stdout.fnmatch_lines(f"tests/test_a.py::test_b: {outcome}")
    assert recorded(project)["exitstatus"] == 1


def test_module_that_skips_itself_makes_the_run_red(project):
    (project.path / "tests/test_c.py").write_text(
        'import pytest\npytest.skip("none", allow_module_level=True)\n'
    )
    result = project.runpytest_subprocess()
    assert result.ret == 1
    result.stdout.fnmatch_lines("tests/test_c.py: skipped")
