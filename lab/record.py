"""A result as JSON: what was run, when and with which versions, and a digest of its rows."""

import datetime
import hashlib
import json
import platform
from pathlib import Path

import torch

RESULTS = Path(__file__).parent / "results"


def digest(rows: list[dict]) -> str:
    """sha256 of the rows; a number that was edited by hand no longer fits."""
    return hashlib.sha256(json.dumps(rows, sort_keys=True).encode()).hexdigest()


def write(name: str, rows: list[dict], **setting) -> None:
    """lab/results/<name>.json, one row a line."""
    head = {
        "command": f"python -m lab.{name} --record",
        "date": datetime.datetime.now(datetime.timezone.utc).date().isoformat(),
        "python": platform.python_version(),
        "torch": torch.__version__.split("+")[0],
        **setting,
        "digest": digest(rows),
    }
    lines = [f"  {json.dumps(key)}: {json.dumps(value)}," for key, value in head.items()]
    lines += ['  "rows": [', ",\n".join(f"    {json.dumps(row)}" for row in rows), "  ]"]
    RESULTS.mkdir(exist_ok=True)
    text = "\n".join(["{", *lines, "}"]) + "\n"
    (RESULTS / f"{name}.json").write_text(text, encoding="utf-8")


def read(name: str) -> dict:
    """The record as it was written; a changed row is an error."""
    record = json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))
    if digest(record["rows"]) != record["digest"]:
        raise ValueError(f"the rows of lab/results/{name}.json do not fit their digest")
    return record
