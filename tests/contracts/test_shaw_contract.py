"""check_shaw tells right rows from wrong ones."""

import math

import pytest
import torch

from posenc_check.contracts import check_shaw
from snippets.shaw import shaw_bucket
from tests.contracts.judged import asked, failed, passed
from tests.exact import raises_exactly

NEAR = "near gaps have a row each, key - query + reach"
BEYOND = "gaps beyond the reach share the first and the last row"
LENGTHS = "takes any length"
ONE = "one query stands behind its keys"
SOME = "more queries stand behind the keys"
WHOLE = "returns whole numbers, to look up rows with"


def of_gap(rows):
    """rows(gap, reach) of the right gaps."""

    def index(q_len, k_len, reach):
        query, key = torch.arange(k_len - q_len, k_len), torch.arange(k_len)
        return rows(key - query[:, None], reach)

    return index


def right(gap, reach):
    return gap.clamp(-reach, reach) + reach


def of_lengths(q_len, k_len, reach):
    return right(torch.arange(k_len) - torch.arange(q_len)[:, None], reach)


def stored(q_len, k_len, reach):
    """A square matrix made once for 64 tokens."""
    square = shaw_bucket(torch.arange(64), torch.arange(64), reach)
    rows = square[k_len - q_len : k_len, :k_len]
    if len(rows) < q_len:
        raise IndexError("the matrix has 64 rows")
    return rows


def row_by_row(q_len, k_len, reach):
    gap = torch.arange(k_len) - torch.arange(k_len - q_len, k_len)[:, None]
    return gap.minimum(torch.tensor(reach)) + reach


def only_from(size, index):
    """Right up to a size, then another function."""
    good = of_gap(right)
    return lambda q_len, k_len, reach: (good if k_len <= size else index)(q_len, k_len, reach)


