# SPDX-License-Identifier: MIT
"""T5 buckets as people have got them wrong, each as a change of one right form."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from posenc_check.causes import Cause


@dataclass(frozen=True)
class Form:
    """All that a bucket is made of.

    Attributes:
        sign: -1 takes the gap as query minus key.
        split: whether the buckets are shared out between the sides.
        later: first gap of the upper half.
        upper: where the upper half begins, as a share of all buckets; 0: sides share buckets.
        two_sided: a decoder that takes the distance of later keys too.
        near: buckets of their own, as a share of a side.
        capped: the bucket where the logarithm stops, counted from the end of the side; None: never.
        rounding: of the logarithm.
        short: what an exact power of the logarithm falls short by.
        largest: multiplies max_distance.
        log_base: the logarithm's own base, if it is not max_distance / near.
    """

    bidirectional: bool
    num_buckets: int
    max_distance: int
    sign: int = 1
    split: bool = True
    later: int = 1
    upper: float = 0.5
    two_sided: bool = False
    near: float = 0.5
    capped: int | None = 1
    rounding: Callable = math.floor
    short: float = -1e-9
    largest: float = 1.0
    log_base: float = 0.0


def bucket(gap: int, form: Form) -> float:
    gap = form.sign * gap
    side, offset = form.num_buckets, 0
    if form.bidirectional:
        side = side // 2 if form.split else side
        offset = form.num_buckets * form.upper if gap >= form.later else 0
    both = form.bidirectional or form.two_sided
    distance = abs(gap) if both else max(-gap, 0)
    near = max(int(side * form.near), 1)
    if distance < near:
        return offset + distance
    base = form.log_base or form.max_distance * form.largest / near
    steps = math.log(distance / near) / math.log(base) * (side - near)
    far = near + form.rounding(steps - form.short)
    return offset + (far if form.capped is None else min(far, side - form.capped))


def _change(**fields) -> Callable[[Form], Form]:
    return lambda form: replace(form, **fields)


def _decoder_halved(form: Form) -> Form:
    return form if form.bidirectional else replace(form, num_buckets=form.num_buckets // 2)


def _other_side(form: Form) -> Form:
    return replace(form, bidirectional=not form.bidirectional)


CHANGES: list[tuple[str, Callable[[Form], Form]]] = [
    (
        "the gap is taken as query - key, not as key - query: the sides are swapped",
        _change(sign=-1),
    ),
    (
        "the logarithm is not capped: far gaps run past the last bucket of their side",
        _change(capped=None),
    ),
    ("the cap is one bucket too high", _change(capped=0)),
    ("the cap is one bucket too low", _change(capped=2)),
    ("the sides share buckets: nothing is added for keys after the query", _change(upper=0)),
    ("gap 0 counts as a key after the query", _change(later=0)),
    ("the buckets are not halved between the sides", _change(split=False)),
    ("bidirectional is taken the other way round", _other_side),
    (
        "a decoder folds keys after the query onto the keys before it: they belong to bucket 0",
        _change(two_sided=True),
    ),
    ("a decoder halves its buckets: all of them are for keys before the query", _decoder_halved),
    (
        "all buckets of a side are near ones: half of them should be logarithmic",
        _change(near=1, capped=1),
    ),
    ("a quarter of a side's buckets are near ones, not half", _change(near=0.25)),
    ("the logarithm is rounded to the nearest bucket, not down", _change(rounding=round)),
    ("the logarithm is rounded up, not down", _change(rounding=math.ceil, short=1e-9)),
    ("the logarithm is not rounded to a whole bucket", _change(rounding=float)),
    (
        "at an exact power the quotient of the logarithms falls a rounding short",
        _change(short=1e-9),
    ),
    ("max_distance is doubled", _change(largest=2)),
    ("max_distance is halved", _change(largest=0.5)),
    ("the logarithm has base 2, whatever max_distance is", _change(log_base=2.0)),
    (
        "the logarithm is divided by log(max_distance), not by log(max_distance / near)",
        lambda form: replace(form, log_base=float(form.max_distance)),
    ),
]


def causes(gaps: list[int], form: Form) -> list[Cause]:
    def simulate(change) -> Tensor:
        try:
            return torch.tensor([bucket(g, change(form)) for g in gaps], dtype=torch.float64)
        except (ValueError, ZeroDivisionError):  # this fault cannot be had with these numbers
            return torch.zeros(0)

    return [Cause(text, lambda change=change: simulate(change)) for text, change in CHANGES]
