"""Sinusoidal modules in the style of model code, right and wrong, for the tests of the contract."""

import math

import torch
from torch import nn


def rows(positions, d_model, base=10_000.0):
    """Right rows in float32."""
    pair = torch.arange((d_model + 1) // 2, dtype=torch.float64)
    angle = positions.double()[..., None] * base ** (-2 * pair / d_model)
    table = torch.stack((angle.sin(), angle.cos()), -1).flatten(-2)[..., :d_model]
    return table.float()


class Plain(nn.Module):
    """Right in all that is asked; wrong ones override a part."""

    persistent = False

    def __init__(self, d_model, max_len=5000, base=10_000.0, dropout=0.1):
        super().__init__()
        self.d_model, self.max_len, self.base, self.p = d_model, max_len, base, dropout
        self.dropout = nn.Dropout(dropout)
        self.make()

    def make(self):
        table = rows(torch.arange(self.max_len), self.d_model, self.base)
        self.register_buffer("pe", table, persistent=self.persistent)

    def reset_parameters(self):
        self.pe.copy_(rows(torch.arange(self.max_len), self.d_model, self.base))

    def forward(self, x, start=0):
        if start + x.shape[1] > self.max_len:
            raise ValueError(f"only {self.max_len} positions are stored")
        return self.dropout(self.mix(x, self.read(x, start)))

    def read(self, x, start):
        return self.pe[start : start + x.shape[1]]

    def mix(self, x, table):
        return x + table.to(x.dtype)


class Computed(nn.Module):
    """Another right style: no table, angles from positions in each call; sequence first."""

    def __init__(self, dim):
        super().__init__()
        self.dim = dim

    def forward(self, hidden_states, offset: int = 0):
        here = torch.arange(offset, offset + len(hidden_states), device=hidden_states.device)
        return hidden_states + rows(here, self.dim)[:, None].type_as(hidden_states)


class TableAlone(Plain):
    """Right where returns="table" is said: gives (1, T, D)."""

    def forward(self, x):
        if x.shape[1] > self.max_len:
            raise ValueError(f"only {self.max_len} positions are stored")
        return self.pe[None, : x.shape[1]]


class Reader(Plain):
    """Right: looks rows up at positions."""

    def forward(self, positions):
        return self.pe[positions]


class ByBatch(Plain):
    """Written for (T, B, D)."""

    def forward(self, x):
        return self.dropout(x + self.pe[: x.size(0)].unsqueeze(1).to(x.dtype))


class CutByBatch(Plain):
    """Sliced by x.size(0), though the table has an axis for the batch."""

    def forward(self, x):
        return self.dropout(x + self.pe[None][:, : x.size(0)].to(x.dtype))


class Uncut(Plain):
    def forward(self, x):
        return x + self.pe[None].to(x.dtype)


class FirstAxisSlice(Plain):
    """The table was kept as (max_len, 1, D) when the slice went to the second axis."""

    def forward(self, x):
        return x + self.pe[:, None][:, : x.size(1)].to(x.dtype)


class Forgotten(Plain):
    def mix(self, x, table):
        x + table  # computed, and then the raw embedding is passed on
        return x


class Missing(Plain):
    def mix(self, x, table):
        return table.to(x.dtype).expand(x.shape)


class Scaled(Plain):
    def mix(self, x, table):
        return x * math.sqrt(self.d_model) + table.to(x.dtype)


class Subtracted(Plain):
    def mix(self, x, table):
        return x - table.to(x.dtype)


class AddedTwice(Plain):
    def mix(self, x, table):
        return x + table.to(x.dtype) + table.to(x.dtype)


class Promoted(Plain):
    def mix(self, x, table):
        return x + table


class Float32(Plain):
    def mix(self, x, table):
        return (x + table).float()


class NoStart(Plain):
    def read(self, x, start):
        return self.pe[: x.shape[1]]


class FromOne(Plain):
    def read(self, x, start):
        return rows(torch.arange(x.shape[1]) + start + 1, self.d_model)


class Normalised(Plain):
    """Positions divided by max_len."""

    def make(self):
        table = rows(torch.arange(self.max_len) / self.max_len, self.d_model, self.base)
        self.register_buffer("pe", table, persistent=False)


class LateStart(Plain):
    def read(self, x, start):
        return rows(torch.arange(x.shape[1]) + start + (start > 0), self.d_model)


class Unchecked(Plain):
    def forward(self, x, start=0):
        return self.dropout(self.mix(x, self.read(x, start)))


class Repeated(Unchecked):
    """Past the end the last row again."""

    def read(self, x, start):
        return self.pe[(start + torch.arange(x.shape[1])).clamp(max=self.max_len - 1)]


class Stored(Plain):
    persistent = True


class Trained(Plain):
    def make(self):
        self.pe = nn.Parameter(rows(torch.arange(self.max_len), self.d_model, self.base))


class ConstantWithoutHook(Plain):
    reset_parameters = property(lambda self: lambda: None)


class LoadedShort(Stored):
    """Pads a shorter table of a checkpoint with zeros."""

    def _load_from_state_dict(self, state, prefix, *more):
        short = state[prefix + "pe"]
        state[prefix + "pe"] = torch.cat((short, self.pe[len(short) :] * 0))
        super()._load_from_state_dict(state, prefix, *more)


class InverseFrequencies(Plain):
    """Keeps the speeds in a buffer that is cast with the module."""

    def make(self):
        speeds = self.base ** (-torch.arange(0, self.d_model, 2) / self.d_model)
        self.register_buffer("inv_freq", speeds, persistent=False)

    reset_parameters = property(lambda self: self._fill)

    def _fill(self):
        exponent = -torch.arange(0, self.d_model, 2) / self.d_model
        self.inv_freq.copy_(self.base**exponent)

    def read(self, x, start):
        angle = torch.arange(start, start + x.shape[1])[:, None] * self.inv_freq
        return torch.stack((angle.sin(), angle.cos()), -1).flatten(-2)[:, : self.d_model]


class PositionsInXsDtype(InverseFrequencies):
    def read(self, x, start):
        angle = torch.arange(start, start + x.shape[1]).to(x.dtype)[:, None] * self.inv_freq
        return torch.stack((angle.sin(), angle.cos()), -1).flatten(-2)[:, : self.d_model]


class Remembers(Plain):
    """The table is made by the first call, in its dtype, and reused."""

    def make(self):
        self.rows = None

    reset_parameters = property(lambda self: self.make)

    def read(self, x, start):
        if self.rows is None or len(self.rows) < start + x.shape[1]:
            self.rows = rows(torch.arange(start + x.shape[1]), self.d_model, self.base).to(x.dtype)
        return self.rows[start : start + x.shape[1]]


class RemembersLength(Remembers):
    def read(self, x, start):
        table = rows(torch.arange(start, start + x.shape[1]), self.d_model, self.base)
        if self.rows is None or len(self.rows) < x.shape[1]:
            self.rows = table
        elif len(self.rows) > x.shape[1]:
            return self.rows[-x.shape[1] :]
        return table


class AlwaysDrops(Plain):
    def mix(self, x, table):
        if x.shape[0] == 2 and x.shape[1] == 6 and self.calls():
            return nn.functional.dropout(x + table.to(x.dtype), self.p or 0.1)
        return x + table.to(x.dtype)

    def calls(self):
        """From the second call on, so that the first values are right."""
        self.n = getattr(self, "n", 0) + 1
        return self.n > 1


class Dropped(Plain):
    """The functional form, whose default is training=True."""

    def forward(self, x, start=0):
        return nn.functional.dropout(x + self.read(x, start).to(x.dtype), 0.5)


class Detached(Plain):
    def mix(self, x, table):
        return x.detach() + table.to(x.dtype)


class HalfGradient(Plain):
    def mix(self, x, table):
        return x / 2 + x.detach() / 2 + table.to(x.dtype)


class OwnBase(Plain):
    def make(self):
        self.base = 10_000.0
        super().make()


class SharedTable(Plain):
    """One table for all instances, whatever their base."""

    tables = {}

    def make(self):
        key = (self.max_len, self.d_model)
        table = rows(torch.arange(self.max_len), self.d_model, self.base)
        self.register_buffer("pe", self.tables.setdefault(key, table).clone(), persistent=False)


class EvenOnly(Plain):
    def make(self):
        table = torch.zeros(self.max_len, self.d_model)
        speeds = self.base ** (-torch.arange(0, self.d_model, 2) / self.d_model)
        angle = torch.arange(self.max_len)[:, None] * speeds
        table[:, 0::2], table[:, 1::2] = angle.sin(), angle.cos()
        self.register_buffer("pe", table, persistent=False)


class OneTokenIsFirst(Plain):
    """A single token is taken for the first one."""

    def read(self, x, start):
        return super().read(x, 0 if x.shape[1] == 1 else start)
