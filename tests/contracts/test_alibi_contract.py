"""check_alibi tells right biases from wrong ones."""

import functools
import math

import pytest
import torch

from posenc_check.contracts import check_alibi
from snippets.alibi import alibi_bias, alibi_slopes
from tests.contracts.judged import asked, failed, passed

FIRST = "takes slope * distance from the logits"
SIZES = "takes any number of heads and any length"
ONE = "one query stands behind its keys"
SOME = "more queries stand behind the keys"
FAR = "tells near keys apart in a long text"
SIGN = "the sign: the bias grows with the distance"
RESTARTED = "the queries are counted from 0"
KEY_INDEX = "slope * key in bfloat16"


def positions(q_len, k_len):
    return torch.arange(k_len - q_len, k_len)[:, None], torch.arange(k_len)


def column(n_heads):
    return alibi_slopes(n_heads)[:, None, None]


def of_distance(distance):
    """A form that differs in what is multiplied by the slope."""

    def bias(n_heads, q_len, k_len):
        query, key = positions(q_len, k_len)
        return -column(n_heads) * distance(query, key)

    return bias


def of_slopes(slopes):
    def bias(n_heads, q_len, k_len):
        query, key = positions(q_len, k_len)
        return -torch.as_tensor(slopes(n_heads))[:, None, None] * (query - key).abs()

    return bias


def for_queries(n_heads, q_len, k_len):
    here = torch.arange(q_len)
    return alibi_bias(here, torch.arange(k_len), alibi_slopes(n_heads))


def square(n_heads, q_len, k_len):
    here = torch.arange(q_len)
    return alibi_bias(here, here, alibi_slopes(n_heads))


def upper_left(n_heads, q_len, k_len):
    here = torch.arange(k_len)
    return alibi_bias(here, here, alibi_slopes(n_heads))[:, :q_len]


def fixed(n_heads, q_len, k_len):
    here = torch.arange(512)
    return alibi_bias(here, here, alibi_slopes(n_heads))[:, k_len - q_len : k_len, :k_len]


def key_index(dtype):
    def bias(n_heads, q_len, k_len):
        return column(n_heads).to(dtype) * torch.arange(k_len).to(dtype)

    return bias


def rounded_places(n_heads, q_len, k_len):
    query, key = (x.bfloat16() for x in positions(q_len, k_len))
    return -column(n_heads).float() * (query - key).abs()


def swapped_axes(n_heads, q_len, k_len):
    query, key = positions(q_len, k_len)
    slopes = alibi_slopes(max(n_heads, q_len))[:q_len, None, None]
    return (-slopes * (query - key).abs()).transpose(0, 1)[:n_heads]


WRONG = {
    "RB03 query - key, plus": (of_distance(lambda q, k: k - q), FIRST, SIGN),
    "RB03 plus the distance": (of_distance(lambda q, k: -(q - k).abs()), FIRST, SIGN),
    "RB03 with its mask": (
        of_distance(lambda q, k: torch.where(k > q, math.inf, (k - q).double())), FIRST, SIGN
    ),
    "RB04 counted from 0": (for_queries, ONE, RESTARTED),
    "RB04 rows of the first keys": (upper_left, SOME, RESTARTED),
    "RB04 square": (square, ONE, "the bias is 0 for every key: it was built for the queries"),
    "RB04 a fixed square": (fixed, FAR, ""),
    "no slope": (of_distance(lambda q, k: k * 0), FIRST, "the bias is 0 for every key"),
    "squared": (of_distance(lambda q, k: (q - k) ** 2), FIRST, "the distance is squared"),
    "logarithm": (
        of_distance(lambda q, k: (q - k).abs().double().log1p()), FIRST, "the logarithm of the"
    ),
    "slope 1": (of_slopes(lambda n: [1.0] * n), FIRST, "no slope: every head subtracts"),
    "the first slope": (
        of_slopes(lambda n: alibi_slopes(n)[:1].expand(n)), FIRST, "every head has the slope of"
    ),
    "one series": (
        of_slopes(lambda n: [2 ** (-8 * (h + 1) / n) for h in range(n)]), SIZES, "one geometric"
    ),
    "slopes from 1": (
        of_slopes(lambda n: [2 ** (-8 * h / n) for h in range(n)]), FIRST, "heads are counted"
    ),
    "reversed heads": (of_slopes(lambda n: alibi_slopes(n).flip(0)), FIRST, "the slopes stand in"),
    "axes of heads and queries": (swapped_axes, FIRST, "the slope belongs to the query"),
    "key index in bfloat16": (key_index(torch.bfloat16), FAR, KEY_INDEX),
    "key index in float16": (key_index(torch.float16), FAR, "slope * key in float16"),
    "positions in bfloat16": (rounded_places, FAR, "the positions are rounded to bfloat16"),
    "halved": (of_slopes(lambda n: alibi_slopes(n) / 2), FIRST, "every value is multiplied by 0.5"),
    "clipped": (of_distance(lambda q, k: (q - k).abs().clamp(max=64)), FAR, ""),
}


