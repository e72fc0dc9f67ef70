"""FIRE's share of a distance for queries below and beyond the threshold."""

import torch

from snippets.fire import fire_distance
from tools.figures.chart import Chart
from tools.figures.svg import C1, C2, C3, INK, SMALL, Drawing

C, THRESHOLD, MARKED = 0.1, 512, 64
QUERIES = {256: (C1, None), 1024: (C2, "6 3"), 4096: (C3, "2 3")}


def data() -> dict:
    """By query the distances, doubling in four steps, and their shares; and that of MARKED."""
    found = {}
    for query in QUERIES:
        doublings = query.bit_length() - 1
        distances = sorted({round(2 ** (i / 4)) for i in range(4 * doublings + 1)})
        keys = query - torch.tensor([*distances, MARKED])
        numbers = torch.tensor(C), torch.tensor(float(THRESHOLD))
        *shares, marked = fire_distance(torch.tensor([query]), keys, *numbers)[0].tolist()
        found[query] = {"distances": distances, "shares": shares, "marked": marked}
    return found


def draw() -> str:
    d = data()
    picture = Drawing(height=318)
    chart = Chart(picture, (40, 40, 362, 266), (1, max(QUERIES)), (0, 1), log_x=True)
    picture.text(4, 12, f"share of the way back (threshold {THRESHOLD})")
    chart.y_axis((0, 0.5, 1))
    chart.x_axis((1, 4, 16, 64, 256, 1024, 4096), "distance (logarithmic)")
    chart.level(0, INK)
    for row, (query, (colour, dash)) in enumerate(QUERIES.items()):
        found = d[query]
        chart.curve(found["distances"], found["shares"], colour, str(query), dash)
        chart.dots(found["distances"][-1:], found["shares"][-1:], colour, r=4)
        x, y = 52, chart.top + 18 + 20 * row
        picture.line(x, y, x + 30, y, colour, 2.25, dash)
        picture.text(x + 38, y, f"query at {query}", fill=colour)
    picture.text(52, chart.top + 78, "dot: the first token", size=SMALL)
    words = "; ".join(
        f"query at {query}: {found['marked']:.3f} at distance {MARKED} and "
        f"{found['shares'][-1]:.3f} at its first token" for query, found in d.items()
    )
    return picture.finish(
        f"Share against the distance on a logarithmic axis, with c {C} and threshold {THRESHOLD}. "
        f"{words[0].upper()}{words[1:]}. The same distance is a smaller share for a query that "
        f"stands further on beyond the threshold."
    )
