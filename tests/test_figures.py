"""The form of the figures: clean SVG that takes its colours and its font from the page."""

import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.drawn import SVG, aria, elements, extent, svg
from tools.figures import NAMES
from tools.figures.__main__ import draw_all

ROOT = Path(__file__).parents[1]
COLOUR = re.compile(r"none|currentColor|var\(--fig-(ink|muted|grid|[1-5])\)")
TAGS = "svg g line polyline polygon circle rect path text tspan mask image".split()


def test_the_pages_show_exactly_these_figures():
    pages = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "docs").rglob("*.md"))
    shown = re.findall(r'^--8<-- "docs/_generated/figures/(\w+)\.svg"$', pages, flags=re.M)
    assert sorted(set(shown)) == sorted(NAMES)


def test_a_figure_is_a_module_with_its_name():
    modules = {path.stem for path in (ROOT / "tools" / "figures").glob("*.py")}
    assert modules - {"__init__", "__main__", "svg", "chart"} == set(NAMES)


def test_two_runs_write_the_same_bytes(tmp_path):
    draw_all(tmp_path / "here")
    code = f"from pathlib import Path; from tools.figures.__main__ import draw_all; \
draw_all(Path({str(tmp_path / 'there')!r}))"
    subprocess.run([sys.executable, "-W", "error", "-c", code], cwd=ROOT, check=True)
    for name in NAMES:
        here, there = (tmp_path / run / f"{name}.svg" for run in ("here", "there"))
        assert here.read_bytes() == there.read_bytes() == svg(name).encode()
    assert len(list((tmp_path / "here").iterdir())) == len(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_markdown_can_take_it(name):
    assert svg(name).startswith("<svg ") and svg(name).endswith("</svg>\n")
    assert svg(name).count("\n") == 1  # one line, so no blank one


@pytest.mark.parametrize("name", NAMES)
def test_it_has_a_text_alternative_and_takes_the_width_of_the_page(name):
    root = ElementTree.fromstring(svg(name))
    assert root.get("role") == "img"
    assert len(aria(name)) > 100 and aria(name).endswith(".")
    assert not re.search(r"[{}]|None|nan", aria(name))
    assert set(root.attrib) == {"viewBox", "style", "role", "aria-label"}
    assert root.get("style") == "width:100%;max-width:29em;height:auto"


@pytest.mark.parametrize("name", NAMES)
def test_nothing_leaks_into_the_page(name):
    for element in elements(name):
        assert element.tag.removeprefix(SVG) in TAGS
        for key, value in element.attrib.items():
            assert not key.startswith("on") and key not in ("class", "font-family")
            assert key != "style" or element.tag == f"{SVG}svg"
            assert key != "href" or value.startswith("data:image/png;base64,")
            assert "url(" not in value or value.startswith(f"url(#{name}-")
    assert re.findall(r"https?://[^\"]*", svg(name)) == ["http://www.w3.org/2000/svg"]
    assert "<!--" not in svg(name)


@pytest.mark.parametrize("name", NAMES)
def test_every_colour_is_one_of_the_page(name):
    for element in elements(name):
        for key in ("fill", "stroke"):
            assert COLOUR.fullmatch(element.get(key, "none")), element.attrib
    without_images = re.sub(r'href="data:[^"]*"', "", svg(name))
    assert not re.search(r"#[0-9a-fA-F]{3,8}\b|rgb|hsl", without_images)


def test_ids_are_unique_over_all_figures_and_begin_with_the_name():
    found = [(name, e.get("id")) for name in NAMES for e in elements(name) if e.get("id")]
    assert len({key for _, key in found}) == len(found) > 0
    assert all(key.startswith(f"{name}-") for name, key in found)
    used = {key for name in NAMES for key in re.findall(r"url\(#([^)]+)\)", svg(name))}
    assert used == {key for _, key in found}


@pytest.mark.parametrize("name", NAMES)
def test_text_is_readable_on_a_phone_and_stays_inside(name):
    root = ElementTree.fromstring(svg(name))
    _, _, width, height = map(float, root.get("viewBox").split())
    assert width == 380
    usual = float(root[0].get("font-size"))
    for element in root.iter(f"{SVG}text"):
        size = float(element.get("font-size") or usual)
        assert size >= 13
        words = "".join(element.itertext())
        start, end = extent(words, float(element.get("x")), size, element.get("text-anchor"))
        assert 0 <= start and end <= width, words
        assert size / 2 <= float(element.get("y")) <= height - size / 2
