"""The buckets against a rule without logarithms, and against known numbers."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from posenc_check import oracles
from snippets.t5_bias import t5_bucket

both_modes = pytest.mark.parametrize("bidirectional", [False, True])


@both_modes
@pytest.mark.parametrize(
    "num_buckets, max_distance",
    [
        (32, 128), (32, 256), (64, 128), (128, 1024), (4, 8), (8, 27), (12, 81), (6, 100),
        (16, 6561),
        (10, 160), (20, 160), (38, 288), (60, 480),  # logarithms fall short of a whole number
        (34, 27), (102, 441),  # float32 would not be enough
    ],
)
def test_every_bucket_follows_the_rule(num_buckets, max_distance, bidirectional):
    rule = {"num_buckets": num_buckets, "max_distance": max_distance}
    reach = 2 * max_distance + 3
    want = [oracles.t5_bucket(gap, bidirectional, **rule) for gap in range(-reach, reach)]
    got = t5_bucket(torch.arange(-reach, reach), bidirectional=bidirectional, **rule)
    assert got.dtype == torch.int64 and got.tolist() == want


@both_modes
@settings(derandomize=True, deadline=None, max_examples=100)
@given(half=st.integers(2, 40), more=st.integers(1, 500), gap=st.integers(-1500, 1500))
def test_any_size_follows_the_rule(bidirectional, half, more, gap):
    rule = {"num_buckets": 2 * half, "max_distance": half + more}
    got = t5_bucket(torch.tensor([gap]), bidirectional=bidirectional, **rule)
    assert got.tolist() == [oracles.t5_bucket(gap, bidirectional, **rule)]


def test_a_power_that_is_missed_by_little_keeps_its_bucket():
    """The logarithms give 1 - 1.5e-9 where the bucket changes at 1."""
    rule = {"num_buckets": 4, "max_distance": 2 * 10**12 + 82_800}
    gaps = [-2_000_000, -2_000_001]
    got = t5_bucket(torch.tensor(gaps), bidirectional=False, **rule)
    assert got.tolist() == [oracles.t5_bucket(gap, False, **rule) for gap in gaps] == [2, 3]


DISTANCES = [1, 7, 8, 11, 12, 15, 16, 22, 23, 31, 32, 45, 46, 64, 90, 91, 112, 113, 128, 1000]
CAUSAL = [1, 7, 8, 11, 12, 15, 16, 18, 18, 21, 21, 23, 24, 26, 29, 29, 30, 31, 31, 31]
ONE_SIDE = [1, 7, 8, 8, 9, 9, 10, 10, 11, 11, 12, 12, 13, 14, 14, 15, 15, 15, 15, 15]


def test_known_buckets_of_the_defaults():
    distance = torch.tensor(DISTANCES)
    assert t5_bucket(-distance, bidirectional=False).tolist() == CAUSAL
    assert t5_bucket(distance, bidirectional=False).tolist() == [0] * 20
    assert t5_bucket(-distance, bidirectional=True).tolist() == ONE_SIDE
    assert t5_bucket(distance, bidirectional=True).tolist() == [b + 16 for b in ONE_SIDE]
    for bidirectional in (False, True):
        assert t5_bucket(torch.tensor([0]), bidirectional=bidirectional).tolist() == [0]


@pytest.mark.parametrize(
    "bidirectional, edges",
    [
        (False, [16, 19, 21, 24, 27, 31, 35, 40, 46, 52, 59, 67, 77, 87, 99, 113]),
        (True, [8, 12, 16, 23, 32, 46, 64, 91]),
    ],
)
def test_known_first_distances_of_the_shared_buckets(bidirectional, edges):
    bucket = t5_bucket(-torch.arange(2000), bidirectional=bidirectional).tolist()
    assert [bucket.index(len(edges) + i) for i in range(len(edges))] == edges


@both_modes
def test_no_gap_leaves_the_table(bidirectional):
    far = torch.tensor([-(2**62), -(10**9), 10**9, 2**62])
    last = [31, 31, 0, 0] if not bidirectional else [15, 15, 31, 31]
    assert t5_bucket(far, bidirectional=bidirectional).tolist() == last


@pytest.mark.parametrize("shape", [(), (0,), (2, 3, 4)])
def test_a_gap_may_have_any_shape(shape):
    assert t5_bucket(torch.zeros(shape, dtype=torch.int64), bidirectional=True).shape == shape


@pytest.mark.parametrize("name", "uint8 int8 int16 int32".split())
def test_a_gap_may_have_any_integer_dtype(name):
    dtype = getattr(torch, name)
    gap = torch.tensor([0, 5, 127], dtype=dtype)
    got = t5_bucket(gap, bidirectional=True)
    assert got.dtype == torch.int64 and got.tolist() == [0, 21, 31]
    assert t5_bucket(gap, bidirectional=False).tolist() == [0, 0, 0]
    least = torch.tensor([torch.iinfo(dtype).min], dtype=dtype)  # has no opposite in its dtype
    far = 0 if name == "uint8" else 1
    assert t5_bucket(least, bidirectional=True).tolist() == [15 * far]
    assert t5_bucket(least, bidirectional=False).tolist() == [31 * far]
