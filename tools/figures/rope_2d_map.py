"""Score of the middle patch with every patch of a grid, for two kinds of frequencies."""

import torch

from snippets.rope_2d import apply_rope_2d, axial_inv_freq, mixed_inv_freq, patch_positions
from tools.figures.sinusoid_heatmap import image
from tools.figures.svg import C1, C2, GRID, INK, MUTED, SMALL, Drawing

HEAD_DIM, SIDE = 64, 15
SEED = 6  # turns the mixed map by about 28 degrees, easy to see
CELL = 11.5


def data() -> dict:
    """The scores divided by HEAD_DIM, (SIDE, SIDE) for each kind."""
    generator = torch.Generator().manual_seed(SEED)
    kinds = {
        "axial": axial_inv_freq(HEAD_DIM),  # (P, 2)
        "mixed": mixed_inv_freq(HEAD_DIM, 1, generator=generator),  # (1, P, 2)
    }
    ones = torch.ones(1, 1, SIDE**2, HEAD_DIM, dtype=torch.float64)
    found = {}
    for name, inv_freq in kinds.items():
        turned = apply_rope_2d(ones, patch_positions(SIDE, SIDE), inv_freq)[0, 0]  # (T, D)
        found[name] = (turned @ turned[SIDE**2 // 2] / HEAD_DIM).view(SIDE, SIDE)
    return found


def draw() -> str:
    d = data()
    side, middle = CELL * SIDE, SIDE // 2
    picture = Drawing(height=282)
    picture.text(4, 12, "score of the middle patch, divided by the width", size=SMALL)
    for left, name, title in ((10, "axial", "axial"), (198, "mixed", "mixed, one head")):
        picture.text(left + side / 2, 36, title, anchor="middle", weight="bold")
        heat_map(picture, left, 52, side, name, d[name])
        picture.rect(left + CELL * middle, 52 + CELL * middle, CELL, CELL, stroke=INK,
                     stroke_width=1.5)
    key(picture)
    words = " ".join(
        f"{name.capitalize()}: {s[middle, -1]:.2f} with the last patch of its row, "
        f"{s[-1, middle]:.2f} with the last of its column, {s[-1, -1]:.2f} in the lower right "
        f"and {s[-1, 0]:.2f} in the lower left corner." for name, s in d.items()
    ).replace(" -", " minus ")
    return picture.finish(
        f"Two maps of the score of the middle patch with each patch of a {SIDE} by {SIDE} grid, "
        f"all-ones vectors, divided by head_dim {HEAD_DIM}; 1 for the patch itself. With axial "
        f"frequencies a cross of high scores runs along its row and column; with mixed ones the "
        f"cross is turned. {words}"
    )


def heat_map(picture, left, top, side, name, scores) -> None:
    # Colour shows the sign and opacity the size, so zero is the page itself, light or dark.
    for sign, share, colour in (("positive", scores, C2), ("negative", -scores, C1)):
        mask = f"rope_2d_map-{name}-{sign}"
        picture.add("mask", image(share.clamp(0, 1), left, top, side), id=mask)
        picture.rect(left, top, side, side, fill=colour, mask=f"url(#{mask})")
    picture.rect(left, top, side, side, stroke=GRID)


def key(picture: Drawing) -> None:
    """What the colours mean, from -1 through the empty page to +1."""
    for i in range(-6, 7):
        picture.rect(138 + 8 * (i + 6), 252, 8, 12, fill=C2 if i > 0 else C1,
                     fill_opacity=abs(i) / 6)
    picture.rect(138, 252, 104, 12, stroke=GRID)
    picture.text(132, 258, "\N{MINUS SIGN}1", anchor="end", fill=MUTED, size=SMALL)
    picture.text(248, 258, "+1", fill=MUTED, size=SMALL)
