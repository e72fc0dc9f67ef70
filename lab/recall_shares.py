"""Shares of right answers by distance, and the bounds that every seed must keep."""

from statistics import mean
from typing import NamedTuple

BINS = (32, 64, 128, 256, 512)  # distances up to each, and above the one before


class Bound(NamedTuple):
    text: str
    method: str
    length: int
    beyond: int  # questions about larger distances only: 0 or one of BINS
    least: float = 0.0
    most: float = 1.0


BOUNDS = [
    Bound("the sinusoid learns it", "sinusoidal", 64, 0, least=0.8),
    Bound("the sinusoid loses it at 4 lengths", "sinusoidal", 256, 0, most=0.45),
    Bound("RoPE learns it", "rope", 64, 0, least=0.9),
    Bound("RoPE loses it at 4 lengths", "rope", 256, 0, most=0.5),
    Bound("RoPE beyond 64 at 8 lengths", "rope", 512, 64, most=0.15),
    Bound("ALiBi finds far values", "alibi", 512, 64, least=0.9),
    Bound("Shaw finds far values", "shaw", 512, 64, least=0.75),
    Bound("xPos learns it", "xpos", 64, 0, least=0.9),
    Bound("xPos guesses beyond 128", "xpos", 512, 128, most=0.15),
    Bound("random places learn it", "rope_randomized", 64, 0, least=0.6),
    Bound("random places keep it at 4 lengths", "rope_randomized", 256, 0, least=0.4),
    Bound("YaRN keeps it at 2 lengths", "yarn", 128, 0, least=0.65),
    Bound("no encoding hardly learns it", "none", 64, 0, most=0.7),
    Bound("DroPE has lost it", "drope", 64, 0, most=0.6),
]


def share(row: dict, beyond: int = 0) -> float:
    """Right answers among all questions about distances above `beyond`, one of 0 and BINS."""
    first = (0, *BINS).index(beyond)
    return sum(row["right"][first:]) / sum(row["asked"][first:])


def shares(rows: list[dict], method: str, length: int, beyond: int) -> list[float]:
    """One share for each seed."""
    own = [row for row in rows if (row["method"], row["length"]) == (method, length)]
    return [share(row, beyond) for row in own]


def broken(rows: list[dict]) -> list[str]:
    """A line for each bound that a seed does not keep."""
    return [
        f"{bound.text}: {found:.3f}"
        for bound in BOUNDS
        for found in shares(rows, bound.method, bound.length, bound.beyond)
        if not bound.least <= found <= bound.most
    ]


def table(rows: list[dict]) -> str:
    """Mean and range over seeds; all distances at each length, then the far ones at the last."""
    lengths = sorted({row["length"] for row in rows})
    columns = [(length, 0) for length in lengths] + [(lengths[-1], 64)]
    title = f"{'right answers':<17}" + "".join(f"{length:<23}" for length in lengths)
    lines = [f"{title}{lengths[-1]}, beyond 64"]
    for method in dict.fromkeys(row["method"] for row in rows):
        line = f"{method:<17}"
        for length, beyond in columns:
            found = shares(rows, method, length, beyond)
            line += f"{mean(found):.2f} ({min(found):.2f} to {max(found):.2f})".ljust(23)
        lines.append(line.rstrip())
    return "\n".join(lines)
