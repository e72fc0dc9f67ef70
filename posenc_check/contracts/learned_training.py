# SPDX-License-Identifier: MIT
"""What a learned table must satisfy to be trained, and not to change the dtype of x."""

import torch
from torch import nn

from posenc_check.contracts.learned_case import Case, filled, table_of
from posenc_check.subject import Unusable, guarded
from posenc_check.wrong_forms.learned import causes

PAGE = "docs/methods/learned.md"


def dtype_kept(asked) -> None:
    name = "returns the dtype of x"
    if asked.said.returns == "rows":
        return asked.exam.skip(name, "the rows alone are returned", page=PAGE)

    def problem() -> str:
        found = []
        for dtype in (torch.bfloat16, torch.float16, torch.float64):
            module = asked.new.instance(asked.said.init).to(dtype)
            y = asked.new.bound(module)(Case(asked.said, range(4), 2, seed=7).values(dtype))
            found += [f"{dtype} became {y.dtype}" for _ in range(y.dtype != dtype)]
        return "; ".join(found)

    cause = "the rows are cast to a fixed dtype"
    asked.exam.holds(name, problem, page=PAGE, cause=cause)


def training(asked) -> None:
    def trained() -> str:
        return "" if asked.table.requires_grad else f"{asked.name} takes no gradient"

    _starts(asked)
    _in_training(asked)
    cause = "the table is a buffer, or is frozen: its rows stay as they were drawn"
    asked.exam.holds("trains its table", trained, page=PAGE, cause=cause)
    name = "the gradient reaches the rows that were read, and no other"
    if not asked.table.requires_grad:
        return asked.exam.skip(name, "its table takes no gradient", page=PAGE)

    def problem() -> str:
        case = Case(asked.said, range(3), 2, seed=8)
        y = asked.subject(case.values())
        if not y.requires_grad:
            return "the answer passes no gradient back"
        guarded(y.sum().backward, "the backward pass", (), {})
        gradient, asked.table.grad = asked.table.grad, None
        rows = [] if gradient is None else gradient.reshape(-1, asked.said.d_model).any(1)
        rows = [] if gradient is None else rows.nonzero().flatten().tolist()
        want = [asked.said.first_row + place for place in range(3)]
        return "" if rows == want else f"rows with a gradient: {rows}, must be {want}"

    cause = "the rows are detached, or a copy of the table is read"
    asked.exam.holds(name, problem, page=PAGE, cause=cause)


def _starts(asked) -> None:
    def problem() -> str:
        _, table = table_of(asked.new.instance(asked.said.init), asked.said)
        n = int((~table.isfinite()).sum())
        return f"{n} of {table.numel()} numbers of a new table are not finite" if n else ""

    cause = "the table is filled with NaN, or is memory that nothing has written"
    asked.exam.holds("starts from finite numbers", problem, page=PAGE, cause=cause)


def _in_training(asked) -> None:
    """What eval mode gives, where no dropout is left."""
    name = "gives the same in training mode"
    module = asked.new.instance(asked.said.init)
    filled(table_of(module, asked.said)[1], asked.said)
    for layer in module.modules():
        if isinstance(layer, nn.Dropout):
            layer.p = 0.0
    subject, case = asked.new.bound(module), Case(asked.said, range(5), 3, seed=9)

    def answer(training: bool = True) -> torch.Tensor:
        module.train(training)
        return case.read(subject(case.values()))

    try:
        expected, draws = answer(training=False).double(), [answer(), answer()]
    except Unusable as error:
        text = str(error)
        return asked.exam.holds(name, lambda: text, page=PAGE)
    if not torch.equal(*draws):
        return asked.exam.skip(name, "it draws numbers there, as dropout does", page=PAGE)
    asked.exam.values(
        name,
        answer,
        expected,
        page=PAGE,
        tolerance=1e-6 * (1 + expected.abs().max()),  # one float32 sum
        where=case.where,
        causes=causes(case.form()),
    )
