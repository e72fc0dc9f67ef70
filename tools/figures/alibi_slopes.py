"""How ALiBi fades the weight of a key with its distance, in each of eight heads."""

import math

import torch

from snippets.alibi import alibi_bias, alibi_slopes
from tools.figures.chart import Chart
from tools.figures.svg import C1, C2, SMALL, Drawing

HEADS, LAST = 8, 1024
STEPS = sorted({round(2 ** (i / 5)) for i in range(51)})  # distances from 1 to 1024


def data() -> dict:
    """exp(bias) by head and distance, and the distance where it is one half."""
    slopes, query = alibi_slopes(HEADS), torch.tensor([LAST])
    bias = alibi_bias(query, query - torch.tensor(STEPS), slopes, dtype=torch.float64)  # (H, 1, Tk)
    return {
        "faded": bias[:, 0].exp().tolist(),
        "halves": (math.log(2) / slopes).tolist(),
        "slopes": slopes.tolist(),
    }


def draw() -> str:
    d = data()
    picture = Drawing(height=300)
    chart = Chart(picture, (44, 50, 358, 248), (1, LAST), (0, 1), log_x=True)
    chart.y_axis((0, 0.25, 0.5, 0.75, 1))
    chart.x_axis((1, 4, 16, 64, 256, 1024), "distance (logarithmic)")
    picture.text(4, 12, "weight of a key, compared to distance zero")
    for head, (faded, half) in enumerate(zip(d["faded"], d["halves"], strict=True), start=1):
        colour = C1 if head % 2 else C2
        chart.curve(STEPS, faded, colour, f"head {head}", None if head % 2 else "6 3", width=1.75)
        chart.text(half, 0.5, str(head), dx=5, dy=-8, fill=colour)
    first, last = (f"1/{1 / d['slopes'][i]:.0f}" for i in (0, -1))
    picture.text(44, 34, f"head 1: slope {first}", fill=C1, size=SMALL)
    picture.text(358, 34, f"head {HEADS}: slope {last}", anchor="end", fill=C2, size=SMALL)
    return picture.finish(
        f"The factor by which ALiBi fades the weight of a key, against distances from 1 to {LAST} "
        f"on a logarithmic axis, for {HEADS} heads. The curves have one shape; each head reaches "
        f"twice as far as the one before. Head 1 with slope {first} is at one half at distance "
        f"{d['halves'][0]:.1f}, head {HEADS} with slope {last} at distance {d['halves'][-1]:.0f}."
    )
