"""Attention with a cache in a few lines, and the full pass that it must equal."""

import torch

from snippets.masks import causal_mask
from tests.methods import HEAD_DIM, HEADS, START, generic

BATCH, LENGTH = 2, 10
POSITIONS = torch.arange(START, START + LENGTH)
CHUNKS = (5, 1, 1, 3)  # a prefill, two single tokens, three at once

# float64: angles near 1000 are rounded by 1e-13, and sums of ten numbers below 5 add 1e-14.
EQUAL = 1e-10
WRONG = 1e-2


def tokens(length=LENGTH, batch=BATCH, seed=0):
    """q, k and v of `length` tokens, as three projections give them."""
    return [generic(batch, HEADS, length, HEAD_DIM, seed=seed + i) for i in range(3)]


def difference(got, want) -> float:
    assert got.shape == want.shape
    return (got - want).abs().max().item()


def full_pass(method, q, k, v, positions, mask=None):
    """All tokens at once, causal by position unless a mask says otherwise."""
    if mask is None:
        mask = causal_mask(positions, positions)
    q, k = method.turn(q, positions, keys=False), method.turn(k, positions, keys=True)
    return method.attend(q, k, v, positions, positions, mask)


class CachedAttention:
    """A few tokens a call; keeps their keys, values and positions.

    Keys are turned when they come in, or with `turn_late` at each call, from a cache that holds
    them unturned. `q_shift` is a wrong count of the queries, for tests that must notice it.
    """

    def __init__(self, method, *, turn_late=False, q_shift=0):
        self.method, self.turn_late, self.q_shift = method, turn_late, q_shift
        self.keys = self.values = torch.empty(0)
        self.positions = torch.empty(0, dtype=torch.int64)

    def __call__(self, q, k, v, positions, mask=None):
        turn, counted = self.method.turn, positions + self.q_shift
        k = k if self.turn_late else turn(k, positions, keys=True)
        self.keys, self.values = appended(self.keys, k, -2), appended(self.values, v, -2)
        self.positions = appended(self.positions, positions, -1)
        if mask is None:
            mask = causal_mask(positions, self.positions)
        keys = turn(self.keys, self.positions, keys=True) if self.turn_late else self.keys
        q = turn(q, counted, keys=False)
        return self.method.attend(q, keys, self.values, counted, self.positions, mask)

    def keep(self, rows: slice) -> None:
        """Forget the other cached tokens."""
        self.keys, self.values = self.keys[:, :, rows], self.values[:, :, rows]
        self.positions = self.positions[..., rows]


def appended(cached, new, dim):
    return torch.cat((cached, new), dim) if cached.numel() else new


def in_chunks(cached, q, k, v, positions, chunks=CHUNKS):
    """The same tokens as `full_pass`, chunk after chunk."""
    parts = zip(*(x.split(chunks, -2) for x in (q, k, v)), positions.split(chunks, -1))
    return torch.cat([cached(*part) for part in parts], dim=-2)
