"""The drawing of --plot, parsed: every dot lies where its numbers put it."""

import json
import math
import xml.etree.ElementTree as ElementTree

import pytest

from posenc_check.command import main
from posenc_check.scaling import llama3, plain
from tests.rope_configs import EXAMPLES, config

SVG = "{http://www.w3.org/2000/svg}"
# The frame: 60 to 670 across, 345 to 50 upwards; a coordinate has two decimals.
CLOSE = 0.0051


def drawn(path, tmp_path):
    out = tmp_path / "out.svg"
    main(["config", str(path), "--plot", str(out)])
    return ElementTree.fromstring(out.read_text(encoding="utf-8"))


def across(wavelength, decades):
    return 60 + 610 * math.log10(wavelength) / decades


def upwards(slow_down, doublings):
    return 345 - 295 * math.log2(slow_down) / doublings


def numbers(element, *names):
    return [float(element.get(name)) for name in names]


def test_each_pair_has_a_dot_at_its_wavelength_and_slow_down(tmp_path):
    svg = drawn(EXAMPLES / "llama-3.1-8b.json", tmp_path)
    dots = svg.findall(f".//{SVG}circle")
    old, new = plain(128, 5e5), llama3(128)
    assert len(dots) == 64
    for dot, before, after in zip(dots, old, new):
        place = [across(2 * math.pi / before, 7), upwards(before / after, 3)]
        assert numbers(dot, "cx", "cy") == pytest.approx(place, abs=CLOSE)
    [line] = svg.findall(f".//{SVG}polyline")
    points = [[float(part) for part in point.split(",")] for point in line.get("points").split()]
    assert points == [numbers(dot, "cx", "cy") for dot in dots]
    hint = dots[29].find(f"{SVG}title").text
    assert hint == "pair 29: wavelength 2402, slow-down 1.207"


def test_the_trained_length_is_a_line_with_its_name(tmp_path):
    svg = drawn(EXAMPLES / "llama-3.1-8b.json", tmp_path)
    [line] = [each for each in svg.findall(f"{SVG}line") if each.get("class") == "trained"]
    x = pytest.approx(across(8192, 7), abs=CLOSE)
    assert numbers(line, "x1", "x2") == [x, x]
    assert numbers(line, "y1", "y2") == [50, 345]
    assert "trained length 8 192" in [text.text for text in svg.findall(f"{SVG}text")]


def test_the_ticks_stand_at_their_numbers(tmp_path):
    svg = drawn(EXAMPLES / "llama-3.1-8b.json", tmp_path)
    texts = {text.text: numbers(text, "x", "y") for text in svg.findall(f"{SVG}text")}
    for exponent, label in enumerate(["1", "10", "100", "1 000", "10 000", "100 000"]):
        if label != "1":  # both axes have a 1
            assert texts[label] == pytest.approx([across(10**exponent, 7), 363], abs=CLOSE)
    for label in ("2", "4", "8"):
        assert texts[label] == pytest.approx([52, upwards(int(label), 3) + 4], abs=CLOSE)
    assert texts["wavelength of the pair before scaling, in tokens"] and texts["slow-down"]


def test_it_has_a_title_a_description_and_colours_for_the_dark(tmp_path):
    svg = drawn(EXAMPLES / "gemma-3-12b.json", tmp_path)
    assert svg.get("role") == "img" and svg.get("aria-labelledby") == "t d"
    assert svg.get("viewBox") == "0 0 720 400"
    title, desc = svg.find(f"{SVG}title"), svg.find(f"{SVG}desc")
    assert title.get("id") == "t" and title.text == "Slow-down of each pair: gemma-3-12b.json"
    assert desc.get("id") == "d" and desc.text == (
        "full_attention: 128 pairs turn, slowed 8 to 8 times; "
        "sliding_attention: 128 pairs turn, slowed 1 to 1 times"
    )
    style = svg.find(f"{SVG}style").text
    assert "@media (prefers-color-scheme: dark)" in style and "url(" not in style
    assert not [each for each in svg.iter() if "href" in " ".join(each.attrib)]


def test_layer_types_have_curves_of_their_own(tmp_path):
    svg = drawn(EXAMPLES / "gemma-3-12b.json", tmp_path)
    first, second = svg.findall(f"{SVG}polyline")
    assert (first.get("class"), second.get("class")) == ("s0", "s1")
    heights = [{p.split(",")[1] for p in line.get("points").split()} for line in (first, second)]
    assert heights == [{"50.00"}, {"345.00"}]
    [x] = {each.get("x1") for each in svg.findall(f"{SVG}line") if each.get("class") == "trained"}
    assert float(x) == pytest.approx(across(131072, 7), abs=CLOSE)
    texts = [text.text for text in svg.findall(f"{SVG}text")]
    assert "maximum length 131 072" in texts and "sliding_attention" in texts


def write(tmp_path, whole, name="some.json"):
    path = tmp_path / name
    path.write_text(json.dumps(whole))
    return path


def test_pairs_that_stand_still_are_not_drawn(tmp_path):
    svg = drawn(write(tmp_path, config("proportional")), tmp_path)
    assert len(svg.findall(f".//{SVG}circle")) == 4


def test_a_name_with_signs_of_markup_is_text(tmp_path):
    svg = drawn(write(tmp_path, config("linear"), "a<b&c.json"), tmp_path)
    assert svg.find(f"{SVG}title").text == "Slow-down of each pair: a<b&c.json"


def test_the_file_written_is_named_in_the_last_line(tmp_path, capsys):
    path, out = write(tmp_path, config("linear")), tmp_path / "out.svg"
    main(["config", str(path)])
    before = capsys.readouterr().out
    assert main(["config", str(path), "--plot", str(out)]) == 0
    assert capsys.readouterr() == (f"{before}written: {out}\n", "")
    assert out.exists()


def test_beside_json_the_file_written_is_named_on_the_other_stream(tmp_path, capsys):
    path, out = write(tmp_path, config("linear")), tmp_path / "out.svg"
    assert main(["config", str(path), "--plot", str(out), "--json"]) == 0
    captured = capsys.readouterr()
    assert json.loads(captured.out)["file"] == "some.json"
    assert captured.err == f"written: {out}\n"


def test_nothing_to_draw_is_said(tmp_path, capsys):
    out = tmp_path / "out.svg"
    path = write(tmp_path, config("linear", factor=0))
    assert main(["config", str(path), "--plot", str(out)]) == 1
    captured = capsys.readouterr()
    assert captured.err == "posenc_check: nothing to draw\n" and "written" not in captured.out
    assert not out.exists()


def test_a_place_that_cannot_be_written_has_status_2(tmp_path, capsys):
    path = write(tmp_path, config("linear"))
    assert main(["config", str(path), "--plot", str(tmp_path / "no" / "out.svg")]) == 2
    text = f"posenc_check: cannot write {tmp_path / 'no' / 'out.svg'}: No such file or directory\n"
    assert capsys.readouterr().err == text
