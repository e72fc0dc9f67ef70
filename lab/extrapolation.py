"""Train short, read longer: small language models with every method, five seeds.

Each model is trained on windows of 64 characters and then scored on the same 7680 held-out
characters with windows of 64 to 512, see lab/scoring.py. Everything that takes time is kept under
.lab/, so that a stopped run goes on where it was.

`python -m lab.extrapolation` runs what is missing, prints means over seeds and checks the margins
of lab/margins.py; `--record` writes lab/results/extrapolation.json; `--quick` trains three methods
for a short time, one seed, nothing kept.
"""

import argparse
import time
from functools import partial

import torch

from lab import cells, margins, record, run, text
from lab.methods import LONGEST, READINGS, TRAINED_LENGTH, TUNED_LENGTH
from lab.scoring import score
from lab.trained import Experiment, readings, setting
from lab.training import Plan, random_windows

NAME, SEEDS, LENGTHS = "extrapolation", (0, 1, 2, 3, 4), (64, 80, 96, 128, 256, 512)
SPAN = (LONGEST, LONGEST + 7680)  # 7680 is a multiple of every length
PLANS = {
    "fresh": Plan(steps=1200, length=TRAINED_LENGTH),
    # As many tokens a step at four times the length, at a lower rate.
    "tuned": Plan(100, TUNED_LENGTH, batch=4, learning_rate=1e-3, warm_up=10),
    "recalibrated": Plan(200, TRAINED_LENGTH, learning_rate=1e-3, warm_up=10),
}
QUICK_METHODS, QUICK_LENGTHS = ("sinusoidal", "rope", "alibi"), (64, 96, 256)
QUICK_PLANS = {"fresh": PLANS["fresh"]._replace(steps=300)}


def experiment(source: text.Text, plans=PLANS, kept=True) -> Experiment:
    def draw(plan, generator):
        return random_windows(source.train, plan.length, plan.batch, generator)

    return Experiment(NAME, len(source.symbols), draw, plans, source.sha256, kept)


def scored(source: text.Text, task: Experiment, name: str, seed: int, lengths) -> list[dict]:
    """One row for each length."""
    placing, at = readings(task, name, seed)
    rows = []
    for length in lengths:
        model, generator = at(length), torch.Generator().manual_seed(seed)
        found = score(
            lambda tokens: model(tokens, placing(tokens.shape[1], generator)),
            source.held_out, length, span=SPAN,
        )  # fmt: skip
        rounded = {"by_position": [round(loss, 4) for loss in found.pop("by_position")]}
        rounded = {key: round(loss, 4) for key, loss in found.items()} | rounded
        rows.append({"method": name, "seed": seed, "length": length} | rounded)
    return rows


def cell(source: text.Text, task: Experiment, name: str, seed: int) -> dict:
    """Rows and CPU seconds of one reading, with the training if it was done for this reading."""

    def compute():
        start = time.process_time()
        rows = scored(source, task, name, seed, LENGTHS)
        return {"rows": rows, "cpu_seconds": round(time.process_time() - start, 1)}

    training = setting(task, READINGS[name].training, seed)
    known = {"reading": name, "lengths": LENGTHS, "span": SPAN, "training": training}
    return cells.numbers(f"{NAME}/{name}-{seed}", known, compute)


def run_all(source: text.Text) -> tuple[list[dict], float]:
    task = experiment(source)

    def last(rows: list[dict]) -> str:
        return f"loss at {rows[-1]['length']}: {rows[-1]['sliding']:.3f}"

    return run.all_cells(SEEDS, READINGS, partial(cell, source, task), last)


def run_quick(source: text.Text) -> list[dict]:
    task = experiment(source, QUICK_PLANS, kept=False)
    found = [scored(source, task, name, 0, QUICK_LENGTHS) for name in QUICK_METHODS]
    return [row for rows in found for row in rows]


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Small language models beyond their length.")
    kinds = parser.add_mutually_exclusive_group()
    kinds.add_argument("--record", action="store_true", help="write the record anew")
    kinds.add_argument("--quick", action="store_true", help="three methods, one seed, few steps")
    options = parser.parse_args(arguments)
    torch.set_num_threads(1)
    source = text.load()
    if options.quick:
        print(margins.table(run_quick(source), "sliding"))
        return
    rows, seconds = run_all(source)
    print(margins.table(rows, "sliding"), margins.table(rows, "plain"), sep="\n\n")
    print(f"{seconds:.0f} CPU seconds, those of parts kept from earlier runs included")
    if options.record:
        record.write(
            NAME, rows, seeds=SEEDS, dtype="float32", trained_length=TRAINED_LENGTH,
            text=text.NAME, text_sha256=source.sha256, cpu_seconds=round(seconds),
            plans={stage: plan._asdict() for stage, plan in PLANS.items()},
        )  # fmt: skip
    else:
        margins.check_text(record.read(NAME), source.sha256)
    if broken := margins.broken(rows):
        raise SystemExit("These margins do not hold:\n" + "\n".join(broken))


if __name__ == "__main__":
    main()
