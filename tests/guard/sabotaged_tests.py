"""Run the tests that carry claims against one sabotaged copy of the tree.

Closes: counting a module that does not import, or a test that never saw the edited file.
"""

import ast
import importlib
import os
import sys
from pathlib import Path

import pytest

from tests.guard.digest import ROOT
from tests.guard.saboteurs import Saboteur

PROJECT = ("snippets", "tests", "posenc_check", "tools", "lab", "conftest")
# hypothesis' own plugin only adds a second to each run; tests that use hypothesis work without it.
OPTIONS = (
    "--rootdir=. -c pytest.ini -o addopts=--strict-markers --basetemp=tmp --tb=no -q "
    "-p no:cacheprovider -p no:codeblocks -p no:hypothesispytest"
).split()


def sabotaged_run(job: Saboteur | None, copy: Path, skip: set[str]) -> tuple[str, list[dict]]:
    """In a process of its own: apply the edit in `copy`, import it, run the claims' tests there."""
    os.chdir(copy)
    sys.dont_write_bytecode = True  # an old .pyc must not stand in for the edited file
    sys.path[:] = [str(copy), *(p for p in sys.path if p not in ("", str(ROOT)))]
    for name in [name for name in sys.modules if name.split(".")[0] in PROJECT]:
        del sys.modules[name]
    importlib.invalidate_caches()
    if job is not None:
        path = copy / job.file
        path.write_text(job.apply(path.read_text(encoding="utf-8")), encoding="utf-8")
        if path.suffix == ".py" and not job.file.startswith("docs/"):
            try:
                importlib.import_module(job.file.removesuffix(".py").replace("/", "."))
            except Exception as error:
                return f"does not import ({type(error).__name__}: {error})", []
    watcher = Watcher(skip)
    files = related_tests(copy, job)
    code = pytest.main([*OPTIONS, *files], plugins=[watcher])
    if code not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
        return f"pytest stopped with {code!r}", watcher.tests
    return "ran", watcher.tests


class Watcher:
    """Runs only tests with a claim, and notes how each of them ends."""

    def __init__(self, skip: set[str]):
        self.skip, self.tests = skip, []

    def pytest_collection_modifyitems(self, items):
        items[:] = [item for item in items if set(claims_of(item)) - self.skip]

    def pytest_runtest_makereport(self, item, call):
        if call.when != "call" and call.excinfo is None:
            return
        self.tests.append(
            {
                "nodeid": item.nodeid,
                "claims": claims_of(item),
                "outcome": "failed" if call.excinfo else "passed",
                "error": call.excinfo.type.__name__ if call.excinfo else None,
            }
        )


def claims_of(item) -> list[str]:
    return [mark.args[0] for mark in item.iter_markers("claim")]


def related_tests(root: Path, job: Saboteur | None) -> list[str]:
    """Test files with claims: of a snippet, those that import it; of another file, those whose
    claims must fail; without an edit, all."""
    snippet = job is not None and job.file.startswith("snippets/")
    module = job.file.removesuffix(".py").replace("/", ".") if snippet else None
    found = []
    for path in sorted((root / "tests").rglob("test_*.py")):
        text = path.read_text(encoding="utf-8")
        if path.is_relative_to(root / "tests/guard") or "@claim(" not in text:
            continue
        named = job is None or any(name in text for name in job.kills)
        if module in imports(text) if snippet else named:
            found.append(path.relative_to(root).as_posix())
    return found


def imports(text: str) -> set[str]:
    """Every module that a file imports anywhere, `from a import b` as a and as a.b."""
    names = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    return names
