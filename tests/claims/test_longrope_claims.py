"""The sentences of docs/methods/longrope.md, in the order of the page."""

import math

import pytest
import torch

from posenc_check import oracles
from snippets.longrope import longrope
from snippets.rope import apply_rope, rope_inv_freq
from snippets.yarn import yarn_mscale
from tests.exact import raises_exactly
from tests.guard.marks import claim

F64 = torch.float64
SHORT, LONG = [1 + 0.01 * i for i in range(48)], [1 + 0.5 * i for i in range(48)]


def speeds(length, **options):
    return longrope(96, length, 4096, SHORT, LONG, factor=32, **options)[0]


def divided(divisors, base=10000.0):
    plain = [oracles.rope_speed(i, 96, base) for i in range(48)]
    return torch.tensor([w / x for w, x in zip(plain, divisors, strict=True)], dtype=F64)


def close(a, b, rtol=1e-12):
    torch.testing.assert_close(a, b, rtol=rtol, atol=0)


def random(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=F64)


@claim(
    "longrope-formula",
    r"\[ \begin{aligned} \omega_i' &= \omega_i / \lambda_i \\ \lambda &= \begin{cases} \text{short list} & "
    r"n \le L \\ \text{long list} & n > L \end{cases} \end{aligned} \]",
)
@pytest.mark.parametrize("length, divisors", [(1, SHORT), (4096, SHORT), (4097, LONG), (90000, LONG)])
@pytest.mark.parametrize("base", [10000.0, 500000.0])
def test_divisors(length, divisors, base):
    close(speeds(length, base=base), divided(divisors, base))


@claim("longrope-attention-factor", r"\[ m = \sqrt{1 + \frac{\ln s}{\ln L}} \]")
@pytest.mark.parametrize("factor, length", [(1, 4096), (4.0, 4096), (8.0, 8192), (512.0, 4096)])
def test_attention_factor(factor, length):
    got = longrope(96, 7, length, SHORT, LONG, factor=factor)[1]
    assert math.isclose(got, math.sqrt(1 + math.log(factor) / math.log(length)), rel_tol=1e-15)


@claim(
    "longrope-entries", "The lists have one entry for each rotated pair: 48 for heads of width 96."
)
def test_entries():
    assert len(longrope(96, 9, 4096, SHORT, LONG, factor=32)[0]) == len(SHORT) == 48
    message = "long_factor must have head_dim // 2 = 48 entries, got 47"
    with raises_exactly(ValueError, message):
        longrope(96, 9, 4096, SHORT, LONG[1:], factor=32)


@claim(
    "longrope-switch",
    "The switch stands behind the trained length: 4096 tokens use the short list, 4097 the long one.",
)
def test_switch():
    close(speeds(4096), divided(SHORT))
    close(speeds(4097), divided(LONG))


@claim(
    "longrope-factor-short",
    r"The factor \(m\) multiplies at every length, also where the short list is used.",
)
def test_factor_at_short_length():
    short, long = (longrope(96, n, 4096, SHORT, LONG, factor=32)[1] for n in (9, 9000))
    assert short == long and short > 1.19


@claim(
    "longrope-factor-values",
    r"It is 1.1902 for \(s = 32\) and \(L = 4096\), where YaRN's is 1.3466.",
)
def test_two_factors():
    got = longrope(96, 9, 4096, SHORT, LONG, factor=32)[1]
    assert (round(got, 4), round(yarn_mscale(32), 4)) == (1.1902, 1.3466)


def scores(q, k, q_speeds, k_speeds, positions):
    return apply_rope(q, positions, q_speeds) @ apply_rope(k, positions, k_speeds).mT


@claim(
    "longrope-stale",
    "From the 4097th token on it meets queries of the long list, and the score no longer depends on the gap alone.",
)
def test_keys_from_before_the_switch():
    q, k, here = random(1, 2, 5, 96), random(1, 2, 5, 96, seed=1), torch.arange(5)
    old, new = speeds(4096), speeds(4097)
    fresh = [scores(q, k, new, new, here + p) for p in (0, 4000)]
    stale = [scores(q, k, new, old, here + p) for p in (0, 4000)]
    torch.testing.assert_close(*fresh, rtol=0, atol=1e-9)  # angles of thousands of radians
    assert (stale[0] - stale[1]).abs().max() > 1


@claim(
    "longrope-batch",
    "In a batch of one short and one long text the short one is rotated with the long list, and its scores "
    "are others than when it comes alone.",
)
def test_one_list_for_a_batch():
    q, k, here = random(1, 2, 5, 96), random(1, 2, 5, 96, seed=1), torch.arange(100, 105)
    alone, in_batch = (scores(q, k, speeds(n), speeds(n), here) for n in (105, max(105, 5000)))
    close(speeds(max(105, 5000)), divided(LONG))
    assert (alone - in_batch).abs().max() > 1


@claim(
    "longrope-short-not-plain",
    r"Its entries need not be 1, and the factor \(m\) holds for it.",
)
def test_the_short_list_is_not_plain():
    assert (speeds(100) / rope_inv_freq(96) - 1).abs().max() > 0.3
    ones = longrope(96, 100, 4096, [1] * 48, LONG, factor=32)
    close(ones[0], divided([1] * 48))
    assert math.isclose(ones[1], math.sqrt(1 + math.log(32) / math.log(4096)), rel_tol=1e-15)
