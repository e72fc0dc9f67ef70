"""Which coordinates form a pair, in both layouts."""

import torch

from snippets.rope import LAYOUTS, apply_rope, rope_inv_freq
from tools.figures.svg import BOLD, C1, C2, C3, C4, Drawing

HEAD_DIM = 8
STEP, SIDE = 46, 38  # from box to box, and the width of one
DASHES = (None, "7 3", "2 3", "9 3 2 3")


def data() -> dict:
    """The pairs of each layout, found by turning one coordinate at a time."""
    found = {}
    one_each = torch.eye(HEAD_DIM, dtype=torch.float64).view(1, 1, HEAD_DIM, HEAD_DIM)
    for layout in LAYOUTS:
        ones = torch.ones(HEAD_DIM, dtype=torch.int64)  # every vector stands at position 1
        turned = apply_rope(one_each, ones, rope_inv_freq(HEAD_DIM), layout=layout)[0, 0]
        partners = [row.nonzero().flatten().tolist() for row in turned]
        found[layout] = sorted({tuple(pair) for pair in partners})
    return found


def draw() -> str:
    d = data()
    picture = Drawing(height=292)
    draw_row(picture, 122, "half", d["half"], rise=60)
    draw_row(picture, 252, "interleaved", d["interleaved"], rise=26)
    words = ["; ".join(f"{a} with {b}" for a, b in d[layout]) for layout in LAYOUTS]
    return picture.finish(
        f"The coordinates 0 to {HEAD_DIM - 1} of a head as boxes, with an arc over each pair. "
        f"Layout half: {words[0]}. Layout interleaved: {words[1]}."
    )


def draw_row(picture, y, layout, pairs, rise) -> None:
    picture.text(4, y - rise - 48, f"layout {layout}", weight="bold")
    for index, (first, second) in enumerate(pairs):
        colour, dash = (C1, C2, C3, C4)[index], DASHES[index]
        ends = [7 + STEP * column + SIDE / 2 for column in (first, second)]
        half = (ends[1] - ends[0]) / 2
        picture.add("path", d=f"M{ends[0]:g} {y - 3}a{half:g} {rise} 0 0 1 {2 * half:g} 0",
                    stroke=colour, stroke_width=BOLD, stroke_dasharray=dash)
        picture.text(ends[0] + half, y - rise - 15, f"pair {index}", anchor="middle", fill=colour)
        for column, x in zip((first, second), ends, strict=True):
            box = (x - SIDE / 2, y, SIDE, 32)
            picture.rect(*box, fill=colour, fill_opacity=0.16)
            picture.rect(*box, stroke=colour, stroke_width=1)
            picture.text(x, y + 16, str(column), anchor="middle", data_pair=f"{layout}/{index}")
