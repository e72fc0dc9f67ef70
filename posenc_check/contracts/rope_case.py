# SPDX-License-Identifier: MIT
"""One call of a rotation: the input, in the axes of the subject, and all that it may ask for."""

import copy
import math
from dataclasses import dataclass

import torch
from torch import Tensor

from posenc_check import oracles
from posenc_check.subject import Unusable
from posenc_check.wrong_forms.rope import Form

WORDS = (
    "x q k batch_positions positions start length inv_freq cos sin batch_cos batch_sin "
    "pair_cos pair_sin pair_complex head_dim rotary_dim base"
).split()
INIT_WORDS = ("head_dim", "rotary_dim", "base", "max_len")
ANGLES = ("cos", "sin", "batch_cos", "batch_sin", "pair_cos", "pair_sin", "pair_complex")
LETTERS = "BHTD"


@dataclass(frozen=True)
class Settings:
    """What the reader said about the rotation."""

    layout: str
    head_dim: int
    base: float
    rotary_dim: int
    axes: str
    attention_factor: float
    inv_freq: tuple[float, ...] | None = None  # of a scaling rule; None is plain RoPE

    @property
    def speeds(self) -> list[float]:
        if self.inv_freq is not None:
            return list(self.inv_freq)
        n_pairs = self.rotary_dim // 2
        return [oracles.rope_speed(i, self.rotary_dim, self.base) for i in range(n_pairs)]


def settings(layout, head_dim, base, rotary_dim, axes, attention_factor) -> Settings:
    """The same, checked."""
    rotary_dim = head_dim if rotary_dim is None else rotary_dim
    if layout not in ("half", "interleaved"):
        raise ValueError(f"layout must be half or interleaved, got {layout!r}")
    if not 4 <= head_dim <= 1024 or head_dim % 2:
        raise ValueError(f"head_dim must be even, from 4 to 1024, got {head_dim}")
    if not 4 <= rotary_dim <= head_dim or rotary_dim % 2:
        raise ValueError(f"rotary_dim must be even, from 4 to head_dim, got {rotary_dim}")
    if not 1 < base < math.inf:
        raise ValueError(f"base must be larger than 1 and finite, got {base}")
    if sorted(set(axes)) != sorted(axes) or not {"T", "D"} <= set(axes) <= set(LETTERS):
        raise ValueError(f"axes must be an order of B, H, T, D, with T and D, got {axes!r}")
    if not 0 < attention_factor < math.inf:
        raise ValueError(f"attention_factor must be positive and finite, got {attention_factor}")
    return Settings(layout, head_dim, base, rotary_dim, axes, attention_factor)


