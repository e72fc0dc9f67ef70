"""xPos with a cache: any centre will do as long as every call has the same."""

import math

import pytest
import torch

from snippets.rope import rope_inv_freq
from snippets.xpos import apply_xpos, xpos_scale
from tests.decoding import (
    EQUAL,
    POSITIONS,
    WRONG,
    CachedAttention,
    difference,
    full_pass,
    in_chunks,
    tokens,
)
from tests.methods import HEAD_DIM, START, Method


def centred_xpos(centre_of):
    def turn(x, positions, keys):
        return apply_xpos(
            x, positions, rope_inv_freq(HEAD_DIM), xpos_scale(HEAD_DIM),
            keys=keys, centre=centre_of(positions), scale_base=16.0,
        )  # fmt: skip

    return Method(turn)


def xpos_gap(centre_of, *, turn_late):
    q, k, v = tokens()
    want = full_pass(centred_xpos(lambda positions: START), q, k, v, POSITIONS)
    cached = CachedAttention(centred_xpos(centre_of), turn_late=turn_late)
    return difference(in_chunks(cached, q, k, v, POSITIONS), want)


@pytest.mark.parametrize("centre", [0.0, 43.5, 700.0])
@pytest.mark.parametrize("turn_late", [False, True])
def test_any_centre_of_xpos_will_do_as_long_as_it_stays(centre, turn_late):
    assert xpos_gap(lambda positions: centre, turn_late=turn_late) <= EQUAL


def test_xpos_centred_anew_at_each_call_does_not_fit_turned_keys():
    assert xpos_gap(lambda positions: (positions.max() + 1) / 2, turn_late=False) >= WRONG
    # Half of what the call holds: five tokens, then one, then three.
    assert xpos_gap(lambda positions: len(positions) // 2, turn_late=False) >= WRONG


def test_xpos_centred_at_the_last_position_fits_unturned_keys():
    """Queries and keys of one call then share a centre, which drops out of the scores."""
    assert xpos_gap(lambda positions: (positions.max() + 1) / 2, turn_late=True) <= EQUAL
    # Centred by the count of the tokens it does not: a call has fewer queries than keys.
    assert xpos_gap(lambda positions: len(positions) // 2, turn_late=True) >= WRONG


def test_a_wrong_centre_multiplies_a_pair_by_the_power_of_the_difference():
    x, positions = tokens(2, batch=1)[0][:, :1], torch.tensor([70, 75])
    scale = xpos_scale(HEAD_DIM)
    there, here = (
        apply_xpos(x, positions, rope_inv_freq(HEAD_DIM), scale, keys=True, centre=centre)
        for centre in (0.0, 64.0)
    )
    for pair in range(HEAD_DIM // 2):
        z = (2 * pair / HEAD_DIM + 0.4) / 1.4
        want = here[..., 2 * pair] * math.exp(-64 / 512 * math.log(z))
        assert difference(there[..., 2 * pair], want) <= EQUAL
