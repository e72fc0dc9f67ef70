# SPDX-License-Identifier: MIT
"""resize: does a grid of learned rows get every new size, with its cells where they belong?"""

from typing import Literal

import torch

from posenc_check.contracts import answers
from posenc_check.contracts.resize_case import CELLS, PAGE, WORDS, Asked, numbers, values
from posenc_check.factory import Factory
from posenc_check.report import Report
from posenc_check.subject import Unusable
from posenc_check.wrong_forms.resize import counts

# With the old grids 37 x 37 and 14 x 14 of published models; all where a rounded scale loses a
# row in single or double precision, and some more.
SIZES = (
    ((37, 37), [(39, 43), (78, 37), (5, 61), (29, 58), (37, 37), (49, 57)]),
    ((14, 14), [(15, 29), (16, 16), (7, 30), (29, 29), (61, 25)]),
    ((6, 9), [(11, 17), (13, 7), (9, 6), (54, 1)]),
)


def check_resize(
    resize,
    *,
    mode: Literal["bicubic", "bilinear"] = "bicubic",
    prefix: int = 0,
    call: str | None = None,
    init: str | None = None,
) -> Report:
    """Check a function that resamples the rows of an image grid to another grid.

    Args:
        resize: takes the table (h * w, d), old (h, w), new (h, w); gives (h2 * w2, d).
        mode: how it interpolates between cells.
        prefix: rows in front that belong to no cell, as that of a class token; they stay.
        call: what it takes, in order: table, batch_table, old_size, new_size, and others.
        init: what its class takes: nothing.

    Returns:
        The report.

    Raises:
        ValueError: if an option is out of its range.
    """
    if mode not in CELLS:
        raise ValueError(f"mode must be bicubic or bilinear, got {mode!r}")
    if prefix < 0:
        raise ValueError(f"prefix must not be negative, got {prefix}")
    options = {"mode": mode, **({"prefix": prefix} if prefix else {})}
    default = "table, old_size, new_size"
    with Factory.examine("resize", resize, WORDS, default, call, init, options, ()) as (exam, new):
        asked = Asked(exam, new({}), mode, prefix)
        # A grid of its own size first: nothing is resized, so no wrong size can crash.
        asked.right("gives the same table for the same size", (4, 4), (4, 4))
        asked.right("takes a larger square", (4, 4), (7, 7))
        asked.right("takes a smaller square", (8, 8), (5, 5))
        _every_size(asked)
        asked.right("takes a new grid that is not square", (4, 4), (3, 6))
        asked.right("takes an old grid that is not square", (3, 5), (4, 7))
        _dtype(asked)
    return exam.report


def _every_size(asked: Asked) -> None:
    name = "gives a row for each cell of any size"
    found = None
    for old, sizes in SIZES:
        for new in sizes:
            table = numbers(old[0] * old[1] + asked.prefix, 2, seed=1)
            try:
                asked.answer(table, old, new)
            except Unusable as error:
                found = found or (str(error), _cause(asked, table, old, new))
    problem, cause = found or ("", "")
    asked.exam.holds(name, lambda: problem, page=PAGE, cause=cause)


def _cause(asked: Asked, table, old, new) -> str:
    """By the number of rows that came back, if any did."""
    try:
        y = answers.read(asked.subject(values(table, old, new)), "a tensor")
    except Unusable:
        return ""
    rows = y.shape[-2] - asked.prefix if y.ndim > 1 else None
    return next((text for text, count in counts(old, new) if count == rows), "")


def _dtype(asked: Asked) -> None:
    name = "returns the dtype of the table"
    cause = "the result of an interpolation in float32 is not cast back"
    found = []
    for dtype in (torch.float64, torch.bfloat16, torch.float16):
        table = numbers(16 + asked.prefix, 2, seed=2).to(dtype)
        given = values(table, (4, 4), (5, 6)) | {"table": table, "batch_table": table[None]}
        try:
            y = answers.read(asked.subject(given), "a tensor")
        except Unusable as error:
            return asked.exam.skip(name, f"{dtype} is not taken: {error}", page=PAGE)
        found += [f"{dtype} became {y.dtype}" for _ in range(y.dtype != dtype)]
    asked.exam.holds(name, lambda: "; ".join(found), page=PAGE, cause=cause)
