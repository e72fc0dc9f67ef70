"""Rules that look at the length: what a cache of turned keys gives, and what a pass gives."""

import pytest
import torch

from snippets.longrope import longrope
from snippets.rope import apply_rope
from snippets.rope_scaling import dynamic_ntk, ntk_aware
from tests.decoding import (
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
from tests.methods import HEAD_DIM, LONG, SHORT, START, Method, generic

SEEN = (5, 6, 7, 10)  # tokens after each chunk
LAST = START + LENGTH


def by_length(rule) -> Method:
    """Turn by the rule for the length at hand: one more than the last position of the call."""

    def turn(x, positions, keys):
        inv_freq, attention_factor = rule(int(positions.max()) + 1)
        return apply_rope(x, positions, inv_freq, attention_factor=attention_factor)

    return Method(turn)


def dynamic(trained_length):
    return by_length(lambda length: dynamic_ntk(HEAD_DIM, length, trained_length, factor=4.0))


def switched(trained_length):
    return by_length(
        lambda length: longrope(HEAD_DIM, length, trained_length, SHORT, LONG, factor=4.0)
    )


both_rules = pytest.mark.parametrize(
    "method", [dynamic(START + 2), switched(START + 7)], ids=["dynamic_ntk", "longrope"]
)


def steps(cached, q, k, v):
    """The output of each chunk by itself."""
    return in_chunks(cached, q, k, v, POSITIONS).split(CHUNKS, dim=-2)


def passes(method, q, k, v):
    """The same tokens from one full pass for each length that was reached."""
    for seen, chunk in zip(SEEN, CHUNKS):
        whole = full_pass(method, q[:, :, :seen], k[:, :, :seen], v[:, :, :seen], POSITIONS[:seen])
        yield whole[:, :, seen - chunk :]


def gaps(method, *, turn_late):
    q, k, v = tokens()
    found = steps(CachedAttention(method, turn_late=turn_late), q, k, v)
    return [difference(got, want) for got, want in zip(found, passes(method, q, k, v))]


@both_rules
def test_unturned_keys_give_each_step_what_a_pass_of_its_own_length_gives(method):
    assert max(gaps(method, turn_late=True)) <= EQUAL


def test_dynamic_ntk_with_turned_keys_is_stale_as_soon_as_the_length_grows():
    prefill, *later = gaps(dynamic(START + 2), turn_late=False)
    assert prefill <= EQUAL  # all of its keys have the speeds of one length
    assert min(later) >= WRONG


def test_dynamic_ntk_with_turned_keys_is_right_up_to_the_trained_length():
    assert max(gaps(dynamic(LAST), turn_late=False)) <= EQUAL


@both_rules
def test_no_cache_gives_what_one_pass_at_the_final_length_gives_for_early_tokens(method):
    """They were computed when the sequence was shorter, by other speeds."""
    q, k, v = tokens()
    final = full_pass(method, q, k, v, POSITIONS)
    got = in_chunks(CachedAttention(method, turn_late=True), q, k, v, POSITIONS)
    assert difference(got[:, :, :7], final[:, :, :7]) >= WRONG
    assert difference(got[:, :, 7:], final[:, :, 7:]) <= EQUAL


def test_longrope_is_stale_only_after_the_switch():
    *before, after = gaps(switched(START + 7), turn_late=False)
    assert max(before) <= EQUAL
    assert after >= WRONG


def test_longrope_switches_one_token_after_the_trained_length():
    assert max(gaps(switched(LAST), turn_late=False)) <= EQUAL
    assert gaps(switched(LAST - 1), turn_late=False)[-1] >= WRONG


def test_longrope_across_the_switch_is_right_again_when_all_keys_are_computed_anew():
    q, k, v = tokens()
    cached = CachedAttention(switched(START + 7))
    in_chunks(cached, *(x[:, :, :7] for x in (q, k, v)), POSITIONS[:7], (5, 1, 1))
    cached.keep(slice(0))  # the cache is dropped, the whole text goes in once more
    got = cached(q, k, v, POSITIONS)
    assert difference(got, full_pass(switched(START + 7), q, k, v, POSITIONS)) <= EQUAL


def unit_score(key, *, stale):
    """A unit vector as query at 4095 and as key, with the speeds of 4096 or of the key's time."""
    x = generic(128)
    x = (x / x.norm()).reshape(1, 1, 1, 128)
    now, _ = dynamic_ntk(128, 4096, 2048, factor=2.0)
    then, _ = dynamic_ntk(128, key + 1, 2048, factor=2.0)
    q = apply_rope(x, torch.tensor([4095]), now)
    k = apply_rope(x, torch.tensor([key]), then if stale else now)
    return (q * k).sum().item()


@pytest.mark.parametrize(
    "key, consistent, stale", [(4095 - 64, 0.5702, 0.6838), (100, 0.1227, 0.2121)]
)
def test_known_scores_with_stale_keys(key, consistent, stale):
    # Four digits are known.
    assert unit_score(key, stale=False) == pytest.approx(consistent, abs=5e-5)
    assert unit_score(key, stale=True) == pytest.approx(stale, abs=5e-5)


def test_with_factor_one_the_dynamic_rule_is_the_ntk_rule_of_the_stretch():
    q, k, v = tokens()
    method = by_length(lambda length: dynamic_ntk(HEAD_DIM, length, 25, factor=1.0))
    fixed = by_length(lambda length: ntk_aware(HEAD_DIM, 2.0))
    want = full_pass(fixed, q, k, v, POSITIONS)
    assert difference(full_pass(method, q, k, v, POSITIONS), want) <= EQUAL
