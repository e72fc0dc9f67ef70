"""The sentences of docs/methods/rope_scaling.md, in the order of the page."""

import math

import pytest
import torch

from posenc_check import oracles
from snippets.rope import apply_rope, rope_inv_freq
from snippets.rope_scaling import dynamic_ntk, linear, ntk_aware
from tests.guard.marks import claim

F64 = torch.float64


def speeds(head_dim, base=10000.0):
    return torch.tensor([oracles.rope_speed(i, head_dim, base) for i in range(head_dim // 2)], dtype=F64)


def close(a, b, rtol=1e-12):
    torch.testing.assert_close(a, b, rtol=rtol, atol=0)


def random(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=F64)


@claim("rope-scaling-linear", r"\[ \omega_i' = \omega_i / s \]")
@pytest.mark.parametrize("factor", [1, 4.0, 10])
@pytest.mark.parametrize("base", [10000.0, 500000.0])
def test_interpolation_slows_every_pair(factor, base):
    inv_freq, attention_factor = linear(128, factor, base)
    close(inv_freq, speeds(128, base) / factor)
    assert attention_factor == 1.0


@claim("rope-scaling-positions", r"It is the same as dividing the positions by \(s\).")
def test_slower_pairs_or_smaller_positions():
    x, positions = random(2, 3, 5, 8), torch.arange(40, 45)
    slower = apply_rope(x, positions, linear(8, 4.0)[0])
    divided = apply_rope(x, positions / 4, rope_inv_freq(8))
    # positions / 4 is exact in float32 here, so only float64 rounding is left.
    torch.testing.assert_close(slower, divided, rtol=0, atol=1e-12)
    assert (slower - apply_rope(x, positions, rope_inv_freq(8))).abs().max() > 0.1


@claim(
    "rope-scaling-range",
    r"Angles go at most a fraction of a step past the trained ones: at \(s = 4\), position 16380 has in "
    "every pair the angle of the trained position 4095, and position 16383 is less than one trained step "
    "further.",
)
def test_angles_stay_in_the_trained_range():
    slower = linear(128, 4.0)[0]
    close(16380 * slower, 4095 * speeds(128))
    assert (4095 * speeds(128) < 16383 * slower).all() and (16383 * slower < 4096 * speeds(128)).all()


@claim(
    "rope-scaling-neighbours",
    "The price is paid by the fast pairs: neighbours are now four times closer in angle, also in short "
    "texts.",
)
def test_neighbours_come_closer():
    turn = linear(128, 4.0)[0][0].item()
    assert turn == 1 / 4 and rope_inv_freq(128)[0] == 1


@claim("rope-scaling-ntk", r"\[ \text{base}' = \text{base} \cdot s^{d/(d-2)} \]")
@pytest.mark.parametrize(
    "factor, base", [(2, 20_221.2617), (4, 40_889.9424), (8, 82_684.6226), (16, 167_198.739)]
)
def test_the_new_base(factor, base):
    inv_freq, attention_factor = ntk_aware(128, factor)
    assert attention_factor == 1.0
    close(inv_freq, speeds(128, 10000 * math.exp(128 / 126 * math.log(factor))))
    # The base itself, read off the second pair; the literals are given to nine digits.
    assert math.isclose(inv_freq[1].item() ** (-128 / 2), base, rel_tol=1e-7)


@claim(
    "rope-scaling-ntk-ends",
    r"The first pair keeps its speed, the last one turns exactly \(s\) times slower.",
)
@pytest.mark.parametrize("head_dim", [4, 8, 128])
def test_ends_of_the_ntk_rule(head_dim):
    slower = speeds(head_dim, 500.0) / ntk_aware(head_dim, 6.0, base=500.0)[0]
    assert slower[0] == 1 and math.isclose(slower[-1], 6.0, rel_tol=1e-12)
    assert (slower.diff() > 0).all()


@claim(
    "rope-scaling-ntk-overshoot",
    r"The pairs between are slowed by less than \(s\), so some of them still leave the trained range: at "
    r"\(d = 128\), base 10000, \(s = 4\) and a trained length of 4096, 17 of the 18 pairs that never "
    "completed a turn go more than a step past their largest trained angle.",
)
def test_ntk_leaves_pairs_outside():
    incomplete = 4096 * speeds(128) < 2 * math.pi
    past = 4 * 4096 * ntk_aware(128, 4.0)[0] > 4096 * speeds(128) * (1 + 1e-9)
    assert int(incomplete.sum()) == 18 and int((incomplete & past).sum()) == 17


@claim(
    "rope-scaling-dynamic",
    r"\[ \begin{aligned} s(n) &= f\,\frac{\max(n, L)}{L} - (f - 1) \\ \text{base}' &= \text{base} \cdot "
    r"s(n)^{d/(d-2)} \end{aligned} \]",
)
@pytest.mark.parametrize("factor, length", [(1, 4096), (2.0, 4096), (2.0, 5000), (8.0, 100_000)])
@pytest.mark.parametrize("base", [10000.0, 500000.0])
def test_dynamic_base(factor, length, base):
    stretch = factor * max(length, 2048) / 2048 - (factor - 1)
    inv_freq, attention_factor = dynamic_ntk(64, length, 2048, factor, base)
    close(inv_freq, speeds(64, base * stretch ** (64 / 62)))
    assert attention_factor == 1.0


@claim("rope-scaling-dynamic-short", "Up to the trained length it is plain RoPE.")
@pytest.mark.parametrize("length", [1, 2047, 2048])
def test_dynamic_within_the_trained_length(length):
    close(dynamic_ntk(128, length, 2048, 4.0)[0], speeds(128))
    assert (dynamic_ntk(128, 2049, 2048, 4.0)[0] / speeds(128) - 1).abs().max() > 1e-3


@claim(
    "rope-scaling-dynamic-factor",
    r"The \(f\) of a config asks for more than it says: at twice the trained length \(f = 1\) gives base 20221, "
    r"as a factor of 2 should, while \(f = 2\) counts as 3 and gives 30528, and \(f = 4\) counts as 5 and gives "
    "51294.",
)
@pytest.mark.parametrize("f, counts_as, base", [(1, 2, 20221), (2, 3, 30528), (4, 5, 51294)])
def test_what_a_dynamic_factor_asks_for(f, counts_as, base):
    inv_freq = dynamic_ntk(128, 2 * 2048, 2048, f)[0]
    close(inv_freq, ntk_aware(128, counts_as)[0])
    assert round(inv_freq[1].item() ** -64) == base


@claim(
    "rope-scaling-dynamic-stale",
    r"With vectors of ones at \(d = 128\), \(f = 2\) and \(L = 2048\), the last of 4096 tokens meets the key 64 "
    "places back with a score of 0.5025 times its largest when all keys are turned for that length, and 0.6388 "
    "with keys as they came.",
)
def test_stale_keys_of_the_dynamic_rule():
    one = torch.ones(1, 1, 1, 128, dtype=F64)

    def score(key_length):
        query = apply_rope(one, torch.tensor([4095]), dynamic_ntk(128, 4096, 2048, 2)[0])
        key = apply_rope(one, torch.tensor([4095 - 64]), dynamic_ntk(128, key_length, 2048, 2)[0])
        return (query * key).sum().item() / 128

    assert (round(score(4096), 4), round(score(4096 - 64), 4)) == (0.5025, 0.6388)


@claim(
    "rope-scaling-larger-base",
    r"From 10000 to 500000 the last pair is slowed 47 times at \(d = 128\), the first not at all.",
)
def test_a_larger_base():
    slower = rope_inv_freq(128, 10000) / rope_inv_freq(128, 500000)
    assert slower[0] == 1 and round(slower[-1].item()) == 47


@claim(
    "rope-scaling-wrong-exponent",
    r"With \(s^{(d-2)/d}\), and with \(s^1\), the last pair is slowed by less than \(s\).",
)
@pytest.mark.parametrize("head_dim", [4, 8, 128])
def test_wrong_exponents_slow_the_last_pair_too_little(head_dim):
    right = speeds(head_dim) / ntk_aware(head_dim, 4.0)[0]
    assert math.isclose(right[-1], 4, rel_tol=1e-12)
    for exponent in ((head_dim - 2) / head_dim, 1.0):
        assert (speeds(head_dim) / speeds(head_dim, 10000 * 4**exponent))[-1] < 4 - 0.01


@claim(
    "rope-scaling-exponent",
    r"At \(d = 128\) the difference is small enough to pass a loose test.",
)
def test_a_wrong_exponent_is_close():
    right = speeds(128) / ntk_aware(128, 4.0)[0]
    for exponent in (126 / 128, 1.0):
        wrong = speeds(128) / speeds(128, 10000 * 4**exponent)
        assert wrong[-1] < 4 - 0.05 and abs(wrong[-1] / 4 - 1) < 0.05
    assert math.isclose(right[-1], 4, rel_tol=1e-12)


@claim(
    "rope-scaling-twice",
    "Divide the positions or the speeds, not both: two divisions slow every pair by \\(s^2\\).",
)
def test_two_divisions():
    x, positions = random(2, 3, 5, 8), torch.arange(40, 45)
    twice = apply_rope(x, positions / 4, linear(8, 4.0)[0])
    close_to = apply_rope(x, positions, rope_inv_freq(8) / 16)
    torch.testing.assert_close(twice, close_to, rtol=0, atol=1e-12)


@claim(
    "rope-scaling-stale-keys",
    "Cached keys that were rotated with other speeds do not fit new queries: the score no longer depends "
    "on the gap alone.",
)
def test_stale_keys():
    q, k = random(2, 1, 1, 5, 8)
    here = torch.arange(5)

    def scores(positions, key_speeds):
        new = ntk_aware(8, 4.0)[0]
        return apply_rope(q, positions, new) @ apply_rope(k, positions, key_speeds).mT

    fresh, stale = ntk_aware(8, 4.0)[0], ntk_aware(8, 2.0)[0]
    torch.testing.assert_close(scores(here + 50, fresh), scores(here, fresh), rtol=0, atol=1e-12)
    assert (scores(here + 50, stale) - scores(here, stale)).abs().max() > 0.1