@functools.cache
def report_of(name):
    return check_alibi(WRONG[name][0])


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_form_fails_and_its_cause_is_told(name):
    failed(report_of(name), *WRONG[name][1:])


def test_each_requirement_is_failed_by_a_wrong_form():
    found = [failed(report_of(name), *WRONG[name][1:]) for name in WRONG]
    assert set().union(*found) == passed(check_alibi(alibi_bias))


def test_a_sign_that_is_kept_shows_without_a_causal_mask():
    bias = of_distance(lambda q, k: q - k)
    passed(check_alibi(bias))
    failed(check_alibi(bias, causal=False), FIRST, "the distance keeps its sign")


def test_our_own_bias_is_right_on_both_sides():
    assert len(asked(check_alibi(alibi_bias, causal=False))) == 5


def with_mask(heads, q_len, k_len):
    query, key = positions(q_len, k_len)
    low = torch.finfo(torch.float32).min
    return (of_distance(lambda q, k: q - k)(heads, q_len, k_len).float()).masked_fill(
        key > query, low
    )[None]


def key_row(num_heads, query_length, key_length):
    return column(num_heads) * torch.arange(key_length)


class Module(torch.nn.Module):
    def forward(self, n_heads, q_len, k_len):
        return of_distance(lambda q, k: (q - k).abs())(n_heads, q_len, k_len).float()


@pytest.mark.parametrize(
    "bias",
    [
        with_mask,
        key_row,
        Module,
        Module(),
        lambda n_heads, q_len, k_len: of_distance(lambda q, k: (q - k).abs())(
            n_heads, q_len, k_len
        ).bfloat16(),
        lambda n_heads, q_len, k_len: key_row(n_heads, q_len, k_len).tolist(),
    ],
)
def test_right_forms_pass(bias):
    assert len(asked(check_alibi(bias))) == 5


def test_a_bias_of_one_length_is_not_asked_for_cached_keys():
    report = check_alibi(lambda n_heads, seq_len: key_row(n_heads, seq_len, seq_len))
    passed(report)
    assert asked(report) == {FIRST, SIZES, FAR}
    wrong = check_alibi(lambda n_heads, seq_len: -key_row(n_heads, seq_len, seq_len))
    failed(wrong, FIRST, SIGN)


def crash(n_heads, q_len, k_len):
    raise RuntimeError("no bias")


@pytest.mark.parametrize(
    "bias, text",
    [
        (crash, "crash(n_heads, q_len, k_len) raised RuntimeError: no bias"),
        (
            lambda n_heads, q_len, k_len: torch.zeros(n_heads, 3, 4),
            "must return a bias of (heads, queries, keys), here (4, 4, 4) or what broadcasts to "
            "it, got a tensor of shape (4, 3, 4)",
        ),
        (
            lambda n_heads, q_len, k_len: torch.full((4, 1, 1), math.nan),
            "returned NaN at head 0, query 0, key 0 (H 4, Tq 4, Tk 4), expected 0",
        ),
        (
            lambda n_heads, q_len, k_len: None,
            "must return a bias of (heads, queries, keys), got NoneType",
        ),
        (
            lambda q_positions, k_positions, slopes: alibi_bias(
                q_positions, k_positions, slopes.neg_()
            ),
            "<lambda>(q_positions, k_positions, slopes) changes its argument slopes in place",
        ),
        (
            lambda n_heads, window: None,
            "cannot tell what <lambda> takes as window; say all of its arguments in order with "
            "call (--call), in these words, or as name=5: k_len, k_positions, length, n_heads, q_len, "
            "q_positions, slopes",
        ),
    ],
)
def test_what_cannot_be_used_is_told_word_for_word(bias, text):
    report = check_alibi(bias)
    assert report.unusable == text and report.exit_code == 2
