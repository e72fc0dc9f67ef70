"""A small pen for SVG that follows the page: its font, its colours, light and dark.

Drawn directly, there is nothing to clean up afterwards: no style sheet that leaks into
the page, no fonts, no date, and no ids unless a figure asks for one.
"""

from collections.abc import Iterable
from html import escape

INK, MUTED, GRID = "var(--fig-ink)", "var(--fig-muted)", "var(--fig-grid)"
C1, C2, C3, C4, C5 = (f"var(--fig-{i})" for i in range(1, 6))

THIN, BOLD = 1, 2.25  # the two weights of line
# 380 units are about 290 px on a narrow phone: 14 units are then 11 px.
WIDTH, TEXT, SMALL = 380, 14, 13


def number(value: float) -> str:
    """A coordinate with at most two decimals, without idle zeros."""
    text = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def italic(text: str) -> str:
    """Escape text; *p* becomes an italic p, as the pages set symbols."""
    plain, *pieces = escape(text, quote=False).split("*")
    for i, piece in enumerate(pieces):
        plain += piece if i % 2 else f'<tspan font-style="italic">{piece}</tspan>'
    return plain


class Drawing:
    """Collects elements; `finish` closes the picture with its text alternative."""

    def __init__(self, height: float, width: float = WIDTH):
        self.width, self.height, self.parts = width, height, []

    def add(self, tag: str, content: str = "", **attributes) -> None:
        """Append one element; stroke_width=2 is written stroke-width="2"."""
        words = [tag]
        for key, value in attributes.items():
            if value is not None:
                text = value if isinstance(value, str) else number(value)
                words.append(f'{key.replace("_", "-")}="{escape(text)}"')
        opening = " ".join(words)
        self.parts.append(f"<{opening}>{content}</{tag}>" if content else f"<{opening}/>")

    def line(self, x1, y1, x2, y2, stroke=GRID, width=THIN, dash=None) -> None:
        self.add("line", x1=x1, y1=y1, x2=x2, y2=y2,
                 stroke=stroke, stroke_width=width, stroke_dasharray=dash)

    def polyline(self, points: Iterable[tuple[float, float]], stroke, width=BOLD, **more) -> None:
        joined = " ".join(f"{number(x)},{number(y)}" for x, y in points)
        self.add("polyline", points=joined, stroke=stroke, stroke_width=width, **more)

    def polygon(self, points: Iterable[tuple[float, float]], fill, **more) -> None:
        joined = " ".join(f"{number(x)},{number(y)}" for x, y in points)
        self.add("polygon", points=joined, fill=fill, **more)

    def circle(self, x, y, r, stroke=None, fill=None, width=THIN, **more) -> None:
        self.add("circle", cx=x, cy=y, r=r, stroke=stroke, fill=fill,
                 stroke_width=width if stroke else None, **more)

    def rect(self, x, y, width, height, stroke=None, fill=None, **more) -> None:
        self.add("rect", x=x, y=y, width=width, height=height, stroke=stroke, fill=fill, **more)

    def text(self, x, y, text, *, anchor="start", fill=INK, size=None, weight=None, **more) -> None:
        """Text with its middle at height y; anchor is start, middle or end."""
        self.add("text", italic(text), x=x, y=y, dy="0.35em", fill=fill, font_size=size,
                 text_anchor=None if anchor == "start" else anchor, font_weight=weight, **more)

    def arrow(self, x1, y1, x2, y2, stroke=INK, width=THIN, dash=None, head=7, **more) -> None:
        """A line with a filled head whose tip is exactly (x2, y2)."""
        length = ((x2 - x1) ** 2 + (y2 - y1) ** 2) ** 0.5
        ux, uy = (x2 - x1) / length, (y2 - y1) / length
        bx, by, half = x2 - head * ux, y2 - head * uy, 0.45 * head
        self.add("line", x1=x1, y1=y1, x2=bx, y2=by, stroke=stroke, stroke_width=width,
                 stroke_dasharray=dash)
        wings = [(x2, y2), (bx - half * uy, by + half * ux), (bx + half * uy, by - half * ux)]
        self.polygon(wings, stroke, **more)

    def finish(self, label: str) -> str:
        """The picture on one line, so that Markdown leaves it alone inside <figure>."""
        # The width of the page decides, up to a width where the text matches the page's.
        return (
            '<svg xmlns="http://www.w3.org/2000/svg" '
            f'viewBox="0 0 {number(self.width)} {number(self.height)}" '
            'style="width:100%;max-width:29em;height:auto" '
            f'role="img" aria-label="{escape(label)}">'
            f'<g font-size="{TEXT}" fill="none" stroke-linejoin="round">'
            + "".join(self.parts) + "</g></svg>\n"
        )
