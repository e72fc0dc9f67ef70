"""What the figures of the learned and content-dependent biases show, against plain math."""

import math

import pytest

from posenc_check import relative, score_biases
from tests.drawn import SVG, aria, assert_curve, curves, data, elements, on_axis, texts


def marked(name, key) -> dict:
    """The elements that carry data-key, by its value."""
    found = {e.get(f"data-{key}"): e for e in elements(name)}
    found.pop(None)
    return found


def dots(name) -> list[tuple[float, float]]:
    return [(float(e.get("cx")), float(e.get("cy")))
            for e in elements(name) if e.tag == f"{SVG}circle"]


def assert_dots(drawn, ticks, xs, ys, log_x=False):
    at_x, at_y = on_axis(ticks["x"], log_x), on_axis(ticks["y"], False)
    for (x, y), right, high in zip(drawn, xs, ys, strict=True):
        # Coordinates are written with two decimals.
        assert abs(x - at_x(right)) < 0.02 and abs(y - at_y(high)) < 0.02


def sandwich(distance):
    speeds = [10000 ** (-i / 64) for i in range(64)]
    return sum(math.cos(distance * speed) - 1 for speed in speeds) / 8


BIASES = {
    "ALiBi": lambda distance: -distance / 8,
    "KERPLE, log": lambda distance: -1.5 * math.log(1 + distance),
    "KERPLE, power": lambda distance: -0.5 * math.sqrt(distance),
    "Sandwich": sandwich,
}


@pytest.mark.parametrize("name", BIASES)
def test_bias_shapes(name):
    bias = [BIASES[name](distance) for distance in range(65)]
    # 64 cosines in another order of float64 operations.
    assert data("bias_shapes")[name] == pytest.approx(bias, rel=0, abs=1e-11)
    assert_curve("bias_shapes", name, range(65), bias)
    assert name in texts("bias_shapes")
    words = f"{name} {bias[1]:.2f}, {bias[16]:.2f} and {bias[64]:.2f}"
    assert words.replace(" -", " minus ") in aria("bias_shapes")


def test_bias_shapes_differ_in_dash_and_colour():
    lines = marked("bias_shapes", "series")
    assert set(lines) == set(BIASES)
    names = {e.text: e for e in elements("bias_shapes") if e.text in lines}
    for key in ("stroke", "stroke-dasharray"):
        assert len({line.get(key) for line in lines.values()}) == len(BIASES)
    for name, line in lines.items():
        assert names[name].get("fill") == line.get("stroke")


def test_relative_shift():
    entries, boxes = (marked("relative_shift", key) for key in ("entry", "box"))
    assert set(entries) == set(boxes) and len(boxes) == 2 * 4 * 4
    before = [[3, 2, 1, 0]] * 4
    expected = relative.shifted(before, 4)
    fills = [boxes[f"before/{i}/0"].get("fill") for i in range(4)]
    assert len(set(fills)) == 4
    for i in range(4):
        for j in range(4):
            name, after = f"before/{i}/{j}", f"after/{i}/{j}"
            assert entries[name].text == str(before[i][j])
            assert boxes[name].get("fill") == fills[i]
            assert (boxes[after].get("stroke-dasharray") is None) == (j <= i)
            if j <= i:
                assert entries[after].text == str(i - j) == str(expected[i][j])
                assert boxes[after].get("fill") == fills[i]
            else:
                assert expected[i][j] is None


def test_relative_shift_shows_what_the_garbage_is():
    entries, boxes = (marked("relative_shift", key) for key in ("entry", "box"))
    fills = [boxes[f"before/{i}/0"].get("fill") for i in range(4)]
    # The padded rows one after the other, read on from entry 4 in rows of 4.
    line = [(lag, i) for i in range(4) for lag in ("pad", 3, 2, 1, 0)][4:]
    strangers = padding = 0
    for i in range(4):
        for j in range(4):
            lag, query = line[4 * i + j]
            assert entries[f"after/{i}/{j}"].text == str(lag)
            fill = "var(--fig-muted)" if lag == "pad" else fills[query]
            assert boxes[f"after/{i}/{j}"].get("fill") == fill
            padding += lag == "pad"
            if lag != "pad" and query != i:
                assert query == i + 1 and j > i
                strangers += 1
    words = f"{strangers} entries of the next query and {padding} of padding."
    assert aria("relative_shift").endswith(words)
    assert "query 2: lags 2, 1, 0" in aria("relative_shift")


def test_relative_shift_stands_in_rows_and_columns():
    at = {name: (float(e.get("x")), float(e.get("y")))
          for name, e in marked("relative_shift", "entry").items()}
    for name, place in at.items():
        table, i, j = name.split("/")
        x, y = at[f"{table}/0/0"]
        assert place == (x + 34 * int(j), y + 34 * int(i))


