"""The scalar oracles against numbers printed by other people's code, and against their ends."""

import ast
import math
import sys
from pathlib import Path

import pytest

import posenc_check
from posenc_check import scaling

FLOAT32 = 2e-6  # the literals were printed from float32 arithmetic of several steps


def near(value, rel=FLOAT32):
    return pytest.approx(value, rel=rel)


def slow_down(inv_freq, base=10_000.0):
    plain = scaling.plain(2 * len(inv_freq), base)
    return [old / new for old, new in zip(plain, inv_freq)]


@pytest.mark.parametrize(
    "base, wavelengths",
    [
        (1e4, {0: 6.283, 1: 7.256, 16: 62.832, 32: 628.319, 48: 6283.185, 63: 54_410.143}),
        (5e5, {0: 6.283, 1: 7.713, 16: 167.079, 32: 4442.883, 48: 118_142.83, 63: 2_559_195.5}),
        (1e6, {63: 5_063_255.8}),
    ],
)
def test_plain_wavelengths(base, wavelengths):
    inv_freq = scaling.plain(128, base)
    assert len(inv_freq) == 64
    for pair, wavelength in wavelengths.items():
        # The literals have three decimals.
        assert 2 * math.pi / inv_freq[pair] == pytest.approx(wavelength, rel=1e-6, abs=5e-4)


def test_linear():
    inv_freq = scaling.linear(128, 4.0)
    assert inv_freq[0] == 0.25
    assert inv_freq[63] == near(2.8869548e-5)


@pytest.mark.parametrize(
    "factor, base", [(2, 20_221.2617), (4, 40_889.9424), (8, 82_684.6226), (16, 167_198.739)]
)
def test_ntk_aware_is_a_larger_base(factor, base):
    inv_freq = scaling.ntk_aware(128, factor)
    assert inv_freq[0] == 1.0
    for pair in (1, 20, 63):
        assert inv_freq[pair] == near(base ** (-pair / 64), rel=1e-8)


@pytest.mark.parametrize(
    "factor, length, base",
    [
        (1, 4096, 20_221.26),
        (2, 4096, 30_527.7367),
        (2, 8192, 72_195.8601),
        (4, 4096, 51_293.7873),
        (8, 4096, 93_194.2711),
        (8, 2048, 10_000.0),
        (8, 5, 10_000.0),
    ],
)
def test_dynamic_ntk_is_a_base_that_grows_with_the_length(factor, length, base):
    inv_freq = scaling.dynamic_ntk(128, length, 2048, factor)
    assert inv_freq[63] == near(base ** (-63 / 64), rel=2e-7)


def test_dynamic_ntk_at_twice_the_length():
    assert scaling.dynamic_ntk(128, 4096, 2048, 1)[63] == near(5.773909923e-5)
    assert scaling.dynamic_ntk(128, 4096, 2048, 2)[63] == near(3.849273e-5)


def test_the_ends_of_the_ramp_of_the_released_code():
    exact = scaling.yarn_ramp_ends(128, 4096, 1e4, 32, 1, False)
    assert exact == (near(20.94448, rel=1e-6), near(45.02688, rel=1e-6))
    assert scaling.yarn_ramp_ends(128, 4096, 1e4, 32, 1, True) == (20, 46)
    assert scaling.yarn_ramp_ends(128, 32768, 1e6, 32, 1, False) == (near(23.59595), near(39.65088))
    assert scaling.yarn_ramp_ends(128, 32768, 1e6, 32, 1, True) == (23, 40)


def test_the_ends_of_the_ramp_stay_in_the_head():
    assert scaling.yarn_ramp_ends(8, 4, 1e4, 32, 1, True) == (0, 0.001)
    assert scaling.yarn_ramp_ends(8, 10**9, 1e4, 32, 1, True)[1] == 7


@pytest.mark.parametrize(
    "factor, expected",
    [
        (4, {20: 1, 21: 1.029703, 30: 1.405406, 40: 2.363636, 46: 4}),
        (32, {20: 1, 21: 1.038702, 30: 1.593870, 40: 3.924529, 45: 14.596486, 46: 32, 63: 32}),
    ],
)
def test_yarn_slow_downs(factor, expected):
    found = slow_down(scaling.yarn(128, factor, 4096))
    assert {pair: found[pair] for pair in expected} == near(expected)


@pytest.mark.parametrize("factor, pair, gap", [(4, 34, 0.42), (16, 38, 0.67), (32, 40, 0.75)])
def test_the_ramp_of_the_paper_is_another_one(factor, pair, gap):
    paper, code = scaling.ntk_by_parts(128, factor, 4096), scaling.yarn(128, factor, 4096)
    gaps = [abs(a - b) / max(a, b) for a, b in zip(paper, code)]
    assert gaps.index(max(gaps)) == pair
    assert max(gaps) == pytest.approx(gap, abs=0.005)


def test_the_ramp_of_the_paper():
    found = slow_down(scaling.ntk_by_parts(128, 32, 4096))
    assert found[40] == pytest.approx(15.5, abs=0.05)
    assert found[20] == 1 and found[21] > 1 and found[45] < 32 and found[46] == near(32)


