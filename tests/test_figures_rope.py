"""What the figures of RoPE show: coordinates, counts and words, against the oracles."""

import cmath
import math

import numpy as np
import pytest

from posenc_check import oracles
from tests.drawn import SVG, aria, assert_curve, data, elements, mean_cosine, points, texts


def test_rotation():
    arrows = {"q": complex(0.95, 0.25), "k": complex(-0.2, 0.85)}
    found = elements("rope_rotation")
    rims = [e for e in found if e.tag == f"{SVG}circle"]
    for rim, (m, n) in zip(rims, ((7, 3), (19, 15)), strict=True):
        x, y, radius = (float(rim.get(key)) for key in ("cx", "cy", "r"))
        speed = oracles.rope_speed(1, 8)
        turned = {k: arrows[k] * cmath.exp(1j * p * speed) for k, p in (("q", m), ("k", n))}
        for name, expected in turned.items():
            [head] = [e for e in found if e.get("data-tip") == f"{name}/{m}"]
            tip = points(head)[0]
            drawn = complex((tip[0] - x) / radius, (y - tip[1]) / radius)
            assert abs(drawn - expected) < 1e-3
        product = turned["q"].conjugate() * turned["k"]
        words = f"score {product.real:.3f}", f"{math.degrees(cmath.phase(product)):.0f}°"
        assert all(texts("rope_rotation").count(word) == 2 for word in words)
        assert f"m = {m}, n = {n}" in aria("rope_rotation")
        assert aria("rope_rotation").count(f"{product.real:.3f}") == 2
    assert "same gap: m \N{MINUS SIGN} n = 4" in texts("rope_rotation")
    words = f"{speed:.3g} radians ({math.degrees(speed):.1f}°) per position"
    assert f"speed: {words}" in texts("rope_rotation") and words in aria("rope_rotation")


def test_rotation_shows_each_arrow_before_its_turn_in_its_own_colour():
    arrows = {"q": complex(0.95, 0.25), "k": complex(-0.2, 0.85)}
    found = elements("rope_rotation")
    radius = float(next(e for e in found if e.tag == f"{SVG}circle").get("r"))
    for name, arrow in arrows.items():
        heads = [e for e in found if e.get("data-tip", "").startswith(f"{name}/")]
        dotted = [e for e in found if e.get("data-before") == name]
        assert len(heads) == len(dotted) == 2
        for line in dotted:
            x1, y1, x2, y2 = (float(line.get(key)) for key in ("x1", "y1", "x2", "y2"))
            assert abs(complex(x2 - x1, y1 - y2) / radius - arrow) < 1e-3
        [colour] = {e.get("fill") for e in heads} | {e.get("stroke") for e in dotted}
        names = [e for e in found if e.tag == f"{SVG}text" and "".join(e.itertext()) == name]
        assert [e.get("fill") for e in names] == [colour] * 4


@pytest.mark.parametrize("base", [10000, 500000])
def test_score_against_gap(base):
    every, edges = all_scores(base), data("rope_score_gap")[base]
    for name, most in (("lowest", np.min), ("highest", np.max)):
        gaps = [gap for gap, _ in edges[name]]
        scores = [mean_cosine(gap, 128, base) for gap in gaps]
        assert_curve("rope_score_gap", f"{base} {name}", gaps, scores, log_x=True)
        # The band leaves nothing out: each doubling shows its true extreme.
        for low in [2**power for power in range(14)]:
            shown = [score for gap, score in zip(gaps, scores, strict=True) if low <= gap < 2 * low]
            assert abs(most(shown) - most(every[low : 2 * low])) < 1e-9


def all_scores(base):
    speeds = [oracles.rope_speed(i, 128, base) for i in range(64)]
    return np.cos(np.arange(16385)[:, None] * speeds).mean(1)


def test_score_below_zero():
    below = {base: np.flatnonzero(all_scores(base) < 0).tolist() for base in (10000, 500000)}
    assert f"below zero at {below[10000][0]}" in texts("rope_score_gap")
    assert f"for the first time at gap {below[10000][0]}," in aria("rope_score_gap")
    assert not below[500000] and aria("rope_score_gap").endswith("stays above zero.")


@pytest.mark.parametrize("base", [10000, 500000])
def test_wavelengths(base):
    waves = [2 * math.pi / oracles.rope_speed(i, 128, base) for i in range(64)]
    assert_curve("rope_wavelengths", str(base), range(64), waves, log_y=True)
    words = f"{sum(wave > 4096 for wave in waves)} of 64 pairs at base {base}"
    assert words in texts("rope_wavelengths") and words in aria("rope_wavelengths")
    assert f"{waves[-1]:.0f}" in aria("rope_wavelengths")
    assert "trained length 4096" in texts("rope_wavelengths")


@pytest.mark.parametrize("layout", ["half", "interleaved"])
def test_layouts(layout):
    boxes = {}
    for element in elements("rope_layouts"):
        drawn, _, pair = element.get("data-pair", "").partition("/")
        if drawn == layout:
            boxes.setdefault(int(pair), []).append((float(element.get("x")), int(element.text)))
    expected = [oracles.pair_columns(pair, 8, layout) for pair in range(4)]
    assert [tuple(column for _, column in boxes[pair]) for pair in range(4)] == expected
    places = sorted(box for pair in boxes.values() for box in pair)
    assert [column for _, column in places] == list(range(8))  # from left to right
    words = "; ".join(f"{a} with {b}" for a, b in expected)
    assert f"Layout {layout}: {words}." in aria("rope_layouts")


def test_scaling():
    assert_curve("rope_scaling", "linear", range(64), [4] * 64)
    plain = [oracles.rope_speed(i, 128) for i in range(64)]
    slower = [speed / oracles.ntk_speed(i, 128, 4) for i, speed in enumerate(plain)]
    assert_curve("rope_scaling", "ntk_aware", range(64), slower)
    assert f"{slower[32]:.2f} for pair 32" in aria("rope_scaling")
    assert "4 for every pair" in aria("rope_scaling") and aria("rope_scaling").endswith(
        f"{slower[0]:.0f} for the first pair, {slower[32]:.2f} for pair 32, 4 for the last."
    )
