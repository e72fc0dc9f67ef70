"""Both ramps of YaRN against slow formulas, known numbers, and each other."""

import math

import pytest
import torch

from posenc_check import scaling
from snippets.llama3_rope import llama3
from snippets.rope import apply_rope, rope_inv_freq
from snippets.yarn import ntk_by_parts, yarn, yarn_mscale, yarn_paper

# (head_dim, factor, trained_length, base, beta_fast, beta_slow)
SETTINGS = [
    (128, 4, 4096, 10_000, 32, 1),
    (128, 32.0, 4096, 10_000.0, 32.0, 1.0),
    (128, 4.0, 32_768, 1e6, 32.0, 1.0),
    (64, 40.0, 4096, 150_000.0, 32.0, 1.0),
    (64, 2.0, 8192, 500_000.0, 4.0, 1.0),
    (6, 1.5, 64, 100.0, 8.0, 0.5),
    (14, 2.5, 100, 500.0, 32.0, 1.0),  # every pair turns fewer than 32 times
    (8, 4.0, 1000, 10.0, 32.0, 1.0),  # every pair turns more than once
    (2, 4.0, 4096, 10_000.0, 32.0, 1.0),
]
every_setting = pytest.mark.parametrize("setting", SETTINGS, ids=str)


def call(rule, setting, **options):
    head_dim, factor, trained_length, base, beta_fast, beta_slow = setting
    options |= {"base": base, "beta_fast": beta_fast, "beta_slow": beta_slow}
    return rule(head_dim, factor, trained_length, **options)


def assert_speeds(got, want):
    # Powers and logarithms in float64; a ramp subtracts numbers of one size: 1e-13 at most.
    want = torch.tensor(want, dtype=torch.float64)
    torch.testing.assert_close(got, want, rtol=1e-12, atol=0)


@every_setting
@pytest.mark.parametrize("rule", [ntk_by_parts, yarn_paper])
def test_the_ramp_of_the_paper_is_linear_in_turns(rule, setting):
    assert_speeds(call(rule, setting)[0], scaling.ntk_by_parts(*setting))


@every_setting
@pytest.mark.parametrize("truncate", [True, False])
def test_the_ramp_of_the_code_is_linear_in_the_number_of_the_pair(setting, truncate):
    inv_freq, _ = call(yarn, setting, truncate=truncate)
    assert_speeds(inv_freq, scaling.yarn(*setting, truncate))


def test_a_ramp_of_no_width_is_a_step():
    """6 positions: pair 0 does not finish a turn, and both ends of the ramp are clamped to it."""
    inv_freq, _ = yarn(8, 4.0, 6)
    assert_speeds(inv_freq, scaling.yarn(8, 4.0, 6))
    assert_speeds(inv_freq, [1.0, 0.1 / 4, 0.01 / 4, 0.001 / 4])


