"""The sentences of docs/methods/llama3_rope.md, in the order of the page."""

import json
import math
from pathlib import Path

import pytest
import torch

from posenc_check import oracles
from snippets.llama3_rope import llama3
from snippets.rope import apply_rope, rope_inv_freq
from snippets.yarn import ntk_by_parts
from tests.guard.marks import claim

F64 = torch.float64
BASE = 500_000.0


def slower(head_dim=128, *args, **kwargs):
    """How much slower each pair turns; plain speeds from the oracle."""
    plain = [oracles.rope_speed(i, head_dim, BASE) for i in range(head_dim // 2)]
    return torch.tensor(plain, dtype=F64) / llama3(head_dim, *args, **kwargs)[0]


def bands(times, factor):
    """Numbers of the pairs that are kept, blended and divided."""
    kept = [i for i, x in enumerate(times) if math.isclose(x, 1, rel_tol=1e-12)]
    divided = [i for i, x in enumerate(times) if math.isclose(x, factor, rel_tol=1e-12)]
    return kept, [i for i in range(len(times)) if i not in kept + divided], divided


@claim(
    "llama3-rope-formula",
    r"\[ \begin{aligned} \sigma_i &= \operatorname{clip}\!\left(\frac{L / \lambda_i - \text{low}}{\text{high} - "
    r"\text{low}},\ 0,\ 1\right) \\ \omega_i' &= \sigma_i\,\omega_i + (1 - \sigma_i)\,\frac{\omega_i}{s} "
    r"\end{aligned} \]",
)
@pytest.mark.parametrize("head_dim, factor, length, base, low, high", [
    (128, 8.0, 8192, 500_000.0, 1.0, 4.0), (64, 3.0, 1000, 10_000.0, 0.5, 6.0),
])
def test_formula(head_dim, factor, length, base, low, high):
    inv_freq, attention_factor = llama3(
        head_dim, factor, length, base=base, low_freq_factor=low, high_freq_factor=high
    )
    for i, got in enumerate(inv_freq.tolist()):
        speed = oracles.rope_speed(i, head_dim, base)
        share = min(max((length / (2 * math.pi / speed) - low) / (high - low), 0), 1)
        assert math.isclose(got, share * speed + (1 - share) * speed / factor, rel_tol=1e-12)
    assert attention_factor == 1.0


@claim(
    "llama3-rope-is-by-parts",
    "This is YaRN's ramp as its paper writes it, with bounds 1 and 4 and without an attention factor.",
)
def test_the_same_as_by_parts():
    by_parts = ntk_by_parts(128, 8.0, 8192, base=BASE, beta_slow=1, beta_fast=4)
    got = llama3(128)
    torch.testing.assert_close(got[0], by_parts[0], rtol=1e-14, atol=0)
    assert got[1] == by_parts[1] == 1.0


@claim(
    "llama3-rope-bands",
    r"Llama 3.1 (\(d = 128\), base 500000, \(s = 8\), \(L = 8192\)): pairs 0 to 28 keep their speed, 29 to 34 are "
    "blended, 35 to 63 turn 8 times slower.",
)
def test_bands_of_3_1():
    base = 500000
    plain = torch.tensor([oracles.rope_speed(i, 128, base) for i in range(64)], dtype=F64)
    by_default, spelt_out = llama3(128)[0], llama3(128, 8, 8192, base=base)[0]
    assert torch.equal(by_default, spelt_out)
    assert bands((plain / by_default).tolist(), 8) == (
        [*range(0, 28 + 1)], [*range(29, 34 + 1)], [*range(35, 63 + 1)]
    )


@claim("llama3-rope-blend", "The blended ones turn 1.21, 1.55, 2.03, 2.69, 3.68 and 5.26 times slower.")
def test_blended_pairs():
    got = [round(x, 2) for x in slower()[29:35].tolist()]
    assert got == [1.21, 1.55, 2.03, 2.69, 3.68, 5.26]


@claim(
    "llama3-rope-bands-1b",
    r"Llama 3.2 1B (\(d = 64\), \(s = 32\), base and \(L\) as above): pairs 0 to 14 keep their speed, 15 to 17 are "
    "blended, 18 to 31 turn 32 times slower.",
)
def test_bands_of_3_2():
    got = bands(slower(64, 32).tolist(), 32)
    assert got == ([*range(0, 14 + 1)], [*range(15, 17 + 1)], [*range(18, 31 + 1)])


@claim(
    "llama3-rope-forgotten",
    "With rope_theta alone and the scaling left out, pairs 29 to 63 are wrong and pairs 0 to 28 right: short "
    "texts look right.",
)
def test_scaling_left_out():
    right, plain = llama3(128)[0], rope_inv_freq(128, BASE)
    same = [i for i in range(64) if math.isclose(right[i], plain[i], rel_tol=1e-12)]
    assert same == [*range(0, 29)] and 63 not in same and 28 in same
    x = torch.ones(1, 1, 1, 128, dtype=F64)

    def error(position):
        turned = (apply_rope(x, torch.tensor([position]), f) for f in (right, plain))
        return torch.dist(*turned) / x.norm()

    assert error(10) < 0.02 and error(3000) > 0.3


@claim("llama3-rope-wrong-length", "With 131072 for 8192 only pairs 42 to 63 would be slowed at all.")
def test_the_length_after_the_extension():
    kept, *_ = bands(slower(128, 8.0, 131072).tolist(), 8.0)
    assert kept == [*range(42)] and len(slower()) == 63 + 1
    assert bands(slower(128, 8.0, 8192).tolist(), 8.0)[0] == [*range(29)]


@claim(
    "llama3-rope-factor", "It is 8 in Llama 3.1 although the length grows 16 times."
)
def test_factor_and_lengths():
    example = Path(__file__).parents[2] / "posenc_check/examples/llama-3.1-8b.json"
    config = json.loads(example.read_text(encoding="utf-8"))
    old = config["rope_scaling"]["original_max_position_embeddings"]
    assert config["max_position_embeddings"] / old == 16 and config["rope_scaling"]["factor"] == 8
    assert math.isclose(slower()[63], 8, rel_tol=1e-12)  # the default of the function


@claim(
    "llama3-rope-beyond",
    "At 131072 tokens all 29 pairs that never completed a turn reach twice their largest trained angle; at 65536 "
    "none goes past it.",
)
def test_angles_beyond_training():
    plain = rope_inv_freq(128, BASE)
    slow = 8192 * plain < 2 * math.pi
    growth = {n: (n * llama3(128)[0][slow]) / (8192 * plain[slow]) for n in (131072, 65536)}
    assert slow.sum() == 29
    torch.testing.assert_close(growth[131072], torch.full((29,), 2.0, dtype=F64))
    assert (growth[65536] <= 1 + 1e-12).all()


@claim("llama3-rope-wavelengths", "Blended wavelengths would make pair 32 turn 6.03 times slower, not 2.69.")
def test_wavelengths_blended():
    right = slower()[32].item()
    share = (1 / right - 1 / 8) / (1 - 1 / 8)  # of the plain speed
    assert (round(share + (1 - share) * 8, 2), round(right, 2)) == (6.03, 2.69)
