"""The sentences of docs/guides/decoding.md, in the order of the page."""

import pytest
import torch

from snippets.attention import attention
from snippets.learned import LearnedPositionEncoding
from snippets.longrope import longrope
from snippets.masks import causal_mask
from snippets.rope import apply_rope, rope_inv_freq
from snippets.rope_scaling import dynamic_ntk
from snippets.sinusoidal import sinusoidal_table
from snippets.xpos import apply_xpos, xpos_scale
from tests import decoding, methods
from tests.decoding import EQUAL, WRONG, CachedAttention, difference, full_pass, in_chunks, tokens
from tests.guard.marks import claim

ROPE = methods.rope(rope_inv_freq(methods.HEAD_DIM))
ALIBI = methods.biased(methods.alibi)
T5 = methods.biased(methods.t5)
SHAW = methods.Method(attend=methods.shaw)
XPOS = methods.Method(turn=methods.xpos)
RELATIVE = {"rope": ROPE, "alibi": ALIBI, "t5": T5, "shaw": SHAW, "xpos": XPOS}
PLACES = decoding.POSITIONS

every_relative = pytest.mark.parametrize("method", RELATIVE.values(), ids=RELATIVE)


@claim(
    "decoding-equals-full-pass",
    "A right cache gives what one pass over the whole text gives, token by token.",
)
@every_relative
def test_decoding_equals_the_full_pass(method):
    q, k, v = tokens()
    want = full_pass(method, q, k, v, PLACES)
    assert difference(in_chunks(CachedAttention(method), q, k, v, PLACES), want) < EQUAL
    # Each method does something, and the first token saw itself only.
    without = full_pass(methods.Method(), q, k, v, PLACES)
    assert difference(want, without) > WRONG
    if method is not SHAW:  # its value vectors change what one key gives
        torch.testing.assert_close(want[:, :, 0], v[:, :, 0])


@claim(
    "decoding-off-by-one",
    "A query that is counted one place too far gives another output with RoPE, T5 bias and relative vectors.",
)
@pytest.mark.parametrize("method", [ROPE, T5, SHAW], ids=["rope", "t5", "shaw"])
def test_one_place_too_far(method):
    q, k, v = tokens()
    want = full_pass(method, q, k, v, PLACES)
    off = in_chunks(CachedAttention(method, q_shift=1), q, k, v, PLACES)
    assert difference(off, want) > WRONG


@claim(
    "decoding-alibi-blind",
    "With ALiBi it does not: a further place for the query adds the same number to all its logits, and the "
    "softmax drops it, as long as the mask is right.",
)
@pytest.mark.parametrize("shift", [1, 500])
def test_alibi_does_not_notice(shift):
    q, k, v = tokens()
    want = full_pass(ALIBI, q, k, v, PLACES)
    assert difference(in_chunks(CachedAttention(ALIBI, q_shift=shift), q, k, v, PLACES), want) < EQUAL
    assert difference(want, full_pass(methods.Method(), q, k, v, PLACES)) > WRONG
    further = methods.alibi(PLACES + shift, PLACES) - methods.alibi(PLACES, PLACES)
    past = further.masked_select(causal_mask(PLACES, PLACES)).view(methods.HEADS, -1)
    torch.testing.assert_close(past, past[:, :1].expand_as(past))


@claim(
    "decoding-alibi-too-near",
    "So a query counted too far passes every test run with ALiBi only. Counted too near, or together with its "
    "own key, it shows.",
)
def test_what_alibi_does_notice():
    q, k, v = tokens()
    want = full_pass(ALIBI, q, k, v, PLACES)
    for shift in (1, 2, 3):
        far, near = (
            in_chunks(CachedAttention(ALIBI, q_shift=s), q, k, v, PLACES) for s in (shift, -shift)
        )
        assert difference(far, want) < EQUAL
        assert difference(near, want) > WRONG
    # The last token's key moves with its query: its gap stays 0 while those of all others grow.
    both = torch.cat((PLACES[:9], PLACES[9:] + 1))
    assert difference(full_pass(ALIBI, q, k, v, both)[:, :, 9:], want[:, :, 9:]) > WRONG


