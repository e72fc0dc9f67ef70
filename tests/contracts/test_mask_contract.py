"""check_mask tells right causal masks from wrong ones."""

import math

import pytest
import torch
from torch import nn

from posenc_check.contracts import check_mask
from snippets.masks import causal_mask
from tests.contracts.judged import asked, failed, passed

FIRST = "a query sees its own key and those before it"
LENGTHS = "takes any length"
ONE = "one query sees every cached key"
SOME = "more queries stand behind the cached keys"
UPPER_LEFT = "the mask is aligned to the upper left"
INVERTED = "the mask is inverted: here True means may attend"


def ones(q_len, k_len):
    return torch.ones(q_len, k_len, dtype=torch.bool)


def right(q_len, k_len):
    return ones(q_len, k_len).tril(k_len - q_len)


def upper_left(q_len, k_len):
    return ones(q_len, k_len).tril()


def additive(blocked, low=-math.inf):
    return torch.zeros(blocked.shape).masked_fill(blocked, low)


def stored(q_len, k_len):
    """Made once for 64 tokens."""
    rows = right(64, 64)[k_len - q_len : k_len, :k_len]
    if rows.shape != (q_len, k_len):
        raise IndexError("the mask has 64 rows")
    return rows


WRONG = {
    "MK01 tril": (upper_left, ONE, UPPER_LEFT),
    "MK01 several": (upper_left, SOME, UPPER_LEFT),
    "MK01 triu of -inf": (
        lambda q_len, k_len: torch.full((q_len, k_len), -math.inf).triu(1), ONE, UPPER_LEFT
    ),
    "MK01 the first rows": (
        lambda q_len, k_len: right(k_len, k_len)[:q_len], SOME, UPPER_LEFT
    ),
    "MK01 compared rows": (
        lambda q_len, k_len: torch.arange(q_len)[:, None] >= torch.arange(k_len), ONE, UPPER_LEFT
    ),
    "inverted": (lambda q_len, k_len: ~right(q_len, k_len), FIRST, INVERTED),
    "inverted, one query": (
        lambda q_len, k_len: ~right(q_len, k_len), ONE, "the mask is inverted"
    ),
    "own key hidden": (
        lambda q_len, k_len: ones(q_len, k_len).tril(k_len - q_len - 1), FIRST, "a query does not"
    ),
    "one key too many": (
        lambda q_len, k_len: ones(q_len, k_len).tril(k_len - q_len + 1), FIRST, "a query sees one"
    ),
    "nothing masked": (ones, FIRST, "nothing is masked"),
    "all masked": (lambda q_len, k_len: ~ones(q_len, k_len), FIRST, "every key is masked"),
    "own key alone": (
        lambda q_len, k_len: torch.eye(k_len).bool()[-q_len:], FIRST, "only a query's own key"
    ),
    "transposed": (
        lambda q_len, k_len: ones(q_len, k_len).triu(k_len - q_len), FIRST, "queries and keys are "
    ),
    "new tokens alone": (
        lambda q_len, k_len: right(q_len, k_len) & (torch.arange(k_len) >= k_len - q_len),
        SOME,
        "the new tokens see each other and none of the cached keys",
    ),
    "cached keys alone": (
        lambda q_len, k_len: ones(q_len, k_len) if k_len > q_len else right(q_len, k_len),
        SOME,
        "nothing is masked",
    ),
    "a stored square": (stored, LENGTHS, ""),
    "off in long masks": (
        lambda q_len, k_len: right(q_len, k_len) & (torch.arange(k_len) < 50), LENGTHS, ""
    ),
    "a buffer of 128 rows": (
        lambda q_len, k_len: right(128, 128)[k_len - q_len : k_len, :k_len], LENGTHS, ""
    ),
    "a window": (
        lambda q_len, k_len: right(q_len, k_len).triu(k_len - q_len - 69),
        LENGTHS,
        "a query sees the last 70 keys alone: the mask is a window",
    ),
    "a window over cached keys": (
        lambda q_len, k_len: right(q_len, k_len).triu(k_len - q_len - 69),
        ONE,
        "a query sees the last 70 keys alone",
    ),
    "nothing masked in long texts": (
        lambda q_len, k_len: (ones if k_len > 70 else right)(q_len, k_len), SOME, ""
    ),
    "for the queries alone": (lambda q_len, k_len: right(q_len, q_len), SOME, ""),
    "0 and -1": (
        lambda q_len, k_len: -(~right(q_len, k_len)).float() if k_len > 4 else right(q_len, k_len),
        SOME,
        "",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_form_fails_and_its_cause_is_told(name):
    mask, requirement, cause = WRONG[name]
    failed(check_mask(mask), requirement, cause)


def test_each_requirement_is_failed_by_a_wrong_form():
    found = set()
    for mask, requirement, cause in WRONG.values():
        found |= failed(check_mask(mask), requirement, cause)
    assert found == passed(check_mask(causal_mask))


def by_start(seq_len, start_pos):
    past = torch.zeros(seq_len, start_pos)
    return torch.cat((past, torch.full((seq_len, seq_len), -math.inf).triu(1)), dim=1)


class Mask(nn.Module):
    def forward(self, query_len, key_len):
        return right(query_len, key_len)


@pytest.mark.parametrize(
    "mask",
    [
        causal_mask,
        right,
        by_start,
        Mask,
        Mask(),
        lambda q_len, k_len: additive(~right(q_len, k_len)),
        lambda q_len, k_len: additive(~right(q_len, k_len), torch.finfo(torch.float32).min),
        lambda q_len, k_len: additive(~right(q_len, k_len), -1e4).half(),
        lambda q_len, k_len: right(q_len, k_len)[None, None],
        lambda q_len, k_len: right(q_len, k_len).int(),
        lambda q_len, k_len: right(q_len, k_len).tolist(),
        lambda q_len, k_len: None if q_len == 1 else right(q_len, k_len),
        lambda q_len, k_len: ones(1, 1) if q_len == 1 else right(q_len, k_len),
    ],
)
def test_right_forms_pass(mask):
    assert asked(check_mask(mask)) == {FIRST, LENGTHS, ONE, SOME}


def test_a_mask_of_one_length_is_not_asked_for_cached_keys():
    made = nn.Transformer.generate_square_subsequent_mask
    report = check_mask(lambda sz: made(sz))
    passed(report)
    assert asked(report) == {FIRST, LENGTHS}


def crash(q_len, k_len):
    raise NotImplementedError


TEXT = "numbers are added to the logits, where 0 may attend and -inf, or a number below -10000, "


@pytest.mark.parametrize(
    "mask, text",
    [
        (crash, "crash(q_len, k_len) raised NotImplementedError: at 'raise NotImplementedError'"),
        (
            lambda q_len, k_len: ones(q_len, 3),
            "must return a mask of (queries, keys), here (4, 4) or what broadcasts to it, got a "
            "tensor of shape (4, 3)",
        ),
        (
            lambda q_len, k_len: (~right(q_len, k_len)).float() * -math.inf,
            "returned NaN, as 0 * -inf gives: choose with torch.where or masked_fill",
        ),
        (
            lambda q_len, k_len: right(q_len, k_len).float(),
            f"returned 1: {TEXT}may not; or return bool",
        ),
        (
            lambda q_len, k_len: right(q_len, k_len).int() * 2,
            "a mask of whole numbers must hold 0 and 1",
        ),
        (
            lambda q_positions, k_positions: causal_mask(q_positions, k_positions.neg_()),
            "<lambda>(q_positions, k_positions) changes its argument k_positions in place",
        ),
        (lambda q_len, k_len: None, "must return a mask of (queries, keys), got NoneType"),
        (
            lambda q_len, window_size: None,
            "cannot tell what <lambda> takes as window_size; say all of its arguments in order "
            "with call (--call), in these words, or as name=5: k_len, k_positions, length, q_len, "
            "q_positions, start",
        ),
    ],
)
def test_what_cannot_be_used_is_told_word_for_word(mask, text):
    report = check_mask(mask)
    assert report.unusable == text and report.exit_code == 2
