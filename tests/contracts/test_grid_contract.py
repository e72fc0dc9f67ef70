"""Rows and columns of patches: right grids pass, wrong ones fail with their cause."""

import functools
import math

import pytest
import torch

from posenc_check.contracts import check_grid
from snippets.rope_2d import patch_positions
from tests.contracts.verdicts import asked_names, assert_fails, failed_names
from tests.exact import raises_exactly

ROWS = "lists (row, column) row by row, 3 x 4"
HIGH = "takes a grid that is higher than wide, 5 x 2"
SQUARE = "takes a square grid, 3 x 3"
ONE_ROW = "takes a single row, 1 x 4"
ONE_COLUMN = "takes a single column, 4 x 1"


def by_meshgrid(h, w):
    rows, columns = torch.meshgrid(torch.arange(h), torch.arange(w), indexing="ij")
    return torch.stack((rows, columns), dim=-1).reshape(-1, 2)


def by_pairs(n_rows, n_columns):
    return [(row, column) for row in range(n_rows) for column in range(n_columns)]


def in_float(h, w):
    n = torch.arange(h * w, dtype=torch.float32)
    return torch.stack(((n / w).floor(), n % w), dim=1)


class Grid:
    def __init__(self, height, width):
        self.height, self.width = height, width

    def __call__(self):
        return by_meshgrid(self.height, self.width)


@pytest.mark.parametrize("positions", [patch_positions, by_meshgrid, by_pairs, in_float])
def test_right_grids_pass(positions):
    report = check_grid(positions)
    assert report.passed, report


def test_a_class_and_pairs_that_begin_with_the_column_pass():
    assert check_grid(Grid, call="").passed
    turned = check_grid(lambda height, width: by_meshgrid(height, width).flip(1), first="column")
    assert turned.passed, turned
    report = check_grid(patch_positions, first="column")
    assert_fails(report, ROWS, "the pairs are (row, column); you said that the column is first")


def whole(row, column):
    return torch.stack((row, column), dim=1)


def rc(h, w):
    n = torch.arange(h * w)
    return n, n // w, n % w


def by_xy(h, w):
    """meshgrid with indexing="xy", then stacked as it comes."""
    x, y = torch.meshgrid(torch.arange(w), torch.arange(h), indexing="xy")
    return torch.stack((x, y), dim=-1).reshape(-1, 2)


def column_first(h, w):
    y, x = torch.meshgrid(torch.arange(h), torch.arange(w), indexing="xy")
    return torch.stack((y, x), dim=-1).reshape(-1, 2)


def scaled_to_one(h, w):
    size = torch.tensor([max(h - 1, 1), max(w - 1, 1)])
    return by_meshgrid(h, w) / size


def only(shape, wrong):
    """Right for all grids but one."""
    return lambda h, w: wrong(h, w) if (h, w) == shape else by_meshgrid(h, w)


SWAPPED = "the pairs are (column, row); you said that the row is first"
WRONG = {
    "xy": (by_xy, ROWS, SWAPPED),
    "column by column": (column_first, ROWS, "the grid is listed column by column"),
    "height and width": (
        lambda h, w: by_meshgrid(w, h), ROWS, "height and width are taken for each other"
    ),
    "by the height": (
        lambda h, w: whole(torch.arange(h * w) // h, torch.arange(h * w) % h),
        ROWS,
        "height and width are taken for each other",
    ),
    "from 1": (lambda h, w: by_meshgrid(h, w) + 1, ROWS, "rows and columns start at 1"),
    "from the bottom": (
        lambda h, w: whole(h - 1 - rc(h, w)[1], rc(h, w)[2]), ROWS, "rows are counted from the bot"
    ),
    "from the right": (
        lambda h, w: whole(rc(h, w)[1], w - 1 - rc(h, w)[2]), ROWS, "columns are counted from the"
    ),
    "from the end": (lambda h, w: by_meshgrid(h, w).flip(0), ROWS, "the grid is listed from its"),
    "index twice": (
        lambda h, w: whole(rc(h, w)[0], rc(h, w)[0]), ROWS, "both coordinates are the index"
    ),
    "shares": (
        lambda h, w: by_meshgrid(h, w) / torch.tensor([h, w]), ROWS, "coordinates are divided by"
    ),
    "from 0 to 1": (scaled_to_one, ROWS, "coordinates are scaled to reach from 0 to 1"),
    "centres": (lambda h, w: by_meshgrid(h, w) + 0.5, ROWS, "coordinates are those of the centres"),
    "no rows": (lambda h, w: whole(rc(h, w)[1] * 0, rc(h, w)[2]), ROWS, "every row is row 0"),
    "no columns": (
        lambda h, w: whole(rc(h, w)[1], rc(h, w)[2] * 0), ROWS, "every column is column 0"
    ),
    "there and back": (
        lambda h, w: whole(rc(h, w)[1], torch.where(rc(h, w)[1] % 2 == 1, w - 1 - rc(h, w)[2],
                                                    rc(h, w)[2])),
        ROWS,
        "rows are read in turns, there and back",
    ),
    "doubled": (lambda h, w: 2 * by_meshgrid(h, w), ROWS, "every value is multiplied by 2"),
    "never higher": (only((5, 2), column_first), HIGH, "the grid is listed column by column"),
    "never square": (only((3, 3), by_xy), SQUARE, SWAPPED),
    "no single row": (only((1, 4), by_xy), ONE_ROW, SWAPPED),
    "no single column": (only((4, 1), by_xy), ONE_COLUMN, SWAPPED),
}


@functools.cache
def report_of(fault):
    return check_grid(WRONG[fault][0])


@pytest.mark.parametrize("fault", WRONG)
def test_a_wrong_grid_fails_with_its_cause(fault):
    _, requirement, cause = WRONG[fault]
    assert_fails(report_of(fault), requirement, cause)


def test_every_requirement_is_failed_by_some_wrong_form():
    reports = [report_of(fault) for fault in WRONG]
    names = {ROWS, HIGH, SQUARE, ONE_ROW, ONE_COLUMN}
    assert failed_names(reports) == asked_names(reports) == names


def empty(height, width):
    return by_meshgrid(height, 0 * width)[1]


def unknown(colour):
    return colour


UNUSABLE = [
    (
        lambda height, width: by_meshgrid(height, width).mT,
        "must have shape (12, 2), got a tensor of shape (2, 12)",
    ),
    (lambda height, width: "grid", "must return (12, 2), got str"),
    (
        lambda height, width: by_meshgrid(height, width) * math.nan,
        "returned NaN at patch 0 (row 0, column 0), its row, expected 0",
    ),
    (
        empty,
        "empty(height, width) raised IndexError: index 1 is out of bounds for dimension 0 with "
        "size 0",
    ),
    (
        unknown,
        "cannot tell what unknown takes as colour; say all of its arguments in order with call "
        "(--call), in these words, or as name=5: height, width",
    ),
]


@pytest.mark.parametrize("subject, text", UNUSABLE)
def test_an_unusable_form_is_told_apart_from_a_wrong_one(subject, text):
    report = check_grid(subject)
    assert (report.unusable, report.exit_code) == (text, 2)


def test_an_option_out_of_its_range_is_refused():
    with raises_exactly(ValueError, "first must be row or column, got 'x'"):
        check_grid(patch_positions, first="x")
