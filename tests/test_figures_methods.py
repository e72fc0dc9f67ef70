"""What the figures of order, learned tables and biases show, against the oracles."""

import math

import pytest
import torch

from posenc_check import oracles
from tests.drawn import SVG, aria, assert_curve, curves, data, elements, texts

SENTENCES = ("the dog chased the cat".split(), "the cat chased the dog".split())


def attention_map(words, with_positions):
    """Weights from the inputs of the figure, as outputs for one-hot values."""
    d = data("order_maps")
    x = torch.stack([d["embeddings"][word] for word in words])
    if with_positions:
        x = x + oracles.sinusoid_table(range(5), 8)
    q, k = ((x @ d[name])[None, None] for name in ("w_q", "w_k"))
    return oracles.attention(q, k, torch.eye(5)[None, None])[0, 0]


@pytest.mark.parametrize("name", ["without", "with"])
def test_order_maps(name):
    maps = [attention_map(words, name == "with") for words in SENTENCES]
    darkest = max(attention_map(w, p).max() for w in SENTENCES for p in (False, True))
    for i, (words, weights) in enumerate(zip(SENTENCES, maps, strict=True)):
        # The table of the snippet is rounded to float32.
        torch.testing.assert_close(data("order_maps")[name][i], weights, rtol=0, atol=1e-6)
        cells = [e for e in elements("order_maps") if e.get("data-map") == f"{name}/{i}"]
        cells.sort(key=lambda e: (float(e.get("y")), float(e.get("x"))))
        shown = torch.tensor([float(e.get("fill-opacity")) for e in cells]).view(5, 5)
        # Two decimals of the opacity.
        torch.testing.assert_close(shown.double(), weights / darkest, rtol=0, atol=0.00501)
        followed = weights[words.index("chased"), words.index("dog")]
        assert f"chased, dog: {followed:.2f}" in texts("order_maps")
        assert f"{followed:.2f} in " in aria("order_maps")
    order = [SENTENCES[0].index(word) for word in SENTENCES[1]]  # either "the" will do
    reordered = maps[0][order][:, order]
    if name == "without":
        torch.testing.assert_close(maps[1], reordered, rtol=0, atol=1e-12)
    else:
        assert (maps[1] - reordered).abs().max() > 0.1
    assert f"{darkest:.2f}" in texts("order_maps")


def test_order_maps_frame_the_pair_that_they_name():
    found = elements("order_maps")
    frames = [e for e in found if e.tag == f"{SVG}rect" and e.get("stroke") == "var(--fig-2)"]
    for i, (frame, words) in enumerate(zip(frames, SENTENCES * 2, strict=True)):
        name = f"{('without', 'with')[i // 2]}/{i % 2}"
        cells = [e for e in found if e.get("data-map") == name]
        at = [(e.get("x"), e.get("y")) for e in cells].index((frame.get("x"), frame.get("y")))
        assert divmod(at, 5) == (words.index("chased"), words.index("dog"))
        labels = [e.text for e in found if e.get("y") and e.text in words]
        assert labels[10 * i : 10 * i + 10 : 2] == labels[10 * i + 1 : 10 * i + 10 : 2] == words


@pytest.mark.parametrize("column", [0, 3])
def test_stretched_table(column):
    old = oracles.sinusoid_table(range(8), 4, base=30.0)
    new = [oracles.stretched_row(old, row, 16)[column].item() for row in range(16)]
    assert_curve("learned_extend", f"new {column}", range(16), new)
    drawn, _ = curves("learned_extend")[f"new {column}"]
    rings = [e for e in elements("learned_extend") if e.get("data-old", "")[:2] == f"{column}/"]
    assert [(float(e.get("cx")), float(e.get("cy"))) for e in rings] == drawn[::2]
    assert f"{old[-1, column]:.2f}" in aria("learned_extend")


def test_shaw_buckets():
    buckets = [max(-4, min(4, gap)) + 4 for gap in range(-8, 9)]
    assert_curve("shaw_buckets", "bucket", range(-8, 9), buckets)
    cells = [e for e in elements("shaw_buckets") if e.get("data-pair")]
    assert len(cells) == 81
    for cell in cells:
        i, j = map(int, cell.get("data-pair").split("/"))
        assert int(cell.text) == max(-4, min(4, j - i)) + 4
        # Keys run to the right and queries downwards, in steps of one cell.
        assert float(cell.get("x")) - float(cells[0].get("x")) == 24 * j
        assert float(cell.get("y")) - float(cells[0].get("y")) == 24 * i
    assert f"the {buckets.count(8)} gaps from 4 to 8 share bucket 8" in aria("shaw_buckets")


@pytest.mark.parametrize("name, bidirectional", [("causal", False), ("one side", True)])
def test_t5_buckets(name, bidirectional):
    buckets = [oracles.t5_bucket(-distance, bidirectional) for distance in range(1, 201)]
    assert_curve("t5_buckets", name, range(1, 201), buckets, log_x=True)
    last = buckets.index(max(buckets)) + 1
    assert str(last) in texts("t5_buckets")
    assert f"{max(buckets)}, begins at distance {last}." in aria("t5_buckets")
    near = next(d for d, bucket in enumerate(buckets, 1) if buckets.count(bucket) > 1)
    assert f"distances below {near} have a bucket each" in aria("t5_buckets")
    [mark] = [e for e in elements("t5_buckets") if e.get("stroke-dasharray") == "2 3"]
    ticks = {e.text: e.get("x") for e in elements("t5_buckets") if e.get("data-tick") == "x"}
    assert mark.get("x1") == mark.get("x2") == ticks["128"]


def test_alibi_weights():
    distances = sorted({round(2 ** (i / 5)) for i in range(51)})
    assert {1, 2, 3, 1024} <= set(distances)
    slopes = oracles.alibi_slopes(8)
    for head, slope in enumerate(slopes, start=1):
        faded = [math.exp(-slope * distance) for distance in distances]
        assert_curve("alibi_slopes", f"head {head}", distances, faded, log_x=True)
    for head, slope in ((1, slopes[0]), (8, slopes[-1])):
        assert f"head {head}: slope 1/{1 / slope:.0f}" in texts("alibi_slopes")
    assert f"at distance {math.log(2) / slopes[0]:.1f}," in aria("alibi_slopes")
    assert f"at distance {math.log(2) / slopes[-1]:.0f}." in aria("alibi_slopes")
    numbers = [e for e in elements("alibi_slopes") if e.text in list("12345678") and e.get("x")]
    places = [float(e.get("x")) for e in numbers if not e.get("data-tick")]
    steps = [b - a for a, b in zip(places, places[1:])]
    assert len(steps) == 7 and max(steps) - min(steps) < 0.02  # each reaches twice as far
