"""One pair of a query and a key at two places with one gap: both turn, the score stays."""

import math

import torch

from snippets.rope import apply_rope, rope_inv_freq
from tools.figures.svg import BOLD, C1, C2, GRID, INK, MUTED, SMALL, Drawing

HEAD_DIM, PAIR = 8, 1
QUERY, KEY = (0.95, 0.25), (-0.2, 0.85)  # the two coordinates of the pair
PLACES = ((7, 3), (19, 15))  # m of the query, n of the key; within one turn
RADIUS = 76


def data() -> dict:
    """The speed, and for each place both turned arrows, the angle between them, their score."""
    first, second = PAIR, PAIR + HEAD_DIM // 2  # the pair in layout "half"
    x = torch.zeros(1, 1, 2, HEAD_DIM, dtype=torch.float64)
    for token, arrow in enumerate((QUERY, KEY)):
        x[0, 0, token, first], x[0, 0, token, second] = arrow
    speeds = rope_inv_freq(HEAD_DIM)
    dials = []
    for place in PLACES:
        turned = apply_rope(x, torch.tensor(place), speeds)[0, 0]
        q, k = turned[:, [first, second]].tolist()
        angle = math.degrees(math.atan2(k[1], k[0]) - math.atan2(q[1], q[0])) % 360
        score = (turned[0] @ turned[1]).item()
        dials.append({"place": place, "q": q, "k": k, "angle": angle, "score": score})
    return {"speed": speeds[PAIR].item(), "dials": dials}


def draw() -> str:
    d = data()
    speed = f"{d['speed']:.3g} radians ({math.degrees(d['speed']):.1f}°) per position"
    picture = Drawing(height=322)
    m, n = PLACES[0]
    picture.text(190, 12, f"same gap: *m* \N{MINUS SIGN} *n* = {m - n}", anchor="middle")
    for x, dial in zip((98, 284), d["dials"], strict=True):
        draw_dial(picture, x, 128, dial)
    picture.text(190, 288, "dotted: before turning", anchor="middle", fill=MUTED, size=SMALL)
    picture.text(190, 308, f"speed: {speed}", anchor="middle", fill=MUTED, size=SMALL)
    places = " and ".join(f"m = {m}, n = {n}" for m, n in PLACES)
    one, two = d["dials"]
    return picture.finish(
        f"Two dials with one pair of a query q and a key k, at {places}, turned by {speed} from "
        "where they pointed before, which is dotted. From the first dial to the second both "
        f"arrows turn by the same angle. The angle between them is {one['angle']:.1f} and "
        f"{two['angle']:.1f} degrees, the score {one['score']:.3f} and {two['score']:.3f}."
    )


def draw_dial(picture, x, y, dial) -> None:
    def at(arrow, size=1.0):
        return x + RADIUS * size * arrow[0], y - RADIUS * size * arrow[1]

    def name_it(name, arrow, colour, **more):
        # Outside the rim, in the direction of the arrow.
        picture.text(*at(arrow, 1.14 / math.hypot(*arrow)), f"*{name}*", anchor="middle",
                     fill=colour, **more)

    picture.circle(x, y, RADIUS, stroke=GRID)
    for name, before, colour in (("q", QUERY, C1), ("k", KEY, C2)):
        picture.add("line", x1=x, y1=y, x2=at(before)[0], y2=at(before)[1], stroke=colour,
                    stroke_width=1.5, stroke_dasharray="2 3", data_before=name)
        name_it(name, before, colour, size=SMALL)

    start = math.atan2(dial["q"][1], dial["q"][0])
    steps = [start + math.radians(dial["angle"]) * i / 16 for i in range(17)]
    arc = [at((math.cos(a), math.sin(a)), 0.34) for a in steps]
    picture.polygon([(x, y), *arc], MUTED, fill_opacity=0.16)
    picture.polyline(arc, MUTED, width=1)
    # A little nearer to the query: the dotted key may stand beside the turned one.
    middle = start + math.radians(dial["angle"]) * 0.4
    picture.text(*at((math.cos(middle), math.sin(middle)), 0.58), f"{dial['angle']:.0f}°",
                 anchor="middle")

    for name, colour, dash in (("q", C1, None), ("k", C2, "6 3")):
        picture.arrow(x, y, *at(dial[name]), colour, BOLD, dash, head=11,
                      data_tip=f"{name}/{dial['place'][0]}")
        name_it(name, dial[name], colour, weight="bold")
    m, n = dial["place"]
    picture.text(x, y + RADIUS + 34, f"*m* = {m}, *n* = {n}", anchor="middle", fill=MUTED)
    picture.text(x, y + RADIUS + 56, f"score {dial['score']:.3f}", anchor="middle", fill=INK,
                 weight="bold")
