"""Figures of notebooks as SVG of the page: colours, ids, words, and where the lines go."""

import re
from xml.etree import ElementTree

import matplotlib.pyplot as plt
import pytest

from tests.drawn import SVG
from tests.guard.digest import ROOT
from tools import notebook_figures
from tools.notebook_figures import BLUE, MUTED, ORANGE, VARIABLES, described, show, themed

XS, YS = [64, 80, 128], [1.0, 2.5, 1.25]


@pytest.fixture
def figure():
    found, axes = plt.subplots()
    axes.plot(XS, YS, "o--", color=BLUE, label="RoPE")
    axes.fill_between(XS, [1, 2, 1], [2, 3, 2], color=ORANGE, alpha=0.2)
    axes.axvline(64, color=MUTED)
    axes.set(xlabel="length", ylabel="loss", xticks=[64, 128], yticks=[1, 2, 3])
    yield found
    plt.close(found)


def test_colours_are_those_of_the_light_page():
    palette = (ROOT / "docs/assets/css/palette.css").read_text(encoding="utf-8")
    light = palette.partition('"default"')[2].partition("}")[0]
    found = {colour: name for name, colour in re.findall(r"--fig-(\w+): (#\w+);", light)}
    assert found == VARIABLES and len(found) == 8


def test_colours_fonts_and_ids_are_those_of_the_page(figure):
    picture = themed(figure, "Words.", "figure-7")
    unwanted = r"#[0-9a-fA-F]{6}|font-family|<style|<metadata|http(?!://www.w3.org)"
    assert not re.search(unwanted, picture)
    root = ElementTree.fromstring(picture)
    assert set(root.attrib) == {"viewBox", "style", "role", "aria-label"}
    ids = {element.get("id") for element in root.iter()} - {None}
    used = set(re.findall(r"(?:url\(|href=\")#([^)\"]+)", picture))
    assert ids == used and all(name.startswith("figure-7-") for name in ids)
    assert {"var(--fig-1)", "var(--fig-2)", "var(--fig-muted)"} <= set(
        re.findall(r"var\(--fig-\w+\)", picture)
    )


def test_the_line_goes_through_its_values(figure):
    root = ElementTree.fromstring(themed(figure, "Words.", "figure-7"))
    styles = {e.get("d"): e.get("style", "") for e in root.iter(f"{SVG}path")}
    (path,) = (d for d, style in styles.items() if "stroke-dasharray" in style and "fig-1" in style)
    points = [tuple(map(float, pair)) for pair in re.findall(r"([\d.]+) ([\d.]+)", path)]
    (x0, y0), (x1, y1), (x2, y2) = points
    assert (x1 - x0) / (x2 - x0) == pytest.approx(16 / 64, abs=1e-4)
    assert (y1 - y0) / (y2 - y0) == pytest.approx(1.5 / 0.25, rel=1e-4) and y1 < y0


def test_words_are_read_off_the_labelled_lines(figure):
    assert described(figure) == "loss against length. RoPE: 1.00 at 64, 1.25 at 128."
    figure.axes[0].lines[0].set_ydata([1.0, 2.5, 7.0])
    assert "7.00 at 128" in described(figure)


def test_show_wants_words(figure, monkeypatch):
    shown = []
    monkeypatch.setattr(notebook_figures, "display", lambda page: shown.append(page.data))
    figure.axes[0].lines[0].set_label("_nothing")
    with pytest.raises(ValueError, match="alternative must be given where no line has a label"):
        show(figure, "A caption.")
    show(figure, "Less < more.", 'A line & "more".')
    assert plt.fignum_exists(figure.number) is False
    assert 'aria-label="A line &amp; &quot;more&quot;."' in shown[0]
    assert shown[0].endswith("<figcaption>Less &lt; more.</figcaption></figure>")
