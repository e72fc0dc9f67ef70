"""Turns that each pair completes within the trained length, for two models' settings."""

import math

from snippets.rope import rope_inv_freq
from tools.figures.chart import Chart
from tools.figures.svg import C1, C2, INK, MUTED, SMALL, Drawing

HEAD_DIM = 128
SETTINGS = {10_000: 4096, 500_000: 8192}  # base: trained length


def data() -> dict:
    """For each base the turns by pair, and how many pairs turn less than once."""
    found = {}
    for base, trained in SETTINGS.items():
        turns = (trained * rope_inv_freq(HEAD_DIM, float(base)) / (2 * math.pi)).tolist()
        found[base] = {"turns": turns, "incomplete": sum(t < 1 for t in turns)}
    return found


def draw() -> str:
    d = data()
    pairs = range(HEAD_DIM // 2)
    low, high = SETTINGS
    picture = Drawing(height=312)
    chart = Chart(picture, (46, 34, 366, 260), (0, pairs[-1]), (0.002, 2000), log_y=True)
    picture.rect(chart.left, chart.y(1), chart.right - chart.left, chart.bottom - chart.y(1),
                 fill=MUTED, fill_opacity=0.1)
    chart.y_axis((0.01, 1, 100))
    chart.x_axis((0, 16, 32, 48, 63), "pair, from fast to slow")
    chart.level(1, INK, dash="6 3")
    picture.text(4, 12, "turns in the trained length (logarithmic)")
    chart.text(0, 1, "less than one turn:", dx=6, dy=16, size=SMALL)
    for base, colour, dash, row in ((low, C1, None, 1), (high, C2, "6 3", 2)):
        chart.curve(pairs, d[base]["turns"], colour, str(base), dash)
        chart.text(0, 1, f"{d[base]['incomplete']} of {len(pairs)} pairs", dx=6,
                   dy=16 + 17 * row, fill=colour, size=SMALL)
    chart.text(30, 100, f"base {low}, length {SETTINGS[low]}", dx=-30, dy=-12, fill=C1)
    chart.text(30, 0.01, f"base {high}, length {SETTINGS[high]}", dx=-90, dy=13, fill=C2)
    words = "; ".join(
        f"base {base} with length {trained}: from {d[base]['turns'][0]:.0f} turns down to "
        f"{d[base]['turns'][-1]:.2g}, and {d[base]['incomplete']} of {len(pairs)} pairs below one"
        for base, trained in SETTINGS.items()
    )
    return picture.finish(
        f"Turns that each pair completes within the trained length at head_dim {HEAD_DIM}, on a "
        f"logarithmic axis. {words[0].upper()}{words[1:]}."
    )
