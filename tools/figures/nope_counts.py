"""Share of a marked first token if each token attends to all before it and itself alike."""

import torch

from snippets.attention import attention
from snippets.masks import causal_mask
from tools.figures.chart import Chart
from tools.figures.svg import C1, GRID, SMALL, Drawing

PLACES, NAMED = 12, 4


def data() -> list[float]:
    """The share at each place, from the first on."""
    here = torch.arange(PLACES)
    flat = torch.zeros(1, 1, PLACES, 4, dtype=torch.float64)  # every logit is 0
    marked = torch.zeros(1, 1, PLACES, 1, dtype=torch.float64)
    marked[:, :, 0] = 1.0
    return attention(flat, flat, marked, mask=causal_mask(here, here)).flatten().tolist()


def draw() -> str:
    shares = data()
    places = range(1, PLACES + 1)
    picture = Drawing(height=286)
    chart = Chart(picture, (44, 42, 366, 234), (0.6, PLACES + 0.4), (0, 1))
    picture.text(4, 12, "share of the marked first token")
    chart.y_axis((0, 0.25, 0.5, 0.75, 1))
    chart.x_axis((1, 2, 4, 6, 8, 10, 12), "place of the token")
    chart.curve(places, shares, GRID, "share", width=1.5)
    chart.dots(places, shares, C1, r=4.5)
    for place in places[:NAMED]:
        word = f"1/{place}" if place > 1 else "1"
        chart.text(place, shares[place - 1], word, dx=10, dy=-9, fill=C1, size=SMALL)
    return picture.finish(
        f"Share that a marked first token has in the output at places 1 to {PLACES}, with equal "
        f"logits and a causal mask: {', '.join(f'{s:.3f}' for s in shares)}. It is one divided by "
        f"the place, so that the steps shrink: {shares[0] - shares[1]:.3f} from the first place "
        f"to the second, {shares[-2] - shares[-1]:.3f} between the last two."
    )