@claim(
    "decoding-is-causal",
    "The mask of a short query: scaled_dot_product_attention(is_causal=True) lines its mask up with the first "
    "key, so one new query sees the first key only.",
)
def test_is_causal_with_one_query():
    q, k, v = tokens()
    one = torch.nn.functional.scaled_dot_product_attention(q[:, :, 9:], k, v, is_causal=True)
    assert difference(one, v[:, :, :1]) < EQUAL
    right = attention(q[:, :, 9:], k, v, mask=causal_mask(PLACES[9:], PLACES))
    assert difference(right, full_pass(methods.Method(), q, k, v, PLACES)[:, :, 9:]) < EQUAL
    assert difference(right, one) > WRONG


@claim(
    "decoding-turned-twice",
    "Turned twice: code that rotates the whole cache at each step has to cache keys unrotated.",
)
def test_keys_turned_twice():
    q, k, v = tokens()
    want = full_pass(ROPE, q, k, v, PLACES)
    assert difference(in_chunks(CachedAttention(ROPE, turn_late=True), q, k, v, PLACES), want) < EQUAL
    turned = ROPE.turn(k, PLACES, keys=True)
    twice = in_chunks(CachedAttention(ROPE, turn_late=True), q, turned, v, PLACES)
    assert difference(twice, want) > WRONG


PADDED = torch.tensor([0, 0, 0, 0, 1, 1, 1, 1, 1, 1])


def padded(method, positions, mask=PADDED, turn_rows=lambda x: x):
    """Output of the six real tokens of a row with four pads in front, (B, H, 6, D)."""
    q, k, v = (turn_rows(x) for x in tokens())
    columns = torch.arange(10)
    may = causal_mask(columns, columns) & (mask.bool() | torch.eye(10, dtype=torch.bool))
    return full_pass(method, q, k, v, positions, mask=may)[:, :, 4:]


def alone(method, positions, turn_rows=lambda x: x):
    q, k, v = (turn_rows(x[:, :, 4:]) for x in tokens())
    return full_pass(method, q, k, v, positions)


COUNTED = (PADDED.cumsum(0) - 1).clamp(min=0)


@claim(
    "decoding-left-padding",
    "With these positions and such a mask, a padded row gives what it gives alone.",
)
@every_relative
def test_a_padded_row(method):
    assert COUNTED.tolist() == [0, 0, 0, 0, 0, 1, 2, 3, 4, 5]
    want = alone(method, torch.arange(6))
    assert difference(padded(method, COUNTED), want) < EQUAL
    assert difference(padded(method, COUNTED, mask=torch.ones(10)), want) > WRONG


@claim(
    "decoding-columns-relative",
    "Relative methods also work with the column as position: padding in front shifts query and key alike.",
)
@every_relative
def test_columns_for_relative_methods(method):
    assert difference(padded(method, torch.arange(10)), alone(method, torch.arange(6))) < EQUAL
    assert difference(padded(method, 3 * torch.arange(10)), alone(method, torch.arange(6))) > WRONG


@claim("decoding-columns-absolute", "A table of absolute positions does not.")
@pytest.mark.parametrize("table", ["learned", "sinusoid"])
def test_columns_for_absolute_tables(table):
    torch.manual_seed(0)
    learned = LearnedPositionEncoding(methods.HEAD_DIM, max_len=20).weight.detach().double() * 50
    rows = learned if table == "learned" else sinusoidal_table(torch.arange(20), methods.HEAD_DIM).double()
    plain = methods.Method()

    def run(function, positions):
        return function(plain, positions, turn_rows=lambda x: x + rows[positions])

    want = run(alone, torch.arange(6))
    assert difference(run(padded, COUNTED), want) < EQUAL
    assert difference(run(padded, torch.arange(10)), want) > WRONG


