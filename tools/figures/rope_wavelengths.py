"""Positions that each pair needs for one turn, for two bases, against a trained length."""

import math

from snippets.rope import rope_inv_freq
from tools.figures.chart import Chart
from tools.figures.svg import C1, C2, INK, MUTED, SMALL, Drawing

HEAD_DIM, BASES, TRAINED = 128, (10_000, 500_000), 4096


def data() -> dict:
    """The wavelengths by base, and how many of them are longer than the trained length."""
    found = {}
    for base in BASES:
        waves = (2 * math.pi / rope_inv_freq(HEAD_DIM, float(base))).tolist()
        found[base] = waves
        found[f"{base}_incomplete"] = sum(wave > TRAINED for wave in waves)
    return found


def draw() -> str:
    d = data()
    low, high = BASES
    pairs = list(range(HEAD_DIM // 2))
    picture = Drawing(height=322)
    chart = Chart(picture, (66, 34, 366, 270), (0, pairs[-1]), (1, 1e7), log_y=True)
    chart.y_axis((1, 1000, 1_000_000))  # none where the label of the trained length stands
    chart.x_axis((0, 16, 32, 48, 63), "pair")
    picture.rect(chart.left, chart.top, chart.right - chart.left, chart.y(TRAINED) - chart.top,
                 fill=MUTED, fill_opacity=0.1)
    chart.level(TRAINED, INK, dash="6 3")
    chart.text(0, TRAINED, f"trained length {TRAINED}", dx=6, dy=-10, size=SMALL)
    chart.text(0, 1e6, "no complete turn:", dx=6, dy=12, size=SMALL)
    picture.text(4, 12, "positions for one turn (logarithmic)")
    for base, colour, dash, row in ((high, C2, "6 3", 1), (low, C1, None, 2)):
        chart.curve(pairs, d[base], colour, str(base), dash)
        chart.text(0, 1e6, f"{d[f'{base}_incomplete']} of {len(pairs)} pairs at base {base}",
                   dx=6, dy=12 + 16 * row, fill=colour, size=SMALL)
    chart.text(63, d[high][-1], f"base {high}", dx=0, dy=-14, anchor="end", fill=C2)
    chart.text(63, 200, f"base {low}", dx=0, anchor="end", fill=C1)
    counts = " and ".join(
        f"{d[f'{base}_incomplete']} of {len(pairs)} pairs at base {base}" for base in BASES
    )
    return picture.finish(
        f"Positions for one turn of each pair at head_dim {HEAD_DIM}, on a logarithmic axis. Both "
        f"curves start at {d[low][0]:.2f}; the last pair needs {d[low][-1]:.0f} positions at base "
        f"{low} and {d[high][-1]:.0f} at base {high}. Above the line of the trained length "
        f"{TRAINED}, {counts} never complete a turn."
    )
