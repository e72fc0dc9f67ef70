# SPDX-License-Identifier: MIT
"""A resize under examination: tables of known numbers, and the right cells of the new grid."""

import torch
from torch import Tensor

from posenc_check import oracles
from posenc_check.causes import Cause
from posenc_check.contracts import answers
from posenc_check.examination import Examination, describe
from posenc_check.oracle_grids import bilinear_cell
from posenc_check.subject import Unusable
from posenc_check.wrong_forms.resize import causes

PAGE = "docs/methods/learned.md"
WORDS = (
    "table batch_table old_size new_size old_height old_width new_height new_width d_model"
).split()
CELLS = {"bicubic": oracles.resized_cell, "bilinear": bilinear_cell}
F64 = torch.float64


class Asked:
    """The subject under examination."""

    def __init__(self, exam: Examination, subject, mode: str, prefix: int):
        self.exam, self.subject, self.mode, self.prefix = exam, subject, mode, prefix

    def right(self, name: str, old, new) -> bool:
        table = numbers(old[0] * old[1] + self.prefix, 3)
        front, cells = table[: self.prefix], table[self.prefix :]
        cell = CELLS[self.mode]
        want = [cell(cells, old, new, r, c) for r in range(new[0]) for c in range(new[1])]

        def where(index) -> str:
            row, column = index
            if row < self.prefix:
                return f"row {row} in front, coordinate {column}"
            r, c = divmod(row - self.prefix, new[1])
            return f"row {r}, column {c} of the new grid, coordinate {column}"

        def whole(simulate):
            return lambda: torch.cat((front, simulate()))

        wrong = causes(cells, old, new, self.mode)
        return self.exam.values(
            name,
            lambda: self.answer(table, old, new),
            torch.cat((front, torch.stack(want))),
            page=PAGE,
            # Weights below 2 of values below 1 in float32, sixteen of them.
            tolerance=2e-5,
            where=where,
            causes=[Cause(text, whole(simulate)) for text, simulate in wrong],
        )

    def answer(self, table, old, new):
        """(prefix + h * w, d), in float32 or the dtype of the table."""
        n = new[0] * new[1] + self.prefix
        y = answers.read(self.subject(values(table, old, new)), "a tensor")
        y = y[0] if y.ndim == 3 and len(y) == 1 else y
        if y.shape != (n, table.shape[1]):
            raise Unusable(
                f"{size(old)} to {size(new)}: must return {n} rows of {table.shape[1]}, "
                f"got {describe(y)}"
            )
        return y


def values(table, old, new) -> dict:
    """Every word of the vocabulary."""
    table = table.float() if table.dtype == F64 else table
    sizes = {"old_size": old, "new_size": new, "d_model": table.shape[1]}
    sides = {"old_height": old[0], "old_width": old[1]}
    sides |= {"new_height": new[0], "new_width": new[1]}
    return {"table": table, "batch_table": table[None], **sizes, **sides}


def numbers(rows: int, columns: int, seed: int = 0) -> Tensor:
    draw = torch.Generator().manual_seed(seed)
    return torch.randint(-63, 64, (rows, columns), generator=draw).to(F64) / 64


def size(grid) -> str:
    return f"{grid[0]} x {grid[1]}"
