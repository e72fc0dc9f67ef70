# SPDX-License-Identifier: MIT
"""What is wrong with a cache, told from outside: which tokens are off, in which chunks, and what
each output depends on.

A step cannot be simulated without its weights, so it is probed: tokens are changed and exchanged.
"""

import torch

from posenc_check.contracts.cache_runs import PROBES, Runs, differs, exchanged

KEPT = (
    "a run finds what an earlier one cached: the cache lies outside of the step; or make gives "
    "other weights each time"
)
FUTURE = "no causal mask: a token sees the ones behind it, which a cache cannot know"
MIXED = "the sequences of a batch share cached keys: an axis of the cache is lost"
ORDERLESS = "no position reaches the attention: earlier tokens are a set to it"
ENDS = (
    "positions stop growing: past the last row of a table, or the trained length, tokens share one"
)
CALL_LENGTH = (
    "the first chunk differs already: something depends on the length of the call, "
    "not on the position of the token"
)
NO_MASK = "the tokens of a chunk see later ones of it: the mask is left out behind a cache"
NO_CACHE = "cached keys are not seen: each call attends to its own tokens alone"
UPPER_LEFT = (
    "the mask is aligned to the upper left: with a cache the queries belong to the last keys"
)
RESTARTED = (
    "each call counts from position 0 again: the number of cached tokens does not reach the "
    "positions"
)
CALLS = "the offset counts calls, not tokens"
SHARED = "the tokens of a later chunk share one position: it does not count on within the chunk"
AGAIN = (
    "cached keys are rotated again at each step: store them rotated and leave them, or store "
    "them unrotated"
)
JUMPS = "positions jump after the first step: the counter is advanced once more than it should be"
ONE_SHORT = "the positions of a later chunk are one too small: two tokens share one"
QUERIES = (
    "only the queries are wrong: a new query stands behind the cached keys, at the position of "
    "its own key"
)
CONSTANT = "the positions of all later chunks are moved by one and the same number"
BORDERS = (
    "each border between chunks moves the positions: the counter is advanced twice, or is not kept"
)
FORGOTTEN = "the first tokens have left the cache; the full pass still sees them"
FIVE = [1] * 5


def diagnosis(runs: Runs) -> str:
    """The likely cause; "" if nothing fits."""
    single, few = runs.wrong(5, FIVE), runs.wrong(7, [4, 1, 1, 1])
    pair = runs.wrong(5, [3, 2])
    if single[0] or any(few[:4]) or any(pair[:3]):
        return CALL_LENGTH
    told = _masks(runs, [3, 2]) or _masks(runs, FIVE)
    if told:
        return told
    if not any(single):
        return _chunks(few, pair)
    if _blind(runs):
        return RESTARTED
    if not single[1]:
        return AGAIN if few[4] else JUMPS
    return _moved(runs)


def long_diagnosis(runs: Runs, chunks: list[int]) -> str:
    """Where short runs are right."""
    x = runs.tokens(sum(chunks), PROBES)
    other = x.clone()
    other[:, 0] += 1
    here = differs(runs.run(other, chunks), runs.run(x, chunks), tolerance=0)[-1]
    there = differs(runs.run(other), runs.run(x), tolerance=0)[-1]
    return FORGOTTEN if there and not here else ""


def _masks(runs: Runs, chunks: list[int]) -> str:
    seen, right = runs.seen(5, chunks), runs.seen(5)
    if seen.equal(right):
        return ""
    if seen.triu(1).any():
        return NO_MASK
    starts = [sum(chunks[:i]) for i in range(len(chunks)) for _ in range(chunks[i])]
    own = [[start <= j < i for j in range(5)] for i, start in enumerate(starts)]
    # Row i of a chunk that begins at `start` sees keys 0 to i - start.
    upper = [[j <= i - start and j != i for j in range(5)] for i, start in enumerate(starts)]
    # Whether a token depends on itself says little: with one key its query does not matter.
    others = (seen & ~torch.eye(5, dtype=torch.bool)).tolist()
    if others == own:
        return NO_CACHE
    if others == upper:
        return UPPER_LEFT
    missing = (right & ~seen).nonzero().tolist()
    if not missing:
        return ""
    i, j = missing[0]
    return f"token {i} does not see token {j}: the cache, or the mask over it, leaves it out"


def _chunks(few: list[bool], pair: list[bool]) -> str:
    """Single tokens are right from the first one on."""
    if few[4]:
        return CALLS
    return SHARED if pair[4] and not pair[3] else ""


def _blind(runs: Runs) -> bool:
    """Whether the order of earlier single tokens leaves the last output as it is."""
    x = runs.tokens(5, PROBES)
    other = exchanged(exchanged(x, 0, 2), 1, 3)
    full = differs(runs.run(x), runs.run(other))[-1]
    return full and not differs(runs.run(x, FIVE), runs.run(other, FIVE))[-1]


def _moved(runs: Runs) -> str:
    """The second of single tokens is wrong already."""
    x = runs.tokens(5, PROBES)
    single = runs.run(x, FIVE)
    swapped = runs.run(exchanged(x, 0, 1), FIVE)
    if not differs(single, swapped)[-1]:
        return ONE_SHORT
    # What a query meets does not depend on the chunks that its keys came in.
    if not any(differs(single, runs.run(x, [n, 5 - n]))[n] for n in (2, 3)):
        return QUERIES
    return BORDERS if any(differs(single, runs.run(x, [1, 4]))) else CONSTANT
