"""Rotations in the style of model code, right and wrong, for the tests of the rope contract."""

import torch
from torch import nn


def speeds(x, base=10_000.0, times=2.0, width=None):
    width = width or x.shape[-1]
    return base ** (-times * torch.arange(width // 2, dtype=torch.float64) / width)


def rotated(x, angle, layout="half", sign=1.0, second=1.0):
    """angle broadcasts to (..., T, P); coordinates behind 2 P stay."""
    cos, sin = angle.cos().to(x.dtype), sign * angle.sin().to(x.dtype)
    part, rest = x[..., : 2 * angle.shape[-1]], x[..., 2 * angle.shape[-1] :]
    if layout == "half":
        a, b = part.chunk(2, -1)
        y = torch.cat((a * cos - b * sin, second * (b * cos + a * sin)), -1)
    else:
        a, b = part[..., ::2], part[..., 1::2]
        y = torch.stack((a * cos - b * sin, second * (b * cos + a * sin)), -1).flatten(-2)
    return torch.cat((y, rest), -1)


def right(x, positions, layout="half"):
    return rotated(x, positions[:, None].double() * speeds(x), layout)


def with_speeds(make):
    """A rotation by other speeds."""
    return lambda x, positions: rotated(x, positions[:, None].double() * make(x))


def at(place):
    """A rotation at other positions: place(x, positions) broadcasts to (..., T)."""
    return lambda x, positions: rotated(x, place(x, positions)[..., None].double() * speeds(x))


class Remembers(nn.Module):
    """A table that grows with the longest call, from positions of the call's dtype."""

    def __init__(self, head_dim, base=10_000.0):
        super().__init__()
        self.head_dim, self.base, self.angle = head_dim, base, None

    def forward(self, x, start=0):
        end = start + x.shape[-2]
        if self.angle is None or len(self.angle) < end:
            places = torch.arange(end, dtype=x.dtype)[:, None]
            self.angle = places * speeds(x, self.base).to(x.dtype)
        return rotated(x, self.angle[start:end].double()).to(x.dtype)


def flat_memory(x, positions):
    """Takes the storage for (B, H, T, D), which a transposed view does not have."""
    y = right(x, positions)
    if x.is_contiguous():
        return y
    flat = x.transpose(1, 2).contiguous().view(x.shape)
    return right(flat, positions)


class FirstStart(nn.Module):
    """Remembers angles under the length alone."""

    def __init__(self, head_dim):
        super().__init__()
        self.head_dim, self.known = head_dim, {}

    def forward(self, x, start=0):
        n = x.shape[-2]
        if n not in self.known:
            self.known[n] = torch.arange(start, start + n)[:, None].double() * speeds(x)
        return rotated(x, self.known[n])


class Memo:
    """Remembers angles under a key that does not hold all that they depend on."""

    def __init__(self, key):
        self.key, self.known = key, {}

    def __call__(self, x, positions):
        angle = positions[:, None].double() * speeds(x)
        return rotated(x, self.known.setdefault(self.key(x, positions), angle))


class KeepsGraph(nn.Module):
    """Angles that hang on the graph of the first step."""

    def __init__(self, head_dim):
        super().__init__()
        pair = torch.arange(head_dim // 2, dtype=torch.float64)
        self.inv_freq = nn.Parameter(10_000.0 ** (-2 * pair / head_dim), requires_grad=True)
        self.angle = None

    def forward(self, x, start=0):
        if self.angle is None:
            self.angle = torch.arange(140_000)[:, None].double() * self.inv_freq
        return rotated(x, self.angle[start : start + x.shape[-2]])


class Buffer(nn.Module):
    """inv_freq as a buffer of the model's dtype; persistent or not."""

    persistent = True

    def __init__(self, head_dim, base=10_000.0, max_len=64):
        super().__init__()
        pair = torch.arange(head_dim // 2, dtype=torch.float32)
        self.register_buffer("inv_freq", base ** (-2 * pair / head_dim), self.persistent)

    def forward(self, x, positions):
        return rotated(x, positions[:, None].double() * self.inv_freq.double())


class NotPersistent(Buffer):
    persistent = False


class Table(nn.Module):
    """Cosines and sines of max_len positions, read without a look at the length."""

    def __init__(self, head_dim, max_len=64, base=10_000.0):
        super().__init__()
        pair = torch.arange(head_dim // 2, dtype=torch.float64, device="cpu")
        places = torch.arange(max_len, device="cpu")[:, None]
        self.angle = places * base ** (-2 * pair / head_dim)

    def forward(self, x, positions):
        return rotated(x, self.angle[positions])


class Refuses(Table):
    """The same, with a word for a position that is too large."""

    def forward(self, x, positions):
        if int(positions.max()) >= len(self.angle):
            raise ValueError(f"positions must be below {len(self.angle)}")
        return super().forward(x, positions)


SHARED = {}


class SharedTable(nn.Module):
    """A table for all instances, found by the width alone."""

    def __init__(self, head_dim, base=10_000.0):
        super().__init__()
        self.head_dim, self.base = head_dim, base

    def forward(self, x, positions):
        if self.head_dim not in SHARED:
            SHARED[self.head_dim] = speeds(x, self.base)
        return rotated(x, positions[:, None].double() * SHARED[self.head_dim])


class LastBase(nn.Module):
    """The base is kept on the class: the last instance sets it for all."""

    def __init__(self, head_dim, base=10_000.0):
        super().__init__()
        type(self).base = base

    def forward(self, x, positions):
        return rotated(x, positions[:, None].double() * speeds(x, self.base))


class GPTJ(nn.Module):
    """A part of each head turns; the class takes both widths."""

    def __init__(self, head_dim, rotary_dim):
        super().__init__()
        assert rotary_dim <= head_dim
        self.rotary_dim = rotary_dim

    def forward(self, x, positions):
        return rotated(x, positions[:, None].double() * speeds(x, width=self.rotary_dim))


class Choosy(nn.Module):
    """Right, and particular about its base and its length."""

    def __init__(self, head_dim, base=10_000.0, max_len=4096):
        super().__init__()
        if base != 10_000.0 or max_len < 32:
            raise ValueError("only one base, and no short tables")

    def forward(self, x, positions):
        return right(x, positions)


def as_complex(x, positions):
    """Interleaved pairs as complex numbers, back in the dtype of x."""
    turn = torch.polar(torch.ones(1, dtype=torch.float64), positions[:, None].double() * speeds(x))
    z = torch.view_as_complex(x.double().unflatten(-1, (-1, 2)).contiguous())
    return torch.view_as_real(z * turn).flatten(-2).to(x.dtype)
