"""Four biases against the distance: ALiBi, both kernels of KERPLE, and Sandwich from its top."""

import torch

from snippets.alibi import alibi_bias
from snippets.kerple import kerple_bias
from snippets.sandwich import sandwich_bias
from tools.figures.chart import Chart, label
from tools.figures.svg import C1, C2, C3, C4, INK, MUTED, SMALL, Drawing

FAR, SLOPE, WIDTH = 64, 0.125, 128
LOG, POWER = (1.5, 1.0), (0.5, 0.5)  # r1 and r2
CURVES = {  # colour, dash, and where the name stands: (distance, bias, anchor)
    "Sandwich": (C4, "2 3", (63, -5.0, "end")),
    "KERPLE, power": (C3, "8 3", (63, -2.5, "end")),
    "KERPLE, log": (C2, "5 2", (2, -5.1, "start")),
    "ALiBi": (C1, None, (47, -7.1, "end")),
}


def data() -> dict:
    """By name the bias at distances 0 ... FAR."""
    query, keys = torch.tensor([FAR]), torch.arange(FAR, -1, -1)
    scale, wide = torch.tensor([SLOPE]), {"dtype": torch.float64}
    found = {"ALiBi": alibi_bias(query, keys, scale, **wide)}
    for kind, numbers in (("log", LOG), ("power", POWER)):
        r1, r2 = (torch.tensor([r]) for r in numbers)
        found[f"KERPLE, {kind}"] = kerple_bias(query, keys, r1, r2, kind=kind, **wide)
    sandwich = sandwich_bias(query, keys, scale, width=WIDTH, **wide)
    found["Sandwich"] = sandwich - sandwich[..., :1]  # from its value at distance 0
    return {name: bias[0, 0].tolist() for name, bias in found.items()}


def draw() -> str:
    d = data()
    picture = Drawing(height=322)
    chart = Chart(picture, (34, 50, 366, 270), (0, FAR), (-8, 0))
    picture.text(4, 12, "bias of one head")
    picture.text(4, 31, "Sandwich: less its value at distance 0", fill=MUTED, size=SMALL)
    chart.y_axis((-8, -6, -4, -2, 0))
    chart.x_axis((0, 16, 32, 48, 64), "distance")
    chart.level(0, INK)
    for name, (colour, dash, (x, y, anchor)) in CURVES.items():
        chart.curve(range(FAR + 1), d[name], colour, name, dash)
        chart.text(x, y, name, anchor=anchor, fill=colour)
    words = "; ".join(
        f"{name} {bias[1]:.2f}, {bias[16]:.2f} and {bias[FAR]:.2f}" for name, bias in d.items()
    )
    return picture.finish(
        f"Bias of one head against distances from 0 to {FAR}. All begin at 0. At distances 1, 16 "
        f"and {FAR}: {words}. ".replace(" -", " minus ")
        + f"ALiBi has slope {label(SLOPE)}; the logarithmic kernel has r1 {LOG[0]} and r2 "
        f"{LOG[1]}, the power kernel {POWER[0]} and {POWER[1]}; Sandwich has width {WIDTH} and "
        f"scale {label(SLOPE)}, less its value at distance 0."
    )
