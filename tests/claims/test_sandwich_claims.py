"""The sentences of docs/methods/sandwich.md, in the order of the page."""

import math

import pytest
import torch

from posenc_check import oracles
from snippets.rope import apply_rope, rope_inv_freq
from snippets.sandwich import sandwich_bias
from tests.guard.marks import claim

F64 = torch.float64
Q_PLACES, K_PLACES = torch.arange(45, 50), torch.arange(40, 50)
SCALES = torch.tensor([1.0, 0.5, -2.0], dtype=F64)


def close(a, b, atol=1e-10):
    torch.testing.assert_close(a, torch.as_tensor(b, dtype=F64), rtol=0, atol=atol)


def row(width=128):
    """The bias at distances 0 ... 999, scale 1."""
    one = torch.ones(1, dtype=F64)
    return sandwich_bias(torch.tensor([0]), torch.arange(1000), one, width=width, dtype=F64)[0, 0]


@claim("sandwich-bias", r"\[ b_{ij} = a_h \sum_{l} \cos\bigl((i - j)\,\omega_l\bigr) \]")
@pytest.mark.parametrize("width, base", [(16, 10000.0), (10, 500.0)])
def test_bias(width, base):
    got = sandwich_bias(Q_PLACES, K_PLACES, SCALES, width=width, base=base, dtype=F64)
    for h, scale in enumerate(SCALES.tolist()):
        for i, q in enumerate(Q_PLACES.tolist()):
            for j, k in enumerate(K_PLACES.tolist()):
                speeds = [base ** (-2 * pair / width) for pair in range(width // 2)]
                close(got[h, i, j], scale * math.fsum(math.cos((q - k) * w) for w in speeds))


@claim(
    "sandwich-is-sinusoid",
    "The sum is exactly the product of two rows of the sinusoidal table of that width.",
)
def test_product_of_two_rows():
    tables = (oracles.sinusoid_table(p.tolist(), 16) for p in (Q_PLACES, K_PLACES))
    rows, columns = tables
    got = sandwich_bias(Q_PLACES, K_PLACES, torch.ones(1), width=16, dtype=F64)[0]
    close(got, rows @ columns.T)


@claim("sandwich-largest", "The sum is largest at distance 0, and smaller everywhere else.")
@pytest.mark.parametrize("width", [16, 128])
def test_largest(width):
    assert row(width)[0] == width / 2 and (row(width)[1:] < width / 2).all()


@claim(
    "sandwich-numbers",
    "From there it falls, in waves: at width 128 it is 64 at distance 0, 48.6 at 4 and 20.5 at 256.",
)
def test_numbers():
    found = row(128)
    assert [round(found[d].item(), 1) for d in (0, 4, 256)] == [64, 48.6, 20.5]
    assert (found.diff() > 0).any()  # in waves


@claim("sandwich-width", "It sets the size of the bias.")
def test_width():
    assert row(128)[0] == 2 * row(64)[0]
    assert (row(128)[:50] > 1.3 * row(64)[:50]).all()


@claim("sandwich-no-direction", "A cosine is even: left and right look alike.")
def test_no_direction():
    got = sandwich_bias(torch.tensor([45]), torch.tensor([42, 48]), SCALES, dtype=F64)
    close(got[..., 0], got[..., 1])
    assert (got[:, 0, 0] != 64 * SCALES).all()


@claim(
    "sandwich-is-rope-of-ones",
    "Its waves are those of RoPE with vectors of ones, seen from the bias.",
)
def test_rope_with_ones():
    one = torch.ones(1, 1, 1000, 128, dtype=F64)
    turned = apply_rope(one, torch.arange(1000), rope_inv_freq(128))[0, 0]
    close(turned @ turned[0] / 2, row(128))
