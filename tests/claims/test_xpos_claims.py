"""The sentences of docs/methods/xpos.md, in the order of the page."""

import math

import pytest
import torch

from posenc_check import oracles
from snippets.rope import rope_inv_freq
from snippets.xpos import apply_xpos, xpos_scale
from tests.guard.marks import claim

F64 = torch.float64


def close(a, b, rtol=1e-12, atol=0.0):
    torch.testing.assert_close(a, torch.as_tensor(b, dtype=F64), rtol=rtol, atol=atol)


def random(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=F64)


def turned(x, p, *, keys, centre=0.0, layout="interleaved"):
    width = x.shape[-1]
    return apply_xpos(x, torch.as_tensor(p).reshape(-1), rope_inv_freq(width), xpos_scale(width),
                      keys=keys, centre=centre, layout=layout)


def score(q, k, m, n, centre=0.0, layout="interleaved"):
    return torch.linalg.vecdot(turned(q, m, keys=False, centre=centre, layout=layout),
                               turned(k, n, keys=True, centre=centre, layout=layout))


ONES = torch.ones(1, 1, 1, 64, dtype=F64)


@claim(
    "xpos-score",
    r"\[ \begin{aligned} & \bigl(\zeta_i^{m/b}\, R_i(m)\, q_i\bigr)^\top \bigl(\zeta_i^{-n/b}\, R_i(n)\, "
    r"k_i\bigr) \\ &\quad = \zeta_i^{(m - n)/b}\; q_i^\top R_i(n - m)\, k_i \end{aligned} \]",
)
@pytest.mark.parametrize("layout", ["half", "interleaved"])
def test_scores(layout):
    q, k = random(2, 2, 3, 1, 8)
    speeds = [oracles.rope_speed(i, 8) for i in range(4)]
    for m, n in ((90, 40), (700, 699), (3, 250)):
        got = score(q, k, m, n, layout=layout)
        expected = torch.zeros(2, 3, 1, dtype=F64)
        relative = oracles.rotation_matrix(n - m, speeds, layout)
        for i in range(4):
            pair = list(oracles.pair_columns(i, 8, layout))
            faded = ((2 * i / 8 + 0.4) / 1.4) ** ((m - n) / 512)
            block = relative[pair][:, pair]
            expected += faded * torch.einsum("...a,ab,...b->...", q[..., pair], block, k[..., pair])
        close(got, expected, rtol=1e-10)


@claim("xpos-scale", r"\[ \zeta_i = \frac{2i/d + \gamma}{1 + \gamma} \]")
@pytest.mark.parametrize("head_dim, gamma", [(8, 0.4), (64, 0.4), (64, 1.5)])
def test_scale(head_dim, gamma):
    expected = [(2 * i / head_dim + gamma) / (1 + gamma) for i in range(head_dim // 2)]
    close(xpos_scale(head_dim, gamma), expected)
    close(xpos_scale(64)[[0, 16, 31]], [0.285714, 0.642857, 0.977679], rtol=0, atol=1e-6)


@claim(
    "xpos-fade",
    r"At \(d = 64\), pairs 0, 16 and 31 keep 0.7311, 0.8954 and 0.9944 of their score over 128 positions, and "
    "0.0067, 0.1708 and 0.9137 over 2048.",
)
@pytest.mark.parametrize("gap, kept", [
    (128, {0: 0.7311, 16: 0.8954, 31: 0.9944}), (2048, {0: 0.0067, 16: 0.1708, 31: 0.9137}),
])
def test_fading(gap, kept):
    for pair, expected in kept.items():
        x = torch.zeros(1, 1, 1, 64, dtype=F64)
        x[..., 2 * pair] = 1  # layout "interleaved"
        cosine = math.cos(gap * oracles.rope_speed(pair, 64))
        assert round(score(x, x, 3000, 3000 - gap).item() / cosine, 4) == expected


@claim(
    "xpos-future",
    r"For vectors of ones at \(d = 64\) a key 100 positions later scores 38.71, one 100 positions earlier 33.22.",
)
def test_past_and_future():
    later, earlier = score(ONES, ONES, 400, 400 + 100), score(ONES, ONES, 400, 400 - 100)
    assert (round(later.item(), 2), round(earlier.item(), 2)) == (38.71, 33.22)


@claim(
    "xpos-overflow",
    "Far from the centre the powers get large: in float32 keys are still finite 36000 positions after it and "
    "overflow at 40000; in float16 they are infinite at 4600.",
)
def test_overflow():
    near, far = (turned(ONES.float(), p + 100, keys=True, centre=100.0) for p in (36000, 40000))
    assert near.isfinite().all() and not far.isfinite().all()
    half = turned(ONES.half(), 4600 + 100, keys=True, centre=100.0)
    assert half.dtype == torch.float16 and half.isinf().any()


@claim("xpos-centre", "Any one centre gives the same scores.")
@pytest.mark.parametrize("centre", [350.0, -20.0, 2000.0])
def test_one_centre(centre):
    q, k = random(2, 2, 3, 1, 8)
    close(score(q, k, 700, 600, centre), score(q, k, 700, 600), rtol=1e-9)
    gap, faded = 100, [((2 * i / 8 + 0.4) / 1.4) ** (100 / 512) for i in range(4)]
    speeds = [oracles.rope_speed(i, 8) for i in range(4)]
    x = torch.ones(1, 1, 1, 8, dtype=F64)
    expected = 2 * sum(f * math.cos(gap * w) for f, w in zip(faded, speeds))
    close(score(x, x, 700, 600, centre), [[[expected]]], rtol=1e-9)


@claim(
    "xpos-centre-per-call",
    r"Keys cached under one centre and a query under another give a wrong score: at \(d = 64\), centred at 32 "
    "for a prompt of 64 tokens and at 0 for the next one, scores differ by up to 3 %.",
)
def test_a_centre_for_each_call():
    cached = turned(ONES.expand(1, 1, 64, 64), torch.arange(64), keys=True, centre=32.0)
    wrong = turned(ONES, 64, keys=False, centre=0.0) @ cached.mT
    right = turned(ONES, 64, keys=False, centre=32.0) @ cached.mT
    close(right[0, 0, 0, 3], score(ONES, ONES, 64, 3)[0, 0, 0], rtol=1e-10)
    assert round(100 * (wrong / right - 1).abs().max().item()) == 3


@claim(
    "xpos-norm", "They are not kept: norms of queries and keys depend on the position."
)
def test_norms():
    q = random(2, 3, 1, 8)
    for keys in (False, True):
        near, far = (turned(q, p, keys=keys).norm(dim=-1) for p in (10, 600))
        assert ((far < 0.9 * near) if not keys else (far > 1.1 * near)).all()


@claim(
    "xpos-no-window",
    "Slow pairs hardly fade, so xPos is no window: far keys keep a part of their score.",
)
def test_slow_pairs_stay():
    assert xpos_scale(64)[-1] ** (2048 / 512) > 0.9
    x = torch.zeros(1, 1, 1, 64, dtype=F64)
    x[..., 62] = 1  # the slowest pair
    assert score(x, x, 9000, 9000 - 2048) > 0.85
