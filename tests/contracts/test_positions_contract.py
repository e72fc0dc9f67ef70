"""Positions of padded rows: right ones pass, wrong ones fail with their cause."""

import functools
import math

import pytest
import torch

from posenc_check.contracts import check_positions
from tests.contracts.verdicts import asked_names, assert_fails, failed_names
from tests.exact import raises_exactly

LEFT = "counts real tokens behind pads on the left"
RIGHT = "takes pads on the right"
BOTH = "takes pads on both sides"
BOOL = "takes a mask of True and False"
PADS = "gives pads a position that a table has"
WHOLE = "returns whole numbers, to look up rows with"


def counted(mask):
    return (mask.long().cumsum(1) - 1).clamp(min=0)


def filled(attention_mask):
    """As in many generation loops: pads get position 1."""
    places = attention_mask.long().cumsum(-1) - 1
    return places.masked_fill(attention_mask == 0, 1)


def by_loop(mask):
    """Lists, and pads at 0."""
    rows = []
    for row in mask.tolist():
        count, places = 0, []
        for real in row:
            places.append(count if real else 0)
            count += int(real)
        rows.append(places)
    return rows


def narrow(mask):
    return (mask.to(torch.int32).cumsum(1, dtype=torch.int32) - 1).relu()


def from_padding(padding_mask):
    """Takes the opposite: True at pads."""
    return counted(~padding_mask)


def from_two(mask):
    """Positions start behind two rows kept for padding, which pads get."""
    return mask.long().cumsum(1) * mask.long() + 1


@pytest.mark.parametrize(
    "positions, options",
    [
        (counted, {}), (filled, {}), (by_loop, {}), (narrow, {}), (from_two, {"first": 2}),
        (from_padding, {"call": "pads"}),
    ],
)  # fmt: skip
def test_right_positions_of_padded_rows_pass(positions, options):
    report = check_positions(positions, **options)
    assert report.passed, report


@pytest.mark.parametrize(
    "following",
    [
        lambda mask: mask.long().sum(1),
        lambda mask: mask.long().sum(1, keepdim=True),
        lambda mask: mask.sum(-1).tolist(),
        lambda mask: counted(mask).max(1).values + 1,
    ],
)
def test_right_positions_of_the_next_token_pass(following):
    report = check_positions(following, gives="next")
    assert report.passed, report


def columns(mask):
    return torch.arange(mask.shape[1]).expand(mask.shape)


def half_way(mask):
    return columns(mask) - (mask == 0).long().sum(1, keepdim=True)


def first_pads(mask):
    """Counts real tokens on the left alone; behind the last one too."""
    left = (mask == 0).long().cumprod(1).sum(1, keepdim=True)
    return (columns(mask) - 2 * left).clamp(min=0)


