"""What the figures of longer context show: coordinates, marks and words, against the oracles."""

import math

import numpy as np
import pytest

from posenc_check import scaling
from tests.drawn import SVG, aria, assert_curve, curves, data, elements, on_axis, texts
from tests.figure_bands import assert_band, log_steps, mean_cosines

PLAIN = scaling.plain(128)


def slower(speeds, plain=PLAIN):
    return [a / b for a, b in zip(plain, speeds, strict=True)]


BANDS = {
    "linear": slower(scaling.linear(128, 8)),
    "ntk_aware": slower(scaling.ntk_aware(128, 8)),
    "ntk_by_parts": slower(scaling.ntk_by_parts(128, 8, 4096)),
    "yarn": slower(scaling.yarn(128, 8, 4096)),
    "llama3": slower(scaling.llama3(128, 8, 4096, base=10000.0)),
}


@pytest.mark.parametrize("rule", BANDS)
def test_bands(rule):
    waves = [2 * math.pi / speed for speed in PLAIN]
    assert_curve("rope_bands", rule, waves, BANDS[rule], log_x=True)
    assert rule in texts("rope_bands")
    near = min(range(64), key=lambda i: abs(waves[i] - 1000))
    words = aria("rope_bands").partition(f"At wavelength {waves[near]:.0f}: ")[2]
    assert f"{rule} {BANDS[rule][near]:.2f}" in words
    # Kept short waves and divided long ones, as the text says of three rules.
    long = [wave > 4096 for wave in waves]
    if rule not in ("linear", "ntk_aware"):
        assert BANDS[rule][0] == 1 and f"slow the {sum(long)} waves" in aria("rope_bands")
        assert all(x == pytest.approx(8) for x, above in zip(BANDS[rule], long) if above)


def test_bands_are_told_apart_by_line_and_label():
    lines = [e for e in elements("rope_bands") if e.get("data-series")]
    styles = {(e.get("stroke"), e.get("stroke-dasharray")) for e in lines}
    assert len(lines) == len(styles) == 5
    colours = {e.get("data-series"): e.get("stroke") for e in lines}
    names = {e.text: e.get("fill") for e in elements("rope_bands") if e.text in colours}
    assert names == colours


def test_bands_mark_the_trained_length():
    assert mark("rope_bands", "linear") == [pytest.approx(4096, rel=1e-3)]


def mark(name, curve) -> list[float]:
    """Where on the logarithmic x axis the dotted vertical lines of the curve's panel stand."""
    at = on_axis(curves(name)[curve][1]["x"], log=True)
    low, high = at(1), at(math.e)
    found = [e for e in elements(name) if e.tag == f"{SVG}line"]
    dotted = [float(e.get("x1")) for e in found
              if e.get("stroke-dasharray") == "2 3" and e.get("x1") == e.get("x2")]
    return [math.exp((x - low) / (high - low)) for x in dotted]


def test_yarn_ramps():
    ramps = {
        "paper": slower(scaling.ntk_by_parts(128, 32, 4096)),
        "code": slower(scaling.yarn(128, 32, 4096)),
    }
    for name, expected in ramps.items():
        assert_curve("yarn_ramps", name, range(64), expected, log_y=True)
        assert name in texts("yarn_ramps")
    paper, code = ramps.values()
    widest = max(range(64), key=lambda i: paper[i] / code[i])
    same = [math.isclose(a, b) for a, b in zip(paper, code, strict=True)]
    differ = [i for i in range(64) if not same[i]]
    assert differ == list(range(differ[0], differ[-1] + 1))
    slower_paper = [i for i in range(64) if not same[i] and paper[i] > code[i]]
    assert slower_paper == list(range(slower_paper[0], differ[-1] + 1))
    words = f"from pair {slower_paper[0]} to {differ[-1]} the paper's is slower"
    assert words in aria("yarn_ramps")
    assert f"same up to {differ[0] - 1}" in texts("yarn_ramps")
    assert f"up to pair {differ[0] - 1} and from pair {differ[-1] + 1}" in aria("yarn_ramps")
    assert f"pair {widest}: {paper[widest]:.2f}" in texts("yarn_ramps")
    assert f"{code[widest]:.2f}" in texts("yarn_ramps")
    ending = f"pair {widest}: {paper[widest]:.2f} in the paper, {code[widest]:.2f} in the code."
    assert aria("yarn_ramps").endswith(ending)
    # The two dots stand on the two curves.
    dots = [(float(e.get("cx")), float(e.get("cy"))) for e in elements("yarn_ramps")
            if e.tag == f"{SVG}circle"]
    assert dots == [curves("yarn_ramps")[name][0][widest] for name in ramps]


