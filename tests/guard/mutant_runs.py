"""Run the mutants of each snippet whose record is stale, and write the record.

    .venv/bin/python -m tests.guard.mutant_runs            # what is stale; goes on where it stopped
    .venv/bin/python -m tests.guard.mutant_runs rope yarn  # these, stale or not
"""

import os
import sys
import tempfile
import time
from pathlib import Path

from tests.guard.children import run_children, warm_up
from tests.guard.digest import ROOT
from tests.guard.mutant_record import (
    RECORD,
    deciding_files,
    digest,
    read_reasons,
    read_record,
    record_problems,
    snippet_tests,
    stems,
    verdict_problems,
    write_record,
)
from tests.guard.mutants import mutants
from tests.guard.mutated_tests import Report, mutant_session
from tests.guard.sabotage import copy_project

HOURS = 6 * 3600  # no snippet needs as long


def run_snippet(
    stem: str, root: Path, report: Report = lambda *args: None, patience: float = 20
) -> dict:
    """The record of one snippet: each mutant runs, and what became of it.

    `patience`: seconds of a processor that a mutant gets, besides five times what all the tests
    need; of the clock, thirty times as many."""
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "the tree as it was at the start"
        copy_project(root, tree)
        files = snippet_tests(stem, tree)
        found = mutants((tree / f"snippets/{stem}.py").read_text(encoding="utf-8"))
        warm_up()

        def job(folder: Path) -> dict:
            return mutant_session(stem, files, found, tree, patience, report)

        [(_, session)] = run_children([(stem, job)], HOURS)
        check_control(stem, session, files)
        results = {mutant.full_name: session["results"][mutant.full_name] for mutant in found}
        return summary(stem, results, session["control"]["cpu"], tree)


def check_control(stem: str, session: dict, files: list[str]) -> None:
    """Without a mutant everything passes, in every file."""
    control = session.get("control", session)
    bad = [test["nodeid"] for test in control["tests"] if test["outcome"] != "passed"]
    idle = [f for f in files if not any(t["nodeid"].startswith(f) for t in control["tests"])]
    if control["status"] != "survived" or bad or idle or not files:
        raise RuntimeError(f"{stem}, not mutated: {control['status']}, red {bad}, no test {idle}")


def summary(stem: str, results: dict[str, dict], cpu: float, tree: Path) -> dict:
    """Counts, the names of all that were not killed, and the digest of what decided."""
    kills = [r["killer"]["nodeid"] for r in results.values() if r["status"] == "killed"]
    files = deciding_files({nodeid.split("::")[0] for nodeid in kills}, tree)
    named: dict[str, list[str]] = {}
    for name, result in results.items():
        if result["status"] != "killed":
            named.setdefault(result["status"], []).append(name)
    return {
        "digest": digest(stem, files, tree),
        "files": files,
        "mutants": len(results),
        "killed": len(kills),
        "cpu": round(cpu + sum(result["cpu"] for result in results.values())),
        "not killed": named,
    }


def main() -> None:
    record, began, screen = read_record(ROOT), time.monotonic(), os.dup(1)
    wanted = sys.argv[1:] or [s for s in stems(ROOT) if record_problems(s, record, ROOT)]
    for number, stem in enumerate(wanted, 1):

        def report(done: int, total: int, name: str, result: dict, where=f"{number} {stem}"):
            text = "" if result["status"] == "killed" else f"  {name}: {result['status']}\n"
            if done % 25 == 0 or done == total:
                minutes = (time.monotonic() - began) / 60
                text += f"{where}: {done} of {total} mutants, {minutes:.1f} minutes so far\n"
            os.write(screen, text.encode())  # a child's own output goes nowhere

        print(f"{number} of {len(wanted)}: {stem}", flush=True)
        found = run_snippet(stem, ROOT, report)
        record = read_record(ROOT) | {stem: found}
        write_record(record, ROOT)
        print(f"{stem}: {found['killed']} of {found['mutants']} killed, {found['cpu']} s of CPU")
    reasons = read_reasons(ROOT)
    for stem in stems(ROOT):
        problems = record_problems(stem, record, ROOT)
        problems = problems or verdict_problems(stem, record[stem], reasons.get(stem, {}))
        print("".join(f"{problem}\n" for problem in problems), end="")
    print(f"{len(wanted)} snippets ran; the record is {RECORD}")


if __name__ == "__main__":
    main()
