"""Run every cell of an experiment in order, a line for each: how far it is, and what is left."""

from collections.abc import Callable, Sequence
from itertools import product


def all_cells(
    seeds: Sequence[int],
    names: Sequence[str],
    cell: Callable[[str, int], dict],
    said: Callable[[list[dict]], str],
) -> tuple[list[dict], float]:
    """Rows and CPU seconds of cell(name, seed) for all seeds and names; said(rows) ends a line.

    What is left is told from the seconds of the cells so far, those kept from earlier included.
    """
    places, rows, seconds = list(product(seeds, names)), [], 0.0
    for done, (seed, name) in enumerate(places, start=1):
        found = cell(name, seed)
        rows, seconds = rows + found["rows"], seconds + found["cpu_seconds"]
        left = round(seconds / done * (len(places) - done) / 60)
        print(
            f"{done:>4} of {len(places)}, {left:>2} min left  seed {seed}  {name:<22}"
            f"{found['cpu_seconds']:>6} s  {said(found['rows'])}",
            flush=True,
        )
    return rows, seconds