@pytest.mark.parametrize(
    "name, head_dim, factor", [("Llama 3.1", 128, 8), ("Llama 3.2 1B", 64, 32)]
)
def test_llama3(name, head_dim, factor):
    plain = scaling.plain(head_dim, 500000.0)
    expected = slower(scaling.llama3(head_dim, factor), plain)
    pairs = head_dim // 2
    assert_curve("llama3_bands", name, range(pairs), expected, log_y=True)
    blended = [i for i, speed in enumerate(plain) if 2048 <= 2 * math.pi / speed <= 8192]
    first, last = blended[0], blended[-1]
    shown = [f"0 to {first - 1} kept", f"{first} to {last} blended",
             f"{last + 1} to {pairs - 1} divided", f"{name}, factor {factor}"]
    assert set(shown) <= set(texts("llama3_bands"))
    assert f"rise from {expected[first]:.2f} to {expected[last]:.2f}" in aria("llama3_bands")
    assert f"blends pairs {first} to {last}," in aria("llama3_bands")
    # The grey band begins and ends halfway between two pairs.
    [band] = [e for e in elements("llama3_bands") if e.get("data-band") == f"{first}/{last}"]
    at = on_axis(curves("llama3_bands")[name][1]["x"], log=False)
    left, width = float(band.get("x")), float(band.get("width"))
    assert abs(left - at(first - 0.5)) < 0.02 and abs(left + width - at(last + 0.5)) < 0.04


@pytest.mark.parametrize("base, length", [(10000, 4096), (500000, 8192)])
def test_turns(base, length):
    turns = [length * speed / (2 * math.pi) for speed in scaling.plain(128, base)]
    assert_curve("rope_turns", str(base), range(64), turns, log_y=True)
    few = sum(t < 1 for t in turns)
    assert f"{few} of 64 pairs" in texts("rope_turns")
    assert f"base {base}, length {length}" in texts("rope_turns")
    words = f"from {turns[0]:.0f} turns down to {turns[-1]:.2g}, and {few} of 64 pairs below one"
    assert f"ase {base} with length {length}: {words}" in aria("rope_turns")
    at = on_axis(curves("rope_turns")[str(base)][1]["y"], log=True)
    [level] = [e for e in elements("rope_turns") if e.tag == f"{SVG}line"
               and e.get("stroke-dasharray")]
    assert abs(float(level.get("y1")) - at(1)) < 0.02 and level.get("y1") == level.get("y2")


AFTER = {
    "plain": (PLAIN, 1.0),
    "linear": (scaling.linear(128, 4), 1.0),
    "ntk_aware": (scaling.ntk_aware(128, 4), 1.0),
    "yarn": (scaling.yarn(128, 4, 4096), scaling.yarn_mscale(4)),
}


@pytest.mark.parametrize("rule", AFTER)
def test_score_after_scaling(rule):
    speeds, factor = AFTER[rule]
    scores = factor**2 * mean_cosines(np.arange(16385)[:, None] * speeds)
    shown = data("score_after_scaling")[rule]
    for name in [f"plain under {r}" for r in AFTER if r != rule] if rule == "plain" else [rule]:
        assert_band("score_after_scaling", name, shown, scores, log_steps(14), log_x=True)
        assert mark("score_after_scaling", f"{name} lowest") == [pytest.approx(4096, rel=1e-3)] * 3
    assert texts("score_after_scaling").count(rule) == (3 if rule == "plain" else 1)
    first = np.flatnonzero(scores < 0)[0]
    words = f"{rule} {scores[1]:.3f} at gap 1, {scores[4096]:.3f} at gap 4096, below zero first " \
        f"at gap {first}"
    assert words.replace("-", "minus ") in aria("score_after_scaling")


def test_stale_keys():
    now = np.array(scaling.dynamic_ntk(128, 4096, 2048, 2.0))
    then = [scaling.dynamic_ntk(128, p + 1, 2048, 2.0) for p in range(4096)]
    positions = np.arange(4096)[:, None]
    scores = {
        "consistent": mean_cosines((4095 - positions) * now)[::-1],
        "stale": mean_cosines(4095 * now - positions * np.array(then))[::-1],
    }
    for name, by_gap in scores.items():
        shown = data("dynamic_stale")[name]
        assert_band("dynamic_stale", name, shown, by_gap, log_steps(12), log_x=True)
        assert f"{by_gap[64]:.2f}" in texts("dynamic_stale")
    right, wrong = scores.values()
    for gap in (64, 3995):
        assert f"{wrong[gap]:.4f} instead of {right[gap]:.4f} for the key " in aria("dynamic_stale")
    assert f"score higher at {(wrong > right)[1:].sum()} of 4095 gaps" in aria("dynamic_stale")
    x, y = (on_axis(curves("dynamic_stale")["stale highest"][1][axis], axis == "x")
            for axis in "xy")
    dots = [(float(e.get("cx")), float(e.get("cy"))) for e in elements("dynamic_stale")
            if e.tag == f"{SVG}circle"]
    for dot, score in zip(dots, (right[64], wrong[64]), strict=True):
        assert math.dist(dot, (x(64), y(score))) < 0.03
