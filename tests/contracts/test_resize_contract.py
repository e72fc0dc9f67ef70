"""Grids of learned rows, resized: right forms pass, wrong ones fail with their cause."""

import functools
import math

import pytest
import torch
from torch import nn

from posenc_check.contracts import check_resize
from snippets.learned import resize_grid
from tests.contracts.verdicts import asked_names, assert_fails, failed_names
from tests.exact import raises_exactly

SAME = "gives the same table for the same size"
LARGER = "takes a larger square"
SMALLER = "takes a smaller square"
EVERY = "gives a row for each cell of any size"
NEW = "takes a new grid that is not square"
OLD = "takes an old grid that is not square"
DTYPE = "returns the dtype of the table"


def as_image(table, grid):
    return table.reshape(1, *grid, -1).permute(0, 3, 1, 2)


def as_rows(image):
    return image.permute(0, 2, 3, 1).flatten(1, 2)[0]


def changed(table, old, new, mode="bicubic", **how):
    how = how if mode == "nearest" else {"align_corners": False, **how}
    image = nn.functional.interpolate(as_image(table, old), size=new, mode=mode, **how)
    return as_rows(image)


def with_class_token(pos_embed, new_h, new_w, *, old_h, old_w):
    """(1, 1 + N, D), as in vision models, by the sizes of the sides."""
    front, rows = pos_embed[:, :1], pos_embed[:, 1:]
    return torch.cat((front, changed(rows[0], (old_h, old_w), (new_h, new_w))[None]), dim=1)


def bilinear(table, old, new):
    return changed(table, old, new, "bilinear")


@pytest.mark.parametrize("call", [None, "table, old_size, new_size"])
def test_our_snippet_passes(call):
    report = check_resize(resize_grid, call=call)
    assert report.passed, report
    assert len(report.requirements) == 7


def test_other_right_forms_pass():
    for resize, options in (
        (changed, {"call": "table, old_size, new_size"}),
        (with_class_token, {"prefix": 1, "call": "batch_table, new_height, new_width, "
                            "old_h=old_height, old_w=old_width"}),
        (bilinear, {"mode": "bilinear"}),
    ):
        report = check_resize(resize, **options)
        assert report.passed, report


def test_sizes_are_passed_by_the_names_of_the_sides():
    report = check_resize(with_class_token, prefix=1, call=None)
    assert report.called_as.startswith("with_class_token(table, new_height, new_width, ")


def scaled(table, old, new):
    """The size as a float scale, rounded down: a row may be missing."""
    scale = tuple(n / o for n, o in zip(new, old))
    image = nn.functional.interpolate(
        as_image(table, old), scale_factor=scale, mode="bicubic", align_corners=False
    )
    return as_rows(image)


def one_scale(table, old, new):
    """A single scale for both sides, from the numbers of patches."""
    scale = math.sqrt(new[0] * new[1] / len(table))
    image = nn.functional.interpolate(
        as_image(table, old), scale_factor=scale, mode="bicubic", align_corners=False
    )
    return as_rows(image)


def in_float32(table, old, new):
    size = [math.floor(o * float(torch.tensor(n / o))) for n, o in zip(new, old)]
    return changed(table, old, size)


def scaled_and_a_bit(table, old, new):
    scale = tuple((n + 0.1) / o for n, o in zip(new, old))
    image = nn.functional.interpolate(
        as_image(table, old), scale_factor=scale, mode="bicubic", align_corners=False
    )
    return as_rows(image)


def square_new(table, old, new):
    side = math.isqrt(new[0] * new[1])
    return changed(table, old, (side, side))


def square_old(table, old, new):
    side = math.isqrt(len(table))
    return changed(table, (side, side), new)


def height_twice(table, old, new):
    return changed(table, old, (new[0], new[0]))


def as_it_was(table, old, new):
    return table.clone()


def exchanged_new(table, old, new):
    return changed(table, old, new[::-1])


def exchanged_old(table, old, new):
    return changed(table, old[::-1], new)


def exchanged_both(table, old, new):
    return changed(table, old[::-1], new[::-1])


def columns_of_new(table, old, new):
    return changed(table, old, new).unflatten(0, new).transpose(0, 1).flatten(0, 1)


def columns_of_old(table, old, new):
    grid = table.unflatten(0, old[::-1]).transpose(0, 1).flatten(0, 1)
    return changed(grid, old, new)


def reshaped(table, old, new):
    image = table.reshape(1, -1, *old)
    image = nn.functional.interpolate(image, size=new, mode="bicubic", align_corners=False)
    return image.reshape(-1, table.shape[1])


def in_a_line(table, old, new):
    n = new[0] * new[1]
    return nn.functional.interpolate(table.mT[None], size=n, mode="linear")[0].mT


def corners(table, old, new):
    return changed(table, old, new, align_corners=True)


def nearest(table, old, new):
    return changed(table, old, new, "nearest")


def smoothed(table, old, new):
    return changed(table, old, new, antialias=True)


def upside_down(table, old, new):
    return changed(table, old, new).unflatten(0, new).flip(0).flatten(0, 1)


def mirrored(table, old, new):
    return changed(table, old, new).unflatten(0, new).flip(1).flatten(0, 1)


