"""Reads numbers back from a drawn figure, as a reader would: against its own ticks."""

import functools
import math
from importlib import import_module
from pathlib import Path
from xml.etree import ElementTree

import matplotlib
from PIL import ImageFont

from posenc_check import oracles

SVG = "{http://www.w3.org/2000/svg}"
# Page fonts are narrower than this one, which matplotlib brings along.
WIDE_FONT = ImageFont.truetype(Path(matplotlib.get_data_path()) / "fonts/ttf/DejaVuSans.ttf", 100)


def extent(text: str, at: float, size: float, anchor: str | None) -> tuple[float, float]:
    """Where a line of text begins and ends at most; at is its anchor point."""
    reach = size / 100 * WIDE_FONT.getlength(text)
    start = at - {None: 0, "start": 0, "middle": reach / 2, "end": reach}[anchor]
    return start, start + reach


@functools.cache
def svg(name: str) -> str:
    return import_module(f"tools.figures.{name}").draw()


def data(name: str):
    return import_module(f"tools.figures.{name}").data()


def elements(name: str) -> list[ElementTree.Element]:
    """All elements in the order in which they are drawn."""
    return list(ElementTree.fromstring(svg(name)).iter())


def texts(name: str) -> list[str]:
    """The words of the picture, a string for each piece of text."""
    return ["".join(e.itertext()) for e in elements(name) if e.tag == f"{SVG}text"]


def aria(name: str) -> str:
    return ElementTree.fromstring(svg(name)).get("aria-label")


def points(element) -> list[tuple[float, float]]:
    return [tuple(map(float, pair.split(","))) for pair in element.get("points").split()]


def mean_cosine(gap, width, base=10000.0):
    """The similarity of two rows, or the score of all-ones vectors, divided by its value at 0."""
    pairs = width // 2
    return sum(math.cos(gap * oracles.rope_speed(i, width, base)) for i in range(pairs)) / pairs


def curves(name: str) -> dict:
    """For each curve its points and the ticks of its panel, as (value, coordinate)."""
    found, ticks, in_curves = {}, {"x": [], "y": []}, False
    for element in elements(name):
        axis, curve = element.get("data-tick"), element.get("data-series")
        if axis:
            if in_curves:  # the ticks of the next panel
                ticks, in_curves = {"x": [], "y": []}, False
            value = float(element.text.replace("\N{MINUS SIGN}", "-"))
            ticks[axis].append((value, float(element.get(axis))))
        if curve:
            in_curves = True
            found[curve] = (points(element), ticks)
    return found


def assert_curve(name: str, curve: str, xs, ys, log_x=False, log_y=False) -> None:
    """The curve goes through every (x, y), read against the outer ticks of its panel."""
    drawn, ticks = curves(name)[curve]
    assert len(drawn) == len(xs) == len(ys)
    # Values grow to the right and upwards.
    assert min(ticks["x"])[1] < max(ticks["x"])[1] and min(ticks["y"])[1] > max(ticks["y"])[1]
    expected_x, expected_y = on_axis(ticks["x"], log_x), on_axis(ticks["y"], log_y)
    for (at_x, at_y), x, y in zip(drawn, xs, ys, strict=True):
        # Coordinates are written with two decimals.
        assert abs(at_x - expected_x(x)) < 0.02, (name, curve, x)
        assert abs(at_y - expected_y(y)) < 0.02, (name, curve, x)


def on_axis(ticks, log):
    place = math.log if log else float
    (low, low_at), (high, high_at) = min(ticks), max(ticks)
    for value, at in ticks:  # every tick between them stands where it says
        share = (place(value) - place(low)) / (place(high) - place(low))
        assert abs(at - (low_at + share * (high_at - low_at))) < 0.02

    def to_pixel(value):
        share = (place(value) - place(low)) / (place(high) - place(low))
        return low_at + share * (high_at - low_at)

    return to_pixel
