# SPDX-License-Identifier: MIT
"""A table of sines and cosines and its sum with x, with every part open to change."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

F64 = torch.float64


def kept(table: Tensor) -> Tensor:
    """No part of the table is changed."""
    return table


@dataclass(frozen=True)
class Form:
    """All that a table, and its sum with x, is made of.

    Attributes:
        positions: (T,), or (B, T) where there is an x, float64.
        powers: exponents of the base for sine and cosine of pair i, each a function (i, width).
        columns: what the first and the second column of a pair hold, of the letters s and c.
        rounding: dtype of the positions, the angles, and the table.
        x: (B, T, D) or None; the answer is x_factor * x + table_factor * table.
    """

    layout: str
    base: float
    width: int
    positions: Tensor
    powers: tuple = (lambda i, d: -2 * i / d, lambda i, d: -2 * i / d)
    columns: str = "sc"
    rounding: tuple = (F64, F64, F64)
    angle_factor: float = 1.0
    keep: Callable[[Tensor], Tensor] = kept
    x: Tensor | None = None
    x_factor: float = 1.0
    table_factor: float = 1.0


def answer(form: Form) -> Tensor:
    """The table, (T, D), or its sum with x, (B, T, D), in float64."""
    position_type, angle_type, table_type = form.rounding
    places = form.positions.to(position_type).to(F64)
    n_pairs = (form.width + 1) // 2
    angles = {}
    for letter, power in zip("sc", form.powers):
        speeds = [form.base ** power(i, form.width) for i in range(n_pairs)]
        angle = places[..., None] * torch.tensor(speeds, dtype=F64) * form.angle_factor
        angles[letter] = angle.to(angle_type).to(F64)
    readings = {"s": angles["s"].sin(), "c": angles["c"].cos()}
    first, second = (readings[letter] for letter in form.columns)
    if form.layout == "interleaved":
        table = torch.stack((first, second), dim=-1).flatten(-2)[..., : form.width]
    else:
        table = torch.cat((first, second[..., : form.width // 2]), dim=-1)
    table = form.keep(table.to(table_type).to(F64))
    if form.x is None:
        return table
    return form.x_factor * form.x + form.table_factor * table
