# SPDX-License-Identifier: MIT
"""One call of a sinusoidal encoding: what it is given, and its right answer."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from posenc_check import oracles
from posenc_check.contracts import answers
from posenc_check.examination import describe
from posenc_check.subject import Unusable
from posenc_check.wrong_forms.sinusoidal_form import Form

F64 = torch.float64
WORDS = "x positions start length d_model base".split()
INIT_WORDS = ("d_model", "base", "max_len", "dropout")


@dataclass(frozen=True)
class Settings:
    """What the reader said about the encoding."""

    layout: str
    d_model: int
    base: float
    max_len: int
    axes: str
    returns: str
    scaled: bool

    @property
    def x_factor(self) -> float:
        return math.sqrt(self.d_model) if self.scaled else 1.0

    @property
    def init(self) -> dict:
        """The arguments that a class may ask for."""
        sizes = {"d_model": self.d_model, "max_len": self.max_len}
        return {"base": self.base, "dropout": 0.0, **sizes}


def settings(layout, d_model, base, max_len, axes, returns, scaled) -> Settings:
    """The same, checked."""
    for name, value, known in (
        ("layout", layout, ("interleaved", "half")),
        ("axes", axes, ("BTD", "TBD")),
        ("returns", returns, ("sum", "table")),
    ):
        if value not in known:
            raise ValueError(f"{name} must be {known[0]} or {known[1]}, got {value!r}")
    if d_model < 4 or d_model % 2:
        raise ValueError(f"d_model must be even and at least 4, got {d_model}")
    if not base > 1:
        raise ValueError(f"base must be larger than 1, got {base}")
    if max_len < 16:
        raise ValueError(f"max_len must be at least 16, got {max_len}")
    return Settings(layout, d_model, base, max_len, axes, returns, scaled)


class Case:
    """Positions (T,), and x (B, T, D) if n_batch is not None."""

    def __init__(self, said: Settings, positions, n_batch: int | None = None, seed: int = 0):
        self.said, self.positions = said, torch.as_tensor(positions)
        self.x = None
        if n_batch is not None:
            draw = torch.Generator().manual_seed(seed)
            shape = (n_batch, len(self.positions), said.d_model)
            # Multiples of 1/64 below 1: exact in every dtype.
            self.x = torch.randint(-63, 64, shape, generator=draw).to(F64) / 64

    def values(self, dtype: torch.dtype = torch.float32) -> dict:
        """Every word of the vocabulary."""
        given = {
            "positions": self.positions,
            "start": int(self.positions[0]),
            "length": len(self.positions),
            "d_model": self.said.d_model,
            "base": self.said.base,
        }
        return given if self.x is None else given | {"x": self._axes(self.x.to(dtype))}

    def answer(self, subject, dtype: torch.dtype = torch.float32):
        return self.read(subject(self.values(dtype)))

    def read(self, answer) -> Tensor:
        """As (T, D) or (B, T, D); a table may have an axis of length 1 for the batch."""
        want = self._want()
        y = answers.read(answer, f"a tensor {tuple(want[0])}")
        if y.shape not in want:
            raise Unusable(f"must return {tuple(want[0])}, got {describe(y)}")
        if self.x is None:
            return y.reshape(want[0])
        return (y if self.said.axes == "BTD" else y.transpose(0, -2)).expand(self.x.shape)

    def expected(self) -> Tensor:
        table = self._table()
        if self.x is None or self.said.returns == "table":
            return table if self.x is None else table.expand(self.x.shape)
        return self.said.x_factor * self.x + table

    def form(self) -> Form:
        """The right form, from which wrong ones are made."""
        places = self.positions.double()
        said = self.said
        form = {"layout": said.layout, "base": said.base, "width": said.d_model}
        if self.x is None:
            return Form(positions=places, **form)
        factor = said.x_factor if said.returns == "sum" else 0.0
        places = places.expand(len(self.x), -1)
        return Form(positions=places, x=self.x, x_factor=factor, **form)

    def where(self, index: tuple[int, ...]) -> str:
        t, column = index[-2:]
        batch = f" (batch {index[0]})" if len(index) == 3 else ""
        return f"position {int(self.positions[t])}, column {column}{batch}"

    def tolerance(self, dtype: torch.dtype) -> Tensor:
        """(T, 1): what float32 angles cost at each position, and the rounding of the sum.

        Speeds and products in float32 are off by some 2 ** -24 of the angle, powers and
        exponentials in float32 by some more: 8 are allowed. Table and sum are rounded, the sum
        is below 2 (x_factor is counted): 4 eps cover both.
        """
        eps = max(torch.finfo(dtype).eps, torch.finfo(torch.float32).eps)
        angles = 8 * 2**-24 * self.positions.double().abs()[:, None]
        return angles + 4 * eps * max(1.0, self.said.x_factor)

    def _table(self) -> Tensor:
        table = oracles.sinusoid_table(self.positions.tolist(), self.said.d_model, self.said.base)
        if self.said.layout == "half":
            return torch.cat((table[:, 0::2], table[:, 1::2]), dim=1)
        return table

    def _axes(self, x: Tensor) -> Tensor:
        return (x if self.said.axes == "BTD" else x.transpose(0, 1)).contiguous()

    def _want(self) -> list[torch.Size]:
        """The shapes that are taken, the first one as it is asked for."""
        shape = (len(self.positions), self.said.d_model)
        if self.x is None:
            return [torch.Size(s) for s in (shape, (1, *shape), (shape[0], 1, shape[1]))]
        full = self._axes(self.x).shape
        if self.said.returns == "sum":
            return [full]
        one = (1, *shape) if self.said.axes == "BTD" else (shape[0], 1, shape[1])
        return [full, torch.Size(one), *([torch.Size(shape)] if self.said.axes == "BTD" else [])]
