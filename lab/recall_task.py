"""Recall: a value has to be found again by its key, and what stands between is noise.

A row is made of slots of two tokens. Eight slots hold a key and its value, the last eight ask for
these keys in another order, all others hold two values that belong to no key. Which value is meant
is a matter of order alone: it is the one right after the key. The value of a question is the only
target that is scored. A longer row has more noise, nothing else.
"""

from typing import NamedTuple

import torch
from torch import Tensor

from lab.training import IGNORED

N_KEYS, N_VALUES, N_ASKED = 16, 16, 8  # tokens: keys first, then values
N_SYMBOLS = N_KEYS + N_VALUES


class Rows(NamedTuple):
    tokens: Tensor  # (B, T)
    targets: Tensor  # (B, T), IGNORED where nothing is asked
    distances: Tensor  # (B, N_ASKED), tokens from a key to its question


def different(n_rows: int, n: int, chosen: int, generator: torch.Generator) -> Tensor:
    """(n_rows, chosen) numbers below n, all different within a row, in random order."""
    return torch.rand(n_rows, n, generator=generator).argsort(dim=1)[:, :chosen]


def draw(length: int, batch: int, generator: torch.Generator) -> Rows:
    """Random rows; pairs stand anywhere before the questions."""
    slots = length // 2
    if length % 2 or slots < 2 * N_ASKED:
        raise ValueError(f"length must be even and at least {4 * N_ASKED}, got {length}")
    rows = torch.arange(batch)[:, None]
    noise = torch.randint(N_VALUES, (batch, slots, 2), generator=generator)
    tokens = N_KEYS + noise  # (B, slots, 2)
    keys = different(batch, N_KEYS, N_ASKED, generator)  # (B, N_ASKED)
    values = N_KEYS + torch.randint(N_VALUES, keys.shape, generator=generator)
    pairs = torch.stack((keys, values), dim=-1)  # (B, N_ASKED, 2)
    places = different(batch, slots - N_ASKED, N_ASKED, generator)  # slots of the pairs
    tokens[rows, places] = pairs
    order = different(batch, N_ASKED, N_ASKED, generator)
    tokens[:, -N_ASKED:] = pairs[rows, order]
    asked = slots - N_ASKED + torch.arange(N_ASKED)  # slots of the questions
    targets = torch.full((batch, slots, 2), IGNORED)
    targets[:, -N_ASKED:, 0] = values[rows, order]  # a key's target is its value
    distances = 2 * (asked - places[rows, order])
    return Rows(tokens.flatten(1), targets.flatten(1), distances)
