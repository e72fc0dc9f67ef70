"""Run a snippet's tests against each mutant of it, up to the first that fails.

Closes: counting as killed what never ran. The tests are collected once; then every mutant gets a
forked child of its own, in which the functions of the snippet are those of the mutant. Only a
test that fails while it runs is a kill; a mutant that does not load, a fixture that breaks, is not.
"""

import ast
import importlib.util
import os
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.guard.children import run_children, warm_up
from tests.guard.digest import ROOT
from tests.guard.graft import put_in_place
from tests.guard.mutants import Mutant
from tests.guard.sabotaged_tests import OPTIONS, PROJECT

MEMORY = 16 * 2**30  # bytes of address space: a mutant may ask for a tensor of any size
CONTROL = Mutant("unchanged", "put in place like a mutant", ast.parse(""))
LONG = 1800  # seconds for all the tests of a snippet once, on a machine as busy as may be
Report = Callable[[int, int, str, dict], None]  # done, of, the mutant's name, its result


def mutant_session(
    stem: str, files: list[str], found: list[Mutant], tree: Path, patience: float, report: Report
) -> dict:
    """In a process of its own: {"code": of pytest, "control": a result, "results": by mutant}."""
    os.chdir(tree)
    sys.path[:] = [str(tree), *(p for p in sys.path if p not in ("", str(ROOT)))]
    for name in [name for name in sys.modules if name.split(".")[0] in PROJECT]:
        del sys.modules[name]
    importlib.invalidate_caches()
    loop = Loop(tree / f"snippets/{stem}.py", found, patience, report)
    options = [option for option in OPTIONS if not option.startswith("--basetemp")]
    code = pytest.main([*options, "--noconftest", "--capture=no", *files], plugins=[loop])
    return {"code": int(code), "control": loop.control, "results": loop.results}


class Loop:
    """Takes the place of pytest's own loop over the tests."""

    def __init__(self, path: Path, found: list[Mutant], patience: float, report: Report):
        self.path, self.found, self.patience, self.report = path, found, patience, report
        self.control, self.results = {"status": "tests that do not import", "tests": []}, {}

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session):
        if session.testsfailed:
            return True
        warm_up()
        original = Mutant(CONTROL.name, CONTROL.shown, ast.parse(self.path.read_text("utf-8")))
        [(_, self.control)] = run_children([("", self.job(session, original))], LONG)
        if self.control["status"] != "survived":
            return True
        warm_up(importable(self.control["modules"]))
        cost = {test["nodeid"]: test["cost"] for test in self.control["tests"]}
        # The snippet's own tests first, then those of claims; of each the cheap ones first.
        session.items.sort(key=lambda item: ("/claims/" in item.nodeid, cost[item.nodeid]))
        jobs = [(mutant.full_name, self.job(session, mutant)) for mutant in self.found]
        cpu = self.patience + 5 * self.control["cpu"]
        for name, result in run_children(jobs, timeout=30 * cpu, cpu=cpu):
            self.results[name] = {key: result[key] for key in result if key != "modules"}
            self.report(len(self.results), len(jobs), name, result)
        return True

    def job(self, session, mutant: Mutant):
        return lambda folder: run_mutant(session.items, mutant, self.path, folder)


def run_mutant(items: list, mutant: Mutant, path: Path, folder: Path) -> dict:
    """"status" is "killed", "survived", "does not import", or what else went wrong."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    folder.mkdir()
    os.environ["PYTEST_DEBUG_TEMPROOT"] = str(folder)  # where tmp_path lies
    try:
        put_in_place(mutant.tree, path)
    except Exception as error:
        return {"status": "does not import", "tests": [], "error": repr(error)}
    watcher = Watcher()
    items[0].config.pluginmanager.register(watcher)
    for item, following in zip(items, [*items[1:], None], strict=True):
        began = time.process_time()
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        watcher.tests[-1]["cost"] = round(time.process_time() - began, 4)
        if watcher.killer:
            return {"status": "killed", "tests": watcher.tests, "killer": watcher.killer}
    status = f"breaks {watcher.broken[0]}" if watcher.broken else "survived"
    modules = [name for name in sys.modules if name.split(".")[0] not in PROJECT]
    return {"status": status, "tests": watcher.tests, "modules": modules}


def importable(modules: list[str]) -> list[str]:
    """What the control imported, so that no child has to do it again."""

    def is_there(name: str) -> bool:
        try:
            return importlib.util.find_spec(name) is not None
        except (ImportError, AttributeError, ValueError):
            return False

    return [name for name in modules if name not in sys.modules and is_there(name)]


class Watcher:
    """Notes how the tests end, and the first that fails."""

    def __init__(self):
        self.killer, self.tests, self.broken = None, [], []

    def pytest_runtest_makereport(self, item, call):
        if call.when == "setup":
            self.tests.append({"nodeid": item.nodeid, "outcome": "passed"})
        if call.excinfo is None:
            return
        failed = call.when == "call" and not call.excinfo.errisinstance(pytest.skip.Exception)
        self.tests[-1]["outcome"] = "failed" if failed else "broken"
        if not failed:
            self.broken.append(item.nodeid)
        elif not self.killer:
            self.killer = {"nodeid": item.nodeid, "error": call.excinfo.type.__name__}