def test_fox_gates():
    gates = [0.9, 0.9, 0.9, 0.05, 0.9, 0.9, 0.9, 0.9]
    kept = [math.prod(gates[key + 1 :]) for key in range(8)]
    weights = [share / sum(kept) for share in kept]
    # Logarithms, their sum and the exponential: a few roundings of float64.
    assert data("fox_gates") == pytest.approx(weights, rel=1e-12)
    bars, written, tokens = (marked("fox_gates", key) for key in ("bar", "gate", "token"))
    assert [float(written[str(i)].text) for i in range(8)] == gates
    assert tokens["3"].text == "."
    ticks = [(float(e.text), float(e.get("y")))
             for e in elements("fox_gates") if e.get("data-tick") == "y"]
    at = on_axis(ticks, log=False)
    for i, weight in enumerate(weights):
        bar = bars[str(i)]
        top, height = float(bar.get("y")), float(bar.get("height"))
        # Each is written with two decimals.
        assert abs(top - at(weight)) < 0.02 and abs(top + height - at(0)) < 0.02
        middle = float(bar.get("x")) + float(bar.get("width")) / 2
        assert abs(middle - float(written[str(i)].get("x"))) < 0.02
        assert written[str(i)].get("x") == tokens[str(i)].get("x")
    places = [float(bars[str(i)].get("x")) for i in range(8)]
    assert places == sorted(places)
    assert f"{', '.join(f'{w:.3f}' for w in weights)}." in aria("fox_gates")
    words = f"get {sum(weights[:3]):.3f} together, the stop itself {weights[3]:.3f}."
    assert aria("fox_gates").endswith(words)
    assert sum(weights[:3]) < 0.03 < 0.15 < weights[3]  # before the stop, and the stop


def test_cope_positions():
    gates = [0.2, 0.9, 0.5, 1.0, 0.1, 0.9]
    counted = [math.fsum(gates[key:]) for key in range(6)]
    whole = [6, 5, 4, 3, 2, 1]
    assert_curve("cope_positions", "counted", range(6), counted)
    assert_curve("cope_positions", "tokens", range(6), whole)
    ticks = curves("cope_positions")["counted"][1]
    assert_dots(dots("cope_positions"), ticks, [*range(6)] * 2, whole + counted)
    rows = {key: marked("cope_positions", key) for key in ("place", "gate", "distance")}
    at = on_axis(ticks["x"], log=False)
    for key in range(6):
        shown = {row: found[str(key)] for row, found in rows.items()}
        assert all(abs(float(e.get("x")) - at(key)) < 0.02 for e in shown.values())
        assert shown["place"].text == f"{counted[key]:.1f}"
        assert float(shown["gate"].text) == gates[key]
        assert int(shown["distance"].text) == 5 - key == whole[key] - 1
    assert f"CoPE counts {', '.join(f'{p:.1f}' for p in counted)}." in aria("cope_positions")
    assert f"count {', '.join(map(str, whole))}, the distance" in aria("cope_positions")


def test_nope_counts():
    places = range(1, 13)
    shares = [1 / place for place in places]
    assert_curve("nope_counts", "share", places, shares)
    assert_dots(dots("nope_counts"), curves("nope_counts")["share"][1], places, shares)
    assert {"1/2", "1/3", "1/4"} < set(texts("nope_counts"))
    assert f"mask: {', '.join(f'{s:.3f}' for s in shares)}." in aria("nope_counts")
    words = f"0.500 from the first place to the second, {1 / 11 - 1 / 12:.3f} between the last two."
    assert aria("nope_counts").endswith(words)


@pytest.mark.parametrize("query", [256, 1024, 4096])
def test_fire_shares(query):
    distances = data("fire_shares")[query]["distances"]
    assert distances[0] == 1 and distances[-1] == query
    shares = [score_biases.fire_distance(query, query - d, 0.1, 512) for d in distances]
    assert shares[-1] == pytest.approx(1 if query > 512 else math.log(26.6, 52.2))
    assert_curve("fire_shares", str(query), distances, shares, log_x=True)
    which, ticks = [256, 1024, 4096].index(query), curves("fire_shares")[str(query)][1]
    assert_dots(dots("fire_shares")[which : which + 1], ticks, [query], shares[-1:], log_x=True)
    middle = score_biases.fire_distance(query, query - 64, 0.1, 512)
    words = f"uery at {query}: {middle:.3f} at distance 64 and {shares[-1]:.3f} at its first token"
    assert words in aria("fire_shares")
    found, line = elements("fire_shares"), marked("fire_shares", "series")[str(query)]
    at = next(i for i, e in enumerate(found) if e.text == f"query at {query}")
    assert found[at].get("fill") == line.get("stroke")
    for key in ("stroke", "stroke-dasharray"):  # the piece of line before the name
        assert found[at - 1].get(key) == line.get(key)
