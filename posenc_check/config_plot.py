# SPDX-License-Identifier: MIT
"""Slow-down against wavelength as one SVG file, readable on a light and on a dark page."""

import math
from xml.sax.saxutils import escape

from posenc_check.config_numbers import count

WIDTH, HEIGHT = 720, 400
LEFT, RIGHT, TOP, BOTTOM = 60, 50, 50, 55
LENGTH_NAMES = {
    "original_max_position_embeddings": "trained length",
    "max_position_embeddings": "maximum length",
}
STYLE = """
  text { font: 13px sans-serif; fill: #222 }
  .axis { stroke: #222; fill: none } .grid { stroke: #ccc }
  .trained { stroke: #b3261e; stroke-dasharray: 6 4 }
  .s0 { stroke: #0b5cad; fill: #0b5cad } .s1 { stroke: #8a4b00; fill: #8a4b00 }
  polyline { fill: none !important; stroke-width: 1.5 }
  @media (prefers-color-scheme: dark) {
    text { fill: #eee } .axis { stroke: #eee } .grid { stroke: #555 }
    .trained { stroke: #ff8a80 }
    .s0 { stroke: #8ec5ff; fill: #8ec5ff } .s1 { stroke: #ffc078; fill: #ffc078 }
  }
"""


class Axis:
    """Numbers on a log scale to places on the page."""

    def __init__(self, values: list[float], start: float, end: float, step: int):
        self.low = math.floor(math.log(min(values), step) + 1e-9)
        self.high = max(math.ceil(math.log(max(values), step) - 1e-9), self.low + 1)
        self.start, self.end, self.step = start, end, step

    def place(self, value: float) -> float:
        share = (math.log(value, self.step) - self.low) / (self.high - self.low)
        return self.start + share * (self.end - self.start)

    def ticks(self) -> list[float]:
        return [self.step**power for power in range(self.low, self.high + 1)]


def plot(name: str, ropes: list[dict]) -> str:
    """One curve for each type of layer; pairs that stand still have no slow-down to draw."""
    curves = [
        [(w, s) for w, s in zip(rope["wavelengths"], rope["slow_down"]) if s is not None]
        for rope in ropes
    ]
    trained = {
        rope["trained_length"]: LENGTH_NAMES[rope["trained_length_from"]]
        for rope in ropes
        if rope["trained_length"]
    }
    x = Axis([w for c in curves for w, _ in c] + list(trained), LEFT, WIDTH - RIGHT, 10)
    y = Axis([1.0] + [s for c in curves for _, s in c], HEIGHT - BOTTOM, TOP, 2)
    parts = [*_frame(x, y), *(_trained(*one, x) for one in trained.items())]
    for number, (rope, curve) in enumerate(zip(ropes, curves)):
        parts += _curve(number, rope, curve, x, y)
    title = escape(f"Slow-down of each pair: {name}")
    desc = escape("; ".join(_sentence(rope, curve) for rope, curve in zip(ropes, curves)))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        f'aria-labelledby="t d">\n<title id="t">{title}</title>\n<desc id="d">{desc}</desc>\n'
        f'<style>{STYLE}</style>\n<text x="{LEFT}" y="24">{title}</text>\n'
        + "\n".join(parts)
        + "\n</svg>\n"
    )


def _line(kind: str, x1: float, y1: float, x2: float, y2: float) -> str:
    return f'<line class="{kind}" x1="{x1:.2f}" y1="{y1:.2f}" x2="{x2:.2f}" y2="{y2:.2f}"/>'


def _text(x: float, y: float, text: str, anchor="middle") -> str:
    return f'<text x="{x:.2f}" y="{y:.2f}" text-anchor="{anchor}">{escape(text)}</text>'


def _frame(x: Axis, y: Axis) -> list[str]:
    parts = []
    for tick in x.ticks():
        parts.append(_line("grid", x.place(tick), TOP, x.place(tick), HEIGHT - BOTTOM))
        parts.append(_text(x.place(tick), HEIGHT - BOTTOM + 18, _tokens(tick)))
    for tick in y.ticks():
        parts.append(_line("grid", LEFT, y.place(tick), WIDTH - RIGHT, y.place(tick)))
        parts.append(_text(LEFT - 8, y.place(tick) + 4, f"{tick:g}", "end"))
    parts.append(_line("axis", LEFT, HEIGHT - BOTTOM, WIDTH - RIGHT, HEIGHT - BOTTOM))
    parts.append(_line("axis", LEFT, TOP, LEFT, HEIGHT - BOTTOM))
    middle = (LEFT + WIDTH - RIGHT) / 2
    parts.append(_text(middle, HEIGHT - 14, "wavelength of the pair before scaling, in tokens"))
    parts.append(_text(8, TOP - 10, "slow-down", "start"))
    return parts


def _tokens(tick: int) -> str:
    return str(tick) if tick < 100 else count(tick)


def _trained(length: int, name: str, x: Axis) -> str:
    at = x.place(length)
    anchor = "end" if at > WIDTH / 2 else "start"
    label = _text(at + (-6 if anchor == "end" else 6), TOP + 18, f"{name} {count(length)}", anchor)
    return _line("trained", at, TOP, at, HEIGHT - BOTTOM) + label


def _curve(number: int, rope: dict, curve: list, x: Axis, y: Axis) -> list[str]:
    points = [(x.place(w), y.place(s)) for w, s in curve]
    path = " ".join(f"{px:.2f},{py:.2f}" for px, py in points)
    kind = f"s{number % 2}"
    parts = [f'<polyline class="{kind}" points="{path}"/>']
    for pair, ((px, py), (w, s)) in enumerate(zip(points, curve)):
        hint = escape(f"pair {pair}: wavelength {w:.4g}, slow-down {s:.4g}")
        spot = f'<circle class="{kind}" cx="{px:.2f}" cy="{py:.2f}" r="2.5">'
        parts.append(f"{spot}<title>{hint}</title></circle>")
    if rope["layer_type"]:
        parts.append(_key(number, kind, rope["layer_type"]))
    return parts


def _key(number: int, kind: str, name: str) -> str:
    """Which curve is whose: a square and the type of layer, above the frame."""
    x, y = WIDTH - RIGHT - 140, 20 + 16 * number
    return f'<rect class="{kind}" x="{x}" y="{y - 9}" width="9" height="9"/>' + _text(
        x + 16, y, name, "start"
    )


def _sentence(rope: dict, curve: list) -> str:
    who = f"{rope['layer_type']}: " if rope["layer_type"] else ""
    slow = [s for _, s in curve]
    return f"{who}{len(curve)} pairs turn, slowed {min(slow):.4g} to {max(slow):.4g} times"
