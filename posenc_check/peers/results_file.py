# SPDX-License-Identifier: MIT
"""The file in which the answers of a library are kept, and the rule that they do not drift."""

import datetime
import difflib
import hashlib
import json
import platform
from pathlib import Path

RESULTS = Path(__file__).parent / "results"


def digest(records: list[dict]) -> str:
    """A mark of all records: it changes when any of them does."""
    text = json.dumps(records, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def load(name: str) -> dict:
    return json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))


def lines(records: list[dict]) -> list[str]:
    """One line a record, so that a diff names the records that changed."""
    return [json.dumps(entry, sort_keys=True) for entry in records]


def finish(
    name: str, records: list[dict], versions: dict, arguments: list[str], command: str = ""
) -> int:
    """Write the records, or compare them with what is kept; the exit status.

    command: what records them; left out, it is the module of that name.
    """
    path = RESULTS / f"{name}.json"
    if path.exists() and "--record" not in arguments:
        old = lines(load(name)["records"])
        diff = list(difflib.unified_diff(old, lines(records), "kept", "now", n=0, lineterm=""))
        if diff:
            print("\n".join(diff))
            print(f"{name}: answers differ from the kept ones; --record keeps the new ones")
            return 1
        print(f"{name}: all {len(records)} answers are as kept")
        return 0
    head = {
        "command": command or f"python -m posenc_check.peers.{name} --record",
        "date": datetime.date.today().isoformat(),
        "digest": digest(records),
        "versions": {"python": platform.python_version(), **versions},
    }
    texts = ",\n".join("  " + line for line in lines(records))
    body = json.dumps(head, indent=1, sort_keys=True)[:-2]
    path.write_text(f'{body},\n "records": [\n{texts}\n ]\n}}\n', encoding="utf-8")
    print(f"{name}: {len(records)} answers kept in {path.name}")
    return 0
