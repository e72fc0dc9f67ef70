"""Chunk after chunk with a cache gives what one causal pass gives, for every fixed rule."""

import pytest
import torch

from posenc_check import oracles
from snippets.attention import attention
from snippets.m_rope import apply_m_rope, m_rope_axes, m_rope_positions
from snippets.masks import causal_mask
from snippets.rope import rope_inv_freq
from snippets.sinusoidal import SinusoidalPositionEncoding
from tests.decoding import (
    BATCH,
    CHUNKS,
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
from tests.methods import HEAD_DIM, HEADS, METHODS, START, Method, generic

every_method = pytest.mark.parametrize("name", METHODS)
early_or_late = pytest.mark.parametrize("turn_late", [False, True], ids=["turned", "unturned"])


@early_or_late
@every_method
def test_decoding_with_a_cache_equals_the_full_causal_pass(name, turn_late):
    q, k, v = tokens()
    cached = CachedAttention(METHODS[name], turn_late=turn_late)
    got = in_chunks(cached, q, k, v, POSITIONS)
    assert difference(got, full_pass(METHODS[name], q, k, v, POSITIONS)) <= EQUAL


@pytest.mark.parametrize("layout", ["half", "interleaved"])
def test_the_full_pass_of_these_tests_is_attention_over_turned_queries_and_keys(layout):
    q, k, v = tokens()
    speeds = [oracles.rope_speed(pair, HEAD_DIM) for pair in range(HEAD_DIM // 2)]
    turned_q, turned_k = (oracles.rope(x, POSITIONS, speeds, layout) for x in (q, k))
    causal = (torch.arange(LENGTH) <= torch.arange(LENGTH)[:, None]).expand(2, 3, -1, -1)
    want = oracles.attention(turned_q, turned_k, v, mask=causal)
    assert difference(full_pass(METHODS[layout], q, k, v, POSITIONS), want) <= EQUAL


@every_method
def test_the_methods_of_these_tests_are_all_different(name):
    q, k, v = tokens()
    own = full_pass(METHODS[name], q, k, v, POSITIONS)
    for other, method in METHODS.items():
        if other != name:
            assert difference(full_pass(method, q, k, v, POSITIONS), own) >= WRONG, other


@pytest.mark.parametrize("name", [name for name in METHODS if name != "alibi"])
def test_queries_counted_one_too_far_are_noticed(name):
    q, k, v = tokens()
    got = in_chunks(CachedAttention(METHODS[name], q_shift=1), q, k, v, POSITIONS)
    assert difference(got, full_pass(METHODS[name], q, k, v, POSITIONS)) >= WRONG


@pytest.mark.parametrize("shift", [1, 500])
def test_alibi_does_not_notice_how_far_queries_are_counted(shift):
    """One slope more for every key of a row is a constant, and the softmax drops it."""
    q, k, v = tokens()
    got = in_chunks(CachedAttention(METHODS["alibi"], q_shift=shift), q, k, v, POSITIONS)
    assert difference(got, full_pass(METHODS["alibi"], q, k, v, POSITIONS)) <= EQUAL


@every_method
def test_chunks_that_all_count_from_the_start_are_noticed(name):
    q, k, v = tokens()
    restarted = torch.cat([START + torch.arange(n) for n in CHUNKS])
    rows = torch.arange(LENGTH)
    causal = causal_mask(rows, rows)  # the mask is right: only the method counts wrongly
    got = full_pass(METHODS[name], q, k, v, restarted, causal)
    assert difference(got, full_pass(METHODS[name], q, k, v, POSITIONS)) >= WRONG


@early_or_late
@pytest.mark.parametrize("order", ["blocks", "interleaved"])
def test_text_after_an_image_decodes_as_in_the_full_pass(order, turn_late):
    # Two words, an image of 2 x 3 patches, then two words: positions 40 41 | 42 .. 44 | 45 46.
    positions, following = m_rope_positions([2, (1, 2, 3), 2], start=START)
    axes = m_rope_axes([2, 1, 1], order)

    def turn(x, positions, keys):
        return apply_m_rope(x, positions, rope_inv_freq(HEAD_DIM), axes)

    q, k, v = tokens()
    rows = torch.arange(LENGTH)
    causal = causal_mask(rows, rows)  # patches share positions: rows say which comes first
    want = full_pass(Method(turn), q, k, v, positions, causal)

    def last_two(text_position):
        cached = CachedAttention(Method(turn), turn_late=turn_late)
        cached(q[:, :, :8], k[:, :, :8], v[:, :, :8], positions[:, :8], causal[:8, :8])
        outputs = []
        for row in (8, 9):
            here, new = slice(row, row + 1), torch.full((3, 1), text_position + row - 8)
            mask = causal[here, : row + 1]
            outputs.append(cached(q[:, :, here], k[:, :, here], v[:, :, here], new, mask))
        return torch.cat(outputs, dim=2)

    assert following == 47
    assert difference(last_two(45), want[:, :, 8:]) <= EQUAL
    # Eight tokens are cached, but the next position is not START + 8: patches share positions.
    assert difference(last_two(START + 8), want[:, :, 8:]) >= WRONG


def embedded(x, start):
    """Sinusoidal positions from `start` on, then projections of x to q, k and v."""
    module = SinusoidalPositionEncoding(HEADS * HEAD_DIM, dropout=0.0)
    x = module(x, start=start)
    for seed in (4, 5, 6):
        weight = generic(HEADS * HEAD_DIM, HEADS * HEAD_DIM, seed=seed) / HEAD_DIM
        yield (x @ weight).unflatten(-1, (HEADS, HEAD_DIM)).transpose(1, 2)


def sinusoidal_in_chunks(x, starts):
    cached, done, outputs = CachedAttention(Method()), 0, []
    for n, start in zip(CHUNKS, starts):
        rows = torch.arange(done, done + n)
        outputs.append(cached(*embedded(x[:, rows], start), rows))
        done += n
    return torch.cat(outputs, dim=2)


def test_sinusoidal_positions_decode_when_each_chunk_is_given_its_start():
    x, rows = generic(BATCH, LENGTH, HEADS * HEAD_DIM), torch.arange(LENGTH)
    q, k, v = embedded(x, START)
    want = attention(q, k, v, mask=causal_mask(rows, rows))
    starts = [START, START + 5, START + 6, START + 7]
    assert difference(sinusoidal_in_chunks(x, starts), want) <= EQUAL
    assert difference(sinusoidal_in_chunks(x, [START] * 4), want) >= WRONG
    # Unlike a relative rule, the sinusoid also sees a shift of all positions together.
    assert difference(sinusoidal_in_chunks(x, [start - START for start in starts]), want) >= WRONG


@every_method
def test_a_shift_of_all_positions_together_changes_nothing(name):
    q, k, v = tokens()
    here, there = (full_pass(METHODS[name], q, k, v, POSITIONS + s) for s in (0, 900))
    assert difference(there, here) <= EQUAL