WRONG_POSITIONS = {
    "columns": (columns, LEFT, "the columns are counted, pads included"),
    "from 1": (lambda mask: mask.long().cumsum(1), LEFT, "positions start at 1: the 1 is not"),
    "one too small": (
        lambda mask: counted(mask) - 1, LEFT, "positions are one too small"
    ),
    "the other way round": (
        lambda mask: ((mask == 0).long().cumsum(1) - 1).clamp(min=0),
        LEFT,
        "the mask is read the other way round",
    ),
    "down the batch": (
        lambda mask: (mask.long().cumsum(0) - 1).clamp(min=0),
        LEFT,
        "the sum runs down the batch, not along the row",
    ),
    "first row": (
        lambda mask: counted(mask)[:1].expand(mask.shape), LEFT, "all rows get the positions of"
    ),
    "last row": (
        lambda mask: counted(mask)[-1:].expand(mask.shape),
        LEFT,
        "all rows get the positions of the last one",
    ),
    "from the end": (
        lambda mask: (mask.long().flip(1).cumsum(1).flip(1) - 1).clamp(min=0),
        LEFT,
        "positions are counted back from the end",
    ),
    "pads subtracted": (half_way, RIGHT, "the number of pads is subtracted from the column"),
    "pads subtracted, clamped": (
        lambda mask: half_way(mask).clamp(min=0),
        RIGHT,
        "the number of pads is subtracted from the column",
    ),
    "pads twice": (first_pads, LEFT, ""),
    "the mask": (lambda mask: mask.long(), LEFT, "the mask itself comes back"),
    "doubled": (lambda mask: 2 * counted(mask), LEFT, "every value is multiplied by 2"),
    "left alone": (
        lambda mask: counted(mask) if mask[-1, -1] else columns(mask) * 2,
        RIGHT,
        "every value is multiplied by 2",
    ),
    "one side": (
        lambda mask: counted(mask) if mask.shape[1] < 6 else columns(mask),
        BOTH,
        "the columns are counted, pads included",
    ),
    "whole numbers alone": (
        lambda mask: counted(mask) if mask.dtype == torch.int64 else columns(mask),
        BOOL,
        "the columns are counted, pads included",
    ),
    "minus one": (
        lambda mask: mask.long().cumsum(1) - 1, PADS, "pads in front get -1 from cumsum - 1"
    ),
    "far pads": (
        lambda mask: counted(mask).masked_fill(mask == 0, 100), PADS, "pads in front get -1"
    ),
    "uint8, a mask to torch": (
        lambda mask: counted(mask).to(torch.uint8), WHOLE, "a lookup needs an integer type"
    ),
    "floats": (
        lambda mask: counted(mask).float(), WHOLE, "a lookup needs an integer type"
    ),
}
WRONG_NEXT = {
    "columns": (
        lambda mask: torch.full((len(mask),), mask.shape[1]),
        LEFT,
        "the columns are counted, pads included",
    ),
    "last position": (
        lambda mask: mask.long().sum(1) - 1,
        LEFT,
        "it is the position of the last token, not of the next one",
    ),
    "one too large": (lambda mask: mask.long().sum(1) + 1, LEFT, "it is one too large"),
    "last column": (
        lambda mask: (columns(mask) * mask.long()).max(1).values, LEFT, "it is the column of the"
    ),
    "behind the last column": (
        lambda mask: (columns(mask) * mask.long()).max(1).values + 1,
        LEFT,
        "the columns are counted",
    ),
    "pads": (lambda mask: (mask == 0).long().sum(1), LEFT, "it is the number of pads"),
    "longest": (
        lambda mask: mask.long().sum(1).max().expand(len(mask)), LEFT, "the columns are counted"
    ),
    "first row": (
        lambda mask: mask.long().sum(1)[:1].expand(len(mask)),
        LEFT,
        "all rows get that of the first",
    ),
    "real in the last columns": (
        lambda mask: mask.long()[:, -3:].sum(1) + mask.long()[:, :1].sum(1),
        RIGHT,
        "it is the position of the last token, not of the next one",
    ),
    "up to a pad": (
        lambda mask: mask.long().sum(1) if mask[0, -1] else mask.long().cumprod(1).sum(1), BOTH, ""
    ),
    "whole numbers alone": (
        lambda mask: mask.sum(1) if mask.dtype == torch.int64 else mask.sum(1) * 0,
        BOOL,
        "it is always 0",
    ),
    "floats": (lambda mask: mask.float().sum(1), WHOLE, "a lookup needs an integer type"),
}


@functools.cache
def report_of(gives, fault):
    wrong = WRONG_POSITIONS if gives == "positions" else WRONG_NEXT
    return check_positions(wrong[fault][0], gives=gives)


@pytest.mark.parametrize("fault", WRONG_POSITIONS)
def test_wrong_positions_of_padded_rows_fail_with_their_cause(fault):
    _, requirement, cause = WRONG_POSITIONS[fault]
    assert_fails(report_of("positions", fault), requirement, cause)


@pytest.mark.parametrize("fault", WRONG_NEXT)
def test_wrong_positions_of_the_next_token_fail_with_their_cause(fault):
    _, requirement, cause = WRONG_NEXT[fault]
    assert_fails(report_of("next", fault), requirement, cause)


@pytest.mark.parametrize(
    "gives, wrong, names",
    [
        ("positions", WRONG_POSITIONS, {LEFT, RIGHT, BOTH, BOOL, PADS, WHOLE}),
        ("next", WRONG_NEXT, {LEFT, RIGHT, BOTH, BOOL, WHOLE}),
    ],
)
def test_every_requirement_is_failed_by_some_wrong_form(gives, wrong, names):
    reports = [report_of(gives, fault) for fault in wrong]
    assert failed_names(reports) == asked_names(reports) == names


def raises(mask):
    raise TypeError("no mask")


def mutates(mask):
    return (mask.cumsum_(1) - 1).clamp(min=0)


def unknown(colour):
    return colour


UNUSABLE = [
    (raises, "raises(mask) raised TypeError: no mask"),
    (lambda mask: mask[0], "must return (4, 4), got (4,)"),
    (mutates, "mutates(mask) changes its argument mask in place"),
    (
        lambda mask: counted(mask) * math.nan,
        "returned NaN at row 0, column 0, mask 0011, expected 0",
    ),
    (
        unknown,
        "cannot tell what unknown takes as colour; say all of its arguments in order with call "
        "(--call), in these words, or as name=5: length, mask, pads",
    ),
]


@pytest.mark.parametrize("subject, text", UNUSABLE)
def test_an_unusable_form_is_told_apart_from_a_wrong_one(subject, text):
    report = check_positions(subject)
    assert (report.unusable, report.exit_code) == (text, 2)


@pytest.mark.parametrize(
    "options, text",
    [
        ({"gives": "last"}, "gives must be positions or next, got 'last'"),
        ({"first": -1}, "first must not be negative, got -1"),
    ],
)
def test_an_option_out_of_its_range_is_refused(options, text):
    with raises_exactly(ValueError, text):
        check_positions(counted, **options)