def repeated(table, old, new):
    n = new[0] * new[1]
    return table.repeat(math.ceil(n / len(table)), 1)[:n]


def doubled(table, old, new):
    return 2 * changed(table, old, new)


def shifted(table, old, new):
    return changed(table, old, new) + 0.01


def single(table, old, new):
    return changed(table.float(), old, new)


SCALE = "the size is passed as a float scale, and its product with the old size is rounded down"
WRONG = {
    "scaled": (scaled, EVERY, SCALE),
    "one scale": (one_scale, EVERY, "a square grid is assumed"),
    "in float32": (in_float32, EVERY, SCALE),
    "scaled and a bit": (scaled_and_a_bit, SAME, "the size is passed as a scale with 0.1 added"),
    "square new": (square_new, EVERY, "a square grid is assumed"),
    "square old": (square_old, EVERY, ""),
    "height twice": (height_twice, EVERY, "a square grid is assumed"),
    "as it was": (as_it_was, LARGER, ""),
    "exchanged new": (exchanged_new, NEW, "height and width of the new grid are exchanged"),
    "exchanged old": (exchanged_old, OLD, "height and width of the old grid are exchanged"),
    "exchanged both": (exchanged_both, NEW, "height and width of the new grid are exchanged"),
    "columns of new": (columns_of_new, SAME, "the new grid is listed column by column"),
    "columns of old": (columns_of_old, SAME, "the new grid is listed column by column"),
    "reshaped": (reshaped, LARGER, "coordinates are mixed up with places"),
    "in a line": (in_a_line, LARGER, "the rows are resized as one line, not as a grid"),
    "corners": (corners, LARGER, "the corners of the grids are aligned (align_corners=True)"),
    "bilinear": (bilinear, LARGER, "the mode is bilinear; you said bicubic"),
    "nearest": (nearest, LARGER, "the mode is nearest"),
    "smoothed": (smoothed, LARGER, "a filter against aliasing is on (antialias=True)"),
    "upside down": (upside_down, SAME, "the grid is upside down"),
    "mirrored": (mirrored, SAME, "the grid is mirrored"),
    "repeated": (repeated, LARGER, "the rows are cut off or repeated, not resized"),
    "doubled": (doubled, SAME, "every value is multiplied by 2"),
    "shifted": (shifted, SAME, ""),
    "single": (single, DTYPE, "the result of an interpolation in float32 is not cast back"),
}


@functools.cache
def report_of(fault):
    return check_resize(WRONG[fault][0])


@pytest.mark.parametrize("fault", WRONG)
def test_a_wrong_resize_fails_with_its_cause(fault):
    _, requirement, cause = WRONG[fault]
    assert_fails(report_of(fault), requirement, cause)


def test_the_size_that_lost_a_row_is_told():
    found = {entry.name: entry.reason for entry in report_of("scaled").failures}
    assert found[EVERY] == (
        "37 x 37 to 39 x 43: must return 1677 rows of 2, got a tensor of shape (1596, 2)"
    )


def test_a_dtype_that_is_not_taken_is_not_asked_for():
    found = {entry.name: entry for entry in report_of("smoothed").requirements}
    assert found[DTYPE].status == "skip"
    assert found[DTYPE].reason.startswith("torch.bfloat16 is not taken: ")


def test_bicubic_weights_fail_where_bilinear_ones_were_said():
    report = check_resize(resize_grid, mode="bilinear")
    assert_fails(report, LARGER, "the mode is bicubic; you said bilinear")


def test_every_requirement_is_failed_by_some_wrong_resize():
    reports = [report_of(fault) for fault in WRONG]
    assert failed_names(reports) == asked_names(reports)
    assert asked_names(reports) == {SAME, LARGER, SMALLER, EVERY, NEW, OLD, DTYPE}


def raises(table, old, new):
    raise NotImplementedError("no square")


def short(table, old, new):
    return table[1:]


def nan(table, old, new):
    return table * math.nan


def changes(table, old, new):
    return table.mul_(2)


def unknown(table, patch):
    return table


UNUSABLE = {
    raises: "raises(table, old_size, new_size) raised NotImplementedError: no square",
    short: "4 x 4 to 4 x 4: must return 16 rows of 3, got a tensor of shape (15, 3)",
    nan: "returned NaN at row 0, column 0 of the new grid, coordinate 0, expected -0.328125",
    changes: "changes(table, old_size, new_size) changes its argument table in place",
    unknown: "cannot tell what unknown takes as patch; say all of its arguments in order with "
    "call (--call), in these words, or as name=5: batch_table, d_model, new_height, new_size, new_width, "
    "old_height, old_size, old_width, table",
}


@pytest.mark.parametrize("subject", UNUSABLE)
def test_an_unusable_resize_is_told_apart_from_a_wrong_one(subject):
    report = check_resize(subject)
    assert (report.unusable, report.exit_code) == (UNUSABLE[subject], 2)


@pytest.mark.parametrize(
    "options, text",
    [
        ({"mode": "nearest"}, "mode must be bicubic or bilinear, got 'nearest'"),
        ({"prefix": -1}, "prefix must not be negative, got -1"),
    ],
)
def test_an_option_out_of_its_range_is_refused(options, text):
    with raises_exactly(ValueError, text):
        check_resize(resize_grid, **options)
