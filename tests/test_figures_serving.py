"""What the figures of precision, parallel ranks and decoding show, against plain arithmetic."""

import numpy as np
import pytest

from posenc_check import scaling
from tests.drawn import SVG, aria, curves, data, elements, on_axis, texts
from tests.figure_bands import assert_band, log_steps, mean_cosines


def to_bf16(values):
    """The nearest numbers with 16 bits less than float32, halves to the even one."""
    bits = np.asarray(values, dtype=np.float32).view(np.uint32).astype(np.uint64)
    even = (bits >> 16) & 1
    kept = ((bits + 0x7FFF + even) >> 16) << 16
    return kept.astype(np.uint32).view(np.float32)


def to_fp16(values):
    return np.asarray(values, dtype=np.float32).astype(np.float16).astype(np.float32)


def to_fp32(values):
    return np.asarray(values, dtype=np.float32)


ROUND = {"bf16": to_bf16, "fp16": to_fp16, "fp32": to_fp32}


def turned(name):
    """The angle between neighbours at positions 0 to 16384, (T, P)."""
    rounded = ROUND[name]
    positions, speeds = rounded(np.arange(16386)), rounded(scaling.plain(128))
    angles = rounded(positions[:, None] * speeds)  # a product of two such is exact in float32
    return np.diff(angles.astype(np.float64), axis=0)


def merges_at(figure, name):
    """The position of the dot under a format's label, which stands at a score of 1."""
    found, ticks = elements(figure), curves(figure)[f"{name} highest"][1]
    line, dot, label = next(found[i - 2 : i + 1] for i, e in enumerate(found)
                            if "".join(e.itertext()).startswith(f"{name}: "))
    x, y = float(dot.get("cx")), float(dot.get("cy"))
    assert line.get("x1") == line.get("x2") == dot.get("cx") == label.get("x")
    assert line.get("y2") == dot.get("cy") and abs(y - on_axis(ticks["y"], log=False)(1)) < 0.02
    at = on_axis(ticks["x"], log=True)
    return next(tick for tick, _ in ticks["x"] if abs(at(tick) - x) < 0.02)


@pytest.mark.parametrize("name", ROUND)
def test_precision(name):
    angles = turned(name)
    scores, exact = mean_cosines(angles), np.cos(scaling.plain(128)).mean()
    shown = data("precision_positions")[name]
    assert_band("precision_positions", name, shown, scores, log_steps(14), log_x=True)
    if name == "fp32":
        assert not (angles == 0).all(1).any()
        furthest = np.abs(scores[1:] - exact).max()
        assert f"fp32 stays within {furthest:.6f} of it" in aria("precision_positions")
    else:
        first = np.flatnonzero((angles == 0).all(1))[0]
        assert f"{name}: {first} and {first + 1} merge" in texts("precision_positions")
        assert merges_at("precision_positions", name) == first
        words = f"In {name} it is exactly 1 for positions {first} and {first + 1}, which get the " \
            f"same angles, and falls to {scores[1:].min():.3f} elsewhere."
        assert words in aria("precision_positions")


def test_precision_marks_the_exact_score():
    exact = np.cos(scaling.plain(128)).mean()
    assert f"fp32 and exact: {exact:.3f}" in texts("precision_positions")
    assert f"The exact score is {exact:.4f} everywhere" in aria("precision_positions")
    at = on_axis(curves("precision_positions")["fp32 lowest"][1]["y"], log=False)
    [level] = [e for e in elements("precision_positions") if e.tag == f"{SVG}line"
               and e.get("stroke-dasharray") == "2 3"]
    assert abs(float(level.get("y1")) - at(exact)) < 0.02 and level.get("y1") == level.get("y2")


SPLITS = {"contiguous": lambda chunk: chunk // 2, "zigzag": lambda chunk: min(chunk, 7 - chunk)}


@pytest.mark.parametrize("name", SPLITS)
def test_parallel_split(name):
    owners = [SPLITS[name](chunk) for chunk in range(8)]
    found = elements("parallel_split")
    chunks = [e for e in found if e.get("data-chunk", "").startswith(f"{name}/")]
    chunks.sort(key=lambda e: float(e.get("x")))
    assert [e.get("data-chunk") for e in chunks] == [f"{name}/{i}" for i in range(8)]
    assert [int(e.text) for e in chunks] == owners

    work = [0] * 4  # two rows in each chunk; a query sees itself and all keys before it
    for query in range(16):
        for key in range(16):
            work[owners[query // 2]] += key <= query
    bars = [e for e in found if e.get("data-work", "").startswith(f"{name}/")]
    assert [e.get("data-work") for e in bars] == [f"{name}/{rank}" for rank in range(4)]
    for bar, pairs in zip(bars, work, strict=True):
        assert abs(float(bar.get("width")) - 240 * pairs / 58) < 0.01  # 58 is the most
        assert found[found.index(bar) + 1].text == str(pairs)  # the number after its bar
    words = f"{name.capitalize()}: chunks belong to ranks {' '.join(map(str, owners))}, and the " \
        f"ranks have {', '.join(map(str, work))} key-query pairs."
    assert words in aria("parallel_split")


def test_parallel_split_gives_each_rank_one_colour():
    found = elements("parallel_split")
    colours = {}
    for before, element in zip(found, found[1:]):
        if element.get("data-chunk"):
            colours.setdefault(element.text, set()).add(before.get("fill"))
        if element.get("data-work"):
            colours[element.get("data-work")[-1]].add(element.get("fill"))
    assert sorted(colours) == list("0123") and all(len(c) == 1 for c in colours.values())
    assert len(set.union(*colours.values())) == 4


@pytest.mark.parametrize("row, mask", [(0, [0, 0, 1, 1, 1, 1]), (1, [1, 1, 1, 1, 1, 1])])
def test_decode_positions(row, mask):
    cells = [e for e in elements("decode_positions")
             if e.get("data-slot", "").startswith(f"{row}/")]
    expected = [sum(mask[:slot]) if real else "pad" for slot, real in enumerate(mask)]
    assert [e.text for e in cells] == [str(p) for p in expected]
    places = [float(e.get("x")) for e in cells]
    numbers = [e for e in elements("decode_positions")
               if e.text in list("012345") and not e.get("data-slot")]
    assert [(e.text, float(e.get("x"))) for e in numbers] == [
        (str(slot), x) for slot, x in enumerate(places)
    ]
    assert f"row {row}: {sum(mask)} tokens" in texts("decode_positions")
    keys = ", ".join(str(p) for p in expected[:-1] if p != "pad")
    words = f"Row {row} has padding in {mask.count(0)} slots, cached keys at positions {keys}, " \
        f"and its new query at position {expected[-1]}."
    assert words in aria("decode_positions")


def test_decode_positions_mark_padding_and_the_query():
    found = elements("decode_positions")
    boxes = {e.get("data-slot"): box for box, e in zip(found, found[1:]) if e.get("data-slot")}
    dashed = [slot for slot, box in boxes.items() if box.get("stroke-dasharray")]
    assert dashed == ["0/0", "0/1"]
    second = [slot for slot, box in boxes.items() if box.get("stroke") == "var(--fig-2)"]
    assert second == ["0/5", "1/5"]
    heads = {e.text: e for e in found if e.text in ("cached keys", "query")}
    assert heads["query"].get("x") == found[found.index(boxes["1/5"]) + 1].get("x")
