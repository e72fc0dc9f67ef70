"""Score of all-ones vectors against the gap, for two bases."""

import torch

from snippets.rope import rope_inv_freq
from tools.figures.chart import Chart
from tools.figures.svg import C1, C2, INK, MUTED, SMALL, Drawing

HEAD_DIM, BASES, LAST = 128, (10_000, 500_000), 16_384


def scores(gaps: torch.Tensor, base: float) -> torch.Tensor:
    """The score divided by head_dim: the mean of cos(gap * speed) over the pairs."""
    return torch.cos(gaps[:, None] * rope_inv_freq(HEAD_DIM, float(base))).mean(-1)


def data() -> dict:
    """The edges of each band as (gap, score), and the first gap where a score is negative."""
    every = torch.arange(LAST + 1, dtype=torch.float64)
    found = {}
    for base in BASES:
        by_gap = scores(every, base)
        negative = (by_gap < 0).nonzero().flatten().tolist()
        found[base] = edges(by_gap)
        found[f"{base}_first_negative"] = negative[0] if negative else None
    return found


def edges(by_gap: torch.Tensor) -> dict:
    """The lowest and the highest score in each step of the logarithmic axis.

    Sampled at single gaps instead, a curve would hide how far the score swings.
    """
    starts = [round(2 ** (i / 8)) for i in range(8 * 14)]  # 8 steps a doubling
    found = {"lowest": [], "highest": []}
    for first, stop in zip(starts, starts[1:] + [LAST + 1], strict=True):
        if first < stop:
            step = by_gap[first:stop]
            for name, at in (("lowest", step.argmin()), ("highest", step.argmax())):
                gap = first + at.item()
                found[name].append((gap, by_gap[gap].item()))
    return found


def draw() -> str:
    d = data()
    low, high = BASES
    picture = Drawing(height=290)
    chart = Chart(picture, (44, 34, 372, 238), (1, LAST), (-0.4, 1), log_x=True)
    chart.y_axis((-0.4, -0.2, 0, 0.2, 0.4, 0.6, 0.8, 1))
    chart.x_axis((1, 8, 64, 512, 4096), "gap (logarithmic)")
    chart.level(0)
    for base, colour, dash in ((high, C2, "5 2"), (low, C1, None)):
        band = d[base]["highest"] + d[base]["lowest"][::-1]
        picture.polygon([(chart.x(x), chart.y(y)) for x, y in band], colour, fill_opacity=0.22)
        for name, edge in d[base].items():
            chart.curve(*zip(*edge, strict=True), colour, f"{base} {name}", dash, width=1.25)
    chart.text(560, 0.66, f"base {high}", fill=C2)
    chart.text(5, 0.36, f"base {low}", fill=C1)
    chart.text(1.2, -0.3, "bands: lowest to highest score", fill=MUTED, size=SMALL)
    picture.text(4, 12, "score divided by the width of the head")

    first = d[f"{low}_first_negative"]
    chart.dots([first], [0], INK, r=3.5)
    chart.text(first, 0, f"below zero at {first}", dx=-6, dy=14, anchor="end", fill=MUTED,
               size=SMALL)
    rest = d[f"{high}_first_negative"]
    stays = "stays above zero" if rest is None else f"is below zero first at gap {rest}"
    return picture.finish(
        f"Score of all-ones vectors divided by head_dim {HEAD_DIM}, against gaps from 1 to {LAST} "
        f"on a logarithmic axis. For base {low} it falls in waves, is negative for the first time "
        f"at gap {first}, and swings around zero after that. For base {high} it falls more slowly "
        f"and {stays}."
    )
