"""Left padding and packed documents: positions per token, and the mask that goes with them."""

import pytest
import torch

from snippets.learned import LearnedPositionEncoding
from snippets.masks import causal_mask
from snippets.sinusoidal import sinusoidal_table
from tests.decoding import EQUAL, WRONG, CachedAttention, difference, full_pass, tokens
from tests.methods import HEAD_DIM, HEADS, METHODS, ROTARY, Method, generic

T = 10
COLUMNS = torch.arange(T)
REAL = torch.tensor([[1] * 10, [0] * 4 + [1] * 6]).bool()  # the second row starts with 4 pads
COUNTED = (REAL.cumsum(-1) - 1).clamp(min=0)  # (B, T): each row counts its own tokens from 0
CAUSAL = causal_mask(COLUMNS, COLUMNS)
# Pads are hidden from every token; a pad sees itself, so that no query is left without a key.
PADDED = (CAUSAL & REAL[:, None, None, :]) | torch.eye(T, dtype=torch.bool)  # (B, 1, T, T)

every_rotary = pytest.mark.parametrize("name", ROTARY)
every_method = pytest.mark.parametrize("name", METHODS)


def short_alone(method):
    """The six tokens of the second row without any padding, from position 0."""
    alone = [x[1:, :, 4:] for x in tokens(T)]
    return full_pass(method, *alone, torch.arange(6))


def padded_gap(method, positions, mask=PADDED):
    got = full_pass(method, *tokens(T), positions, mask)
    return difference(got[1:, :, 4:], short_alone(method))


def test_positions_from_the_mask_count_real_tokens():
    assert COUNTED.tolist() == [list(range(10)), [0, 0, 0, 0, 0, 1, 2, 3, 4, 5]]


@every_rotary
def test_a_padded_row_with_counted_positions_equals_the_row_alone(name):
    assert padded_gap(METHODS[name], COUNTED) <= EQUAL


@every_method
def test_a_relative_method_may_also_count_the_columns(name):
    """Every gap between real tokens is the same, so pads in front only shift."""
    assert padded_gap(METHODS[name], COLUMNS) <= EQUAL


@every_method
def test_pads_must_be_masked(name):
    assert padded_gap(METHODS[name], COLUMNS, CAUSAL) >= WRONG


def test_a_new_token_must_be_counted_as_the_cached_ones_were():
    q, k, v = tokens(T)
    want = short_alone(METHODS["half"])[:, :, -1:]

    def last_token(cached_positions, new_positions):
        cached = CachedAttention(METHODS["half"])
        cached(q[:, :, :9], k[:, :, :9], v[:, :, :9], cached_positions, PADDED[..., :9, :9])
        new = [x[:, :, 9:] for x in (q, k, v)]
        return cached(*new, new_positions, PADDED[..., 9:, :])[1:]

    by_column = COLUMNS.expand(2, T)
    counted, columns = COUNTED.split((9, 1), -1), by_column.split((9, 1), -1)
    assert difference(last_token(counted[0], counted[1]), want) <= EQUAL
    assert difference(last_token(columns[0], columns[1]), want) <= EQUAL
    assert difference(last_token(columns[0], counted[1]), want) >= WRONG
    assert difference(last_token(counted[0], columns[1]), want) >= WRONG


def learned(positions):
    torch.manual_seed(0)
    return LearnedPositionEncoding(HEADS * HEAD_DIM, T, std=1.0)(positions).double()


def sinusoidal(positions):
    return sinusoidal_table(positions, HEADS * HEAD_DIM).double()


def with_table(table, x, positions, mask):
    """Positions added to the input, then projections of x to q, k and v."""
    x, rows = x + table(positions), torch.arange(x.shape[1])
    weights = [generic(x.shape[-1], x.shape[-1], seed=seed) / HEAD_DIM for seed in (4, 5, 6)]
    q, k, v = ((x @ w).unflatten(-1, (HEADS, HEAD_DIM)).transpose(1, 2) for w in weights)
    return full_pass(Method(), q, k, v, rows, mask)


@pytest.mark.parametrize("table", [learned, sinusoidal])
def test_a_table_of_absolute_positions_must_count_real_tokens(table):
    x = generic(2, T, HEADS * HEAD_DIM)
    want = with_table(table, x[1:, 4:], torch.arange(6), CAUSAL[:6, :6])
    counted = with_table(table, x, COUNTED, PADDED)[1:, :, 4:]
    assert difference(counted, want) <= EQUAL
    by_column = with_table(table, x, COLUMNS, PADDED)[1:, :, 4:]
    assert difference(by_column, want) >= WRONG


LENGTHS = (3, 4, 3)
RESET = torch.cat([torch.arange(n) for n in LENGTHS])  # 0 1 2 0 1 2 3 0 1 2
DOCUMENT = torch.arange(3).repeat_interleave(torch.tensor(LENGTHS))
PACKED = CAUSAL & (DOCUMENT == DOCUMENT[:, None])  # causal, and within one document


def separate(method):
    parts = zip(*(x.split(LENGTHS, dim=-2) for x in tokens(T)))
    return torch.cat([full_pass(method, *p, torch.arange(p[0].shape[2])) for p in parts], dim=-2)


@every_method
def test_packed_documents_equal_separate_runs_under_a_mask_of_blocks(name):
    got = full_pass(METHODS[name], *tokens(T), RESET, PACKED)
    assert difference(got, separate(METHODS[name])) <= EQUAL


@every_method
def test_a_relative_method_needs_no_reset_when_the_mask_is_right(name):
    got = full_pass(METHODS[name], *tokens(T), COLUMNS, PACKED)
    assert difference(got, separate(METHODS[name])) <= EQUAL


@every_method
@pytest.mark.parametrize("positions", [RESET, COLUMNS], ids=["reset", "running"])
def test_no_positions_replace_the_mask_of_blocks(positions, name):
    got = full_pass(METHODS[name], *tokens(T), positions, CAUSAL)
    assert difference(got[:, :, :3], separate(METHODS[name])[:, :, :3]) <= EQUAL
    assert difference(got[:, :, 3:], separate(METHODS[name])[:, :, 3:]) >= WRONG


def test_a_causal_mask_from_reset_positions_lets_a_document_see_a_later_one():
    q, k, v = tokens(T)
    before = full_pass(METHODS["half"], q, k, v, RESET)
    v = v.clone()
    v[:, :, -1] += 1  # position 2 of the last document
    after = full_pass(METHODS["half"], q, k, v, RESET)
    changed = (after - before).abs().amax(dim=(0, 1, 3)) > 1e-6
    assert changed.tolist() == [position >= 2 for position in RESET.tolist()]


@pytest.mark.parametrize("table", [learned, sinusoidal])
def test_a_table_of_absolute_positions_must_be_reset(table):
    x = generic(2, T, HEADS * HEAD_DIM)
    alone = x[:, 3:7]
    want = with_table(table, alone, torch.arange(4), CAUSAL[:4, :4])
    assert difference(with_table(table, x, RESET, PACKED)[:, :, 3:7], want) <= EQUAL
    assert difference(with_table(table, x, COLUMNS, PACKED)[:, :, 3:7], want) >= WRONG
