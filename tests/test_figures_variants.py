"""What the figures of partial, two-dimensional and fading RoPE show, against the oracles."""

import base64
import io
import math

import numpy as np
import torch
from PIL import Image

from posenc_check import rope_variants, scaling
from tests.drawn import SVG, aria, assert_curve, curves, data, elements, on_axis, texts
from tests.figure_bands import assert_band, mean_cosines


def test_partial():
    partial, whole = scaling.partial(256, 0.25, 1e6), scaling.proportional(256, 0.25, 1e6)
    turning = [speed for speed in whole if speed]
    assert (len(partial), len(turning), len(whole)) == (32, 32, 128)
    assert_curve("partial_rope", "partial", range(32), partial, log_y=True)
    assert_curve("partial_rope", "proportional", range(32), turning, log_y=True)
    for name, speeds, last in (("partial", partial, f"{partial[-1]:.7f}"),
                               ("proportional", turning, f"{turning[-1]:.3g}")):
        assert f"{name}, to {last}" in texts("partial_rope")
        assert f"through {speeds[1]:.4f} down to " in aria("partial_rope")
    assert f"{partial[-1]:.7f}" in aria("partial_rope")
    assert f"{turning[-1]:.4f}" in aria("partial_rope")


def test_partial_shows_the_pairs_at_rest():
    at = on_axis(curves("partial_rope")["partial"][1]["x"], log=False)
    rest = [e for e in elements("partial_rope") if e.get("data-standing")]
    speeds = scaling.proportional(256, 0.25, 1e6)
    standing = [pair for pair, speed in enumerate(speeds) if speed == 0]
    assert [int(e.get("data-standing")) for e in rest] == standing
    assert all(abs(float(e.get("cx")) - at(pair)) < 0.02
               for e, pair in zip(rest, standing, strict=True))
    assert f"proportional: {len(standing)} pairs of speed 0" in texts("partial_rope")
    assert aria("partial_rope").endswith(f"and {len(standing)} stand still.")
    assert "partial: 192 coordinates left out" in texts("partial_rope")
    assert f"leaves {256 - 2 * 32} coordinates out" in aria("partial_rope")


def grid_scores(speeds):
    """Scores of the middle patch with all of the 15 by 15, divided by the width."""
    away = [(row - 7, column - 7) for row in range(15) for column in range(15)]
    angles = [[r * per_row + c * per_column for per_row, per_column in speeds] for r, c in away]
    return mean_cosines(angles).reshape(15, 15)


def test_grid_maps():
    generator = torch.Generator().manual_seed(6)
    direction = 2 * math.pi * torch.rand(1, 1, generator=generator, dtype=torch.float64).item()
    expected = {
        "axial": grid_scores([rope_variants.axial_speeds(i, 64) for i in range(32)]),
        "mixed": grid_scores([rope_variants.mixed_speeds(i, 64, direction) for i in range(32)]),
    }
    grey, colours = {}, {}
    for element in elements("rope_2d_map"):
        if element.tag == f"{SVG}mask":
            png = base64.b64decode(element[0].get("href").partition(",")[2])
            grey[element.get("id")] = np.asarray(Image.open(io.BytesIO(png)), dtype=float) / 255
        if element.get("mask"):
            colours[element.get("mask")[len("url(#") : -1]] = element.get("fill")
    assert len(grey) == len(colours) == 4
    for name, scores in expected.items():
        # Differences of 7 rows times a speed below 1, in another order of float64 operations.
        np.testing.assert_allclose(data("rope_2d_map")[name], scores, rtol=0, atol=1e-12)
        shown = sum((1 if colours[mask] == "var(--fig-2)" else -1) * image
                    for mask, image in grey.items() if mask.startswith(f"rope_2d_map-{name}-"))
        assert np.abs(shown - scores).max() <= 0.5 / 255 + 1e-6  # 256 shades of grey
        cells = [scores[at] for at in ((7, -1), (-1, 7), (-1, -1), (-1, 0))]
        numbers = "{:.2f} with the last patch of its row, {:.2f} with the last of its column, " \
            "{:.2f} in the lower right and {:.2f} in the lower left corner."
        words = f"{name.capitalize()}: {numbers.format(*cells)}".replace(" -", " minus ")
        assert words in aria("rope_2d_map")