@claim(
    "decoding-mixed-counting",
    "No method that takes positions bears a change of counting: a cache filled by columns and a new token "
    "counted by tokens.",
)
@every_relative
def test_mixed_counting(method):
    q, k, v = tokens()
    columns = torch.arange(10)
    may = causal_mask(columns, columns) & (PADDED.bool() | torch.eye(10, dtype=torch.bool))
    want = full_pass(method, q, k, v, columns, mask=may)[:, :, 9:]
    for last, limit in ((9, None), (5, WRONG)):
        mixed = torch.cat((columns[:9], torch.tensor([last])))
        got = full_pass(method, q, k, v, mixed, mask=may)[:, :, 9:]
        if limit is None:
            assert difference(got, want) < EQUAL
        else:
            assert difference(got, want) > limit


DOCUMENT = torch.tensor([0, 0, 0, 1, 1, 1, 1, 2, 2, 2])
RESET = torch.tensor([0, 1, 2, 0, 1, 2, 3, 0, 1, 2])


def apart(method):
    q, k, v = tokens()
    parts = [DOCUMENT == d for d in range(3)]
    runs = [full_pass(method, *(x[:, :, p] for x in (q, k, v)), RESET[p]) for p in parts]
    return torch.cat(runs, dim=2)


def packed(method, positions, mask):
    return full_pass(method, *tokens(), positions, mask=mask)


CAUSAL = causal_mask(torch.arange(10), torch.arange(10))
BLOCKS = CAUSAL & (DOCUMENT[:, None] == DOCUMENT)


@claim(
    "decoding-packed",
    "With it, each document gives what it gives alone, and RoPE needs no reset of the positions.",
)
@pytest.mark.parametrize("positions", [RESET, torch.arange(10), PLACES], ids=["reset", "on", "far"])
def test_packed_documents(positions):
    assert difference(packed(ROPE, positions, BLOCKS), apart(ROPE)) < EQUAL
    assert difference(packed(ROPE, 3 * positions, BLOCKS), apart(ROPE)) > WRONG


@claim("decoding-packed-reset-only", "A reset without the mask does not separate them.")
@every_relative
def test_a_reset_is_no_mask(method):
    got = packed(method, RESET, CAUSAL)
    assert difference(got[:, :, 3:], apart(method)[:, :, 3:]) > WRONG
    assert difference(got[:, :, :3], apart(method)[:, :, :3]) < EQUAL  # nothing comes before it


@claim(
    "decoding-packed-mask",
    "And a causal mask made from reset positions lets a token see later documents: their positions are as "
    "small as its own.",
)
def test_a_mask_from_reset_positions():
    mask = causal_mask(RESET, RESET)
    assert mask[2, 3] and DOCUMENT[3] > DOCUMENT[2]
    before, (q, k, v) = packed(ROPE, RESET, mask), tokens()
    k[:, :, 9] += 5
    v[:, :, 9] += 5
    after = full_pass(ROPE, q, k, v, RESET, mask=mask)
    assert difference(after[:, :, 2], before[:, :, 2]) > WRONG  # the last token of the first document


@claim(
    "decoding-window",
    "With absolute positions, a rolling cache gives what a full pass under a window mask gives.",
)
@every_relative
def test_a_rolling_cache(method):
    q, k, v = tokens()
    gap = PLACES[:, None] - PLACES
    want = full_pass(method, q, k, v, PLACES, mask=(gap >= 0) & (gap < 4))

    def run(window, places):
        cached, found = CachedAttention(method), []
        for t in range(10):
            new = slice(t, t + 1)
            found.append(cached(q[:, :, new], k[:, :, new], v[:, :, new], places[new]))
            cached.keep(slice(-(window - 1), None))
        return torch.cat(found, dim=2)

    assert difference(run(4, PLACES), want) < EQUAL
    assert difference(run(3, PLACES), want) > WRONG


