"""The sentences of docs/methods/nope.md, in the order of the page."""

import math

import pytest
import torch

from posenc_check import oracles
from snippets.attention import attention
from snippets.masks import causal_mask
from tests.guard.marks import claim

F64, PLACES = torch.float64, torch.arange(7)
CAUSAL = causal_mask(PLACES, PLACES)
PERMUTED = torch.tensor([3, 0, 5, 1, 4, 2, 6])  # the last token stays


def random(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=F64)


def close(a, b, atol=1e-12):
    torch.testing.assert_close(a, torch.as_tensor(b, dtype=F64), rtol=0, atol=atol)


def stack(x, depth, mask):
    """Layers of attention with a residual, (B, H, T, D)."""
    for layer in range(depth):
        w_q, w_k, w_v = random(3, 8, 8, seed=layer + 1)
        x = x + attention(x @ w_q, x @ w_k, x @ w_v, mask=mask)
    return x


def change_of_the_last(depth, mask):
    x = random(2, 3, 7, 8)
    return (stack(x[:, :, PERMUTED], depth, mask) - stack(x, depth, mask))[:, :, 6].abs().max().item()


@claim(
    "nope-attention",
    r"\[ z_i = \sum_{j \le i} \operatorname{softmax}_{j \le i}\!\left(\frac{q_i^\top k_j}{\sqrt d}\right) v_j \]",
)
def test_attention():
    q, k, v = random(3, 2, 3, 7, 8)
    mask = CAUSAL.expand(2, 3, 7, 7)
    close(attention(q, k, v, mask=causal_mask(PLACES, PLACES)), oracles.attention(q, k, v, mask=mask))
    assert CAUSAL.tolist() == [[j <= i for j in range(7)] for i in range(7)]


@claim(
    "nope-one-layer",
    "For the last token one causal layer is a bag of words: permute the tokens before it, and its output stays, "
    "up to rounding.",
)
def test_one_layer():
    assert change_of_the_last(1, CAUSAL) < 1e-12
    x = random(2, 3, 7, 8)
    moved = stack(x[:, :, PERMUTED], 1, CAUSAL) - stack(x, 1, CAUSAL)[:, :, PERMUTED]
    assert moved[:, :, :6].abs().max() > 0.1  # the others see other sets


@claim(
    "nope-two-layers",
    "A second layer sees the order, because the tokens of the prefix have themselves seen different sets.",
)
@pytest.mark.parametrize("depth", [2, 3])
def test_two_layers(depth):
    assert change_of_the_last(depth, CAUSAL) > 0.05


@claim("nope-encoder", "Without a mask no depth helps.")
@pytest.mark.parametrize("depth", [1, 2, 4])
def test_no_mask(depth):
    x = random(2, 3, 7, 8)
    size = stack(x, depth, None).abs().max().item()
    assert change_of_the_last(depth, None) < 1e-11 * size


def shares(length):
    flat = torch.zeros(1, 1, length, 4, dtype=F64)
    marked = torch.zeros(1, 1, length, 1, dtype=F64)
    marked[:, :, 0] = 1
    places = torch.arange(length)
    return attention(flat, flat, marked, mask=causal_mask(places, places)).flatten()


@claim(
    "nope-counting",
    "The share of the marked one is 1 at the first place, 1/2 at the second, 1/3 at the third: a count, without "
    "a number put in.",
)
def test_counting():
    got = shares(50)
    close(got, 1 / torch.arange(1, 51).double())
    close(got[:3], [1, 1 / 2, 1 / 3])


@claim(
    "nope-counting-fades",
    "Far on, neighbours are hard to tell apart: their shares differ by about one over the square of the "
    "place.",
)
def test_counting_far_on():
    got = shares(400)
    for place in (100, 200, 399):
        assert math.isclose(got[place - 1] - got[place], place**-2, rel_tol=0.02)


@claim(
    "nope-temperature",
    r"\[ t(p) = 1 + 0.1 \ln\bigl(1 + \lfloor (p + 1) / 8192 \rfloor\bigr) \]",
)
@pytest.mark.parametrize("position", [0, 8191, 16383, 131071])
def test_temperature(position):
    t = 1 + 0.1 * math.log(1 + (position + 1) // 8192)
    q, k, v = random(1, 1, 1, 8), random(1, 1, 9, 8, seed=1), torch.eye(9, dtype=F64)[None, None]
    got = attention(t * q, k, v)[0, 0, 0]
    logits = (q @ k.mT)[0, 0, 0] / math.sqrt(8)
    close(got, (t * logits).softmax(0))
    assert (position >= 8191) is (t > 1)


@claim(
    "nope-temperature-values",
    "It is 1 up to position 8190, 1.0693 at 8191 and 1.2833 at 131071.",
)
def test_values_of_the_temperature():
    def t(position):
        return 1 + 0.1 * math.log(1 + (position + 1) // 8192)

    assert [round(t(p), 4) for p in (0, 8190, 8191, 131071)] == [1, 1, 1.0693, 1.2833]
    # A key that leads by 5 among as many others as fit keeps more weight with it.
    lead = torch.zeros(1, 1, 2000, 4, dtype=F64)
    lead[..., 0, :] = 2.5
    one = torch.zeros(1, 1, 2000, 1, dtype=F64)
    one[..., 0, :] = 1
    q = torch.ones(1, 1, 1, 4, dtype=F64)
    assert attention(t(131071) * q, lead, one) > 1.5 * attention(q, lead, one)


@claim("nope-padding", "Padding that is not masked moves everything.")
def test_padding():
    x = random(2, 3, 7, 8)
    padded = torch.cat((torch.zeros(2, 3, 3, 8, dtype=F64), x), dim=2)
    places = torch.arange(10)
    open_ = causal_mask(places, places)
    closed = (open_ & (places >= 3)) | torch.eye(10, dtype=torch.bool)
    want = stack(x, 2, CAUSAL)
    close(stack(padded, 2, closed)[:, :, 3:], want)
    assert ((stack(padded, 2, open_)[:, :, 3:] - want).abs().amax(dim=(0, 1, 3)) > 0.01).all()


@claim(
    "nope-no-previous-token",
    "A head of the first layer cannot look at the token before it as such: with the same token at two earlier "
    "places, both get the same weight.",
)
def test_the_same_content_twice():
    k = random(1, 2, 7, 8)
    k[:, :, 5] = k[:, :, 1]  # just before the query, and far back
    weights = attention(random(1, 2, 7, 8, seed=1), k, torch.eye(7, dtype=F64).expand(1, 2, 7, 7), mask=CAUSAL)
    close(weights[:, :, 6, 5], weights[:, :, 6, 1])
    assert (weights[:, :, 6, 4] - weights[:, :, 6, 1]).abs().max() > 1e-3