def test_both_ramps_move_with_their_betas():
    for rule in (scaling.ntk_by_parts, scaling.yarn):
        found = slow_down(rule(128, 8, 4096, 10_000.0, 16, 2))
        turns = [4096 * speed / (2 * math.pi) for speed in scaling.plain(128)]
        assert all(f == near(1) for f, t in zip(found, turns) if t > 16 * 1.2)
        assert all(f == near(8) for f, t in zip(found, turns) if t < 2 / 1.2)
        assert any(1.1 < f < 7.9 for f in found)


@pytest.mark.parametrize(
    "factor, mscale",
    [
        (2, 1.069315), (4, 1.1386294361), (16, 1.2772588722), (32, 1.3465735903),
        (40, 1.3688879454), (1, 1.0), (0.5, 1.0),
    ],
)
def test_yarn_mscale(factor, mscale):
    assert scaling.yarn_mscale(factor) == near(mscale, rel=1e-6)
    assert scaling.yarn_mscale(factor, 0.5) == near((mscale + 1) / 2, rel=1e-6)


def test_yarn_mscale_squared():
    assert scaling.yarn_mscale(4) ** 2 == near(1.2964769928, rel=1e-9)
    assert scaling.yarn_mscale(32) ** 2 == near(1.8132604340, rel=1e-9)
    assert scaling.yarn_mscale(40) ** 2 == near(1.873854, rel=1e-6)


def test_longrope_divides_by_its_list():
    assert scaling.longrope(4, [2.0, 5.0]) == [0.5, near(0.002, rel=1e-12)]
    assert scaling.longrope(4, [1.0, 1.0], 100.0) == [1.0, near(0.1, rel=1e-12)]
    with pytest.raises(ValueError, match="argument 2 is shorter"):
        scaling.longrope(6, [2.0, 5.0])


@pytest.mark.parametrize(
    "factor, trained, expected",
    [
        (32, 4096, 1.1902380714), (4, 4096, 1.0801234497), (8, 8192, 1.1094003925),
        (512, 4096, 1.3228756555), (1, 4096, 1.0), (0.5, 4096, 1.0),
    ],
)
def test_longrope_attention_factor(factor, trained, expected):
    assert scaling.longrope_attention_factor(factor, trained) == near(expected, rel=1e-9)


def test_llama_3_1():
    expected = {
        28: 3.211446106e-3, 29: 2.166570630e-3, 30: 1.371893683e-3, 31: 8.567514597e-4,
        32: 5.248460220e-4, 33: 3.126936499e-4, 34: 1.785077911e-4, 35: 9.556212171e-5,
        63: 3.068925878e-7,
    }
    found = scaling.llama3(128)
    assert {pair: found[pair] for pair in expected} == near(expected)
    slowed = slow_down(found, 500_000.0)
    assert slowed[:29] == near([1.0] * 29) and slowed[35:] == near([8.0] * 29)
    expected = [1.207484, 1.553415, 2.026313, 2.694530, 3.684253, 5.257327]
    assert slowed[29:35] == near(expected)


def test_llama_3_2():
    expected = {
        14: 3.211446106e-3, 15: 1.290548011e-3, 16: 4.295567051e-4, 17: 9.708286234e-5,
        18: 1.946163866e-5, 31: 9.418306490e-8,
    }
    found = scaling.llama3(64, 32)
    assert {pair: found[pair] for pair in expected} == near(expected)


def test_llama3_edges_are_arguments():
    found = slow_down(scaling.llama3(128, 4.0, 2048, 10_000.0, 2.0, 8.0))
    turns = [2048 * speed / (2 * math.pi) for speed in scaling.plain(128)]
    for slowed, turn in zip(found, turns):
        kept = min(max((turn - 2) / 6, 0), 1)
        assert 1 / slowed == near(kept + (1 - kept) / 4, rel=1e-12)


def test_proportional_keeps_the_fastest_pairs_of_the_whole_head():
    found = scaling.proportional(256, 0.25, 1e6)
    assert len(found) == 128 and found[32:] == [0.0] * 96
    assert found[0] == 1.0
    assert found[1] == near(0.8976871371) and found[31] == near(0.0352269448)


def test_partial_is_a_head_of_its_own():
    found = scaling.partial(256, 0.25, 1e6)
    assert len(found) == 32
    assert found[1] == near(0.6493816376) and found[31] == near(1.5399e-6, rel=1e-4)


def test_the_package_needs_torch_and_nothing_else():
    folder = Path(posenc_check.__file__).parent
    for path in folder.rglob("*.py"):
        wanted = set()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                wanted |= {alias.name.split(".")[0] for alias in node.names}
            if isinstance(node, ast.ImportFrom):
                wanted.add(node.module.split(".")[0])
        foreign = wanted - set(sys.stdlib_module_names) - {"posenc_check", "torch"}
        # What asks another library runs in an environment of that library's own.
        if path.parent.name not in ("adapters", "reproductions"):
            asks = path.name in ("transformers_rope.py", "transformers_relative.py")
            assert foreign == ({"transformers"} if asks else set()), path
    tree = ast.parse((folder / "scaling.py").read_text(encoding="utf-8"))
    imported = [node.names[0].name for node in tree.body if isinstance(node, ast.Import)]
    assert imported == ["math"]
