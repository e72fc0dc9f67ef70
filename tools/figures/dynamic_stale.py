"""Scores of one query with cached keys, turned for the length of now or for that of then.

Tokens are decoded one by one, so the key at position p came when the text had p + 1 tokens.
Consistent: all keys have the frequencies of the present length, as the query has. Stale: each
key keeps those of the length at which it came. The query is the last of LENGTH tokens; query
and key are all ones, divided by sqrt(HEAD_DIM).
"""

import torch

from snippets.rope_scaling import dynamic_ntk
from tools.figures.chart import Chart
from tools.figures.score_after_scaling import band, draw_band
from tools.figures.svg import C1, C2, INK, MUTED, SMALL, Drawing

HEAD_DIM, FACTOR, TRAINED, LENGTH = 128, 2.0, 2048, 4096
MARKED = (64, LENGTH - 1 - 100)  # one gap nearby, and the key at position 100
STARTS = sorted({round(2 ** (i / 4)) for i in range(4 * 12)})  # four steps a doubling


def data() -> dict:
    """Bands of the scores by gap, how many stale ones are too high, and both at two gaps."""
    now, _ = dynamic_ntk(HEAD_DIM, LENGTH, TRAINED, FACTOR)  # (P,)
    then = torch.stack(
        [dynamic_ntk(HEAD_DIM, p + 1, TRAINED, FACTOR)[0] for p in range(LENGTH)]
    )  # (T, P)
    positions = torch.arange(LENGTH, dtype=torch.float64)[:, None]  # (T, 1)
    scores = {
        name: torch.cos(positions[-1] * now - positions * speeds).mean(-1).flip(0)  # by gap
        for name, speeds in (("consistent", now), ("stale", then))
    }
    found = {name: band(by_gap, STARTS) for name, by_gap in scores.items()}
    more = scores["stale"][1:] > scores["consistent"][1:]
    found["higher"] = more.sum().item()
    found["marked"] = {gap: tuple(s[gap].item() for s in scores.values()) for gap in MARKED}
    return found


def draw() -> str:
    d = data()
    picture = Drawing(height=306)
    chart = Chart(picture, (44, 54, 372, 254), (1, LENGTH - 1), (-0.1, 1), log_x=True)
    chart.y_axis((0, 0.25, 0.5, 0.75, 1))
    chart.x_axis((1, 8, 64, 512), "gap from key to query (logarithmic)")
    picture.text(4, 12, f"score of the query at position {LENGTH - 1}")
    picture.text(4, 31, "bands: lowest to highest score", fill=MUTED, size=SMALL)
    draw_band(chart, d["consistent"], C1, "consistent")
    draw_band(chart, d["stale"], C2, "stale", "5 2")
    chart.text(130, 0.8, "stale: keys as they came", anchor="middle", dx=36, fill=C2)
    chart.text(2, 0.3, "consistent: all keys", fill=C1)
    chart.text(2, 0.3, "turned again", dy=18, fill=C1)
    (near, here), (far, there) = d["marked"].items()
    chart.dots([near, near], here, INK, r=3)
    for score, dy in zip(here, (16, -14), strict=True):
        chart.text(near, score, f"{score:.2f}", dx=-1, dy=dy, anchor="end", size=SMALL)
    return picture.finish(
        f"Scores of a query at position {LENGTH - 1} with the keys before it, unit all-ones "
        f"vectors, against the gap on a logarithmic axis; dynamic_ntk with factor {FACTOR:.0f} and "
        f"trained length {TRAINED}. Stale keys, turned for the length at which they came, "
        f"score higher at {d['higher']} of {LENGTH - 1} gaps than keys that are all turned for the "
        f"present length: {here[1]:.4f} instead of {here[0]:.4f} for the key {near} back, "
        f"{there[1]:.4f} instead of {there[0]:.4f} for the key at position {LENGTH - 1 - far}."
    )