WRONG = {
    "RB08 not clipped": (of_gap(lambda gap, reach: gap + reach), BEYOND, "the gaps are not clip"),
    "RB08 a stored square": (stored, LENGTHS, ""),
    "RB08 clipped on one side": (row_by_row, BEYOND, "only keys after the query are clipped"),
    "RB08 not clipped, decoding": (
        of_gap(lambda gap, reach: gap + reach), ONE, "the gaps are not clipped"
    ),
    "the other side": (
        of_gap(lambda gap, reach: gap.clamp(min=-reach) + reach), BEYOND, "only keys before the"
    ),
    "query - key": (of_gap(lambda gap, reach: right(-gap, reach)), NEAR, "the gap is query - key"),
    "queries from 0": (of_lengths, ONE, "the queries are counted from 0"),
    "queries from 0, some": (of_lengths, SOME, "the queries are counted from 0"),
    "reach not added": (
        of_gap(lambda gap, reach: gap.clamp(-reach, reach)), NEAR, "the reach is not added"
    ),
    "one more": (of_gap(lambda gap, reach: right(gap, reach) + 1), NEAR, "the rows are one too l"),
    "one less": (of_gap(lambda gap, reach: right(gap, reach) - 1), NEAR, "the rows are one too s"),
    "no sign": (of_gap(lambda gap, reach: right(gap.abs(), reach)), NEAR, "the distance is taken, "),
    "no sign, not moved": (
        of_gap(lambda gap, reach: gap.abs().clamp(max=reach)), NEAR, "the distance is taken, and"
    ),
    "clipped early": (
        of_gap(lambda gap, reach: gap.clamp(1 - reach, reach - 1) + reach), NEAR, "the gaps are cl"
    ),
    "upper end left out": (
        of_gap(lambda gap, reach: gap.clamp(-reach, reach - 1) + reach), NEAR, "the upper end is"
    ),
    "clipped late": (
        of_gap(lambda gap, reach: gap.clamp(-reach - 1, reach + 1) + reach),
        BEYOND,
        "the gaps are clipped at reach + 1",
    ),
    "wraps": (
        of_gap(lambda gap, reach: (gap + reach) % (2 * reach + 1)), BEYOND, "far gaps wrap around"
    ),
    "held in 8 bits": (
        of_gap(lambda gap, reach: right(gap.to(torch.int8), reach).long()),
        LENGTHS,
        "far gaps wrap around: they are held in 8 bits",
    ),
    "uint8": (of_gap(lambda gap, reach: right(gap, reach).to(torch.uint8)), WHOLE, "a lookup"),
    "int16": (of_gap(lambda gap, reach: right(gap, reach).short()), WHOLE, "a lookup needs an"),
    "moved before the clip": (
        of_gap(lambda gap, reach: (gap + reach).clamp(0, reach)), NEAR, "the reach is added before"
    ),
    "floats": (of_gap(lambda gap, reach: right(gap, reach).float()), WHOLE, "a lookup needs an"),
    "transposed": (
        lambda q_len, k_len, reach: of_gap(right)(k_len, k_len, reach)[:, -q_len:].T, NEAR,
        "the gap is query - key",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_form_fails_and_its_cause_is_told(name):
    index, requirement, cause = WRONG[name]
    failed(check_shaw(index), requirement, cause)
    failed(check_shaw(index, reach=5), requirement, cause)


def test_each_requirement_is_failed_by_a_wrong_form():
    found = set()
    for index, requirement, cause in WRONG.values():
        found |= failed(check_shaw(index), requirement, cause)
    assert found == passed(check_shaw(shaw_bucket))


@pytest.mark.parametrize("reach", [2, 3, 8])
def test_our_own_rows_are_right(reach):
    assert len(asked(check_shaw(shaw_bucket, reach=reach))) == 6


@pytest.mark.parametrize(
    "index",
    [
        of_gap(right),
        lambda query_len, key_len, k: of_gap(right)(query_len, key_len, k).int(),
        lambda tgt_len, src_len, clip: of_gap(right)(tgt_len, src_len, clip).tolist(),
        lambda q_len, k_len, max_distance: of_gap(right)(k_len, k_len, max_distance)[-q_len:],
    ],
)
def test_right_forms_pass(index):
    assert len(asked(check_shaw(index))) == 6


def test_rows_of_one_length_are_not_asked_for_cached_keys():
    report = check_shaw(lambda length, reach: of_gap(right)(length, length, reach))
    passed(report)
    assert asked(report) == {NEAR, BEYOND, LENGTHS, WHOLE}


def crash(q_len, k_len, reach):
    raise TypeError("reach")


@pytest.mark.parametrize(
    "index, text",
    [
        (crash, "crash(q_len, k_len, reach) raised TypeError: reach"),
        (
            lambda q_len, k_len, reach: torch.zeros(q_len),
            "must return (queries, keys), here (4, 4), got a tensor of shape (4,)",
        ),
        (
            lambda q_len, k_len, reach: torch.full((q_len, k_len), math.nan),
            "returned NaN at query 0, key 0 (Tq 4, Tk 4), expected 3",
        ),
        (
            lambda q_positions, k_positions, reach: shaw_bucket(
                q_positions.add_(1), k_positions, reach
            ),
            "<lambda>(q_positions, k_positions, reach) changes its argument q_positions in place",
        ),
        (lambda q_len, k_len, reach: {}, "must return a row for each query and key, got dict"),
        (
            lambda n_ctx_tokens, reach: None,
            "cannot tell what <lambda> takes as n_ctx_tokens; say all of its arguments in order "
            "with call (--call), in these words, or as name=5: k_len, k_positions, length, q_len, "
            "q_positions, reach",
        ),
    ],
)
def test_what_cannot_be_used_is_told_word_for_word(index, text):
    report = check_shaw(index)
    assert report.unusable == text and report.exit_code == 2


def test_a_wrong_option_is_refused():
    with raises_exactly(ValueError, "reach must be at least 2, got 1"):
        check_shaw(shaw_bucket, reach=1)
