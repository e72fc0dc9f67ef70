"""Run experiments by name, all if none is named, and compare with the record or write it anew.

    python -m lab.models [NAME ...] [--record] [--fresh]

Each finished part is kept in .cache/models, under a key made of the code, the files and the
versions: a run that was stopped goes on where it was. --fresh measures everything again.
"""

import argparse
import hashlib
import importlib
import json
import os
import time
from pathlib import Path

from lab import record
from lab.models import compare, files, texts

ROOT = Path(__file__).parents[2]
KEPT = ROOT / ".cache" / "models"
EXPERIMENTS = ("encoder_order", "encoder_limit", "decoder_check", "cache_offset")
EXPERIMENTS += ("decoder_words", "decoder_faults", "decoder_length", "decoder_context")
EXPERIMENTS += ("decoder_gap",)
# Everything is installed; nothing is fetched, and no bar is drawn.
os.environ |= {"HF_HUB_OFFLINE": "1", "HF_HUB_DISABLE_PROGRESS_BARS": "1"}
# Changing these changes no number.
APART = {"__main__.py", "compare.py"}


def code_mark(name: str) -> str:
    """Changes with the experiment, what it is made of, and the versions."""
    others = {f"{other}.py" for other in EXPERIMENTS} - {f"{name}.py", "decoder_faults.py"}
    parts = [p for p in Path(__file__).parent.glob("*.py") if p.name not in others | APART]
    parts += [ROOT / "snippets" / f"{part}.py" for part in ("rope", "rope_scaling", "yarn")]
    parts += [ROOT / "snippets" / f"{part}.py" for part in ("masks", "learned")]
    content = b"".join(part.read_bytes() for part in sorted(parts))
    return hashlib.sha256(content + json.dumps(files.versions()).encode()).hexdigest()[:16]


def measured(name: str, fresh: bool) -> list[dict]:
    """All rows of an experiment: those that are kept, and the others measured now."""
    experiment, rows = importlib.import_module(f"lab.models.{name}"), []
    folder = KEPT / f"{name}-{code_mark(name)}"
    folder.mkdir(parents=True, exist_ok=True)
    units = experiment.units()
    for done, unit in enumerate(units, start=1):
        key = hashlib.sha256(json.dumps(unit).encode()).hexdigest()[:16]
        file, start = folder / f"{key}.json", time.process_time()
        if fresh or not file.exists():
            row = {**unit, **experiment.measure(unit)}
            file.with_suffix(".part").write_text(json.dumps(row), encoding="utf-8")
            file.with_suffix(".part").rename(file)
            spent = time.process_time() - start
            print(f"  {name} {done} of {len(units)} {unit} {spent:.0f} CPU-s", flush=True)
        rows.append(json.loads(file.read_text(encoding="utf-8")))
    return rows


def finish(name: str, rows: list[dict], anew: bool) -> int:
    """Write the record, or say where it differs; the number of rows that differ."""
    experiment = importlib.import_module(f"lab.models.{name}")
    if anew:
        record.write(
            f"models_{name}",
            rows,
            command=f"python -m lab.models {name} --record",
            versions=files.versions(),
            files=files.SHA256,
            texts=texts.sources(getattr(experiment, "TEXTS", ())),
            licence=texts.LICENCE,
            **experiment.SETTING,
        )
        return 0
    found = compare.differing(rows, record.read(f"models_{name}")["rows"])
    print(*(f"{name}: {line}" for line in found), sep="\n")
    return len(found)


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m lab.models")
    parser.add_argument("names", nargs="*", default=EXPERIMENTS, metavar="NAME")
    parser.add_argument("--record", action="store_true", help="write the records anew")
    parser.add_argument("--fresh", action="store_true", help="measure what is kept, too")
    options, failed, begun = parser.parse_args(arguments), 0, time.perf_counter()
    for name in options.names:
        if name not in EXPERIMENTS:
            parser.error(f"NAME must be one of {', '.join(EXPERIMENTS)}, got {name}")
        start = time.perf_counter(), time.process_time()
        failed += finish(name, measured(name, options.fresh), options.record)
        spent = time.perf_counter() - start[0], time.process_time() - start[1]
        print(f"{name}: {spent[0]:.0f} s, {spent[1]:.0f} CPU-s", flush=True)
    print(f"all: {time.perf_counter() - begun:.0f} s")
    if failed:
        raise SystemExit(f"{failed} rows differ from lab/results/; --record keeps the new ones.")


if __name__ == "__main__":
    main()
