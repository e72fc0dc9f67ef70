"""Two columns of a short table and of the table stretched to twice the rows."""

import torch

from snippets.learned import extend_table
from snippets.sinusoidal import sinusoidal_table
from tools.figures.chart import Chart
from tools.figures.svg import C1, C2, INK, MUTED, SMALL, Drawing

OLD, NEW = 8, 16
COLUMNS = {0: C1, 3: C2}


def data() -> dict:
    """A smooth table that stands in for a trained one, before and after."""
    old = sinusoidal_table(torch.arange(OLD), 4, base=30.0)
    return {"old": old, "new": extend_table(old, NEW)}


def draw() -> str:
    d = data()
    picture = Drawing(height=290)
    chart = Chart(picture, (44, 58, 364, 238), (-0.6, NEW - 1), (-1, 1))
    chart.y_axis((-1, -0.5, 0, 0.5, 1))
    chart.x_axis((0, 5, 10, 15), "row of the new table")
    times = NEW // OLD
    for column, colour in COLUMNS.items():
        old, new = d["old"][:, column].tolist(), d["new"][:, column].tolist()
        chart.curve(range(NEW), new, colour, f"new {column}", width=1)
        chart.dots(range(NEW), new, colour, r=2.5)
        for row, value in enumerate(old):
            picture.circle(chart.x(times * row), chart.y(value), 6, stroke=colour, width=1.75,
                           data_old=f"{column}/{row}")
    chart.text(6.4, -0.4, "one column", anchor="end", fill=C1)
    chart.text(8.2, 0.88, "another column", fill=C2)
    picture.circle(12, 13, 6, stroke=INK, width=1.75)
    picture.circle(12, 13, 2.5, fill=INK)
    picture.text(26, 13, "old row, kept", size=SMALL)
    picture.circle(160, 13, 2.5, fill=INK)
    picture.text(172, 13, "new row, in between", size=SMALL)
    picture.text(4, 38, "value", fill=MUTED, size=SMALL)
    last = [d["new"][-1, column].item() for column in COLUMNS]
    return picture.finish(
        f"Two columns of a table of {OLD} rows, stretched to {NEW} rows. Every second new row is "
        "an old one; each row between two old ones is their mean. The last new row repeats the "
        f"last old one, {last[0]:.2f} and {last[1]:.2f}."
    )
