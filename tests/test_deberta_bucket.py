"""Rows of DeBERTa's tables: the paper's three cases, and the log scale of its second version."""

import pytest
import torch

from posenc_check import relative
from snippets.deberta import deberta_bucket, deberta_log_lag
from tests.exact import raises_exactly


@pytest.mark.parametrize("reach", [1, 2, 4, 9])
def test_every_bucket_follows_the_three_cases(reach):
    q, k = torch.tensor([3, 30, 7, 8]), torch.tensor([5, 2, 17, 9, 0, 6, 100])
    want = [[relative.deberta_delta(i, j, reach) for j in k.tolist()] for i in q.tolist()]
    got = deberta_bucket(q[:, None] - k, reach)
    assert got.dtype == torch.int64 and got.tolist() == want


def test_known_buckets_for_a_reach_of_four():
    got = deberta_bucket(torch.arange(-6, 7), 4).tolist()
    assert got == [0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 7, 7, 7]  # 2k rows: k shares its row with k - 1


def test_both_directions_mirror_but_for_the_last_row():
    lag = torch.arange(-9, 10)
    together = deberta_bucket(lag, 4) + deberta_bucket(-lag, 4)
    assert together[lag.abs() < 4].unique().tolist() == [8]
    assert together[lag.abs() >= 4].unique().tolist() == [7]


@pytest.mark.parametrize(
    "num_buckets, max_distance", [(4, 4), (4, 9), (6, 40), (8, 16), (16, 64), (32, 128), (256, 512)]
)
def test_every_log_lag_follows_the_rule_in_whole_numbers(num_buckets, max_distance):
    lag = torch.arange(-2 * max_distance, 2 * max_distance + 1)
    want = [relative.deberta_log_lag(n, num_buckets, max_distance) for n in lag.tolist()]
    got = deberta_log_lag(lag, num_buckets, max_distance)
    assert got.dtype == torch.int64 and got.tolist() == want


def test_a_power_that_is_passed_by_little_belongs_to_the_next_step():
    """The logarithms give 1 + 1.5e-9 where the step ends at 1."""
    rule = {"num_buckets": 4, "max_distance": 2 * 10**12 + 1}
    lag = [2 * 10**12, 2 * 10**12 + 82_900]
    got = deberta_log_lag(torch.tensor(lag), **rule)
    assert got.tolist() == [relative.deberta_log_lag(n, *rule.values()) for n in lag] == [3, 4]


def test_known_log_lags_of_the_released_models():
    known = {0: 0, 1: 1, 127: 127, 128: 128, 129: 129, 130: 130, 150: 143, 200: 169, 256: 192}
    known |= {400: 233, 511: 255, 512: 256, 600: 270}
    lag = torch.tensor(list(known))
    assert deberta_log_lag(lag).tolist() == list(known.values())
    assert deberta_log_lag(-lag).tolist() == [-value for value in known.values()]


def test_the_clamp_comes_after_the_log_scale():
    lag = torch.tensor([-5000, -600, -512, -511, 505, 506, 511, 512, 600, 5000])
    assert deberta_log_lag(lag).tolist() == [-465, -270, -256, -255, 254, 255, 255, 256, 270, 465]
    row = deberta_bucket(deberta_log_lag(lag), 256)
    assert row.tolist() == [0, 0, 0, 1, 510, 511, 511, 511, 511, 511]


def test_exact_powers_belong_to_the_lower_step():
    # near 4, three steps from 4 to 32: a factor of 2 each.
    got = deberta_log_lag(torch.tensor([4, 5, 8, 9, 16, 17, 32, 33, 64, 65]), 8, 33)
    assert got.tolist() == [4, 5, 5, 6, 6, 7, 7, 8, 8, 9]
    # near 10, a factor of 2 every third step: in float64 the quotient is 3.0000000000000004.
    got = deberta_log_lag(torch.tensor([20, 21, 40, 41, 80, 81]), 20, 81)
    assert got.tolist() == [13, 14, 16, 17, 19, 20]


@pytest.mark.parametrize("name", "uint8 int8 int16 int32 int64".split())
def test_any_integer_dtype_is_taken(name):
    lag = torch.tensor([3, 127]).to(getattr(torch, name))
    assert deberta_bucket(lag, 200).tolist() == [203, 327]
    assert deberta_log_lag(lag, 8, 16).tolist() == [3, 12]
    assert deberta_log_lag(lag, 8, 16).dtype == torch.int64


def test_the_smallest_number_of_a_dtype_has_a_distance():
    lag = torch.tensor([-128], dtype=torch.int8)
    assert deberta_log_lag(lag, 8, 16).tolist() == [-12]
    assert deberta_bucket(lag, 200).tolist() == [72]


@pytest.mark.parametrize("name", "bool float16 float32 complex64".split())
def test_a_lag_that_is_not_integer_is_refused(name):
    lag = torch.zeros(3, dtype=getattr(torch, name))
    for rule in (lambda: deberta_bucket(lag, 4), lambda: deberta_log_lag(lag)):
        with raises_exactly(TypeError, f"lag must be integer, got torch.{name}"):
            rule()


@pytest.mark.parametrize("reach", [0, -2])
def test_a_reach_below_one_is_refused(reach):
    with raises_exactly(ValueError, f"reach must be positive, got {reach}"):
        deberta_bucket(torch.arange(3), reach)


@pytest.mark.parametrize("value", [-4, 0, 2, 3, 255])
def test_a_number_of_buckets_that_is_odd_or_small_is_refused(value):
    with raises_exactly(ValueError, f"num_buckets must be even and at least 4, got {value}"):
        deberta_log_lag(torch.arange(3), value)


@pytest.mark.parametrize("value", [-1, 9, 5])
def test_a_distance_among_the_near_ones_is_refused(value):
    with raises_exactly(ValueError, f"max_distance must exceed 9, got {value}"):
        deberta_log_lag(torch.arange(3), 16, value)
    assert deberta_log_lag(torch.tensor([8, 9]), 16, 10).tolist() == [8, 15]
