"""Clock hands at three positions: each pair is a hand, right is sine and up is cosine."""

import math

import torch

from snippets.sinusoidal import sinusoidal_inv_freq, sinusoidal_table
from tools.figures.svg import BOLD, C1, GRID, INK, MUTED, SMALL, Drawing

D_MODEL, POSITIONS = 8, (0, 1, 2)
RADIUS = 36


def data() -> dict:
    """The tips of the hands (position, pair, sine and cosine), and degrees per position."""
    table = sinusoidal_table(torch.tensor(POSITIONS), D_MODEL)
    return {
        "tips": table.unflatten(-1, (-1, 2)).tolist(),
        "degrees": torch.rad2deg(sinusoidal_inv_freq(D_MODEL)).tolist(),
    }


def draw() -> str:
    d = data()
    picture = Drawing(height=348)
    centres = [96 + 80 * pair for pair in range(len(d["degrees"]))]
    for pair, x in enumerate(centres):
        picture.text(x, 12, f"pair {pair}", anchor="middle")
        picture.text(x, 334, f"{d['degrees'][pair]:.3g}°", anchor="middle")
    picture.text(4, 12, "position", fill=MUTED, size=SMALL)
    picture.text(4, 316, "each step turns the hand by", fill=MUTED, size=SMALL)

    before = None
    for row, (position, hands) in enumerate(zip(POSITIONS, d["tips"], strict=True)):
        y = 68 + 92 * row
        picture.text(4, y, f"{position}", size=22)
        for pair, (x, hand) in enumerate(zip(centres, hands, strict=True)):
            dial(picture, x, y, hand, before and before[pair], f"{position}/{pair}")
        before = hands
    steps = ", ".join(f"{step:.3g}" for step in d["degrees"])
    return picture.finish(
        f"Four clock hands, the pairs 0 to 3 at d_model {D_MODEL}, at the positions 0, 1 and 2. "
        f"At position 0 every hand points up. Each step turns them by {steps} degrees: the first "
        "hand turns far, the second a little, and the last two seem to stand still."
    )


def dial(picture, x, y, hand, before, name) -> None:
    """One hand; the thin line and the sector show the step from the position before."""
    def at(tip, r=RADIUS):
        return x + r * tip[0], y - r * tip[1]

    picture.circle(x, y, RADIUS, stroke=GRID)
    picture.line(x, y - RADIUS - 3, x, y - RADIUS + 4, MUTED)
    if before:
        turned = math.degrees(math.atan2(*hand) - math.atan2(*before))
        if turned > 1:  # a thinner sector would not be seen
            picture.polygon([(x, y), *arc(at, before, hand)], C1, fill_opacity=0.16)
        picture.line(x, y, *at(before), MUTED, dash="2 3")
    tip = at(hand)
    picture.add("line", x1=x, y1=y, x2=tip[0], y2=tip[1], stroke=C1, stroke_width=BOLD,
                stroke_linecap="round", data_hand=name)
    picture.circle(*tip, 3.2, fill=C1)
    picture.circle(x, y, 2.2, fill=INK)


def arc(at, start, stop):
    """Points on the rim from one tip to the other, clockwise."""
    first, last = math.atan2(*start), math.atan2(*stop)
    steps = 12
    for i in range(steps + 1):
        angle = first + (last - first) * i / steps
        yield at((math.sin(angle), math.cos(angle)))
