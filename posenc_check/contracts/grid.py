# SPDX-License-Identifier: MIT
"""grid: are the patches of an image listed row by row, each with its row and column?"""

from typing import Literal

import torch

from posenc_check.causes import Cause
from posenc_check.contracts import answers
from posenc_check.factory import Factory
from posenc_check.report import Report
from posenc_check.wrong_forms.counting import grid as wrong_grids

PAGE = "docs/methods/rope_2d.md"
WORDS = ("height", "width")
SIZES = (
    ("lists (row, column) row by row", 3, 4),
    ("takes a grid that is higher than wide", 5, 2),
    ("takes a square grid", 3, 3),
    ("takes a single row", 1, 4),
    ("takes a single column", 4, 1),
)


def check_grid(
    positions,
    *,
    first: Literal["row", "column"] = "row",
    call: str | None = None,
    init: str | None = None,
) -> Report:
    """Check a function that gives the row and the column of each patch.

    Args:
        positions: takes height and width; gives (height * width, 2), or a list of pairs.
        first: which of the two stands first in each pair.
        call: what it takes, in order: height, width.
        init: what its class takes: height, width.

    Returns:
        The report.

    Raises:
        ValueError: if an option is out of its range.
    """
    if first not in ("row", "column"):
        raise ValueError(f"first must be row or column, got {first!r}")
    with Factory.examine(
        "grid", positions, WORDS, "height, width", call, init, {"first": first}, WORDS
    ) as (exam, new):
        for name, height, width in SIZES:
            _listed(exam, new, name, height, width, first)
    return exam.report


def _listed(exam, new, name: str, height: int, width: int, first: str) -> None:
    cells = [(row, column) for row in range(height) for column in range(width)]
    want = torch.tensor(cells, dtype=torch.float64)
    turn = (0, 1) if first == "row" else (1, 0)
    sizes = {"height": height, "width": width}

    def where(index) -> str:
        row, column = cells[index[0]]
        asked = "row" if turn[index[1]] == 0 else "column"
        return f"patch {index[0]} (row {row}, column {column}), its {asked}"

    wrong = [
        (_said(text, first), form[:, turn].double()) for text, form in wrong_grids(height, width)
    ]
    exam.values(
        f"{name}, {height} x {width}",
        lambda: answers.read(new(sizes)(sizes), f"({height * width}, 2)"),
        want[:, turn],
        page=PAGE,
        tolerance=1e-6,  # whole numbers
        where=where,
        causes=[Cause(text, lambda form=form: form) for text, form in wrong],
    )


def _said(text: str, first: str) -> str:
    if text == "the pairs are (column, row)":
        other = ("column", "row") if first == "row" else ("row", "column")
        return f"the pairs are ({other[0]}, {other[1]}); you said that the {first} is first"
    return text
