# SPDX-License-Identifier: MIT
"""Rotations as people have got them wrong, each as a change of one right form."""

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from posenc_check.causes import Cause

F64 = torch.float64


@dataclass(frozen=True)
class Form:
    """All that a rotation is made of.

    Attributes:
        inv_freq: (P,) float64.
        positions: broadcasts to (B, H, T), float64.
        base, width: what inv_freq was made from; width is the rotated part, 2 P.
        direction: 1 turns (a, b) to (a cos - b sin, b cos + a sin), -1 the other way.
        second: sign of the second coordinate; -1 reflects.
        exchanged: sine and cosine are taken for each other.
        out_layout: where the two coordinates of a pair go, if not where they came from.
        rounding: dtype of the speeds, the positions, the angles, and of cos and sin.
    """

    layout: str
    inv_freq: Tensor
    positions: Tensor
    base: float
    width: int
    head_dim: int
    factor: float = 1.0
    direction: int = 1
    second: int = 1
    exchanged: bool = False
    out_layout: str = ""
    rounding: tuple = (F64, F64, F64, F64)


def turned(x: Tensor, form: Form) -> Tensor:
    """x (B, H, T, D) float64, by complex numbers."""
    speed_type, position_type, angle_type, table_type = form.rounding
    speed = form.inv_freq.to(speed_type).to(F64)
    here = form.positions.to(position_type).to(F64)
    angle = (here[..., None] * speed).to(angle_type).to(F64)  # (B, H, T, P)
    cos, sin = angle.cos().to(table_type).to(F64), angle.sin().to(table_type).to(F64)
    cos, sin = (sin, cos) if form.exchanged else (cos, sin)
    part = x[..., : 2 * len(speed)]
    if form.layout == "half":
        a, b = part.chunk(2, dim=-1)
    else:
        a, b = part[..., 0::2], part[..., 1::2]
    z = torch.complex(a, b) * torch.complex(cos, form.direction * sin) * form.factor
    first, second = z.real, form.second * z.imag
    if (form.out_layout or form.layout) == "half":
        y = torch.cat((first, second), dim=-1)
    else:
        y = torch.stack((first, second), dim=-1).flatten(-2)
    return torch.cat((y, x[..., 2 * len(speed) :]), dim=-1)


def _speeds(exponent: Callable[[int, Form], float]):
    """A change of the speeds: base ** exponent(i, form)."""

    def change(form: Form) -> Form:
        powers = [form.base ** exponent(i, form) for i in range(len(form.inv_freq))]
        return replace(form, inv_freq=torch.tensor(powers, dtype=F64))

    return change


def _places(place: Callable[[Tensor], Tensor]):
    return lambda form: replace(form, positions=place(form.positions))


def _rounding(which: int, dtype: torch.dtype):
    def change(form: Form) -> Form:
        kinds = [dtype if i == which else kind for i, kind in enumerate(form.rounding)]
        return replace(form, rounding=tuple(kinds))

    return change


def _layout(form: Form) -> Form:
    return replace(form, layout="half" if form.layout == "interleaved" else "interleaved")


def _moved(form: Form) -> Form:
    return replace(form, out_layout=_layout(form).layout)


