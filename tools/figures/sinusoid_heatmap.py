"""The sinusoidal table as an image: one row per position, one column per coordinate."""

import base64
import struct
import zlib

import torch

from snippets.sinusoidal import sinusoidal_inv_freq, sinusoidal_table
from tools.figures.chart import Chart
from tools.figures.svg import C1, C2, GRID, INK, MUTED, SMALL, Drawing

SIZE = 64  # positions and columns


def data() -> dict:
    """The drawn table, and how many positions the first and the last hand need for a turn."""
    turns = 2 * torch.pi / sinusoidal_inv_freq(SIZE)  # (P,)
    return {
        "table": sinusoidal_table(torch.arange(SIZE), SIZE),  # (T, d_model)
        "fastest": turns[0].item(),
        "slowest": turns[-1].item(),
    }


def draw() -> str:
    d = data()
    picture = Drawing(height=412)
    chart = Chart(picture, (52, 50, 372, 370), (-0.5, SIZE - 0.5), (SIZE - 0.5, -0.5))

    # Colour shows the sign and opacity the size, so zero is the page itself, light or dark.
    halves = {"positive": (d["table"].clamp(min=0), C2), "negative": (-d["table"].clamp(max=0), C1)}
    side = chart.right - chart.left
    for name, (share, colour) in halves.items():
        picture.add("mask", image(share, chart.left, chart.top, side),
                    id=f"sinusoid_heatmap-{name}")
        picture.rect(chart.left, chart.top, side, side, fill=colour,
                     mask=f"url(#sinusoid_heatmap-{name})")
    picture.rect(chart.left, chart.top, side, side, stroke=GRID)

    for tick in (0, 16, 32, 48, 63):
        picture.text(chart.left - 6, chart.y(tick), str(tick), anchor="end", fill=MUTED, size=SMALL)
        picture.text(chart.x(tick), chart.bottom + 15, str(tick), anchor="middle", fill=MUTED,
                     size=SMALL)
    picture.text(4, 36, "position *p*")
    picture.text((chart.left + chart.right) / 2, chart.bottom + 33, "column", anchor="middle")
    picture.text(chart.right, 36, "slow pairs", anchor="end")
    picture.text(150, 36, "fast pairs", anchor="middle")
    key(picture)
    return picture.finish(
        f"Image of the table with {SIZE} positions as rows and {SIZE} columns. The columns on the "
        f"left change quickly from row to row: the first pair repeats after {d['fastest']:.1f} "
        "positions. The columns on the right hardly change: the last pair repeats after "
        f"{d['slowest']:.0f} positions."
    )


def key(picture: Drawing) -> None:
    """What the colours mean, from -1 through the empty page to +1."""
    steps = [i / 6 for i in range(-6, 7)]
    for i, value in enumerate(steps):
        picture.rect(232 + 8 * i, 6, 8, 12, fill=C2 if value > 0 else C1,
                     fill_opacity=abs(value))
    picture.text(226, 12, "\N{MINUS SIGN}1", anchor="end", fill=MUTED, size=SMALL)
    picture.text(342, 12, "+1", fill=MUTED, size=SMALL)
    picture.rect(232, 6, 104, 12, stroke=GRID)
    picture.text(4, 12, "sine and cosine side by side", fill=INK, size=SMALL)


def image(share: torch.Tensor, x: float, y: float, side: float) -> str:
    """A grey PNG of values from 0 to 1, as an SVG element; white lets the colour through."""
    grey = (share * 255).round().to(torch.uint8)
    rows = b"".join(b"\0" + bytes(row.tolist()) for row in grey)  # filter 0 before each row
    height, width = grey.shape
    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)  # 8 bits, grey
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(rows, 9)), (b"IEND", b""))
    png = b"\x89PNG\r\n\x1a\n"
    for name, body in chunks:
        png += struct.pack(">I", len(body)) + name + body
        png += struct.pack(">I", zlib.crc32(name + body))
    link = "data:image/png;base64," + base64.b64encode(png).decode()
    return (
        f'<image x="{x}" y="{y}" width="{side}" height="{side}" preserveAspectRatio="none" '
        f'image-rendering="pixelated" href="{link}"/>'
    )
