"""The bucket of each gap as a staircase with flat ends, and of each pair of nine positions."""

import torch

from snippets.shaw import shaw_bucket
from tools.figures.chart import Chart
from tools.figures.svg import BOLD, C1, C2, GRID, INK, MUTED, SMALL, Drawing

REACH, LENGTH, FAR = 4, 9, 8
CELL = 24


def data() -> dict:
    """Buckets by gap and by pair."""
    here, query = torch.arange(LENGTH), torch.tensor([FAR])
    gaps = torch.arange(-FAR, FAR + 1)
    return {
        "gaps": gaps.tolist(),
        "by_gap": shaw_bucket(query, query + gaps, REACH)[0].tolist(),
        "by_pair": shaw_bucket(here, here, REACH).tolist(),
    }


def draw() -> str:
    d = data()
    last, edge = 2 * REACH, FAR + 0.5
    picture = Drawing(height=466)
    chart = Chart(picture, (44, 30, 364, 148), (-edge, edge), (0, last))
    for low, high, at in ((-edge, -REACH, 0), (REACH, edge, last)):  # where gaps are clipped
        picture.rect(chart.x(low), chart.top, chart.x(high) - chart.x(low),
                     chart.bottom - chart.top, fill=MUTED, fill_opacity=0.1)
        chart.text((low + high) / 2, at, "shared", dy=14 if at else -14, anchor="middle",
                   size=SMALL)
    chart.y_axis((0, REACH, last))
    chart.x_axis((-FAR, -REACH, 0, REACH, FAR), "gap: key minus query")
    chart.curve(d["gaps"], d["by_gap"], MUTED, "bucket", width=1)
    chart.dots(d["gaps"], d["by_gap"], INK, r=3)
    picture.text(4, 12, "bucket")
    draw_pairs(picture, 96, 232, d["by_pair"])
    flat = d["by_gap"].count(last)
    return picture.finish(
        f"Buckets for a largest gap of {REACH}. Against gaps from minus {FAR} to {FAR} the bucket "
        f"rises by one for each step from 0 at gap minus {REACH} to {last} at gap {REACH} and is "
        f"flat beyond: the {flat} gaps from {REACH} to {FAR} share bucket {last}. Below, the "
        f"bucket of each pair of {LENGTH} positions: {REACH} on the diagonal, smaller for keys "
        f"before the query, larger for keys after it."
    )


def draw_pairs(picture, left, top, buckets) -> None:
    side = CELL * LENGTH
    for i, row in enumerate(buckets):
        for j, bucket in enumerate(row):
            x, y = left + CELL * j, top + CELL * i
            colour = C1 if bucket < REACH else C2
            picture.rect(x, y, CELL, CELL, fill=colour,
                         fill_opacity=0.45 * abs(bucket - REACH) / REACH)
            picture.text(x + CELL / 2, y + CELL / 2, str(bucket), anchor="middle", size=SMALL,
                         data_pair=f"{i}/{j}")
    picture.rect(left, top, side, side, stroke=GRID, stroke_width=BOLD)
    picture.text(left + side / 2, top - 13, "keys, from first to last", anchor="middle")
    picture.text(left - 10, top + CELL / 2, "first", anchor="end")
    picture.text(left - 10, top + side / 2, "queries", anchor="end")
    picture.text(left - 10, top + side - CELL / 2, "last", anchor="end")
