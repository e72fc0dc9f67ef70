"""Layer 4: named wrong edits, each of which must be caught by a test that carries a claim.

Closes: a test that passes whatever the code does. An edit counts as caught when a claim's test
fails with the declared error; a crash, a timeout or a module that does not import prove nothing.
And the other way round: a claim's test that catches no edit at all is decoration.

    .venv/bin/python -m tests.guard.saboteurs [id ...]    # which claims each edit kills, and the problems
"""

import json
import os
import sys
import tomllib
from dataclasses import dataclass, field
from pathlib import Path

from tests.guard import record_edits
from tests.guard.digest import ROOT
from tests.guard.static import static_claims

FILE = Path("tests/guard/saboteurs.toml")
CONTROL = "control"  # the same run without an edit: everything must pass


@dataclass(frozen=True)
class Saboteur:
    id: str
    file: str
    old: str = ""
    new: str = ""
    kills: tuple[str, ...] = ()  # claim ids, or parts of test names; every one must fail
    error: tuple[str, ...] = ("AssertionError",)  # how they must fail
    guard: str = ""  # of a page: part of the problem that tests.guard must report instead
    row: dict = field(default_factory=dict)  # of a record of the lab: see record_edits.py
    put: list = field(default_factory=list)

    def apply(self, text: str) -> str:
        if self.row:
            return record_edits.edited(text, self.row, self.put)
        if self.old == self.new or text.count(self.old) != 1:
            count = "no change" if self.old == self.new else f"{text.count(self.old)} times"
            raise ValueError(f"{self.id}: `old` must occur exactly once in {self.file}: {count}")
        return text.replace(self.old, self.new)


def read_saboteurs(path: Path = ROOT / FILE) -> list[Saboteur]:
    found = []
    for entry in tomllib.loads(path.read_text(encoding="utf-8")).get("saboteur", []):
        entry["kills"] = tuple(entry.get("kills", ()))
        error = entry.get("error", "AssertionError")
        entry["error"] = (error,) if isinstance(error, str) else tuple(error)
        found.append(Saboteur(**entry))
    return found


def list_problems(saboteurs: list[Saboteur], root: Path = ROOT) -> list[str]:
    """What can be said without running anything."""
    problems = []
    ids = [saboteur.id for saboteur in saboteurs]
    problems += [f"{name}: two saboteurs have this id" for name in set(ids) if ids.count(name) > 1]
    for saboteur in saboteurs:
        if bool(saboteur.kills) == bool(saboteur.guard):
            problems.append(f"{saboteur.id}: needs `kills`, or for a page `guard`")
        try:
            saboteur.apply((root / saboteur.file).read_text(encoding="utf-8"))
        except (OSError, ValueError, LookupError) as error:
            problems.append(f"{saboteur.id}: {error}")
    return problems


def killed(result: dict, saboteur: Saboteur, name: str | None = None) -> set[str]:
    """Test functions that failed as declared; only those of one claim or name if asked."""
    return {
        function(test["nodeid"])
        for test in result["tests"]
        if test["error"] in saboteur.error and (name is None or belongs(test, name))
    }


def belongs(test: dict, name: str) -> bool:
    return name in test["claims"] or name in test["nodeid"]


def function(nodeid: str) -> str:
    return nodeid.split("[")[0]


def saboteur_problems(saboteur: Saboteur, result: dict) -> list[str]:
    if result["status"] != "ran":
        return [f"{saboteur.id}: {result['status']}; that is not a kill"]
    problems = []
    for name in saboteur.kills:
        if killed(result, saboteur, name):
            continue
        named = [test for test in result["tests"] if belongs(test, name)]
        others = sorted({test["error"] for test in named if test["error"]})
        how = f"fails with {', '.join(others)}" if others else "passes" if named else "has no test"
        problems.append(f"{saboteur.id}: survives {name}, which {how} on {saboteur.file}")
    if not killed(result, saboteur):
        problems.append(f"{saboteur.id}: no claim's test fails with {' or '.join(saboteur.error)}")
    return problems


def known_claims(saboteurs: list[Saboteur], claims: set[str]) -> dict[str, set[str]]:
    """For each saboteur the claims that another one is there for: they need not run against it.

    A claim that no saboteur names runs against all of them, in search of one.
    """
    named = {s.id: {c for c in claims if c in s.kills} for s in saboteurs}
    anywhere = set().union(*named.values())
    parts = {s.id: [kill for kill in s.kills if kill not in claims] for s in saboteurs}
    return {id: set() if parts[id] else anywhere - mine for id, mine in named.items()}


def control_problems(results: dict[str, dict]) -> list[str]:
    control = results[CONTROL]
    if control["status"] != "ran":
        return [f"{CONTROL}: {control['status']}"]
    bad = [test for test in control["tests"] if test["outcome"] != "passed"]
    return [f"{CONTROL}: {test['nodeid']} fails without any edit: {test['error']}" for test in bad]


def idle_problems(saboteurs: list[Saboteur], results: dict[str, dict]) -> list[str]:
    """Claims' tests that no wrong edit can turn red."""
    working = set().union(*(killed(results[s.id], s) for s in saboteurs if s.id in results))
    found = {function(test["nodeid"]): test["claims"] for test in results[CONTROL]["tests"]}
    return [
        f"{test} ({', '.join(claims)}): this claim's test kills no saboteur"
        for test, claims in sorted(found.items())
        if test not in working
    ]


def main() -> None:
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # before torch starts its threads
    from tests.guard.sabotage import run_all

    saboteurs = [s for s in read_saboteurs() if not s.guard]
    wanted = [arg for arg in sys.argv[1:] if not arg.startswith("--")]
    if wanted:
        saboteurs = [s for s in saboteurs if s.id in wanted]
    if "--json" in sys.argv:  # what the tests ask for: no more runs than needed
        print(json.dumps(run_all(saboteurs, skip=known_claims(saboteurs, set(static_claims())))))
        return
    results = run_all(saboteurs)
    for s in saboteurs:
        claims = {c for t in results[s.id]["tests"] if t["error"] in s.error for c in t["claims"]}
        seconds = results[s.id]["seconds"]
        print(f"{s.id} ({results[s.id]['status']}, {seconds} s): {', '.join(sorted(claims))}")
        for problem in saboteur_problems(s, results[s.id]):
            print(f"  {problem}")
    idle = [] if wanted else idle_problems(saboteurs, results)  # of all edits, or it says nothing
    print(*control_problems(results), *idle, sep="\n")


if __name__ == "__main__":
    main()
