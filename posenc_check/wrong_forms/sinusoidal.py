# SPDX-License-Identifier: MIT
"""Tables of sines and cosines as people have got them wrong, each as a change of one right form."""

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import replace

import torch
from torch import Tensor

from posenc_check.causes import Cause, within
from posenc_check.wrong_forms.sinusoidal_form import F64, Form, answer, kept


def _powers(sine, cosine=None):
    return lambda form: replace(form, powers=(sine, cosine or sine))


def _places(place: Callable[[Tensor], Tensor]):
    return lambda form: replace(form, positions=place(form.positions))


def _rounding(which: int, dtype: torch.dtype):
    def change(form: Form) -> Form:
        kinds = [dtype if i == which else kind for i, kind in enumerate(form.rounding)]
        return replace(form, rounding=tuple(kinds))

    return change


def _table(keep: Callable[[Tensor], Tensor]):
    return lambda form: replace(form, keep=keep)


def _sum(**factors):
    return lambda form: form if form.x is None else replace(form, **factors)


def _layout(form: Form) -> Form:
    return replace(form, layout="half" if form.layout == "interleaved" else "interleaved")


def _by_batch(positions: Tensor) -> Tensor:
    """Each sequence gets one row, that of its place in the batch."""
    if positions.ndim < 2:
        return positions
    return positions[:, :1] + torch.arange(len(positions), dtype=F64)[:, None]


def _turned(table: Tensor) -> Tensor:
    return table.mT if table.shape[-2] == table.shape[-1] else table


def _column(table: Tensor, at: int) -> Tensor:
    wide = torch.arange(table.shape[-1]) == at % table.shape[-1]
    return table.masked_fill(wide, 0)


def _row_zero(table: Tensor) -> Tensor:
    return table.index_fill(-2, torch.tensor([0]), 0)


