# SPDX-License-Identifier: MIT
"""Reorderings of projection rows as people have got them wrong, each as an order of rows."""

import itertools
from collections.abc import Callable
from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Form:
    """How many rows there are, which way they are reordered, and how they make up heads."""

    to: str
    n_heads: int
    head_dim: int
    rotary_dim: int

    @property
    def n_rows(self) -> int:
        return self.n_heads * self.head_dim


def order(form: Form) -> list[int]:
    """For each new row the old one."""
    rows = []
    for head in range(form.n_heads):
        inner = [*_turned(form.rotary_dim, form.to), *range(form.rotary_dim, form.head_dim)]
        rows += [head * form.head_dim + at for at in inner]
    return rows


def _turned(width: int, to: str) -> list[int]:
    if to == "half":
        return [*range(0, width, 2), *range(1, width, 2)]
    return [at for pair in zip(range(width // 2), range(width // 2, width)) for at in pair]


def _other(form: Form) -> list[int]:
    return order(replace(form, to="half" if form.to == "interleaved" else "interleaved"))


def _as_heads(form: Form, n_heads: int) -> list[int]:
    if n_heads < 1 or form.n_rows % n_heads or form.n_rows // n_heads % 2:
        return list(range(form.n_rows))
    width = form.n_rows // n_heads
    return order(Form(form.to, n_heads, width, width))


def _odd_first(form: Form) -> list[int]:
    """The two halves, or the two members of a pair, exchanged."""
    if form.to == "half":
        half = [*range(1, form.rotary_dim, 2), *range(0, form.rotary_dim, 2)]
    else:
        back = _turned(form.rotary_dim, form.to)
        half = [at for pair in zip(back[1::2], back[0::2]) for at in pair]
    inner = [*half, *range(form.rotary_dim, form.head_dim)]
    return [head * form.head_dim + at for head in range(form.n_heads) for at in inner]


def _heads_inside(form: Form) -> list[int]:
    """Rows read as (D, H): the heads of one coordinate lie together."""
    inner = [*_turned(form.rotary_dim, form.to), *range(form.rotary_dim, form.head_dim)]
    return [at * form.n_heads + head for at in inner for head in range(form.n_heads)]


def _whole_head(form: Form) -> list[int]:
    return order(replace(form, rotary_dim=form.head_dim))


def _last_part(form: Form) -> list[int]:
    """The rotated coordinates are taken to be the last ones of a head."""
    kept = form.head_dim - form.rotary_dim
    inner = [*range(kept), *(kept + at for at in _turned(form.rotary_dim, form.to))]
    return [head * form.head_dim + at for head in range(form.n_heads) for at in inner]


def _first_head(form: Form) -> list[int]:
    return [*order(form)[: form.head_dim], *range(form.head_dim, form.n_rows)]


def orders(form: Form, other_heads: int) -> list[tuple[str, Callable[[], list[int]]]]:
    """Faults in words, and the order of rows that each gives."""
    back = "interleaved" if form.to == "half" else "half"
    single = [
        ("the rows come back in their old order", lambda: list(range(form.n_rows))),
        (
            f"it reorders the other way, from {form.to} to {back}; you said to {form.to}",
            lambda: _other(form),
        ),
        (
            "all rows of a head are reordered, not those that turn alone",
            lambda: _whole_head(form),
        ),
        ("the last rows of a head are reordered, not the first ones", lambda: _last_part(form)),
        (
            "all rows are treated as one head: rows of different heads are mixed",
            lambda: _as_heads(form, 1),
        ),
        (
            "the number of heads is fixed: keys and values have their own under grouped queries",
            lambda: _as_heads(form, other_heads),
        ),
        (
            "n_heads and head_dim are taken for each other",
            lambda: _as_heads(form, form.head_dim),
        ),
        ("only the first head is reordered", lambda: _first_head(form)),
        (
            "the two members of each pair are exchanged",
            lambda: _odd_first(form),
        ),
        (
            "the heads are read as the inner axis, (D, H), not as the outer one, (H, D)",
            lambda: _heads_inside(form),
        ),
        ("the rows run backwards", lambda: list(range(form.n_rows))[::-1]),
    ]
    twice = [
        (f"{one}; and {two}", lambda a=first, b=second: _after(a(), b()))
        for (one, first), (two, second) in itertools.permutations(single[1:], 2)
    ]
    again = ("it reorders twice", lambda: _after(order(form), order(form)))
    return [*single, again, *twice]


def _after(first: list[int], second: list[int]) -> list[int]:
    return [first[at] for at in second]