@pytest.mark.parametrize(
    "setting, start, end", [(SETTINGS[0], 20, 46), (SETTINGS[1], 20, 46), (SETTINGS[2], 23, 40)]
)
def test_known_ends_of_the_ramp(setting, start, end):
    head_dim, factor, _, base, _, _ = setting
    slower = rope_inv_freq(head_dim, base) / call(yarn, setting)[0]
    assert_speeds(slower[: start + 1], [1.0] * (start + 1))
    assert 1 < slower[start + 1] and slower[end - 1] < factor
    assert_speeds(slower[end:], [factor] * (head_dim // 2 - end))


@pytest.mark.parametrize(
    "factor, known",
    [
        (4, {21: 1.029703, 30: 1.405406, 40: 2.363636}),
        (32, {21: 1.038702, 30: 1.593870, 40: 3.924529, 45: 14.596486}),
    ],
)
def test_known_slow_downs_of_the_code(factor, known):
    slower = rope_inv_freq(128) / yarn(128, factor, 4096)[0]
    for pair, value in known.items():  # printed by a library that computes in float32
        assert slower[pair].item() == pytest.approx(value, rel=8e-7)


@pytest.mark.parametrize("factor, pair, gap", [(4, 34, 0.42), (16, 38, 0.67), (32, 40, 0.75)])
def test_the_two_ramps_differ_most_in_the_middle(factor, pair, gap):
    code, paper = yarn(128, factor, 4096)[0], yarn_paper(128, factor, 4096)[0]
    gaps = (paper - code).abs() / code
    assert gaps.argmax().item() == pair
    assert gaps.max().item() == pytest.approx(gap, abs=0.005)  # literals in whole percent
    assert paper[pair] < code[pair]


def test_without_truncate_the_ramp_is_narrower():
    setting = SETTINGS[0]  # ends 20.94 and 45.03, or 20 and 46
    wide, narrow = call(yarn, setting)[0], call(yarn, setting, truncate=False)[0]
    assert (narrow[21] > wide[21]) and (narrow[45] < wide[45])
    assert torch.equal(narrow[:21], wide[:21]) and torch.equal(narrow[46:], wide[46:])
    assert torch.equal(call(yarn, setting, truncate=True)[0], wide)


@pytest.mark.parametrize("rule", [ntk_by_parts, yarn_paper, yarn])
def test_a_factor_of_one_changes_nothing(rule):
    inv_freq, attention_factor = rule(14, 1, 100)
    assert_speeds(inv_freq, rope_inv_freq(14).tolist())
    assert attention_factor == 1.0


def test_the_rule_of_llama_3_is_the_ramp_of_the_paper_with_other_bounds():
    by_parts, _ = ntk_by_parts(128, 8, 8192, base=5e5, beta_fast=4.0, beta_slow=1.0)
    assert_speeds(by_parts, llama3(128)[0].tolist())
    other = {"base": 5e5, "beta_fast": 9.0, "beta_slow": 2.0}
    by_parts, _ = ntk_by_parts(64, 32.0, 4096, **other)
    same = llama3(64, 32.0, 4096, base=5e5, high_freq_factor=9.0, low_freq_factor=2.0)[0]
    assert_speeds(by_parts, same.tolist())


@pytest.mark.parametrize("rule", [ntk_by_parts, yarn_paper, yarn])
def test_the_defaults_are_those_of_the_paper(rule):
    # Whole pairs would hide a bound that is a little off.
    exact = {"truncate": False} if rule is yarn else {}
    given = rule(128, 4.0, 4096, base=10_000.0, beta_fast=32.0, beta_slow=1.0, **exact)[0]
    assert torch.equal(rule(128, 4.0, 4096, **exact)[0], given)
    assert given.dtype == torch.float64 and given.shape == (64,)


@pytest.mark.parametrize(
    "factor, known",
    [
        (2, 1.069315), (4, 1.1386294361), (16, 1.2772588722), (32, 1.3465735903),
        (40, 1.3688879454), (1, 1.0), (0.5, 1.0),
    ],
)
def test_known_attention_factors(factor, known):
    assert yarn_mscale(factor) == pytest.approx(known, abs=3e-7 if factor == 2 else 6e-11)
    assert isinstance(yarn_mscale(factor), float)
    if factor >= 1:
        assert yarn(128, factor, 4096)[1] == yarn_paper(128, factor, 4096)[1] == yarn_mscale(factor)
        assert ntk_by_parts(128, factor, 4096)[1] == 1.0


@pytest.mark.parametrize("factor", [0.25, 1, 1.5, 40.0])
@pytest.mark.parametrize("mscale", [0.0, 0.707, 1.0, 2])
def test_mscale_multiplies_the_logarithm(factor, mscale):
    # A logarithm, a product and a sum in float64.
    assert yarn_mscale(factor, mscale) == pytest.approx(
        scaling.yarn_mscale(factor, mscale), rel=1e-15
    )


def test_the_softmax_scale_of_deepseek_is_the_square():
    assert yarn_mscale(40, 1.0) ** 2 == pytest.approx(1.873854, abs=6e-7)


def test_an_attention_factor_that_is_given_is_used():
    assert yarn(128, 4.0, 4096, attention_factor=0.7)[1] == 0.7
    assert torch.equal(yarn(128, 4.0, 4096, attention_factor=0.7)[0], yarn(128, 4.0, 4096)[0])


def test_logits_grow_by_the_square_of_the_attention_factor():
    x = torch.randn(2, 3, 5, 8, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    positions = torch.tensor([7, 0, 1, 900, 41])
    inv_freq, attention_factor = yarn(8, 4.0, 4096)
    plain = apply_rope(x, positions, inv_freq)
    got = apply_rope(x, positions, inv_freq, attention_factor=attention_factor)
    want = (0.1 * math.log(4) + 1) ** 2 * plain @ plain.mT
    # float64: dot products of 8 numbers below 5.
    torch.testing.assert_close(got @ got.mT, want, rtol=0, atol=1e-12)
