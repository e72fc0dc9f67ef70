"""Position of each key as CoPE counts it, against a count of tokens."""

import torch

from snippets.cope import cope_positions
from tools.figures.chart import Chart
from tools.figures.svg import C1, C2, INK, MUTED, SMALL, Drawing

GATES = (0.2, 0.9, 0.5, 1.0, 0.1, 0.9)


def data() -> dict:
    """By key the position that the gates give, and the one of gates that are all 1."""
    gates = torch.tensor(GATES, dtype=torch.float64)
    return {
        "counted": cope_positions(gates).tolist(),
        "tokens": cope_positions(torch.ones_like(gates)).tolist(),
    }


def draw() -> str:
    d = data()
    last = len(GATES) - 1
    keys = range(last + 1)
    picture = Drawing(height=306)
    chart = Chart(picture, (76, 36, 366, 222), (-0.3, last + 0.3), (0, 6.4))
    picture.text(4, 12, "position, counted back from the query")
    chart.y_axis((0, 2, 4, 6))
    chart.level(0, INK)
    chart.x_axis(keys)
    chart.curve(keys, d["tokens"], C2, "tokens", "5 2")
    chart.dots(keys, d["tokens"], C2, r=3)
    chart.curve(keys, d["counted"], C1, "counted")
    chart.dots(keys, d["counted"], C1, r=4)
    chart.text(1.35, d["tokens"][1], "all gates 1: distance + 1", fill=C2)
    for key, (gate, place) in enumerate(zip(GATES, d["counted"], strict=True)):
        chart.text(key, place, f"{place:.1f}", dy=17, anchor="middle", fill=C1, data_place=str(key))
        chart.text(key, 0, f"{gate:g}", dy=40, anchor="middle", data_gate=str(key))
        chart.text(key, 0, str(last - key), dy=64, anchor="middle", fill=MUTED, size=SMALL,
                   data_distance=str(key))
    chart.text(0, d["counted"][0], "CoPE", dx=-5, dy=-24, fill=C1)
    for row, word in ((15, "key"), (40, "gate"), (64, "distance")):
        picture.text(4, chart.bottom + row, word, fill=INK if word == "gate" else MUTED,
                     size=SMALL)
    return picture.finish(
        f"Positions of {last + 1} keys for the last of them as the query. Gates: "
        f"{', '.join(f'{g:g}' for g in GATES)}. CoPE counts "
        f"{', '.join(f'{p:.1f}' for p in d['counted'])}. Gates that are all 1 count "
        f"{', '.join(f'{p:g}' for p in d['tokens'])}, the distance in tokens plus one."
    )
