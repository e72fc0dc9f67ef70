"""Does a model that stays good on long texts find a far token? Recall by distance, five seeds.

The models of lab/extrapolation.py, trained on the task of lab/recall_task.py with rows of 64
tokens and asked in rows of 64 to 512. An answer is right where the value has the highest logit;
guessing gives 1 in 16. Parts are kept under .lab/.

`python -m lab.recall` runs what is missing, prints the share of right answers by length and
distance and checks the bounds of lab/recall_shares.py; `--record` writes lab/results/recall.json.
"""

import argparse
import time

import torch

from lab import cells, record, run
from lab.methods import READINGS, TRAINED_LENGTH
from lab.model import SmallModel
from lab.recall_shares import BINS, broken, share, table
from lab.recall_task import N_SYMBOLS, draw
from lab.trained import Experiment, readings, setting
from lab.training import IGNORED, Plan

NAME, SEEDS, LENGTHS, ROWS = "recall", (0, 1, 2, 3, 4), (64, 128, 256, 512), 128
PLANS = {
    "fresh": Plan(1500, TRAINED_LENGTH, batch=32),
    "recalibrated": Plan(200, TRAINED_LENGTH, batch=32, learning_rate=1e-3, warm_up=10),
}
METHODS = (
    "none", "sinusoidal", "shaw", "t5", "alibi", "xpos", "rope", "rope_randomized",
    "pi", "ntk", "yarn", "rope_dropped", "drope",
)  # fmt: skip


def rows_to_train_on(plan: Plan, generator: torch.Generator):
    found = draw(plan.length, plan.batch, generator)
    return found.tokens, found.targets


TASK = Experiment(NAME, N_SYMBOLS, rows_to_train_on, PLANS, data="recall")


@torch.no_grad()
def answered(model: SmallModel, placing, length: int, seed: int) -> dict:
    """How many questions of each distance bin were asked, and how many answered right."""
    generator = torch.Generator().manual_seed(1000 + seed)  # training draws other rows
    found = draw(length, ROWS, generator)
    logits = [model(part, placing(length, generator)) for part in found.tokens.split(16)]
    best = torch.cat(logits).argmax(-1)  # (B, T)
    asked = found.targets != IGNORED
    right = (best == found.targets)[asked].view_as(found.distances)
    counts: dict[str, list[int]] = {"asked": [], "right": []}
    for low, high in zip((0, *BINS), BINS):
        inside = (found.distances > low) & (found.distances <= high)
        counts["asked"].append(int(inside.sum()))
        counts["right"].append(int((inside & right).sum()))
    return counts


def cell(name: str, seed: int) -> dict:
    """Rows and CPU seconds of one reading, with the training if it was done for this reading."""

    def compute():
        start = time.process_time()
        placing, at = readings(TASK, name, seed)
        rows = [
            {"method": name, "seed": seed, "length": length}
            | answered(at(length), placing, length, seed)
            for length in LENGTHS
        ]
        return {"rows": rows, "cpu_seconds": round(time.process_time() - start, 1)}

    training = setting(TASK, READINGS[name].training, seed)
    known = {"reading": name, "lengths": LENGTHS, "rows": ROWS, "training": training}
    return cells.numbers(f"{NAME}/{name}-{seed}", known, compute)


def run_all() -> tuple[list[dict], float]:
    def right(rows: list[dict]) -> str:
        return "right: " + " ".join(f"{share(row):.2f}" for row in rows)

    return run.all_cells(SEEDS, METHODS, cell, right)


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Recall by distance, beyond the trained length.")
    parser.add_argument("--record", action="store_true", help="write the record anew")
    options = parser.parse_args(arguments)
    torch.set_num_threads(1)
    rows, seconds = run_all()
    print(table(rows))
    print(f"{seconds:.0f} CPU seconds, those of parts kept from earlier runs included")
    if options.record:
        record.write(
            NAME, rows, seeds=SEEDS, dtype="float32", trained_length=TRAINED_LENGTH, bins=BINS,
            plans={stage: plan._asdict() for stage, plan in PLANS.items()},
            cpu_seconds=round(seconds),
        )  # fmt: skip
    if broken_bounds := broken(rows):
        raise SystemExit("These bounds do not hold:\n" + "\n".join(broken_bounds))


if __name__ == "__main__":
    main()
