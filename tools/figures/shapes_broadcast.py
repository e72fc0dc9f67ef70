"""How one table serves a batch: it is cut to the length of the input and broadcast."""

import torch

from snippets.sinusoidal import SinusoidalPositionEncoding
from tools.figures.svg import C1, C2, C3, GRID, INK, MUTED, SMALL, Drawing

BATCH, LENGTH, D_MODEL, MAX_LEN = 4, 5, 6, 9
CELL, SHIFT = 12, 9  # one number; from one sequence of the batch to the next


def data() -> dict:
    """The shapes, read from the tensors themselves."""
    encode = SinusoidalPositionEncoding(D_MODEL, max_len=MAX_LEN, dropout=0.0)
    x = torch.zeros(BATCH, LENGTH, D_MODEL)
    return {
        "x": list(x.shape),
        "pe": list(encode.pe.shape),
        "rows": list(encode.pe[:, :LENGTH].shape),
        "y": list(encode(x).shape),
    }


def draw() -> str:
    d = data()
    picture = Drawing(height=342)
    height, width = LENGTH * CELL, D_MODEL * CELL
    left, middle, right, top = 6, 148, 274, 212

    picture.text(middle - 8, 40, f"table {d['pe']}", anchor="end")
    picture.text(middle - 8, 58, "1, max_len, d_model", anchor="end", fill=MUTED, size=SMALL)
    grid(picture, middle, 14, d["pe"][1], D_MODEL, MUTED, None)
    grid(picture, middle, 14, LENGTH, D_MODEL, C2, C2)
    picture.text(middle + width + 8, 14 + height / 2, "first *T* rows")
    picture.text(middle + width + 8, 14 + height + 24, "not used here", fill=MUTED)
    picture.arrow(middle + width / 2, 14 + MAX_LEN * CELL + 8, middle + width / 2, top - 34)

    stack(picture, left, top, C1, None)
    stack(picture, middle, top, C2, "2 2")
    stack(picture, right, top, C3, None)
    for x, sign in ((middle - 20, "+"), (right - 14, "=")):
        picture.text(x, top + height / 2 + 4, sign, anchor="middle", size=20)
    names = (("x", d["x"], left), ("rows", d["rows"], middle), ("output", d["y"], right))
    for name, shape, x in names:
        picture.text(x + width / 2, top + height + 16, name, anchor="middle")
        picture.text(x + width / 2, top + height + 34, str(shape), anchor="middle")
    picture.text(190, top + height + 58, "every sequence of the batch gets the same rows",
                 anchor="middle", fill=MUTED)
    return picture.finish(
        f"The table of shape {d['pe']} is cut to its first {LENGTH} rows, shape {d['rows']}. These "
        f"rows are added to x of shape {d['x']}: every one of the {BATCH} sequences gets the same "
        f"rows. The output has shape {d['y']}."
    )


def grid(picture, x, y, rows, columns, stroke, fill, dash=None) -> None:
    """A sheet of cells; the lines inside are thin and pale."""
    width, height = columns * CELL, rows * CELL
    if fill:
        picture.rect(x, y, width, height, fill=fill, fill_opacity=0.2)
    for row in range(1, rows):
        picture.line(x, y + row * CELL, x + width, y + row * CELL)
    for column in range(1, columns):
        picture.line(x + column * CELL, y, x + column * CELL, y + height)
    picture.rect(x, y, width, height, stroke=stroke, stroke_width=1.5, stroke_dasharray=dash)


def stack(picture, x, y, colour, behind) -> None:
    """The first sequence in front; dashed sheets behind it are repeats, not stored again."""
    for i in range(BATCH - 1, 0, -1):
        dx, dy = x + i * SHIFT, y - i * SHIFT
        width, height = D_MODEL * CELL, LENGTH * CELL
        corner = [(dx - SHIFT, dy), (dx, dy), (dx + width, dy), (dx + width, dy + height)]
        edge = [*corner[1:], (dx + width - SHIFT, dy + height)]
        start = (dx, dy + SHIFT)  # only the part that the sheet in front leaves open
        picture.polyline([start, *edge], colour, width=1.5, stroke_dasharray=behind)
    grid(picture, x, y, LENGTH, D_MODEL, colour, colour)
