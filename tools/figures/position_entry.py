"""A map of one attention layer with the four places where position can enter."""

from tools.figures.svg import BOLD, C1, C2, C3, C4, INK, MUTED, SMALL, Drawing

Q, K, V = 34, 105, 176  # centres of the three columns
S = (Q + K) / 2  # where queries and keys have met


def data() -> list[tuple]:
    """Number, colour, place and how position enters there, from input to output."""
    return [
        (1, C1, "the input", "a vector is added"),
        (2, C2, "queries and keys", "each is turned"),
        (3, C3, "the scores", "a number is added"),
        (4, C4, "the attention itself", "relative vectors"),
    ]


def draw() -> str:
    entries = data()
    picture = Drawing(height=462)
    frame = {"stroke": C4, "stroke_dasharray": "5 4", "stroke_width": BOLD, "rx": 8}
    picture.rect(1.5, 222, 212, 178, **frame)

    box(picture, K, 10, 200, "token vectors")
    picture.arrow(K, 40, K, 57)
    plus(picture, K, 68, C1)
    picture.line(K, 79, K, 112, INK)
    picture.polyline([(Q, 112), (Q, 95), (V, 95), (V, 112)], INK, width=1)
    for x, name in ((Q, "*q*"), (K, "*k*"), (V, "*v*")):
        box(picture, x, 112, 52, name)
    for x in (Q, K):
        picture.line(x, 142, x, 164, INK)
        turn(picture, x, 178)
        picture.arrow(x, 192, x, 236)
    box(picture, S, 236, 123, "scores *q* · *k*")
    picture.arrow(S, 266, S, 279)
    plus(picture, S, 290, C3)
    picture.arrow(S, 301, S, 314)
    box(picture, S, 314, 123, "softmax")
    picture.arrow(S, 344, S, 360)
    picture.arrow(V, 142, V, 360)
    box(picture, 107.5, 360, 199, "weighted sum of *v*")
    picture.arrow(K, 390, K, 420)
    picture.text(K, 434, "output", anchor="middle")

    for entry, y, reach in zip(entries, (68, 178, 290, 376), (117, 120, 82, 214), strict=True):
        note(picture, entry, y, reach)
    places = ", ".join(f"{n} at {place}: {how}" for n, _, place, how in entries)
    return picture.finish(
        "Map of an attention layer. Token vectors become queries q, keys k and values v; scores of "
        "q and k go through a softmax and weight the values; their sum is the output. Position "
        f"can enter at four places: {places}."
    )


def box(picture, x, y, width, text) -> None:
    picture.rect(x - width / 2, y, width, 30, stroke=INK, rx=4)
    picture.text(x, y + 15, text, anchor="middle")


def plus(picture, x, y, colour) -> None:
    picture.circle(x, y, 11, stroke=colour, width=BOLD)
    picture.line(x - 6, y, x + 6, y, colour, BOLD)
    picture.line(x, y - 6, x, y + 6, colour, BOLD)


def turn(picture, x, y) -> None:
    """A circle that is almost closed, with an arrow head at its end: a rotation."""
    picture.circle(x, y, 14, stroke=C2, width=BOLD)
    picture.add("path", d=f"M{x - 6} {y + 2}A6 6 0 1 1 {x + 3} {y + 5.2}", stroke=C2,
                stroke_width=1.5)
    picture.polygon([(x - 1.5, y + 6.5), (x + 4.6, y + 1.6), (x + 5.4, y + 8)], C2)


def note(picture, entry, y, reach) -> None:
    """The number and the words in the margin, with a thin line to the place."""
    number, colour, place, how = entry
    picture.line(reach, y, 220, y, colour, dash="2 3")
    picture.circle(231, y, 11, stroke=colour, width=BOLD)
    picture.text(231, y, str(number), anchor="middle", fill=colour, weight="bold")
    picture.text(247, y, place)
    picture.text(247, y + 18, how, fill=MUTED, size=SMALL)
