"""Run the claims' tests over sabotaged copies of the tree, each in a forked child.

Closes: wrong edits that only seem to be tested. Tests that read a source file see the edit too,
because each child works in its own copy of the tree; the working tree is never touched. torch is
imported once, with one thread: forking after its thread pool has started hangs children, and a
hang must not look like a kill.
"""

import importlib
import json
import os
import shutil
import signal
import tempfile
import time
from pathlib import Path

from tests.guard.digest import ROOT, project_files
from tests.guard.sabotaged_tests import sabotaged_run
from tests.guard.saboteurs import CONTROL, Saboteur

TIMEOUT = 60  # seconds; the whole set of claims takes a few


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
        tree = Path(folder) / "the tree as it was at the start"
        copy_project(root, tree)
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
                    child(job, tree, copy, (skip or {}).get(name, set()))
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


def copy_project(root: Path, copy: Path) -> None:
    for path in project_files(root):
        target = copy / path.relative_to(root)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)


def collect(copy: Path, late: bool, seconds: float) -> dict:
    path = copy / "result.json"
    result = {"status": "timeout" if late else "crashed", "tests": []}
    if not late and path.is_file():
        result = json.loads(path.read_text(encoding="utf-8"))
    shutil.rmtree(copy, ignore_errors=True)
    return result | {"seconds": round(seconds, 1)}


def child(job: Saboteur | None, tree: Path, copy: Path, skip: set[str]) -> None:
    """Never returns: writes result.json into its copy of the tree."""
    try:
        log = os.open(os.devnull, os.O_WRONLY)
        os.dup2(log, 1)
        os.dup2(log, 2)
        copy_project(tree, copy)
        status, tests = sabotaged_run(job, copy, skip)
    except BaseException as error:
        status, tests = f"crashed ({type(error).__name__}: {error})", []
    try:
        result = json.dumps({"status": status, "tests": tests})
        (copy / "result.json").write_text(result, encoding="utf-8")
    finally:
        os._exit(0)
