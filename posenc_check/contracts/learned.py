# SPDX-License-Identifier: MIT
"""learned: does a trained table give each token the row of its position, and stop at its end?"""

from typing import Literal

from posenc_check.contracts.learned_case import (
    INIT_WORDS,
    WORDS,
    Case,
    filled,
    settings,
    table_of,
)
from posenc_check.contracts.learned_range import past_the_table
from posenc_check.contracts.learned_training import dtype_kept, training
from posenc_check.examination import Examination
from posenc_check.factory import Factory
from posenc_check.report import Report
from posenc_check.wrong_forms.learned import causes

PAGE = "docs/methods/learned.md"
DECODING = "docs/guides/decoding.md"


def check_learned(
    encode,
    *,
    d_model: int = 4,
    max_len: int = 8,
    first_row: int = 0,
    axes: Literal["BTD", "TBD"] = "BTD",
    returns: Literal["auto", "sum", "rows"] = "auto",
    call: str | None = None,
    init: str | None = None,
) -> Report:
    """Check a module with one trained row for each position, or its class.

    Args:
        encode: takes x, or positions; gives back x plus the rows, or the rows.
        d_model: width of a row, at most 16.
        max_len: positions that the module has rows for.
        first_row: rows in front of position 0, as in models that keep some for padding.
        axes: order of the axes of x.
        returns: sum is x plus the rows, rows are the rows alone; auto is sum if it takes x.
        call: what encode takes, in order: x, positions, batch_positions, start, length.
        init: what its class takes: d_model, max_len, dropout.

    Returns:
        The report.

    Raises:
        ValueError: if an option is out of its range.
    """
    settings(d_model, max_len, first_row, axes, "sum" if returns == "auto" else returns)
    options = {"d_model": d_model, "max_len": max_len}
    if first_row:
        options["first_row"] = first_row
    with Factory.examine(
        "learned", encode, WORDS, "x", call, init, options, INIT_WORDS
    ) as (exam, new):
        sizes = {"d_model": d_model, "max_len": max_len, "dropout": 0.0}
        if returns == "auto":
            returns = "sum" if new(sizes).takes("x") else "rows"
        asked = Asked(exam, new, settings(d_model, max_len, first_row, axes, returns))
        _values(asked)
        past_the_table(asked)
        dtype_kept(asked)
        training(asked)
    return exam.report


class Asked:
    """The subject under examination; its table holds known numbers."""

    def __init__(self, exam: Examination, new: Factory, said):
        self.exam, self.new, self.said = exam, new, said
        self.module = new.instance(said.init)
        self.name, self.table = table_of(self.module, said)
        filled(self.table, said)
        self.subject = new.bound(self.module)
        self.any = self.subject.takes("positions", "batch_positions")
        self.anywhere = self.any or self.subject.takes("start")

    def right(self, name: str, case: Case, page=PAGE) -> bool:
        return self.exam.values(
            name,
            lambda: case.read(self.subject(case.values())),
            case.expected(),
            page=page,
            tolerance=1e-6 * (1 + case.expected().abs().max()),  # one float32 sum
            where=case.where,
            causes=causes(case.form()),
        )


def _values(asked: Asked) -> None:
    said = asked.said
    # As many sequences as tokens and rows, so that taking one for another shows in the values.
    asked.right("gives each token the row of its position", Case(said, range(8), 8))
    asked.right("takes any batch and length", Case(said, range(5), 3, seed=1))
    one = Case(said, [said.max_len - 1 if asked.anywhere else 0], 2, seed=2)
    asked.right("takes one token, as in decoding", one, page=DECODING)
    name = "counts on from start"
    if asked.subject.takes("start"):
        asked.right(name, Case(said, range(4, 7), 2, seed=3), page=DECODING)
    else:
        asked.exam.skip(name, "no start is passed", page=DECODING)
    name = "takes positions in any order"
    if asked.any:
        asked.right(name, Case(said, [6, 0, 7, 3, 3, 1], 2, seed=4))
    else:
        asked.exam.skip(name, "no positions are passed", page=PAGE)
    name = "takes positions of each sequence of a batch"
    if asked.subject.takes("batch_positions"):
        asked.right(name, Case(said, [[4, 5, 6, 7], [0, 0, 1, 2]], 2, seed=5), page=DECODING)
    else:
        asked.exam.skip(name, "no positions of shape (B, T) are passed", page=DECODING)
