# SPDX-License-Identifier: MIT
"""positions: do the rows of a padded batch count real tokens, not columns?"""

from typing import Literal

import torch
from torch import Tensor

from posenc_check.causes import Cause
from posenc_check.contracts import answers
from posenc_check.factory import Factory
from posenc_check.report import Report
from posenc_check.subject import Unusable
from posenc_check.wrong_forms.counting import following, padded

PAGE = "docs/guides/decoding.md"
WORDS = ("mask", "pads", "length")
LEFT = [[0, 0, 1, 1], [1, 1, 1, 1], [0, 1, 1, 1], [0, 0, 0, 1]]  # as many rows as columns
RIGHT = [[1, 1, 0, 0, 0], [1, 1, 1, 1, 1], [1, 1, 1, 1, 0]]
BOTH = [[0, 1, 1, 1, 0, 0], [1, 1, 1, 1, 1, 1]]


def check_positions(
    positions,
    *,
    gives: Literal["positions", "next"] = "positions",
    first: int = 0,
    call: str | None = None,
    init: str | None = None,
) -> Report:
    """Check a function that makes positions from the mask of a padded batch.

    Args:
        positions: takes a mask (B, S) with 1 for a real token; gives (B, S), or (B,) for next.
            Real tokens stand in one run: no mask with pads between them is asked.
        gives: positions of the tokens, or that of the next token of each row.
        first: position of the first real token, more than 0 in models that keep some rows.
        call: what it takes, in order: mask, pads (its opposite), length.
        init: what its class takes: nothing.

    Returns:
        The report.

    Raises:
        ValueError: if an option is out of its range.
    """
    if gives not in ("positions", "next"):
        raise ValueError(f"gives must be positions or next, got {gives!r}")
    if first < 0:
        raise ValueError(f"first must not be negative, got {first}")
    options = {"gives": gives, **({"first": first} if first else {})}
    with Factory.examine(
        "positions", positions, WORDS, "mask", call, init, options, ()
    ) as (exam, new):
        asked = Asked(exam, new({}), gives, first)
        asked.counts("counts real tokens behind pads on the left", LEFT)
        asked.counts("takes pads on the right", RIGHT)
        asked.counts("takes pads on both sides", BOTH)
        asked.counts("takes a mask of True and False", LEFT[:3], torch.bool)
        if gives == "positions":
            _usable(asked)
        whole = values(torch.tensor(LEFT))
        answers.whole(exam, asked.subject, whole, page=PAGE)
    return exam.report


def values(mask: Tensor) -> dict:
    """Every word of the vocabulary."""
    return {"mask": mask, "pads": mask == 0, "length": mask.shape[1]}


class Asked:
    """The subject under examination."""

    def __init__(self, exam, subject, gives: str, first: int):
        self.exam, self.subject, self.gives, self.first = exam, subject, gives, first

    def counts(self, name: str, rows: list[list[int]], dtype=torch.int64) -> None:
        """What stands at the pads is left out here: any index of the table will do."""
        mask = torch.tensor(rows)
        places = _counted(rows) if self.gives == "positions" else [sum(row) for row in rows]
        right = torch.tensor(places)
        forms = padded(mask, right) if self.gives == "positions" else following(mask)
        real = mask.double() if self.gives == "positions" else torch.ones((), dtype=torch.float64)
        self.exam.values(
            name,
            lambda: self.answer(mask.to(dtype), right.shape) * real,
            (right + self.first) * real,
            page=PAGE,
            tolerance=1e-6,  # whole numbers
            where=self._where(rows),
            causes=[
                Cause(text, lambda form=form: (form.double() + self.first) * real)
                for text, form in forms
            ],
        )

    def answer(self, mask: Tensor, shape) -> Tensor:
        given = answers.read(self.subject(values(mask)), f"a tensor {tuple(shape)}")
        if self.gives == "next" and given.shape == (*shape, 1):
            given = given[:, 0]
        if given.shape != shape:
            raise Unusable(f"must return {tuple(shape)}, got {tuple(given.shape)}")
        return given.double()

    def _where(self, rows):
        def where(index) -> str:
            mask = "".join(str(real) for real in rows[index[0]])
            if self.gives == "next":
                return f"the token behind row {index[0]}, mask {mask}"
            return f"row {index[0]}, column {index[1]}, mask {mask}"

        return where


def _counted(rows: list[list[int]]) -> list[list[int]]:
    """The number of real tokens before each column."""
    return [[sum(row[:column]) for column in range(len(row))] for row in rows]


def _usable(asked: Asked) -> None:
    """A pad is looked up too, though nothing reads what comes of it."""

    def problem() -> str:
        for rows in (LEFT, RIGHT, [[0, 0, 0, 0], [1, 1, 1, 1]]):
            mask = torch.tensor(rows)
            given = asked.answer(mask, mask.shape)
            last = mask.shape[1] - 1 + asked.first
            wrong = (given < 0) | (given > last)
            if wrong.any():
                row, column = wrong.nonzero()[0].tolist()
                return (
                    f"row {row}, column {column} gets {given[row, column]:g}, "
                    f"which is not from 0 to {last}"
                )
        return ""

    cause = "pads in front get -1 from cumsum - 1: clamp it, or fill pads with a position"
    name = "gives pads a position that a table has"
    asked.exam.holds(name, problem, page=PAGE, cause=cause)
