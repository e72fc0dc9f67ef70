# SPDX-License-Identifier: MIT
"""A converter of projections under examination: weights that hold the numbers of their rows."""

import torch

from posenc_check.causes import Cause
from posenc_check.contracts import answers
from posenc_check.examination import Examination
from posenc_check.factory import Factory
from posenc_check.wrong_forms.layout_weights import Form, orders

F64 = torch.float64


class Asked:
    """The subject under examination."""

    def __init__(self, exam: Examination, new: Factory, n_heads: int):
        self.exam, self.new, self.n_heads = exam, new, n_heads

    def answer(self, form: Form, weight):
        """The weight reordered; it holds the numbers of its old rows."""
        sizes = {
            "n_heads": form.n_heads,
            "head_dim": form.head_dim,
            "rotary_dim": form.rotary_dim,
            "n_rows": form.n_rows,
            "d_model": weight.shape[-1],
        }
        return answers.read(self.new(sizes)(sizes | {"weight": weight}), "a tensor like weight")

    def right(self, name: str, form: Form, d_model: int, page: str) -> bool:
        """d_model 0 stands for a bias."""
        weight = numbered(form.n_rows, max(d_model, 1))
        weight = weight if d_model else weight[:, 0]

        def where(index) -> str:
            head, row = divmod(index[0], form.head_dim)
            column = f", column {index[1]}" if d_model else ""
            return f"head {head}, row {row}{column} (a number is its old row + column / 16)"

        causes = [
            Cause(text, lambda rows=rows: weight[rows()])
            for text, rows in orders(form, self.n_heads)
        ]
        if form.n_rows == d_model:
            text = "the columns are reordered, not the rows"
            causes.append(Cause(text, lambda: weight[:, _right(form)]))
            causes.append(Cause("the weight is transposed", lambda: weight.mT))
            text = "the weight is transposed besides"
            causes.append(Cause(text, lambda: weight[_right(form)].mT))
        return self.exam.values(
            name,
            lambda: self.answer(form, weight.float()),
            weight[_right(form)],
            page=page,
            tolerance=0.0,  # rows move, no number changes
            where=where,
            causes=causes,
        )


def numbered(n_rows: int, n_columns: int):
    """Row r, column c holds r + c / 16."""
    return torch.arange(n_rows, dtype=F64)[:, None] + torch.arange(n_columns, dtype=F64) / 16


def _right(form: Form) -> list[int]:
    """For each new row the old one, by the coordinates of each pair in both layouts."""
    n_pairs = form.rotary_dim // 2
    new = list(range(form.n_rows))
    for head in range(form.n_heads):
        start = head * form.head_dim
        for pair in range(n_pairs):
            apart, beside = (pair, pair + n_pairs), (2 * pair, 2 * pair + 1)
            after, before = (apart, beside) if form.to == "half" else (beside, apart)
            for to, of in zip(after, before):
                new[start + to] = start + of
    return new
