"""The right and the wrong sign in the exponent: similarity of two rows against their gap."""

import torch

from snippets.sinusoidal import sinusoidal_inv_freq
from tools.figures.chart import Chart
from tools.figures.svg import C1, C2, MUTED, SMALL, Drawing

D_MODEL, GAPS = 64, 40


def data() -> dict:
    """Cosine similarity of rows 0 to 40 apart, and the speed of the last hand, for each sign."""
    gaps = torch.arange(GAPS + 1, dtype=torch.float64)
    curves = {"gaps": gaps.tolist()}
    # With the base turned over, base ** (-2 i / d) becomes the slip 10000 ** (+2 i / d).
    for sign, base in (("minus", 10_000.0), ("plus", 1 / 10_000.0)):
        speeds = sinusoidal_inv_freq(D_MODEL, base)  # (P,)
        curves[sign] = torch.cos(gaps[:, None] * speeds).mean(-1).tolist()
        curves[f"{sign}_last_speed"] = speeds[-1].item()
    return curves


def draw() -> str:
    d = data()
    picture = Drawing(height=442)
    panel(picture, 28, d, "minus", C1, None,
          f"minus: speeds fall from 1 to {d['minus_last_speed']:.5f}")
    panel(picture, 236, d, "plus", C2, "5 2",
          f"plus: speeds grow from 1 to {d['plus_last_speed']:.0f}")
    picture.text(204, 430, "gap between two positions", anchor="middle")
    return picture.finish(
        f"Two panels with the cosine similarity of two rows against their gap, 0 to {GAPS}, at "
        f"d_model {D_MODEL}. With the minus sign the curve falls slowly, in waves: "
        f"{d['minus'][1]:.3f} at gap 1, {d['minus'][GAPS]:.2f} at gap {GAPS}. With the plus sign "
        f"it drops to {d['plus'][1]:.3f} at gap 1 and then jumps up and down around zero."
    )


def panel(picture, top, d, sign, colour, dash, title) -> None:
    chart = Chart(picture, (44, top + 32, 364, top + 154), (0, GAPS), (-0.4, 1))
    chart.y_axis((0, 0.5, 1))
    chart.x_axis((0, 10, 20, 30, 40))
    picture.text(4, top - 14, title)
    picture.text(4, top + 10, "cosine similarity", fill=MUTED, size=SMALL)
    picture.text(364, top + 10, f"width *d* = {D_MODEL}", anchor="end", fill=MUTED, size=SMALL)
    chart.curve(d["gaps"], d[sign], colour, sign, dash, width=1.5)
    chart.dots(d["gaps"], d[sign], colour)
    value = d[sign][1]
    beside = 0.25 if value > 0.5 else 0.65  # where the panel is empty
    picture.line(chart.x(1), chart.y(value), chart.x(1), chart.y(beside), MUTED, dash="2 3")
    chart.dots([1], [value], colour, r=4)
    chart.text(1, beside, f"gap 1: {value:.3f}", dx=7, size=SMALL)
