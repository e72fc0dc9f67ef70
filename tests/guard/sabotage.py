"""Run the claims' tests over sabotaged copies of the tree, each in a forked child.

Closes: wrong edits that only seem to be tested. Tests that read a source file see the edit too,
because each child works in its own copy of the tree; the working tree is never touched. torch is
imported once, with one thread: forking after its thread pool has started hangs children, and a
hang must not look like a kill.
"""

import ast
import importlib
import json
import os
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path

from tests.guard.digest import ROOT, project_files
from tests.guard.saboteurs import CONTROL, Saboteur

TIMEOUT = 60  # seconds; the whole set of claims takes a few
PROJECT = ("snippets", "tests", "posenc_check", "tools", "lab", "conftest")


def run_all(
    saboteurs: list[Saboteur],
    root: Path = ROOT,
    timeout: float = TIMEOUT,
    skip: dict[str, set[str]] | None = None,
) -> dict[str, dict]:
    """{saboteur id or CONTROL: {"status", "seconds", "tests": [{nodeid, claims, outcome, error}]}}

    `skip`: for a saboteur, claims whose tests need not run against it.
    """
    warm_up()
    with tempfile.TemporaryDirectory() as folder:
        jobs: list[Saboteur | None] = [None, *saboteurs]
        running: dict[int, tuple[str, Path, float]] = {}
        results = {}
        while jobs or running:
            while jobs and len(running) < (os.cpu_count() or 1):
                job = jobs.pop(0)
                name = job.id if job else CONTROL
                copy = Path(folder) / name
                pid = os.fork()
                if pid == 0:
                    child(job, root, copy, (skip or {}).get(name, set()))
                running[pid] = (name, copy, time.monotonic())
            time.sleep(0.02)
            for pid, (name, copy, start) in list(running.items()):
                late = time.monotonic() - start > timeout
                if late:
                    os.kill(pid, signal.SIGKILL)
                if late or os.waitpid(pid, os.WNOHANG)[0]:
                    if late:
                        os.waitpid(pid, 0)
                    results[name] = collect(copy, late, time.monotonic() - start)
                    del running[pid]
    return results


def warm_up() -> None:
    """Import what every child needs, and see that there is still one thread to fork."""
    import torch

    torch.set_num_threads(1)
    for name in ("pytest", "numpy", "torch._dynamo", "torch.export"):
        importlib.import_module(name)
    threads = len(os.listdir("/proc/self/task")) if os.path.isdir("/proc/self/task") else 1
    if threads > 1:
        raise RuntimeError(f"cannot fork {threads} threads; set OMP_NUM_THREADS=1")


def collect(copy: Path, late: bool, seconds: float) -> dict:
    path = copy / "result.json"
    result = {"status": "timeout" if late else "crashed", "tests": []}
    if not late and path.is_file():
        result = json.loads(path.read_text(encoding="utf-8"))
    shutil.rmtree(copy, ignore_errors=True)
    return result | {"seconds": round(seconds, 1)}


def child(job: Saboteur | None, root: Path, copy: Path, skip: set[str]) -> None:
    """Never returns: writes result.json into its copy of the tree."""
    try:
        log = os.open(os.devnull, os.O_WRONLY)
        os.dup2(log, 1)
        os.dup2(log, 2)
        for path in project_files(root):
            target = copy / path.relative_to(root)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, target)
        status, tests = sabotaged_run(job, copy, skip)
    except BaseException as error:
        status, tests = f"crashed ({type(error).__name__}: {error})", []
    try:
        result = json.dumps({"status": status, "tests": tests})
        (copy / "result.json").write_text(result, encoding="utf-8")
    finally:
        os._exit(0)


def sabotaged_run(job: Saboteur | None, copy: Path, skip: set[str]) -> tuple[str, list[dict]]:
    import pytest

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
    files = related_tests(copy, job.file if job else "")
    options = ["--rootdir=.", "-c", "pytest.ini", "-p", "no:cacheprovider", "-p", "no:codeblocks"]
    code = pytest.main([*options, "-o", "addopts=--strict-markers", *files], plugins=[watcher])
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


def related_tests(root: Path, file: str) -> list[str]:
    """Test files with claims; for a snippet, those that import it."""
    module = file.removesuffix(".py").replace("/", ".") if file.startswith("snippets/") else None
    found = []
    for path in sorted((root / "tests").rglob("test_*.py")):
        text = path.read_text(encoding="utf-8")
        in_scope = not path.is_relative_to(root / "tests/guard") and "@claim(" in text
        if in_scope and (module is None or module in imports(text)):
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