def _head(form: Form) -> Form:
    """All pairs of the head turn, though only a part of them should."""
    speeds = [form.base ** (-2 * i / form.head_dim) for i in range(form.head_dim // 2)]
    return replace(form, inv_freq=torch.tensor(speeds, dtype=F64))


BF16, FP16 = torch.bfloat16, torch.float16
STRUCTURE = {
    "half": "the pairs are interleaved, (0, 1), (2, 3) and so on; you said half",
    "interleaved": "the pairs are half a head apart, (0, D/2), (1, D/2 + 1) and so on; "
    "you said interleaved",
}
CHANGES: list[tuple[str, Callable[[Form], Form]]] = [
    (
        "the speeds are those of the whole head, not of its rotated part",
        _speeds(lambda i, form: -2 * i / form.head_dim),
    ),
    ("the whole head turns, not its rotated part alone", _head),
    (
        "it turns the other way: the sign of the sine is swapped",
        lambda form: replace(form, direction=-1),
    ),
    ("sine and cosine are exchanged", lambda form: replace(form, exchanged=True)),
    ("the two coordinates of a pair come back in the places of the other layout", _moved),
    (
        "the angles are read as degrees",
        lambda form: replace(form, inv_freq=form.inv_freq * math.pi / 180),
    ),
    ("the second row has the wrong sign: a reflection", lambda form: replace(form, second=-1)),
    (
        "exponent sign: the speeds are base ** (+2 i / D) and grow",
        _speeds(lambda i, form: 2 * i / form.width),
    ),
    (
        "the exponent lacks its factor 2: base ** (-i / D)",
        _speeds(lambda i, form: -i / form.width),
    ),
    (
        "the exponent doubles the column, not the pair: base ** (-4 i / D)",
        _speeds(lambda i, form: -4 * i / form.width),
    ),
    (
        "the speeds end at 1 / base: the exponent is divided by D / 2 - 1, not by D / 2",
        _speeds(lambda i, form: -i / max(form.width // 2 - 1, 1)),
    ),
    (
        "the exponent is divided by D - 2",
        _speeds(lambda i, form: -2 * i / max(form.width - 2, 1)),
    ),
    (
        "integer division: 2 i // D is 0, and all pairs turn alike",
        _speeds(lambda i, form: -(2 * i // form.width)),
    ),
    ("positions start at 1", _places(lambda p: p + 1)),
    ("positions are one too small", _places(lambda p: p - 1)),
    (
        "the given positions are ignored: rows are counted from 0",
        _places(lambda p: torch.arange(p.shape[-1], dtype=F64).expand(p.shape)),
    ),
    ("nothing is turned", _places(torch.zeros_like)),
    (
        "the heads are counted, not the tokens: the axes H and T are taken for each other (if x "
        "comes as (B, T, H, D), say so with axes BTHD)",
        # Seen only where there are as many of both; other sizes stay as they are.
        _places(lambda p: p.transpose(-1, -2) if p.shape[-1] == p.shape[-2] else p),
    ),
    ("the attention factor is not applied", lambda form: replace(form, factor=1.0)),
    ("the attention factor is squared", lambda form: replace(form, factor=form.factor**2)),
    ("the angles are computed in bfloat16", _rounding(2, BF16)),
    ("the inverse frequencies are rounded to bfloat16", _rounding(0, BF16)),
    ("the positions are rounded to bfloat16, which merges 256 and 257", _rounding(1, BF16)),
    (
        "positions, speeds, and angles are bfloat16",
        lambda form: replace(form, rounding=(BF16, BF16, BF16, F64)),
    ),
    (
        "positions, speeds, angles, cosines, and sines are bfloat16",
        lambda form: replace(form, rounding=(BF16,) * 4),
    ),
    ("the angles are computed in float16", _rounding(2, FP16)),
    ("the inverse frequencies are rounded to float16", _rounding(0, FP16)),
    ("the positions are rounded to float16, which counts to 2048", _rounding(1, FP16)),
    (
        "positions, speeds, and angles are float16",
        lambda form: replace(form, rounding=(FP16, FP16, FP16, F64)),
    ),
    (
        "positions, speeds, angles, cosines, and sines are float16",
        lambda form: replace(form, rounding=(FP16,) * 4),
    ),
    ("sines and cosines are rounded to bfloat16", _rounding(3, BF16)),
]


def causes(
    x: Tensor, form: Form, pairs: bool = True, both: bool = False
) -> Callable[[Tensor], Iterator[Cause]]:
    """From what was got: single faults, then another base, then pairs of faults if asked.

    both: x is queries and keys, one behind the other, of which one alone may be wrong.
    """
    changes = [(STRUCTURE[form.layout], _layout), *CHANGES]

    def found(got: Tensor) -> Iterator[Cause]:
        for text, change in changes:
            yield Cause(text, lambda change=change: turned(x, change(form)))
        yield from _other_base(x, form, got)
        for text, change in changes if both else []:
            right, wrong = turned(x, form).chunk(2), turned(x, change(form)).chunk(2)
            yield Cause(f"of k alone: {text}", lambda r=right, w=wrong: torch.cat((r[0], w[1])))
            yield Cause(f"of q alone: {text}", lambda r=right, w=wrong: torch.cat((w[0], r[1])))
        for (one, first), (other, second) in itertools.combinations(changes if pairs else [], 2):
            yield Cause(f"{one}; and {other}", lambda f=first, s=second: turned(x, s(f(form))))

    return found


def _other_base(x: Tensor, form: Form, got: Tensor) -> Iterator[Cause]:
    """The base that pair 1 shows, if every pair shows the same."""
    half = form.width // 2
    columns = (1, 1 + half) if form.layout == "half" else (2, 3)
    if half < 2 or got.shape != x.shape or not torch.isfinite(got).all():
        return
    before, after = (torch.complex(t[..., columns[0]], t[..., columns[1]]) for t in (x, got))
    places = form.positions.expand(before.shape).flatten()
    at = int(places.abs().masked_fill(places == 0, math.inf).argmin())
    speed = float(torch.angle(after.flatten()[at] / before.flatten()[at]) / places[at])
    if speed <= 0:
        return
    base = speed ** (-form.width / 2)
    powers = [base ** (-2 * i / form.width) for i in range(half)]
    other = replace(form, inv_freq=torch.tensor(powers, dtype=F64))
    rounded = float(f"{base:.4g}")
    text = f"the base is about {rounded:g}, you said {form.base:g}"
    yield Cause(text, lambda: turned(x, other))
