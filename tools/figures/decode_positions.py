"""Positions of cached keys and of the new query in a left-padded batch."""

import torch

from tools.figures.svg import C1, C2, GRID, INK, MUTED, SMALL, Drawing

MASK = ((0, 0, 1, 1, 1, 1), (1, 1, 1, 1, 1, 1))  # the last column is the new token
LEFT, STEP, SIDE = 12, 60, 50


def data() -> dict:
    """By row the position of each slot; None where it holds padding."""
    mask = torch.tensor(MASK)  # (B, T)
    positions = mask.cumsum(-1) - 1  # (B, T)
    rows = zip(positions.tolist(), MASK, strict=True)
    return {"positions": [[p if real else None for p, real in zip(*row)] for row in rows]}


def draw() -> str:
    d = data()
    new = len(MASK[0]) - 1
    picture = Drawing(height=268)
    picture.text(LEFT, 12, "cached keys", size=SMALL)
    picture.text(LEFT + STEP * new + SIDE / 2, 12, "query", anchor="middle", fill=C2, size=SMALL)
    for row, positions in enumerate(d["positions"]):
        top = 30 + 92 * row
        count = sum(p is not None for p in positions)
        picture.text(LEFT, top + 6, f"row {row}: {count} tokens", weight="bold")
        for slot, position in enumerate(positions):
            cell(picture, LEFT + STEP * slot, top + 20, row, slot, position, slot == new)
    for slot in range(new + 1):
        picture.text(LEFT + STEP * slot + SIDE / 2, 206, str(slot), anchor="middle", fill=MUTED,
                     size=SMALL)
    picture.text(LEFT, 226, "slot in the cache", fill=MUTED, size=SMALL)
    picture.text(LEFT, 250, "in the boxes: position = cumsum(mask) \N{MINUS SIGN} 1", fill=INK)
    words = " ".join(
        f"Row {row} has padding in {positions.count(None)} slots, cached keys at positions "
        f"{', '.join(str(p) for p in positions[:-1] if p is not None)}, and its new query at "
        f"position {positions[-1]}." for row, positions in enumerate(d["positions"])
    )
    return picture.finish(
        f"A left-padded batch of two rows while decoding: {new} cached slots, and the new token in "
        f"slot {new}. Positions are counted from the mask. {words}"
    )


def cell(picture, x, y, row, slot, position, is_new) -> None:
    middle = x + SIDE / 2, y + 21
    if position is None:
        picture.rect(x, y, SIDE, 42, stroke=GRID, fill=MUTED, fill_opacity=0.12,
                     stroke_dasharray="4 3")
        picture.text(*middle, "pad", anchor="middle", fill=MUTED, size=SMALL,
                     data_slot=f"{row}/{slot}")
        return
    colour = C2 if is_new else C1
    picture.rect(x, y, SIDE, 42, stroke=colour, stroke_width=2 if is_new else 1, fill=colour,
                 fill_opacity=0.18)
    picture.text(*middle, str(position), anchor="middle", fill=INK, data_slot=f"{row}/{slot}")