def after_a_draft(method, *, cut: bool, count_back: bool):
    """Six tokens, four drafted, two accepted, then two more; output of these two."""
    q, k, v = tokens()
    wrong = [x + 1 for x in tokens(seed=50)]
    cached = CachedAttention(method)
    first = slice(0, 6)
    cached(*(x[:, :, first] for x in (q, k, v)), PLACES[first])
    drafted = [torch.cat((x[:, :, 6:8], w[:, :, 8:]), dim=2) for x, w in zip((q, k, v), wrong)]
    cached(*drafted, PLACES[6:])
    if cut:
        cached.keep(slice(0, 8))
    places = PLACES[8:] if count_back else PLACES[8:] + 2
    mask = torch.ones(2, len(cached.positions) + 2, dtype=torch.bool)
    mask[0, -1] = False
    return cached(*(x[:, :, 8:] for x in (q, k, v)), places, mask)


@claim(
    "decoding-rollback",
    "Cut the cache to the accepted tokens and count on from there: the output is as if the draft had never "
    "been.",
)
@every_relative
def test_a_rejected_draft(method):
    want = full_pass(method, *tokens(), PLACES)[:, :, 8:]
    assert difference(after_a_draft(method, cut=True, count_back=True), want) < EQUAL


@claim("decoding-rollback-forgotten", "Forget either half, and it is not.")
@every_relative
def test_half_a_rollback(method):
    want = full_pass(method, *tokens(), PLACES)[:, :, 8:]
    for cut, count_back in ((False, True), (True, False)):
        assert difference(after_a_draft(method, cut=cut, count_back=count_back), want) > WRONG


TRAINED = 42  # tokens; the text grows from 40 to 50


def by_length(rule, position_of_call):
    """Turn with the speeds of the text up to the last position of this call."""
    return rule(position_of_call + 1)


def dynamic(n):
    return dynamic_ntk(methods.HEAD_DIM, n, TRAINED, 4.0)


def two_lists(n):
    return longrope(methods.HEAD_DIM, n, TRAINED, [1, 1.1, 1.3, 2], [2, 4, 8, 16], factor=8)


def one_pass(rule, length, upto):
    q, k, v = (x[:, :, :upto] for x in tokens())
    inv_freq, factor = rule(length)
    return full_pass(methods.rope(inv_freq, factor), q, k, v, PLACES[:upto])


def step(rule, t, *, stale: bool):
    """The token at t, its keys turned for the length of now, or each for its own."""
    q, k, v = tokens()
    lengths = [p + 1 for p in PLACES.tolist()]
    now = rule(lengths[t])
    keys = [
        apply_rope(k[:, :, i : i + 1], PLACES[i : i + 1], (rule(lengths[i]) if stale else now)[0],
                   attention_factor=now[1])
        for i in range(t + 1)
    ]
    query = apply_rope(q[:, :, t : t + 1], PLACES[t : t + 1], now[0], attention_factor=now[1])
    return attention(query, torch.cat(keys, 2), v[:, :, : t + 1])


both_rules = pytest.mark.parametrize("rule", [dynamic, two_lists], ids=["dynamic_ntk", "longrope"])


@claim(
    "decoding-dynamic-stale",
    "A key that was rotated at a shorter length does not fit a query of now.",
)
@both_rules
def test_stale_keys(rule):
    length = PLACES[9].item() + 1
    want = one_pass(rule, length, 10)[:, :, 9:]
    assert difference(step(rule, 9, stale=True), want) > WRONG
    within = one_pass(rule, TRAINED, 2)[:, :, 1:]
    assert difference(step(rule, 1, stale=True), within) < EQUAL  # up to the trained length


@claim(
    "decoding-dynamic-unturned",
    "In one layer each step then equals the full pass over the tokens so far.",
)
@both_rules
def test_keys_turned_in_each_step(rule):
    for t in (1, 4, 9):
        want = one_pass(rule, PLACES[t].item() + 1, t + 1)[:, :, t:]
        assert difference(step(rule, t, stale=False), want) < EQUAL


