"""The relative shift: products of queries with lags, before and after, with their garbage."""

import torch

from snippets.relative_shift import relative_shift
from tools.figures.svg import C1, C2, C3, C4, GRID, MUTED, SMALL, Drawing

LENGTH, CELL, TOP = 4, 34, 66
LEFT, RIGHT = 62, 240
COLOURS = (C1, C2, C3, C4)  # of the queries


def data() -> dict:
    """Lags before and after the shift, and the query of each entry; minus 1 is padding."""
    lags = torch.arange(LENGTH - 1, -1, -1).expand(LENGTH, LENGTH)
    queries = torch.arange(LENGTH)[:, None].expand(LENGTH, LENGTH)
    # The padding is 0, as is lag 0 and query 0: count both from 1 while shifting.
    return {
        "before": lags.tolist(),
        "lags": (relative_shift(lags + 1) - 1).tolist(),
        "queries": (relative_shift(queries + 1) - 1).tolist(),
    }


def draw() -> str:
    d = data()
    picture = Drawing(height=262)
    middle = CELL * LENGTH / 2
    picture.text(LEFT + middle, 14, "products", anchor="middle", weight="bold")
    picture.text(LEFT + middle, TOP - 20, "one column for each lag", anchor="middle", fill=MUTED,
                 size=SMALL)
    picture.text(RIGHT + middle, 14, "shifted", anchor="middle", weight="bold")
    for i in range(LENGTH):
        picture.text(LEFT - 8, TOP + CELL * (i + 0.5), f"query {i}", anchor="end",
                     fill=COLOURS[i], size=SMALL)
        picture.text(RIGHT + CELL * (i + 0.5), TOP - 12, str(i), anchor="middle", fill=MUTED,
                     size=SMALL)
        for j in range(LENGTH):
            cell(picture, LEFT, i, j, d["before"][i][j], i, f"before/{i}/{j}")
            cell(picture, RIGHT, i, j, d["lags"][i][j], d["queries"][i][j], f"after/{i}/{j}")
    picture.text(RIGHT + middle, TOP - 29, "key", anchor="middle", fill=MUTED, size=SMALL)
    picture.arrow(LEFT + 2 * middle + 8, TOP + middle, RIGHT - 8, TOP + middle)
    foot = TOP + 2 * middle
    picture.text(4, foot + 22, "number: the lag; tint: the query that it belongs to", size=SMALL)
    picture.text(4, foot + 42, "dashed: garbage, to be masked", fill=MUTED, size=SMALL)
    rows = "; ".join(
        f"query {i}: lags {', '.join(map(str, row[: i + 1]))}" for i, row in enumerate(d["lags"])
    )
    strangers = sum(
        query not in (i, -1) for i, row in enumerate(d["queries"]) for query in row
    )
    padding = sum(row.count(-1) for row in d["queries"])
    return picture.finish(
        f"Left, products of {LENGTH} queries with the lags "
        f"{', '.join(map(str, d['before'][0]))}. Right, the same after the shift, under the keys "
        f"0 to {LENGTH - 1}. On and below the diagonal each entry is the lag of its key: {rows}. "
        f"Above it is garbage: {strangers} entries of the next query and {padding} of padding."
    )


def cell(picture, left, i, j, lag, query, name) -> None:
    """Entry (i, j); dashed and pale if it is padding or belongs to another query."""
    x, y = left + CELL * j, TOP + CELL * i
    right = query == i
    # The padding has no query, and no colour.
    colour = COLOURS[query] if query >= 0 else MUTED
    picture.rect(x + 1.5, y + 1.5, CELL - 3, CELL - 3, stroke=colour if right else GRID,
                 fill=colour, fill_opacity=0.25 if right else 0.1,
                 stroke_dasharray=None if right else "4 3", data_box=name)
    words = str(lag) if query >= 0 else "pad"
    if right:
        picture.text(x + CELL / 2, y + CELL / 2, words, anchor="middle", data_entry=name)
    else:
        picture.text(x + CELL / 2, y + CELL / 2, words, anchor="middle", fill=MUTED, size=SMALL,
                     data_entry=name)
