"""Run the claims' tests over sabotaged copies of the tree, each in a forked child.

Closes: wrong edits that only seem to be tested. Tests that read a source file see the edit too,
because each child works in its own copy of the tree; the working tree is never touched.
"""

import shutil
import tempfile
from pathlib import Path

from tests.guard.children import Job, run_children, warm_up
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
    skip = skip or {}
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "the tree as it was at the start"
        copy_project(root, tree)
        jobs = [(CONTROL, sabotage(None, tree, skip.get(CONTROL, set())))]
        jobs += [(s.id, sabotage(s, tree, skip.get(s.id, set()))) for s in saboteurs]
        return dict(run_children(jobs, timeout))


def sabotage(saboteur: Saboteur | None, tree: Path, skip: set[str]) -> Job:
    def job(copy: Path) -> dict:
        copy_project(tree, copy)
        status, tests = sabotaged_run(saboteur, copy, skip)
        return {"status": status, "tests": tests}

    return job


def copy_project(root: Path, copy: Path) -> None:
    for path in project_files(root):
        target = copy / path.relative_to(root)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)
