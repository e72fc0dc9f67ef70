"""The sentences of docs/methods/t5_bias.md, in the order of the page."""

import math

import pytest
import torch

from posenc_check import oracles
from snippets.attention import attention
from snippets.t5_bias import T5Bias, t5_bucket
from tests.guard.marks import claim


def buckets(gaps, bidirectional):
    return t5_bucket(torch.as_tensor(list(gaps)), bidirectional=bidirectional).tolist()


def first_distances(bidirectional):
    """Smallest distance of each bucket on the side of the earlier keys."""
    seen = buckets([-d for d in range(300)], bidirectional)
    return {bucket: seen.index(bucket) for bucket in dict.fromkeys(seen)}


@claim("t5-bias-formula", r"\[ e_{ij} = q_i^\top k_j + b_{h,\,\beta(j - i)} \]")
@pytest.mark.parametrize("bidirectional", [True, False])
def test_the_bias_is_added_to_the_logits(bidirectional):
    torch.manual_seed(0)
    bias = T5Bias(3, bidirectional=bidirectional).double()
    q, k, v = torch.randn(3, 2, 3, 9, 4, dtype=torch.float64)
    q_positions, k_positions = torch.arange(200, 209), torch.arange(100, 280, 20)
    numbers = torch.empty(2, 3, 9, 9, dtype=torch.float64)
    for h in range(3):
        for i, m in enumerate(q_positions.tolist()):
            for j, n in enumerate(k_positions.tolist()):
                numbers[:, h, i, j] = bias.weight[oracles.t5_bucket(n - m, bidirectional), h].item()
    got = attention(q * 2, k, v, bias=bias(q_positions, k_positions))
    # The oracle's attention divides by sqrt(4) = 2, which the factor 2 undoes.
    torch.testing.assert_close(got, oracles.attention(q * 2, k, v, bias=numbers), rtol=0, atol=1e-12)


@claim(
    "t5-bias-causal-edges",
    "In a causal decoder with the defaults, distances below 16 have their own bucket, and the last of the "
    "32 buckets begins at distance 113, not at 128.",
)
def test_causal_edges():
    edges = [16, 19, 21, 24, 27, 31, 35, 40, 46, 52, 59, 67, 77, 87, 99, 113]
    assert list(first_distances(False).values()) == [*range(16), *edges]
    assert len(first_distances(False)) == 32


@claim(
    "t5-bias-bidirectional-edges",
    "In an encoder the buckets are split between the two sides: distances 0 to 7 have a bucket each "
    "towards earlier keys, 1 to 7 towards later ones, and the last bucket of a side begins at distance 91.",
)
def test_bidirectional_edges():
    assert list(first_distances(True).values()) == [*range(8), 8, 12, 16, 23, 32, 46, 64, 91]
    before, after = buckets([-d for d in range(1, 300)], True), buckets(range(1, 300), True)
    assert [a - b for a, b in zip(after, before)] == [16] * 299
    assert after[:8] == [17, 18, 19, 20, 21, 22, 23, 24] and after[7:11] == [24] * 4


@claim(
    "t5-bias-direction",
    "There a key after the query uses the upper half of the buckets; in a decoder all such keys share "
    "bucket 0.",
)
def test_a_later_key_uses_the_upper_half():
    assert min(buckets(range(1, 300), True)) == 17
    assert max(buckets(range(-300, 1), True)) == 15
    assert set(buckets(range(0, 300), False)) == {0}


@claim(
    "t5-bias-dead-bucket",
    "In an encoder one of the 32 rows, bucket 16, can never be reached; a decoder uses all of them.",
)
def test_one_bucket_is_dead_in_an_encoder():
    assert set(range(32)) - set(buckets(range(-2000, 2001), True)) == {16}
    assert set(buckets(range(-2000, 2001), False)) == set(range(32))


@claim(
    "t5-bias-no-scale",
    r"Our attention does, so multiply the queries by \(\sqrt{d}\), where \(d\) is the width of a head, to "
    "get T5's logits.",
)
def test_scaled_queries_give_unscaled_logits():
    q, k = torch.randn(2, 1, 1, 5, 9, dtype=torch.float64)
    one_hot = torch.eye(5, dtype=torch.float64)[None, None]  # as values: the weights themselves
    weights = attention(q * math.sqrt(9), k, one_hot)
    torch.testing.assert_close(weights, (q @ k.mT).softmax(-1), rtol=0, atol=1e-12)


@claim(
    "t5-bias-swapped",
    "Swap query and key in the gap, and the two sides of an encoder change places.",
)
def test_swapping_changes_the_sides():
    gaps = [-40, -3, 3, 40]
    right, swapped = buckets(gaps, True), buckets([-g for g in gaps], True)
    assert right == swapped[::-1] and right != swapped
    assert right[:2] == [oracles.t5_bucket(g, True) for g in gaps[:2]]


@claim(
    "t5-bias-no-cap",
    "Without it the logarithm runs past the last bucket: in an encoder the lookup reads a bucket of the other "
    "side for keys 128 to 32767 before the query, and leaves the table for keys 128 or more after it; in a "
    "decoder it leaves the table.",
)
def test_buckets_without_the_cap():
    def uncapped(gap, bidirectional):
        side = 16 if bidirectional else 32
        near, distance = side // 2, abs(gap)
        steps = math.log(distance / near) / math.log(128 / near) * (side - near)
        far = near + int(steps + 1e-9)  # at an exact power the quotient may fall a rounding short
        return far + (16 if bidirectional and gap > 0 else 0)

    rows = T5Bias(1, bidirectional=True).weight.shape[0]
    for gap in (-90, -20, 20, 90):  # before the cap acts it is the bucket
        assert uncapped(gap, True) == buckets([gap], True)[0]
    assert uncapped(-127, True) == 15 and uncapped(-32768, True) == rows  # one step outside
    for distance in (128, 500, 32767):
        assert 16 <= uncapped(-distance, True) < rows <= uncapped(distance, True)
        assert buckets([-distance, distance], True) == [15, 31]
        assert uncapped(-distance, False) >= rows and buckets([-distance], False) == [31]


@claim("t5-bias-cap", "Here every gap, however far, gets a bucket of the table.")
@pytest.mark.parametrize("bidirectional", [True, False])
def test_far_gaps_stay_in_the_table(bidirectional):
    far = [-(10**k) for k in range(2, 10)]
    last = 15 if bidirectional else 31
    assert buckets(far[1:], bidirectional) == [last] * 7
    assert buckets([-g for g in far[1:]], bidirectional) == [31 if bidirectional else 0] * 7


@claim(
    "t5-bias-parameters",
    "The table has 32 numbers per head with the defaults, whatever the length.",
)
def test_size_of_the_table():
    bias = T5Bias(3, bidirectional=True)
    assert [p.numel() for p in bias.parameters()] == [32 * 3]
    assert bias(torch.arange(5), torch.arange(700)).shape == (3, 5, 700)