BF16, FP16 = torch.bfloat16, torch.float16
STRUCTURE = {
    "interleaved": "all sines come first, then all cosines; you said interleaved",
    "half": "sines and cosines take turns; you said half: all sines, then all cosines",
}
CHANGES: list[tuple[str, Callable[[Form], Form]]] = [
    (
        "every token gets the first row: the table is cut by the size of the batch, not by the "
        "length",
        _places(lambda p: p[..., :1].expand(p.shape)),
    ),
    (
        "the rows are taken by the place in the batch: x is read as (T, B, D) where it is "
        "(B, T, D), or the other way round",
        _places(_by_batch),
    ),
    ("x comes back as it was: the table is not added", _sum(table_factor=0.0)),
    ("x is missing: the table alone comes back", _sum(x_factor=0.0)),
    ("the table is added twice", _sum(table_factor=2.0)),
    ("the table is subtracted", _sum(table_factor=-1.0)),
    (
        "x is multiplied by sqrt(d_model) before the sum",
        lambda form: _sum(x_factor=form.x_factor * math.sqrt(form.width))(form),
    ),
    ("x is not multiplied by sqrt(d_model)", _sum(x_factor=1.0)),
    (
        "the table is multiplied by sqrt(d_model); it is x that may be",
        lambda form: _sum(table_factor=math.sqrt(form.width))(form),
    ),
    (
        "the column, not the pair, is doubled in the exponent, and sine and cosine of a pair turn "
        "at different speeds",
        _powers(lambda i, d: -4 * i / d, lambda i, d: -(4 * i + 2) / d),
    ),
    (
        "the column, not the pair, is doubled in the exponent: base ** (-4 i / d_model)",
        _powers(lambda i, d: -4 * i / d),
    ),
    (
        "each column has a speed of its own, base ** (-column / d_model): sine and cosine of a "
        "pair part",
        _powers(lambda i, d: -2 * i / d, lambda i, d: -(2 * i + 1) / d),
    ),
    ("the exponent is divided by d_model - 1", _powers(lambda i, d: -2 * i / max(d - 1, 1))),
    (
        "the speeds end at 1 / base: the exponent is divided by d_model / 2 - 1, not by "
        "d_model / 2",
        _powers(lambda i, d: -i / max((d + 1) // 2 - 1, 1)),
    ),
    (
        "exponent sign: the speeds are base ** (+2 i / d_model) and grow",
        _powers(lambda i, d: 2 * i / d),
    ),
    ("the exponent lacks its factor 2: base ** (-i / d_model)", _powers(lambda i, d: -i / d)),
    (
        "integer division: 2 i // d_model is 0, and all pairs turn alike",
        _powers(lambda i, d: -(2 * i // d)),
    ),
    (
        "the exponent starts at pair 1: base ** (-2 (i + 1) / d_model)",
        _powers(lambda i, d: -2 * (i + 1) / d),
    ),
    ("the exponent is divided by d_model + 1", _powers(lambda i, d: -2 * i / (d + 1))),
    ("sine and cosine are exchanged", lambda form: replace(form, columns="cs")),
    ("both columns of a pair hold the sine", lambda form: replace(form, columns="ss")),
    ("the last column is zero", _table(lambda table: _column(table, -1))),
    ("row 0 is zero, as for padding", _table(_row_zero)),
    ("rows and columns are exchanged", _table(_turned)),
    ("positions start at 1", _places(lambda p: p + 1)),
    ("positions are one too small", _places(lambda p: p - 1)),
    (
        "the given start or positions are ignored: rows are counted from 0",
        _places(lambda p: torch.arange(p.shape[-1], dtype=F64).expand(p.shape)),
    ),
    ("positions run backwards", _places(lambda p: p.flip(-1))),
    ("positions are divided by the length", _places(lambda p: p / p.shape[-1])),
    ("angles are multiplied by 2 pi", lambda form: replace(form, angle_factor=2 * math.pi)),
    ("positions are rounded to bfloat16, which merges 256 and 257", _rounding(0, BF16)),
    ("positions are rounded to float16, which counts to 2048", _rounding(0, FP16)),
    ("the angles are computed in bfloat16", _rounding(1, BF16)),
    ("the angles are computed in float16", _rounding(1, FP16)),
    ("the table is rounded to bfloat16", _rounding(2, BF16)),
    ("the table is rounded to float16", _rounding(2, FP16)),
]


def causes(form: Form, tolerance: Tensor) -> Callable[[Tensor], Iterator[Cause]]:
    """From what was got: single faults, then another base, then pairs of faults.

    tolerance is that of the values, (T, 1).
    """
    changes = [(STRUCTURE[form.layout], _layout), *CHANGES]

    def found(got: Tensor) -> Iterator[Cause]:
        rows = _telling(form, got)

        def fitting(text: str, changed: Form) -> Iterator[Cause]:
            if _fits(changed, got, tolerance, rows):
                yield Cause(text, lambda: answer(changed))

        for text, change in changes:
            yield from fitting(text, change(form))
        yield from _other_base(form, got)
        for (one, first), (two, second) in itertools.combinations(changes, 2):
            yield from fitting(f"{one}; and {two}", second(first(form)))

    return found


def _telling(form: Form, got: Tensor) -> Tensor:
    """Some rows of the answer; that which is furthest from the right one is among them."""
    off = (got - answer(form)).abs().nan_to_num(nan=math.inf).amax(-1)  # (T,) or (B, T)
    off = off if off.ndim == 1 else off.amax(0)
    return torch.tensor([0, len(off) - 1, int(off.argmax())]).unique()


def _fits(changed: Form, got: Tensor, tolerance: Tensor, rows: Tensor) -> bool:
    """Whether a wrong form gives these rows: most do not, and need not be computed further."""
    if changed.keep is not kept:
        return True  # it looks at the table as a whole
    x = None if changed.x is None else changed.x[:, rows]
    places = changed.positions.expand(got.shape[:-1])[..., rows]
    some = answer(replace(changed, positions=places, x=x))
    return within(got[..., rows, :], some, tolerance[rows] + 1e-6 * some.abs())


def _other_base(form: Form, got: Tensor) -> Iterator[Cause]:
    """The base that pair 1 shows at the first position that is not 0."""
    places = form.positions.reshape(-1)
    here = (places > 0).nonzero().flatten().tolist()
    if form.width < 4 or not here:
        return
    table = got if form.x is None else got - form.x_factor * form.x
    row = table.reshape(-1, form.width)[here[0]]
    columns = (2, 3) if form.layout == "interleaved" else (1, 1 + (form.width + 1) // 2)
    speed = math.atan2(*row[list(columns)].tolist()) / float(places[here[0]])
    if not 0 < speed < 1:
        return
    base = speed ** (-form.width / 2)
    text = f"the base is about {base:.6g}, you said {form.base:g}"
    yield Cause(text, lambda: answer(replace(form, base=base)))
