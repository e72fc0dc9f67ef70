# SPDX-License-Identifier: MIT
"""One call of a learned encoding whose table holds known numbers, and its right answer."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from posenc_check.contracts import answers
from posenc_check.examination import describe
from posenc_check.subject import Unusable
from posenc_check.wrong_forms.learned import Form

F64 = torch.float64
WORDS = "x positions batch_positions start length".split()
INIT_WORDS = ("d_model", "max_len", "dropout")


@dataclass(frozen=True)
class Settings:
    """What the reader said about the module."""

    d_model: int
    max_len: int
    first_row: int
    axes: str
    returns: str

    @property
    def init(self) -> dict:
        return {"d_model": self.d_model, "max_len": self.max_len, "dropout": 0.0}

    def table(self) -> Tensor:
        """(rows, D) float64: row r, column c is r + c / 16, exact in narrow types too."""
        rows = torch.arange(self.first_row + self.max_len, dtype=F64)[:, None]
        return rows + torch.arange(self.d_model, dtype=F64) / 16


def settings(d_model, max_len, first_row, axes, returns) -> Settings:
    """The same, checked."""
    if not 1 <= d_model <= 16:
        raise ValueError(f"d_model must be from 1 to 16, got {d_model}")
    if not 8 <= max_len <= 1024:
        raise ValueError(f"max_len must be from 8 to 1024, got {max_len}")
    if first_row < 0:
        raise ValueError(f"first_row must not be negative, got {first_row}")
    if axes not in ("BTD", "TBD"):
        raise ValueError(f"axes must be BTD or TBD, got {axes!r}")
    if returns not in ("sum", "rows"):
        raise ValueError(f"returns must be auto, sum, or rows, got {returns!r}")
    return Settings(d_model, max_len, first_row, axes, returns)


def table_of(module: nn.Module, said: Settings) -> tuple[str, Tensor]:
    """The one tensor of the module that can be the table: by its size, then by its shape."""
    if not isinstance(module, nn.Module):
        raise Unusable(f"must be a module or the class of one, got {type(module).__name__}")
    shape = (said.first_row + said.max_len, said.d_model)
    held = [*module.named_parameters(), *module.named_buffers()]
    found = [(name, t) for name, t in held if t.numel() == math.prod(shape)]
    if len(found) > 1:
        layers = [name for name, layer in module.named_modules() if isinstance(layer, nn.Linear)]
        rows = [(name, t) for name, t in found if tuple(t.squeeze().shape) == shape]
        found = [one for one in rows if one[0].rpartition(".")[0] not in layers]
    if len(found) != 1:
        sizes = ", ".join(f"{name} {tuple(t.shape)}" for name, t in held) or "nothing"
        rows = f"{said.first_row + said.max_len} rows of {said.d_model}"
        raise Unusable(f"must hold one table of {rows}; it holds {sizes}")
    return found[0]


def filled(table: Tensor, said: Settings) -> Tensor:
    """The same tensor, with known numbers in it."""
    with torch.no_grad():
        return table.copy_(said.table().reshape(table.shape))


class Case:
    """x (B, T, D) and positions (T,) or (B, T), and the right answer."""

    def __init__(self, said: Settings, positions, n_batch: int, seed: int = 0):
        self.said, self.positions = said, torch.as_tensor(positions)
        draw = torch.Generator().manual_seed(seed)
        shape = (n_batch, self.positions.shape[-1], said.d_model)
        self.x = torch.randint(-63, 64, shape, generator=draw).to(F64) / 64

    @property
    def every(self) -> Tensor:
        """(B, T)"""
        return self.positions.expand(self.x.shape[:2])

    def values(self, dtype: torch.dtype = torch.float32) -> dict:
        """Every word of the vocabulary."""
        x = self.x if self.said.axes == "BTD" else self.x.transpose(0, 1)
        return {
            "x": x.to(dtype).contiguous(),
            "positions": self.positions,
            "batch_positions": self.every.contiguous(),
            "start": int(self.positions.flatten()[0]),
            "length": self.positions.shape[-1],
        }

    def read(self, answer) -> Tensor:
        """As (B, T, D); rows alone may lack the axis of the batch, where all are alike."""
        want = (*self.x.shape,) if self.said.axes == "BTD" else (*self.x.transpose(0, 1).shape,)
        y = answers.read(answer, f"a tensor {want}")
        shapes = [want]
        if self.said.returns == "rows" and self.positions.ndim == 1:
            shapes += [want[1:], (1, *want[1:])] if self.said.axes == "BTD" else []
            shapes += [(want[0], 1, want[2])] if self.said.axes == "TBD" else []
        if tuple(y.shape) not in shapes:
            raise Unusable(f"must return {want}, got {describe(y)}")
        y = y.expand(want)
        return y if self.said.axes == "BTD" else y.transpose(0, 1)

    def expected(self) -> Tensor:
        rows = self.said.table()
        y = torch.empty(self.x.shape, dtype=F64)
        for b, places in enumerate(self.every.tolist()):
            for t, place in enumerate(places):
                y[b, t] = rows[self.said.first_row + place]
        return y if self.said.returns == "rows" else self.x + y

    def form(self) -> Form:
        factor = 0.0 if self.said.returns == "rows" else 1.0
        return Form(self.x, self.every, self.said.table(), self.said.first_row, x_factor=factor)

    def where(self, index: tuple[int, ...]) -> str:
        b, t, column = index
        return f"position {int(self.every[b, t])}, column {column} (batch {b})"
