"""What a run leaves behind in `.results/run.json`, and how it is read again.

Closes: results without a date, versions or commit, and results that were taken from another tree.
"""

import datetime
import json
import platform
import subprocess
import uuid
from importlib import metadata
from pathlib import Path

from tests.guard.digest import ROOT, tree_digest

RUN_FILE = Path(".results/run.json")


def new_run(root: Path) -> dict:
    """The head of a record; the recorder adds tests, claims, blocks, cells and saboteurs."""
    now = datetime.datetime.now(datetime.UTC)
    return {
        "id": uuid.uuid4().hex[:12],
        "date": now.strftime("%Y-%m-%d"),
        "time": now.strftime("%H:%M:%S UTC"),
        "versions": versions(),
        "commit": git_commit(root),
        "digest": tree_digest(root),
    }


def versions() -> dict[str, str]:
    """Without the platform suffix: torch 2.13.0+cpu is torch 2.13.0."""
    found = {"python": platform.python_version()}
    for name in ("torch", "numpy", "pytest"):
        found[name] = metadata.version(name).split("+")[0]
    return found


def git_commit(root: Path) -> str | None:
    """The commit, with `+dirty` behind it when files differ from it; None without git."""

    def git(*command: str) -> str:
        done = subprocess.run(
            ["git", "-C", str(root), *command], capture_output=True, text=True, check=True
        )
        return done.stdout.strip()

    try:
        if Path(git("rev-parse", "--show-toplevel")).resolve() != root.resolve():
            return None
        return git("rev-parse", "HEAD") + ("+dirty" if git("status", "--porcelain") else "")
    except (OSError, subprocess.CalledProcessError):
        return None


def write_run(run: dict, root: Path) -> None:
    path = root / RUN_FILE
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(run, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def read_run(root: Path = ROOT) -> tuple[dict | None, str]:
    """The results of a full, green run of exactly this tree; or None and the reason."""
    path = root / RUN_FILE
    if not path.is_file():
        return None, f"{RUN_FILE} is missing: no full test run was made here"
    run = json.loads(path.read_text(encoding="utf-8"))
    if run["digest"] != tree_digest(root):
        return None, f"{RUN_FILE} belongs to another tree: files changed after that run"
    if run["exitstatus"] != 0:
        return None, f"{RUN_FILE} records a run that failed (exit status {run['exitstatus']})"
    return run, ""


def read_claims(run: dict) -> dict[str, dict]:
    """claim id -> {"texts": [[test, sentence], ...], "tests": {test: outcome}}"""
    return {claim["id"]: claim for claim in run["claims"]}


def passed_blocks(run: dict, file: str) -> list[dict]:
    """Blocks of one source file whose test passed in the run."""
    return [b for b in run["blocks"] if b["file"] == file and b["outcome"] == "passed"]
