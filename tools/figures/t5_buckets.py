"""T5's bucket of each distance: one each when near, ranges on a log scale when far."""

import torch

from snippets.t5_bias import t5_bucket
from tools.figures.chart import Chart
from tools.figures.svg import C1, C2, INK, MUTED, SMALL, Drawing

LARGEST, LAST = 128, 200  # the default max_distance; the last distance drawn
MODES = {"causal": (False, C1, None), "one side": (True, C2, "5 2")}


def data() -> dict:
    """For keys before the query: bucket by distance, where sharing begins, and the last bucket."""
    distances = list(range(1, LAST + 1))
    found = {"distances": distances}
    for name, (bidirectional, _, _) in MODES.items():
        buckets = t5_bucket(-torch.tensor(distances), bidirectional=bidirectional).tolist()
        found[name] = buckets
        found[f"{name} near"] = next(
            d for d, b in zip(distances, buckets, strict=True) if buckets.count(b) > 1
        )
        found[f"{name} last"] = distances[buckets.index(max(buckets))]
    return found


def draw() -> str:
    d = data()
    picture = Drawing(height=316)
    chart = Chart(picture, (44, 40, 364, 264), (1, LAST), (0, 32), log_x=True)
    chart.y_axis((0, 8, 16, 24, 32))
    chart.x_axis((1, 2, 4, 8, 16, 32, 64, 128), "distance (logarithmic)")
    picture.text(4, 12, "bucket")
    picture.line(chart.x(LARGEST), chart.top, chart.x(LARGEST), chart.bottom, MUTED, dash="2 3")
    chart.text(LARGEST, 2, "max_distance", dx=-5, anchor="end", fill=MUTED, size=SMALL)
    for name, (_, colour, dash) in MODES.items():
        chart.curve(d["distances"], d[name], colour, name, dash)
        edge, top = d[f"{name} last"], max(d[name])
        chart.dots([edge], [top], INK, r=4)
        chart.text(edge, top, str(edge), dx=-4, dy=-14, anchor="end")
    chart.text(5.4, 22, "decoder,", dx=-48, fill=C1)
    chart.text(5.4, 22, "causal", dx=-48, dy=17, fill=C1)
    chart.text(17, 6, "encoder, one side", fill=C2)
    return picture.finish(
        f"Bucket against distance from 1 to {LAST} on a logarithmic axis, with the defaults. In a "
        f"causal decoder distances below {d['causal near']} have a bucket each, then buckets "
        f"widen, and the last one, {max(d['causal'])}, begins at distance {d['causal last']}. On "
        f"one side of an encoder distances below {d['one side near']} have a bucket each, and "
        f"the last one, {max(d['one side'])}, begins at distance {d['one side last']}. Both are "
        f"flat before the largest distance of {LARGEST}."
    )