def test_grid_maps_show_a_cross_upright_and_a_turned_one():
    axial, mixed = (data("rope_2d_map")[name].numpy() for name in ("axial", "mixed"))
    border = [(0, i) for i in range(15)]
    assert max(border, key=axial.__getitem__) == (0, 7)
    assert abs(max(border, key=mixed.__getitem__)[1] - 7) >= 2
    for scores in (axial, mixed):  # a right angle between the arms
        np.testing.assert_allclose(np.rot90(scores), scores, rtol=0, atol=1e-12)


def test_grid_maps_frame_the_middle_patch():
    found = [e for e in elements("rope_2d_map") if e.tag == f"{SVG}rect"]
    maps = [e for e in found if (e.get("mask") or "").endswith("positive)")]
    frames = [e for e in found if e.get("stroke") == "var(--fig-ink)"]
    for whole, frame in zip(maps, frames, strict=True):
        for corner, size in (("x", "width"), ("y", "height")):
            cell = float(whole.get(size)) / 15
            assert float(frame.get(size)) == cell
            assert float(frame.get(corner)) == float(whole.get(corner)) + 7 * cell


def test_sections():
    sections = {"blocks": (16, 24, 24), "interleaved": (24, 20, 20)}
    lanes = {}
    for element in elements("m_rope_sections"):
        order, _, pair = element.get("data-pair", "").partition("/")
        if order:
            place = (float(element.get("x")), float(element.get("y")), element.get("fill"))
            lanes.setdefault(order, {})[int(pair)] = place
    colours = {e.text: e.get("fill") for e in elements("m_rope_sections")
               if e.text in ("time", "height", "width")}
    for order, counts in sections.items():
        axes = rope_variants.m_rope_axes(counts, order)
        marks = [lanes[order][pair] for pair in range(64)]
        assert len(lanes[order]) == len(axes) == 64
        left, top = marks[0][:2]  # pair 0 is one of time, in the highest lane
        for pair, (axis, (x, y, colour)) in enumerate(zip(axes, marks, strict=True)):
            assert (x - left, y - top) == (5 * pair, 14 * axis)
            assert colour == list(colours.values())[axis]
        assert f"{order}: {', '.join(map(str, counts))}" in texts("m_rope_sections")
    last = max(pair for pair, axis in enumerate(axes) if axis)
    assert axes[: last + 1] == [0, 1, 2] * ((last + 1) // 3)
    assert f"in turn up to pair {last}, then time alone" in aria("m_rope_sections")
    assert "Blocks: 16 for time, 24 for height, 24 for width" in aria("m_rope_sections")


def test_positions_of_a_mixed_sequence():
    tokens, following = rope_variants.m_rope_positions([3, (1, 2, 3), 2])
    cells = {e.get("data-token"): e for e in elements("m_rope_sections") if e.get("data-token")}
    for row, axis in enumerate(("Time", "Height", "Width")):
        expected = [token[row] for token in tokens]
        shown = [cells[f"{row}/{i}"] for i in range(len(tokens))]
        assert [int(e.text) for e in shown] == expected
        places = [float(e.get("x")) for e in shown]
        assert places == sorted(places)  # from left to right
        assert f"{axis}: {' '.join(map(str, expected))}." in aria("m_rope_sections")
    assert len(cells) == 3 * len(tokens)
    assert f"next text token has position {following}." in aria("m_rope_sections")


def test_fading():
    speeds, offsets = scaling.plain(64), range(-512, 513)
    sizes = {"rope": [1.0] * 32, "xpos": [(2 * i / 64 + 0.4) / 1.4 for i in range(32)]}
    ones, starts = [1.0] * 64, list(range(-512, 512, 16))
    scores = {}
    for name, scale in sizes.items():
        scores[name] = np.array([
            rope_variants.xpos_score(ones, ones, r, speeds, scale, "half") / 64 for r in offsets
        ])
        assert_band("xpos_fade", name, data("xpos_fade")[name], scores[name], starts, first=-512)
    rope, xpos = scores.values()
    np.testing.assert_allclose(rope, rope[::-1], rtol=0, atol=1e-12)
    here, there = 512 + 100, 512 - 100
    assert f"{rope[here]:.3f} at minus 100 and at 100" in aria("xpos_fade")
    words = f"xPos is {xpos[here]:.3f} at 100 and {xpos[there]:.3f} at minus 100"
    assert words in aria("xpos_fade")
    before, after = xpos[:256].max(), xpos[-256:].max()
    words = f"RoPE reaches {rope[:256].max():.2f} on each side, and xPos {before:.2f} where the " \
        f"key comes after the query and {after:.2f} where it comes before."
    assert aria("xpos_fade").endswith(words)
    assert after < rope[:256].max() < before
