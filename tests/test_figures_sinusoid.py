"""What the figures outside RoPE show: coordinates and words, against the oracles."""

import base64
import io
import math
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from posenc_check import oracles
from tests.drawn import SVG, aria, assert_curve, data, elements, mean_cosine, texts

ROOT = Path(__file__).parents[1]


def test_heatmap_pixels():
    found = elements("sinusoid_heatmap")
    grey = {}
    for mask in [e for e in found if e.tag == f"{SVG}mask"]:
        png = base64.b64decode(mask[0].get("href").partition(",")[2])
        grey[f"url(#{mask.get('id')})"] = np.asarray(Image.open(io.BytesIO(png)), dtype=float) / 255
    colours = {e.get("mask"): e.get("fill") for e in found if e.get("mask")}
    shown = sum((1 if colours[m] == "var(--fig-2)" else -1) * image for m, image in grey.items())
    expected = oracles.sinusoid_table(range(64), 64).numpy()
    assert len(grey) == 2 and np.abs(shown - expected).max() <= 0.5 / 255 + 1e-6
    np.testing.assert_allclose(data("sinusoid_heatmap")["table"].numpy(), expected, atol=1e-7)


def test_heatmap_words():
    first, last = (2 * math.pi / oracles.rope_speed(pair, 64) for pair in (0, 31))
    assert f"first pair repeats after {first:.1f} positions" in aria("sinusoid_heatmap")
    assert f"last pair repeats after {last:.0f} positions" in aria("sinusoid_heatmap")


def test_clock_hands():
    hands = [e for e in elements("sinusoid_clock") if e.get("data-hand")]
    assert len(hands) == 12
    for hand in hands:
        position, pair = map(int, hand.get("data-hand").split("/"))
        x1, y1, x2, y2 = (float(hand.get(key)) for key in ("x1", "y1", "x2", "y2"))
        radius = math.hypot(x2 - x1, y2 - y1)
        assert abs((x2 - x1) / radius - oracles.sinusoid(position, 2 * pair, 8)) < 1e-3
        assert abs((y1 - y2) / radius - oracles.sinusoid(position, 2 * pair + 1, 8)) < 1e-3
    words = [f"{math.degrees(oracles.rope_speed(pair, 8)):.3g}°" for pair in range(4)]
    assert [text for text in texts("sinusoid_clock") if "°" in text] == words


@pytest.mark.parametrize("sign, base", [("minus", 10000.0), ("plus", 1 / 10000.0)])
def test_frequency_sign(sign, base):
    similar = [mean_cosine(gap, 64, base) for gap in range(41)]
    assert_curve("frequency_sign", sign, range(41), similar)
    assert f"gap 1: {similar[1]:.3f}" in texts("frequency_sign")
    assert f"{similar[1]:.3f} at gap 1" in aria("frequency_sign")
    assert texts("frequency_sign").count("cosine similarity") == 2  # a title for each panel
    assert texts("frequency_sign").count("width d = 64") == 2
    last = oracles.rope_speed(31, 64, base)
    word = f"{last:.5f}" if sign == "minus" else f"{last:.0f}"
    assert any(text.startswith(sign) and text.endswith(word) for text in texts("frequency_sign"))


def test_similarity():
    dots = [mean_cosine(gap, 512) for gap in range(101)]
    assert_curve("sinusoid_similarity", "whole", range(-100, 101), dots[:0:-1] + dots)
    assert_curve("sinusoid_similarity", "closer", range(36, 57), dots[36:57])
    rise = next(k for k in range(100) if dots[k + 1] > dots[k])
    step = dots[rise + 1] - dots[rise]
    assert f"{rise} to {rise + 1}: up by {step:.6f}" in texts("sinusoid_similarity")
    assert f"from gap {rise} to gap {rise + 1} it rises" in aria("sinusoid_similarity")


def test_position_enters_where_the_conventions_say():
    rows = (ROOT / "docs" / "conventions.md").read_text(encoding="utf-8").splitlines()
    start = next(i for i, row in enumerate(rows) if row.startswith("| Enters at |")) + 2
    places = [row.split("|")[1].strip() for row in rows[start : start + 4]]
    assert [place for _, _, place, _ in data("position_entry")] == places
    shown = texts("position_entry")
    assert [shown[shown.index(place) - 1] for place in places] == ["1", "2", "3", "4"]


def test_shapes():
    x, rows = torch.empty(4, 5, 6), torch.empty(1, 9, 6)[:, :5]
    output = list(torch.broadcast_shapes(x.shape, rows.shape))
    words = [f"table {[1, 9, 6]}", str(list(x.shape)), str(list(rows.shape)), str(output)]
    assert [text for text in texts("shapes_broadcast") if "[" in text] == words
    assert all(word.removeprefix("table ") in aria("shapes_broadcast") for word in words)
