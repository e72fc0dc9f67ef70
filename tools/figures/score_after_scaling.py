"""Score of all-ones vectors against the gap, plain and under three rules."""

import torch

from snippets.rope import rope_inv_freq
from snippets.rope_scaling import linear, ntk_aware
from snippets.yarn import yarn
from tools.figures.chart import Chart
from tools.figures.svg import C1, C2, C3, INK, MUTED, SMALL, Drawing

HEAD_DIM, BASE, TRAINED, FACTOR = 128, 10_000.0, 4096, 4
LAST = FACTOR * TRAINED
STARTS = sorted({round(2 ** (i / 4)) for i in range(4 * 14)})  # four steps a doubling


def data() -> dict:
    """By rule: lowest and highest score of each step, and the first gap with a negative score."""
    rules = {
        "plain": (rope_inv_freq(HEAD_DIM, BASE), 1.0),
        "linear": linear(HEAD_DIM, FACTOR, BASE),
        "ntk_aware": ntk_aware(HEAD_DIM, FACTOR, BASE),
        "yarn": yarn(HEAD_DIM, FACTOR, TRAINED, base=BASE),
    }
    gaps = torch.arange(LAST + 1, dtype=torch.float64)
    found = {}
    for name, (inv_freq, factor) in rules.items():
        # Queries and keys both carry the factor.
        scores = factor**2 * torch.cos(gaps[:, None] * inv_freq).mean(-1)  # (gaps,)
        found[name] = band(scores, STARTS) | {
            "at_one": scores[1].item(),
            "at_trained": scores[TRAINED].item(),
            "first_negative": (scores < 0).nonzero()[0].item(),
        }
    return found


def band(values: torch.Tensor, starts: list[int]) -> dict:
    """(index, value) of the lowest and of the highest value of each step, in order.

    Sampled at single places instead, a curve would hide how far the values swing.
    """
    found = {"lowest": [], "highest": []}
    for first, stop in zip(starts, [*starts[1:], len(values)], strict=True):
        step = values[first:stop]
        for name, at in (("lowest", step.argmin()), ("highest", step.argmax())):
            found[name].append((first + at.item(), step[at].item()))
    return found


def draw_band(chart: Chart, edges: dict, colour: str, name: str, dash=None, opacity=0.25) -> None:
    outline = edges["highest"] + edges["lowest"][::-1]
    chart.drawing.polygon([(chart.x(x), chart.y(y)) for x, y in outline], colour,
                          fill_opacity=opacity)
    for edge in ("lowest", "highest"):
        chart.curve(*zip(*edges[edge], strict=True), colour, f"{name} {edge}", dash, width=1.25)


def draw() -> str:
    d = data()
    picture = Drawing(height=542)
    picture.text(4, 12, "score divided by the width of the head")
    picture.text(4, 31, "bands: lowest to highest score", fill=MUTED, size=SMALL)
    for top, name, colour in ((48, "linear", C1), (204, "ntk_aware", C2), (360, "yarn", C3)):
        chart = Chart(picture, (44, top, 372, top + 130), (1, LAST), (-0.35, 1.3), log_x=True)
        at = chart.x(TRAINED)
        picture.line(at, chart.top, at, chart.bottom, INK, dash="2 3")
        chart.y_axis((0, 0.5, 1))
        chart.x_axis((1, 8, 64, 512, 4096), "gap (logarithmic)" if name == "yarn" else "")
        chart.level(0)
        draw_band(chart, d["plain"], MUTED, f"plain under {name}")
        draw_band(chart, d[name], colour, name, "5 2")
        chart.text(40, 1.18, name, fill=colour, weight="bold")
        chart.text(2.2, 0.4, "plain", fill=MUTED)
        chart.text(TRAINED, -0.2, "trained length", dx=-6, anchor="end", fill=INK, size=SMALL)
    words = "; ".join(
        f"{name} {s['at_one']:.3f} at gap 1, {s['at_trained']:.3f} at gap {TRAINED}, below zero "
        f"first at gap {s['first_negative']}" for name, s in d.items()
    ).replace("-", "minus ")
    return picture.finish(
        f"Score of all-ones vectors divided by head_dim {HEAD_DIM}, against gaps from 1 to {LAST} "
        f"on a logarithmic axis, for a factor of {FACTOR} at trained length {TRAINED}, in three "
        f"panels, each rule in front of plain RoPE. All fall in waves: {words}."
    )
