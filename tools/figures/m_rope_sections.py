"""Which axis each pair of M-RoPE turns with, and the three positions of a short sequence."""

from snippets.m_rope import m_rope_axes, m_rope_positions
from tools.figures.svg import C1, C2, C3, GRID, INK, MUTED, SMALL, Drawing

AXES = ("time", "height", "width")
COLOURS = (C1, C2, C3)
STRIPS = {"blocks": (16, 24, 24), "interleaved": (24, 20, 20)}
PARTS = (3, (1, 2, 3), 2)
WORDS = ("text", "image 2 \N{MULTIPLICATION SIGN} 3", "text")
LEFT, STEP, LANE = 56, 5, 14


def data() -> dict:
    """The axis of each pair by order; for each axis the positions; the next position."""
    positions, following = m_rope_positions(PARTS)
    found = {order: m_rope_axes(sections, order).tolist() for order, sections in STRIPS.items()}
    return found | {"positions": positions.tolist(), "next": following}


def draw() -> str:
    d = data()
    picture = Drawing(height=346)
    for top, (order, sections) in zip((36, 130), STRIPS.items(), strict=True):
        counts = ", ".join(map(str, sections))
        picture.text(4, top - 18, f"{order}: {counts}", weight="bold")
        strip(picture, top, order, d[order])
    picture.text(LEFT, 184, "pair 0", fill=MUTED, size=SMALL)
    picture.text(LEFT + 64 * STEP, 184, f"pair {len(d['blocks']) - 1}", anchor="end", fill=MUTED,
                 size=SMALL)
    table(picture, 226, d["positions"])
    time, height, width = (" ".join(map(str, row)) for row in d["positions"])
    last = max(pair for pair, axis in enumerate(d["interleaved"]) if axis)
    return picture.finish(
        f"Above, the axis of each of {len(d['blocks'])} pairs. Blocks: "
        + ", ".join(f"{n} for {axis}" for n, axis in zip(STRIPS["blocks"], AXES, strict=True))
        + f", one after the other. Interleaved: time, height, width in turn up to pair {last}, "
        f"then time alone. Below, the positions of {PARTS[0]} text tokens, an image of "
        f"{PARTS[1][1]} by {PARTS[1][2]} patches and {PARTS[2]} text tokens. Time: {time}. "
        f"Height: {height}. Width: {width}. The next text token has position {d['next']}."
    )


def strip(picture, top, order, axes) -> None:
    """A lane for each axis, so that the place tells what the colour tells."""
    for lane, (axis, colour) in enumerate(zip(AXES, COLOURS, strict=True)):
        y = top + LANE * lane
        picture.text(LEFT - 8, y + LANE / 2, axis, anchor="end", fill=colour, size=SMALL)
        for pair, its_axis in enumerate(axes):
            if its_axis == lane:
                picture.rect(LEFT + STEP * pair, y + 1, STEP - 1, LANE - 2, fill=colour,
                             data_pair=f"{order}/{pair}")
    picture.rect(LEFT - 2, top - 2, STEP * len(axes) + 3, LANE * 3 + 4, stroke=GRID)


def table(picture, top, positions) -> None:
    step, start = 29, 0
    counts = [part if isinstance(part, int) else part[0] * part[1] * part[2] for part in PARTS]
    for count, word in zip(counts, WORDS, strict=True):
        x = LEFT + step * start
        picture.text(x + step * count / 2, top, word, anchor="middle", size=SMALL)
        picture.rect(x + 2, top + 13, step * count - 4, 76, fill=MUTED, fill_opacity=0.12)
        start += count
    for row, (axis, colour) in enumerate(zip(AXES, COLOURS, strict=True)):
        y = top + 27 + 24 * row
        picture.text(LEFT - 8, y, axis, anchor="end", fill=colour, size=SMALL)
        for token, position in enumerate(positions[row]):
            picture.text(LEFT + step * (token + 0.5), y, str(position), anchor="middle", fill=INK,
                         data_token=f"{row}/{token}")
    picture.text(4, top + 107, "positions of each token on the three axes", fill=MUTED, size=SMALL)
