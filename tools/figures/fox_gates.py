"""What the last token of a short text gives each token, by FoX's gates alone."""

import torch

from snippets.fox import forget_sums, fox_bias
from tools.figures.chart import Chart
from tools.figures.svg import C1, C2, INK, MUTED, SMALL, Drawing

TOKENS = ("it", "rains", "a lot", ".", "we", "stay", "at", "home")
GATES = (0.9, 0.9, 0.9, 0.05, 0.9, 0.9, 0.9, 0.9)
STOP, BAR = TOKENS.index("."), 26


def data() -> list[float]:
    """The weight of each key for the last query, if all logits are equal."""
    sums = forget_sums(torch.tensor(GATES, dtype=torch.float64).log()[None, None])  # (1, 1, T)
    bias = fox_bias(sums[..., -1:], sums, dtype=torch.float64)  # (1, 1, 1, T)
    return bias.softmax(-1)[0, 0, 0].tolist()


def draw() -> str:
    weights = data()
    last = len(TOKENS) - 1
    picture = Drawing(height=286)
    chart = Chart(picture, (44, 36, 376, 192), (-0.5, last + 0.5), (0, 0.25))
    picture.text(4, 12, "weight that the last token gives each")
    chart.y_axis((0, 0.1, 0.2))
    for i, (token, gate, weight) in enumerate(zip(TOKENS, GATES, weights, strict=True)):
        x, y = chart.x(i), chart.y(weight)
        colour = C2 if i < STOP else C1
        picture.rect(x - BAR / 2, y, BAR, chart.bottom - y, fill=colour, data_bar=str(i))
        chart.text(i, 0, token, dy=16, anchor="middle", size=SMALL, data_token=str(i))
        chart.text(i, 0, f"{gate:g}", dy=40, anchor="middle", size=SMALL,
                   fill=C2 if i == STOP else MUTED, weight="bold" if i == STOP else None,
                   data_gate=str(i))
    chart.level(0, INK)
    picture.text(4, chart.bottom + 40, "gate", fill=MUTED, size=SMALL)
    chart.text(1, weights[1], "before the stop", dy=-14, anchor="middle", fill=C2, size=SMALL)
    picture.text(4, chart.bottom + 66, "A gate fades what stands before its token,", fill=MUTED,
                 size=SMALL)
    picture.text(4, chart.bottom + 84, "not the token itself.", fill=MUTED, size=SMALL)
    words = ", ".join(f"{w:.3f}" for w in weights)
    return picture.finish(
        f"Weights that the last of {len(TOKENS)} tokens gives each token under equal logits: "
        f"{words}. All gates are {GATES[0]} except {GATES[STOP]} at token {STOP + 1}, a full stop. "
        f"The tokens before it get {sum(weights[:STOP]):.3f} together, the stop itself "
        f"{weights[STOP]:.3f}."
    )
