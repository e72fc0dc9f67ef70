"""Axes for a Drawing: scales, ticks, curves. Ticks are labelled where they stand."""

import math
from collections.abc import Callable, Sequence

from tools.figures.svg import BOLD, INK, MUTED, SMALL, Drawing


def scale(values: tuple[float, float], pixels: tuple[float, float], log: bool) -> Callable:
    """The map from data to the drawing, linear or logarithmic."""
    def place(value: float) -> float:
        return math.log(value) if log else float(value)

    low, high = place(values[0]), place(values[1])

    def to_pixel(value: float) -> float:
        share = (place(value) - low) / (high - low)
        return pixels[0] + share * (pixels[1] - pixels[0])

    return to_pixel


class Chart:
    """One panel of a drawing; box is (left, top, right, bottom)."""

    def __init__(self, drawing: Drawing, box, x, y, log_x=False, log_y=False):
        self.drawing = drawing
        self.left, self.top, self.right, self.bottom = box
        self.x = scale(x, (self.left, self.right), log_x)
        self.y = scale(y, (self.bottom, self.top), log_y)

    def x_axis(self, ticks: Sequence[float], title: str = "") -> None:
        for tick in ticks:
            x, foot = self.x(tick), self.bottom
            self.drawing.line(x, foot, x, foot + 5)
            self.drawing.text(x, foot + 15, label(tick), anchor="middle", fill=MUTED, size=SMALL,
                              data_tick="x")
        middle = (self.left + self.right) / 2
        if title:
            self.drawing.text(middle, self.bottom + 34, title, anchor="middle")

    def y_axis(self, ticks: Sequence[float]) -> None:
        for tick in ticks:
            y = self.y(tick)
            self.drawing.line(self.left, y, self.right, y)
            self.drawing.text(self.left - 6, y, label(tick), anchor="end", fill=MUTED, size=SMALL,
                              data_tick="y")

    def level(self, y: float, stroke: str = INK, dash: str | None = None) -> None:
        """A horizontal line of its own meaning, such as zero."""
        self.drawing.line(self.left, self.y(y), self.right, self.y(y), stroke, dash=dash)

    def curve(self, xs, ys, stroke, name: str, dash: str | None = None, width=BOLD) -> None:
        points = [(self.x(x), self.y(y)) for x, y in zip(xs, ys, strict=True)]
        self.drawing.polyline(points, stroke, width, stroke_dasharray=dash, data_series=name)

    def dots(self, xs, ys, fill, r: float = 2.2) -> None:
        for x, y in zip(xs, ys, strict=True):
            self.drawing.circle(self.x(x), self.y(y), r, fill=fill)

    def text(self, x: float, y: float, text: str, dx: float = 0, dy: float = 0, **more) -> None:
        self.drawing.text(self.x(x) + dx, self.y(y) + dy, text, **more)


def label(value: float) -> str:
    return f"{value:.7g}".replace("-", "\N{MINUS SIGN}")
