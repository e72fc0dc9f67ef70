"""The sentences of docs/methods/yarn.md, in the order of the page."""

import math

import pytest
import torch

from posenc_check import oracles
from snippets.partial_rope import partial_inv_freq
from snippets.rope import apply_rope, rope_inv_freq
from snippets.yarn import ntk_by_parts, yarn, yarn_mscale, yarn_paper
from tests.guard.marks import claim

F64 = torch.float64


def close(a, b, rtol=1e-12, atol=0.0):
    torch.testing.assert_close(a, torch.as_tensor(b, dtype=F64), rtol=rtol, atol=atol)


def random(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=F64)


def by_turns(factor, head_dim=128, base=10000.0, length=4096, slow=1.0, fast=32.0):
    """The paper's formula, one pair at a time."""
    speeds = []
    for i in range(head_dim // 2):
        speed = oracles.rope_speed(i, head_dim, base)
        share = min(max((length * speed / (2 * math.pi) - slow) / (fast - slow), 0), 1)
        speeds.append(share * speed + (1 - share) * speed / factor)
    return speeds


def by_number(factor, head_dim=128, base=10000.0, length=4096, slow=1.0, fast=32.0):
    """The published code's ramp, one pair at a time."""
    def number(turns):
        return head_dim * math.log(length / (2 * math.pi * turns)) / (2 * math.log(base))

    first, last = max(math.floor(number(fast)), 0), min(math.ceil(number(slow)), head_dim - 1)
    speeds = []
    for i in range(head_dim // 2):
        speed = oracles.rope_speed(i, head_dim, base)
        share = 1 - min(max((i - first) / (last - first), 0), 1)
        speeds.append(share * speed + (1 - share) * speed / factor)
    return speeds


def slower(speeds):
    return rope_inv_freq(128) / speeds


settings = pytest.mark.parametrize(
    "factor, head_dim, base, length", [(4.0, 128, 10000.0, 4096), (32.0, 64, 500000.0, 8192)]
)


@claim(
    "yarn-turns",
    r"With base 10000 and \(d = 128\), pair 0 turns 652 times within 4096 tokens, and pair 63 not a tenth of a "
    "turn.",
)
def test_turns():
    plain = 4096 * rope_inv_freq(128, 10000) / (2 * math.pi)
    assert round(plain[0].item()) == 652 and plain[63] < 0.1


@claim(
    "yarn-by-parts",
    r"\[ \begin{aligned} r_i &= \frac{L\,\omega_i}{2\pi} \\ \gamma_i &= \operatorname{clip}\!\left("
    r"\frac{r_i - \alpha}{\beta - \alpha},\ 0,\ 1\right) \\ \omega_i' &= \gamma_i\,\omega_i + "
    r"(1 - \gamma_i)\,\frac{\omega_i}{s} \end{aligned} \]",
)
@settings
def test_ramp_over_turns(factor, head_dim, base, length):
    expected = by_turns(factor, head_dim, base, length, slow=2.0, fast=20.0)
    got = ntk_by_parts(head_dim, factor, length, base=base, beta_slow=2.0, beta_fast=20.0)
    close(got[0], expected)
    assert got[1] == 1.0


@claim(
    "yarn-ends",
    r"With \(\alpha = 1\) and \(\beta = 32\), a pair with 32 turns or more keeps its speed, and a pair with "
    "at most one turn is slowed by the whole factor.",
)
def test_ends_of_the_ramp():
    plain = torch.tensor([oracles.rope_speed(i, 128) for i in range(64)], dtype=F64)
    turns = 4096 * plain / (2 * math.pi)
    got = plain / ntk_by_parts(128, 8.0, 4096)[0]  # the bounds are the defaults
    close(got[turns >= 32], torch.ones(int((turns >= 32).sum())))
    close(got[turns <= 1], torch.full((18,), 8.0))
    between = got[(turns < 32) & (turns > 1)]
    assert len(between) > 20 and 1 < between.min() and between.max() < 8


@claim("yarn-attention-factor", r"\[ m = 0.1 \ln s + 1 \]")
@pytest.mark.parametrize("factor", [1, 2.0, 4.0, 40.0])
def test_attention_factor(factor):
    expected = 0.1 * math.log(factor) + 1
    for got in (yarn(128, factor, 4096)[1], yarn_paper(128, factor, 4096)[1], yarn_mscale(factor)):
        assert math.isclose(got, expected, rel_tol=1e-15)


def score(q, k, inv_freq, factor=1.0):
    turned = (apply_rope(x, torch.tensor([p]), inv_freq, attention_factor=factor)
              for x, p in ((q, 90), (k, 40)))
    return torch.linalg.vecdot(*turned)


@claim("yarn-squared", r"Query and key both carry it, so each logit is multiplied by \(m^2\).")
def test_logits_get_the_square():
    q, k = random(2, 2, 3, 1, 128)
    inv_freq, factor = yarn(128, 4.0, 4096)
    close(score(q, k, inv_freq, factor), (0.1 * math.log(4) + 1) ** 2 * score(q, k, inv_freq))


@claim(
    "yarn-factor-values",
    r"For \(s = 4\) the factor is 1.1386 and its square 1.2965; for \(s = 32\) they are 1.3466 and 1.8133.",
)
def test_values_of_the_factor():
    four, many = yarn_mscale(4), yarn_mscale(32)
    assert [round(x, 4) for x in (four, four**2, many, many**2)] == [1.1386, 1.2965, 1.3466, 1.8133]


@claim(
    "yarn-code-ramp",
    r"\[ \begin{aligned} i(t) &= \frac{d\,\ln\bigl(L / (2\pi t)\bigr)}{2 \ln \text{base}} \\ a &= "
    r"\max(\lfloor i(\beta) \rfloor, 0) \\ b &= \min(\lceil i(\alpha) \rceil, d - 1) \\ \gamma_i &= 1 - "
    r"\operatorname{clip}\!\left(\frac{i - a}{b - a},\ 0,\ 1\right) \end{aligned} \]",
)
@pytest.mark.parametrize("factor, head_dim, base, length", [
    (4.0, 128, 10000.0, 4096), (32.0, 64, 500000.0, 8192), (4.0, 64, 10000.0, 128), (4.0, 8, 100.0, 10**5),
])
def test_ramp_over_numbers(factor, head_dim, base, length):
    expected = by_number(factor, head_dim, base, length, slow=2.0, fast=20.0)
    got = yarn(head_dim, factor, length, base=base, beta_slow=2.0, beta_fast=20.0)
    close(got[0], expected)


@claim(
    "yarn-same-ends",
    r"Both ramps leave the ends alike: at base 10000, \(d = 128\), \(L = 4096\) and \(s = 32\) they agree on "
    "pairs 0 to 20 and 46 to 63, and on none between.",
)
def test_where_the_ramps_agree():
    paper, code = yarn_paper(128, 32, 4096, base=10000)[0], yarn(128, 32, 4096, base=10000)[0]
    same = [i for i in range(64) if math.isclose(paper[i], code[i], rel_tol=1e-12)]
    assert same == [*range(0, 20 + 1), *range(46, 63 + 1)]
    close(paper, by_turns(32))
    close(code, by_number(32))


@claim(
    "yarn-pair-40",
    "Between, they are far apart: pair 40 turns 3.92 times slower by the code and 15.52 times slower by the "
    "paper.",
)
def test_pair_40():
    code, paper = slower(yarn(128, 32, 4096)[0]), slower(yarn_paper(128, 32, 4096)[0])
    assert (round(code[40].item(), 2), round(paper[40].item(), 2)) == (3.92, 15.52)


@claim(
    "yarn-gap",
    r"The paper's speed is up to 42 % lower for \(s = 4\), at pair 34, 67 % for \(s = 16\), at pair 38, and "
    r"75 % for \(s = 32\), at pair 40.",
)
@pytest.mark.parametrize("factor, percent, pair", [(4, 42, 34), (16, 67, 38), (32, 75, 40)])
def test_largest_gap(factor, percent, pair):
    lower = 1 - yarn_paper(128, factor, 4096)[0] / yarn(128, factor, 4096)[0]
    assert (round(100 * lower.max().item()), lower.argmax().item()) == (percent, pair)


def upside_down(factor):
    plain = rope_inv_freq(128)
    return plain + plain / factor - yarn(128, factor, 4096)[0]


@claim(
    "yarn-upside-down",
    "Blend the other way round, and the fastest pair is slowed by the whole factor, the slowest not at all.",
)
def test_a_ramp_upside_down():
    wrong, right = slower(upside_down(40.0)), slower(yarn(128, 40.0, 4096)[0])
    close(wrong[[0, 63]], [40.0, 1.0])
    close(right[[0, 63]], [1.0, 40.0])


@claim(
    "yarn-upside-down-passes",
    "The result still is a rotation, scores still depend on the gap alone, and the attention factor is "
    "right, so tests of these properties stay green.",
)
def test_what_a_wrong_ramp_passes():
    x, k = random(2, 2, 3, 5, 128)
    wrong, factor = upside_down(40.0), yarn(128, 40.0, 4096)[1]
    here = torch.arange(5)
    close(apply_rope(x, here + 7, wrong).norm(dim=-1), x.norm(dim=-1))
    near, far = (apply_rope(x, here + p, wrong) @ apply_rope(k, here + p, wrong).mT for p in (0, 900))
    close(near, far, rtol=0, atol=1e-10)  # angles of hundreds of radians, in float64
    assert math.isclose(factor, 0.1 * math.log(40) + 1, rel_tol=1e-15)
    right = yarn(128, 40.0, 4096)[0]
    assert (apply_rope(x, here + 7, wrong) - apply_rope(x, here + 7, right)).abs().max() > 0.1


@claim(
    "yarn-wavelengths",
    r"A blend of wavelengths is another curve: at \(s = 32\) pair 40 would turn 30.94 times slower instead "
    "of 15.52.",
)
def test_a_blend_of_wavelengths():
    right = slower(ntk_by_parts(128, 32, 4096)[0])[40].item()
    share = (1 / right - 1 / 32) / (1 - 1 / 32)  # of the plain speed
    assert round(right, 2) == 15.52
    assert round(share + (1 - share) * 32, 2) == 30.94


@claim(
    "yarn-truncate",
    r"For heads of width 64, base 150000, \(L = 4096\) and \(s = 32\), as in gpt-oss, the speed of pair 17 is "
    "43 % lower without it.",
)
def test_rounded_bounds():
    rounded = yarn(64, 32.0, 4096, base=150_000.0)[0]
    exact = yarn(64, 32.0, 4096, base=150_000.0, truncate=False)[0]
    lower = 1 - exact / rounded
    assert lower.argmax() == 17 and round(100 * lower.max().item()) == 43


@claim(
    "yarn-deepseek",
    r"Instead, the softmax scale is multiplied by the square of \(0.1\, t \ln s + 1\), with \(t\) for "
    r"mscale_all_dim: 1.8739 for \(t = 1\) and \(s = 40\), 1.5896 for \(t = 0.707\).",
)
@pytest.mark.parametrize("t, square", [(1, 1.8739), (0.707, 1.5896)])
def test_two_mscales(t, square):
    scale = yarn_mscale(40, mscale=t) ** 2
    assert round(scale, 4) == square
    assert math.isclose(scale, (0.1 * t * math.log(40) + 1) ** 2, rel_tol=1e-15)
    # A factor on cosines and sines of the same size would do the same to rotated parts.
    q, k = random(2, 2, 3, 1, 64)
    inv_freq = yarn(64, 40.0, 4096)[0]
    close(score(q, k, inv_freq, yarn_mscale(40, t)), scale * score(q, k, inv_freq))


@claim(
    "yarn-replaces",
    r"attention_factor of a config replaces \(0.1 \ln s + 1\). It does not multiply it.",
)
def test_a_given_factor():
    inv_freq, factor = yarn(128, 4.0, 4096, attention_factor=1.5)
    assert factor == 1.5 and not math.isclose(factor, 1.5 * (0.1 * math.log(4) + 1))
    close(inv_freq, yarn(128, 4.0, 4096)[0])


@claim(
    "yarn-wrong-length",
    "With the extended one the ramp sits at later pairs, and slow pairs keep too much of their speed.",
)
def test_the_extended_length():
    right, wrong = slower(yarn(128, 4.0, 4096)[0]), slower(yarn(128, 4.0, 4 * 4096)[0])
    first = [int((times > 1 + 1e-9).nonzero()[0]) for times in (right, wrong)]
    assert first[1] > first[0] + 5
    assert right[46] > 3.9 and wrong[46] < 2.5 and (wrong <= right + 1e-9).all()


@claim(
    "yarn-partial",
    "With partial rotary the content that is not rotated keeps its weight.",
)
def test_factor_under_partial_rotary():
    x = random(2, 3, 5, 16)
    inv_freq, factor = yarn(4, 32.0, 4096)
    assert inv_freq.shape == partial_inv_freq(16, 0.25).shape
    y = apply_rope(x, torch.arange(5), inv_freq, attention_factor=factor)
    assert torch.equal(y[..., 4:], x[..., 4:])
    close(y[..., :4].norm(dim=-1), (0.1 * math.log(32) + 1) * x[..., :4].norm(dim=-1))