def two_layers(rule, lengths):
    """All tokens so far through two layers, token t in both with the speeds of lengths[t].

    Keys are cached unturned and turned for the length of the query, as the first way out says.
    """
    x = tokens(seed=20)[0]
    for _ in range(2):
        rows = []
        for t, length in enumerate(lengths):
            inv_freq, factor = rule(length)
            query = apply_rope(x[:, :, t : t + 1], PLACES[t : t + 1], inv_freq, attention_factor=factor)
            keys = apply_rope(x[:, :, : t + 1].flip(-1), PLACES[: t + 1], inv_freq, attention_factor=factor)
            rows.append(attention(query, keys, x[:, :, : t + 1]))
        x = torch.cat(rows, dim=2)
    return x


@claim(
    "decoding-dynamic-two-layers",
    "With two layers it does not: keys and values of the upper one come from hidden states that were computed "
    "with older speeds.",
)
@both_rules
def test_two_layers(rule):
    decoded = two_layers(rule, [p + 1 for p in PLACES.tolist()])  # each token at its own length
    last = PLACES[9].item() + 1
    full = two_layers(rule, [last] * 10)
    assert difference(decoded[:, :, 9:], full[:, :, 9:]) > 1e-3  # the equal parts below: 1e-10
    inside = two_layers(rule, [p + 1 for p in PLACES[:2].tolist()])
    assert difference(inside, two_layers(rule, [TRAINED] * 2)) < EQUAL  # up to the trained length


@claim(
    "decoding-longrope-again",
    "LongRoPE needs it once, when the text passes the trained length; dynamic NTK would need it at each token.",
)
def test_longrope_needs_one_new_start():
    grown = [dynamic(n)[0] for n in range(TRAINED, TRAINED + 5)]
    assert all((a != b).any() for a, b in zip(grown, grown[1:]))
    again = two_layers(two_lists, [TRAINED + 1] * 10)  # computed anew at the switch ...
    assert difference(again, two_layers(two_lists, [TRAINED + 8] * 10)) < EQUAL  # ... and right from then on
    speeds = {n: two_lists(n)[0] for n in (1, TRAINED, TRAINED + 1, TRAINED + 500)}
    assert torch.equal(speeds[1], speeds[TRAINED])
    assert torch.equal(speeds[TRAINED + 1], speeds[TRAINED + 500])
    assert (speeds[TRAINED] / speeds[TRAINED + 1]).min() > 1.9


@claim(
    "decoding-dynamic-early",
    "What was written before was computed at shorter lengths, with other speeds, and stays as it is.",
)
@both_rules
def test_early_tokens(rule):
    final = one_pass(rule, PLACES[9].item() + 1, 10)
    early = [difference(step(rule, t, stale=False), final[:, :, t : t + 1]) for t in range(1, 9)]
    assert max(early) > WRONG
    assert difference(step(rule, 9, stale=False), final[:, :, 9:]) < EQUAL


@claim(
    "decoding-xpos-centre",
    "The centre of xPos holds the same trap: one for the whole text works, one for each call does not.",
)
def test_centre_of_xpos():
    q, k, v = tokens()
    scale = xpos_scale(methods.HEAD_DIM)

    def turn(x, places, keys, centre):
        return apply_xpos(x, places, rope_inv_freq(methods.HEAD_DIM), scale, keys=keys,
                          centre=centre, scale_base=16.0)

    def last(prefill_centre, centre):
        keys = torch.cat((turn(k[:, :, :9], PLACES[:9], True, prefill_centre),
                          turn(k[:, :, 9:], PLACES[9:], True, centre)), 2)
        return attention(turn(q[:, :, 9:], PLACES[9:], False, centre), keys, v)

    want = full_pass(XPOS, q, k, v, PLACES)[:, :, 9:]
    assert difference(last(20.0, 20.0), want) < EQUAL
    assert difference(last(9 / 2, 1 / 2), want) > WRONG
