"""What a model without any position encoding can know: facts of attention, so no snippet."""

import itertools
import math

import pytest
import torch

from snippets.attention import attention
from snippets.masks import causal_mask

B, H, T, WIDTH = 2, 3, 8, 12
POSITIONS = torch.arange(T)
CAUSAL = causal_mask(POSITIONS, POSITIONS)


def generic(*shape, seed=0):
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def layer(x, seed, mask):
    """Residual attention of H heads with weights of unit size, no positions anywhere."""
    weights = generic(4, WIDTH, WIDTH, seed=seed) / math.sqrt(WIDTH)
    q, k, v = (
        (x @ w).unflatten(-1, (H, WIDTH // H)).transpose(1, 2) for w in weights[:3]
    )  # fmt: skip
    y = attention(q, k, v, mask=mask).transpose(1, 2).flatten(2)
    return x + y @ weights[3]


def last_token(x, depth, mask=CAUSAL):
    for seed in range(depth):
        x = layer(x, 10 + seed, mask)
    return x[:, -1]


ORDER = torch.tensor([4, 2, 6, 0, 5, 1, 3, 7])  # the last token keeps its place


def difference(depth, mask=CAUSAL):
    x = generic(B, T, WIDTH)
    return (last_token(x[:, ORDER], depth, mask) - last_token(x, depth, mask)).abs().max().item()


def test_one_causal_layer_does_not_see_the_order_of_the_past():
    assert difference(depth=1) <= 1e-12  # float64 sums in another order


@pytest.mark.parametrize("depth", [2, 3])
def test_two_causal_layers_see_it(depth):
    assert difference(depth) > 0.05


@pytest.mark.parametrize("depth", [1, 2, 4])
def test_without_a_mask_no_depth_sees_it(depth):
    assert difference(depth, mask=None) <= 1e-12  # float64 sums in another order


def test_one_causal_layer_sees_how_many_tokens_came_before():
    x = generic(B, T, WIDTH)
    shorter = last_token(x[:, 3:], 1, causal_mask(POSITIONS[3:], POSITIONS[3:]))
    assert (shorter - last_token(x, 1)).abs().max() > 0.05


@pytest.mark.parametrize("start", [0, 1000])
def test_the_numbers_of_the_positions_play_no_part(start):
    x = generic(B, T, WIDTH)
    mask = causal_mask(POSITIONS + start, POSITIONS + start)
    assert torch.equal(last_token(x, 2, mask), last_token(x, 2))


def test_a_uniform_causal_head_counts_its_tokens_from_the_first_one():
    nothing, first = torch.zeros(1, 1, T, 4).double(), torch.zeros(1, 1, T, 1).double()
    first[0, 0, 0] = 1.0  # marks the begin-of-sequence token
    got = attention(nothing, nothing, first, mask=CAUSAL).flatten().tolist()
    assert got == pytest.approx([1 / n for n in range(1, T + 1)], rel=1e-15)
    assert torch.tensor(got).reciprocal().round().tolist() == [1, 2, 3, 4, 5, 6, 7, 8]


def test_without_a_mask_the_same_head_gives_every_token_the_same():
    nothing, first = torch.zeros(1, 1, T, 4).double(), torch.zeros(1, 1, T, 1).double()
    first[0, 0, 0] = 1.0
    assert attention(nothing, nothing, first).flatten().tolist() == [1 / T] * T


def temperature(position: int, floor_scale: int = 8192, scale: float = 0.1) -> float:
    """Factor on the queries of a NoPE layer of Llama 4: grows with the logarithm of the length."""
    return 1 + scale * math.log1p(math.floor((position + 1) / floor_scale))


KNOWN = {0: 1.0, 8190: 1.0, 8191: 1.069315, 16382: 1.069315, 16383: 1.109861, 131071: 1.283321}


@pytest.mark.parametrize("position", KNOWN)
def test_known_temperatures(position):
    assert temperature(position) == pytest.approx(KNOWN[position], abs=5e-7)


def test_a_temperature_counters_the_fading_of_the_largest_weight():
    """One key that scores 10 above n others loses weight with n, less of it when multiplied."""
    weights = {
        n: [1 / (1 + n * math.exp(-10 * factor)) for factor in (1.0, temperature(n - 1))]
        for n in (8191, 131_072)
    }
    plain, tempered = zip(*weights.values(), strict=True)
    assert plain[0] == tempered[0] and plain[1] < 0.2 and tempered[1] > 0.7
    assert all(a <= b for a, b in itertools.chain(weights.values()))
