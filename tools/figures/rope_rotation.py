"""One pair of a query and a key at two places with one gap: both turn, the score stays."""

import math

import torch

from snippets.rope import apply_rope, rope_inv_freq
from tools.figures.svg import BOLD, C1, C2, GRID, INK, MUTED, SMALL, Drawing

HEAD_DIM, PAIR = 8, 1
QUERY, KEY = (0.95, 0.25), (-0.2, 0.85)  # the two coordinates of the pair
PLACES = ((26, 20), (46, 40))  # m of the query, n of the key
RADIUS = 76


def data() -> list[dict]:
    """For each place: both arrows after turning, the angle between them and their score."""
    first, second = PAIR, PAIR + HEAD_DIM // 2  # the pair in layout "half"
    x = torch.zeros(1, 1, 2, HEAD_DIM, dtype=torch.float64)
    for token, arrow in enumerate((QUERY, KEY)):
        x[0, 0, token, first], x[0, 0, token, second] = arrow
    found = []
    for place in PLACES:
        turned = apply_rope(x, torch.tensor(place), rope_inv_freq(HEAD_DIM))[0, 0]
        q, k = turned[:, [first, second]].tolist()
        angle = math.degrees(math.atan2(k[1], k[0]) - math.atan2(q[1], q[0])) % 360
        score = (turned[0] @ turned[1]).item()
        found.append({"place": place, "q": q, "k": k, "angle": angle, "score": score})
    return found


def draw() -> str:
    d = data()
    picture = Drawing(height=304)
    m, n = PLACES[0]
    picture.text(190, 12, f"same gap: *m* \N{MINUS SIGN} *n* = {m - n}", anchor="middle")
    for x, dial in zip((98, 284), d, strict=True):
        draw_dial(picture, x, 128, dial)
    picture.text(190, 292, "dotted: before turning", anchor="middle", fill=MUTED, size=SMALL)
    places = " and ".join(f"m = {m}, n = {n}" for m, n in PLACES)
    return picture.finish(
        f"Two dials with one pair of a query q and a key k, at {places}. From the first dial to "
        "the second both arrows turn by the same angle. The angle between them is "
        f"{d[0]['angle']:.1f} and {d[1]['angle']:.1f} degrees, the score "
        f"{d[0]['score']:.3f} and {d[1]['score']:.3f}."
    )


def draw_dial(picture, x, y, dial) -> None:
    def at(arrow, size=1.0):
        return x + RADIUS * size * arrow[0], y - RADIUS * size * arrow[1]

    picture.circle(x, y, RADIUS, stroke=GRID)
    for before in (QUERY, KEY):
        picture.line(x, y, *at(before), MUTED, dash="2 3")

    start = math.atan2(dial["q"][1], dial["q"][0])
    steps = [start + math.radians(dial["angle"]) * i / 16 for i in range(17)]
    arc = [at((math.cos(a), math.sin(a)), 0.34) for a in steps]
    picture.polygon([(x, y), *arc], MUTED, fill_opacity=0.16)
    picture.polyline(arc, MUTED, width=1)
    middle = start + math.radians(dial["angle"]) / 2
    picture.text(*at((math.cos(middle), math.sin(middle)), 0.58), f"{dial['angle']:.0f}°",
                 anchor="middle")

    for name, colour, dash in (("q", C1, None), ("k", C2, "6 3")):
        picture.arrow(x, y, *at(dial[name]), colour, BOLD, dash, head=11,
                      data_tip=f"{name}/{dial['place'][0]}")
        length = math.hypot(*dial[name])
        # The label stands beyond the tip.
        picture.text(*at(dial[name], 1 + 0.15 / length), f"*{name}*", anchor="middle",
                     fill=colour, weight="bold")
    m, n = dial["place"]
    picture.text(x, y + RADIUS + 34, f"*m* = {m}, *n* = {n}", anchor="middle", fill=MUTED)
    picture.text(x, y + RADIUS + 58, f"score {dial['score']:.3f}", anchor="middle", fill=INK,
                 weight="bold")