class Case:
    """x (B, H, T, D) in float64 at some positions, and its right answer.

    one_by_one: a call for each position, where a call takes only the first one of a range.
    view: x as a model has it, a transposed view of (B, T, H, D).
    """

    def __init__(
        self, said: Settings, sizes, positions, seed: int = 0, one_by_one: bool = False,
        view: bool = False,
    ):
        n_batch = sizes[0] if "B" in said.axes else 1
        n_heads = sizes[1] if "H" in said.axes else 1
        self.said, self.one_by_one, self.view = said, one_by_one, view
        self.positions = torch.as_tensor(positions)  # (T,) or (B, T)
        shape = (n_batch, n_heads, self.positions.shape[-1], said.head_dim)
        draw = torch.Generator().manual_seed(seed)
        # Multiples of 1/64 below 1: exact in every dtype, and bounds on errors are short.
        numbers = torch.randint(-63, 64, (2, *shape), generator=draw) / 64
        self.x, self.second = numbers.double()

    def answer(self, subject, dtype: torch.dtype) -> Tensor:
        """What the subject makes of x, as (B, H, T, D); of q and k, one after the other."""
        two = subject.takes("q") and subject.takes("k")
        if not self.one_by_one:
            return self.read(subject(self.values(dtype, two)), two)
        rows = []
        for t, place in enumerate(self.positions.tolist()):
            row = copy.copy(self)
            row.positions = torch.tensor([place])
            row.x, row.second = (x[:, :, t : t + 1] for x in (self.x, self.second))
            rows.append(row.read(subject(row.values(dtype, two)), two))
        return torch.cat(rows, dim=2)

    def read(self, answer, two: bool) -> Tensor:
        if not two:
            return self._back(answer)
        if not isinstance(answer, (tuple, list)) or len(answer) != 2:
            raise Unusable("of q and k a pair must come back: (q, k)")
        return torch.cat([self._back(part) for part in answer])

    def expected(self, two: bool) -> Tensor:
        x = torch.cat((self.x, self.second)) if two else self.x
        places = self.positions.expand(self.x.shape[0], -1).repeat(2 if two else 1, 1)
        y = oracles.rope(x, places, self.said.speeds, self.said.layout)
        rotated = self.said.rotary_dim
        return torch.cat((y[..., :rotated] * self.said.attention_factor, y[..., rotated:]), dim=-1)

    def form(self, two: bool) -> tuple[Tensor, Form]:
        """x and the right form, from which wrong ones are made."""
        said = self.said
        x = torch.cat((self.x, self.second)) if two else self.x
        places = self.positions.double().expand(self.x.shape[0], -1).repeat(2 if two else 1, 1)
        places = places[:, None].expand(x.shape[:3])
        speeds = torch.tensor(said.speeds, dtype=torch.float64)
        sizes = (said.base, said.rotary_dim, said.head_dim)
        return x, Form(said.layout, speeds, places, *sizes, factor=said.attention_factor)

    def values(self, dtype: torch.dtype, two: bool = True) -> dict:
        """Every word of the vocabulary."""
        speeds = torch.tensor(self.said.speeds, dtype=torch.float64)
        angle = self.positions.double()[..., None] * speeds  # (T, P) or (B, T, P)
        cos, sin = (self.said.attention_factor * t for t in (angle.cos(), angle.sin()))
        batch = (self.x.shape[0], -1, -1)
        tables = {"pair_cos": cos, "pair_sin": sin, "cos": self._wide(cos), "sin": self._wide(sin)}
        for name in ("cos", "sin"):
            tables[f"batch_{name}"] = tables[name].expand(batch).contiguous()
        x = self._forth(self.x.to(dtype))
        return {
            "x": x,
            "q": x,
            # A function of k alone is asked as one of x.
            "k": self._forth(self.second.to(dtype)) if two else x,
            "positions": self.positions,
            "batch_positions": self.positions.expand(self.x.shape[0], -1).contiguous(),
            "start": int(self.positions.flatten()[0]),
            "length": self.positions.shape[-1],
            "inv_freq": speeds.to(torch.promote_types(dtype, torch.float32)),
            **{name: table.to(dtype) for name, table in tables.items()},
            "pair_complex": torch.complex(cos, sin).to(
                torch.complex128 if dtype == torch.float64 else torch.complex64
            ),
            "head_dim": self.said.head_dim,
            "rotary_dim": self.said.rotary_dim,
            "base": self.said.base,
        }

    def _wide(self, table: Tensor) -> Tensor:
        """A column for each coordinate, as the layout orders them."""
        if self.said.layout == "half":
            return torch.cat((table, table), dim=-1)
        return table.repeat_interleave(2, dim=-1)

    def _forth(self, x: Tensor) -> Tensor:
        kept = x.squeeze(1) if "H" not in self.said.axes else x
        kept = kept.squeeze(0) if "B" not in self.said.axes else kept
        have = [letter for letter in LETTERS if letter in self.said.axes]
        moved = kept.permute([have.index(letter) for letter in self.said.axes]).contiguous()
        if self.view and moved.ndim > 2:
            # The same numbers, as a view of memory in which these two axes are exchanged.
            moved = moved.transpose(-3, -2).contiguous().transpose(-3, -2)
        return moved

    def _back(self, y):
        axes = self.said.axes
        want = self._forth(self.x).shape
        if not isinstance(y, Tensor) or y.shape != want:
            got = tuple(y.shape) if isinstance(y, Tensor) else type(y).__name__
            raise Unusable(f"must return a tensor like x, {tuple(want)} ({axes}), got {got}")
        have = [letter for letter in LETTERS if letter in axes]
        y = y.permute([axes.index(letter) for letter in have])
        y = y if "B" in axes else y[None]
        return y if "H" in axes else y.unsqueeze(1)
