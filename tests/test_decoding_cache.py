"""A cache that forgets: a sliding window, and drafted tokens that are taken back."""

import pytest
import torch

from snippets.masks import causal_mask
from snippets.rope import apply_rope, rope_inv_freq
from tests.decoding import (
    EQUAL,
    LENGTH,
    POSITIONS,
    WRONG,
    CachedAttention,
    difference,
    full_pass,
    in_chunks,
    tokens,
)
from tests.methods import HEAD_DIM, METHODS, START, Method

WINDOW = 4  # a token sees itself and the three before it

every_method = pytest.mark.parametrize("name", METHODS)


def window_mask(q_positions, k_positions):
    near = k_positions > q_positions[:, None] - WINDOW
    return causal_mask(q_positions, k_positions) & near


def rolling(cached, kept):
    """One token at a time; after each, only the last `kept` tokens stay in the cache."""
    outputs = []
    for token in zip(*(x.split(1, -2) for x in tokens()), POSITIONS.split(1)):
        seen = torch.cat((cached.positions, token[-1]))
        outputs.append(cached(*token, window_mask(token[-1], seen)))
        cached.keep(slice(-kept, None))
    return torch.cat(outputs, dim=-2)


def windowed(name):
    mask = window_mask(POSITIONS, POSITIONS)
    return full_pass(METHODS[name], *tokens(), POSITIONS, mask)


@every_method
@pytest.mark.parametrize("turn_late", [False, True], ids=["turned", "unturned"])
def test_a_rolling_cache_equals_the_full_pass_with_a_window(name, turn_late):
    got = rolling(CachedAttention(METHODS[name], turn_late=turn_late), WINDOW - 1)
    assert difference(got, windowed(name)) <= EQUAL


@every_method
def test_a_rolling_cache_one_token_too_small_is_noticed(name):
    got = rolling(CachedAttention(METHODS[name]), WINDOW - 2)
    assert difference(got, windowed(name)) >= WRONG


@every_method
def test_a_window_changes_the_output(name):
    assert difference(windowed(name), full_pass(METHODS[name], *tokens(), POSITIONS)) >= WRONG


def by_slot(q_position):
    """Keys turned late by their place in the cache, queries by `q_position(keys in the cache)`."""

    def turn(x, positions, keys):
        if not keys:
            return x  # `attend` turns queries: only there the number of keys is known
        return apply_rope(x, torch.arange(len(positions)), rope_inv_freq(HEAD_DIM))

    def attend(q, k, v, q_positions, k_positions, mask):
        here = torch.tensor([q_position(len(k_positions), q_positions)])
        q = apply_rope(q, here, rope_inv_freq(HEAD_DIM))
        return METHODS["half"].attend(q, k, v, q_positions, k_positions, mask)

    return Method(turn, attend)


def test_keys_counted_by_slot_need_queries_counted_by_slot():
    slots = by_slot(lambda n_keys, q_positions: n_keys - 1)
    got = rolling(CachedAttention(slots, turn_late=True), WINDOW - 1)
    assert difference(got, windowed("half")) <= EQUAL
    absolute = by_slot(lambda n_keys, q_positions: int(q_positions))
    got = rolling(CachedAttention(absolute, turn_late=True), WINDOW - 1)
    assert difference(got, windowed("half")) >= WRONG


PREFIX, DRAFTED, ACCEPTED = 6, 4, 2
DONE = PREFIX + ACCEPTED


def after_a_draft(name, *, truncate, first=START + DONE, turn_late=False):
    """Six tokens, four drafted of which two are right, then the true ones from `first` on."""
    true, draft = tokens(), tokens(seed=20)
    cached = CachedAttention(METHODS[name], turn_late=turn_late)
    cached(*(x[:, :, :PREFIX] for x in true), POSITIONS[:PREFIX])
    right = [x[:, :, PREFIX:DONE] for x in true]
    wrong = [x[:, :, DONE : PREFIX + DRAFTED] for x in draft]
    drafted = [torch.cat(pair, dim=2) for pair in zip(right, wrong)]
    verified = cached(*drafted, POSITIONS[PREFIX:])
    if truncate:
        cached.keep(slice(DONE))
    rest = LENGTH - DONE
    new = [x[:, :, DONE:] for x in true]
    positions = torch.arange(first, first + rest)
    tail = in_chunks(cached, *new, positions, (1,) * rest)
    return verified[:, :, :ACCEPTED], tail


@every_method
@pytest.mark.parametrize("turn_late", [False, True], ids=["turned", "unturned"])
def test_rejected_tokens_leave_no_trace_when_the_cache_is_cut(name, turn_late):
    want = full_pass(METHODS[name], *tokens(), POSITIONS)
    accepted, tail = after_a_draft(name, truncate=True, turn_late=turn_late)
    assert difference(accepted, want[:, :, PREFIX:DONE]) <= EQUAL
    assert difference(tail, want[:, :, DONE:]) <= EQUAL


@every_method
@pytest.mark.parametrize("first", [START + DONE, START + LENGTH], ids=["right", "run_on"])
def test_rejected_tokens_that_stay_in_the_cache_are_noticed(name, first):
    want = full_pass(METHODS[name], *tokens(), POSITIONS)
    _, tail = after_a_draft(name, truncate=False, first=first)
    assert difference(tail, want[:, :, DONE:]) >= WRONG


@every_method
def test_a_cut_cache_with_a_count_that_runs_on_is_noticed(name):
    """The rejected tokens are gone, but the next one is still counted after them."""
    want = full_pass(METHODS[name], *tokens(), POSITIONS)
    _, tail = after_a_draft(name, truncate=True, first=START + LENGTH)
    assert difference(tail, want[:, :, DONE:]) >= WRONG
