# SPDX-License-Identifier: MIT
"""Lookups of learned rows as people have got them wrong."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from posenc_check.causes import Cause


@dataclass(frozen=True)
class Form:
    """All that a lookup is made of; rows are counted behind the first ones, which are kept free.

    Attributes:
        x: (B, T, D) float64, zeros where the rows alone come back.
        positions: (B, T), whole numbers.
        table: (free + max_len, D) float64.
        free: rows in front that are no positions.
    """

    x: Tensor
    positions: Tensor
    table: Tensor
    free: int
    x_factor: float = 1.0
    table_factor: float = 1.0


def looked_up(form: Form) -> Tensor:
    """(B, T, D); indices past an end are read as Python reads them, or repeat the last row."""
    index = (form.positions + form.free).clamp(-len(form.table), len(form.table) - 1)
    return form.x_factor * form.x + form.table_factor * form.table[index]


def _places(place: Callable[[Tensor], Tensor]):
    return lambda form: replace(form, positions=place(form.positions))


def _by_batch(p: Tensor) -> Tensor:
    return p[:, :1] + torch.arange(len(p))[:, None]


def _from_the_end(form: Form) -> Form:
    last = len(form.table) - form.free - 1
    return replace(form, positions=last - form.positions)


CHANGES: list[tuple[str, Callable[[Form], Form]]] = [
    (
        "the rows are taken by the place in the batch: x is read as (T, B, D) where it is "
        "(B, T, D), or the other way round",
        _places(lambda p: _by_batch(p).expand(p.shape)),
    ),
    (
        "the given start or positions are ignored: rows are counted from 0",
        _places(lambda p: torch.arange(p.shape[1]).expand(p.shape)),
    ),
    (
        "all sequences get the positions of the first one",
        _places(lambda p: p[:1].expand(p.shape)),
    ),
    ("every token gets the first row", _places(lambda p: p[:, :1].expand(p.shape))),
    ("positions start at 1", _places(lambda p: p + 1)),
    ("positions start at 2, as where two rows are kept for padding", _places(lambda p: p + 2)),
    ("positions are one too small", _places(lambda p: p - 1)),
    ("the rows in front of the first position are not left out", lambda f: replace(f, free=0)),
    ("positions are sorted first", _places(lambda p: p.sort(-1).values)),
    ("positions run backwards", _places(lambda p: p.flip(-1))),
    ("the table is read from its end", _from_the_end),
    ("x comes back as it was: the rows are not added", lambda f: replace(f, table_factor=0.0)),
    ("x is missing: the rows alone come back", lambda f: replace(f, x_factor=0.0)),
    ("the rows are added twice", lambda f: replace(f, table_factor=2.0)),
    (
        "x is multiplied by sqrt(d_model) before the sum",
        lambda f: replace(f, x_factor=math.sqrt(f.x.shape[-1])),
    ),
]


def causes(form: Form) -> Iterator[Cause]:
    for text, change in CHANGES:
        yield Cause(text, lambda change=change: looked_up(change(form)))
