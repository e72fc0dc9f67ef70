"""Scoring, against models whose loss of every target is known without any window."""

import math

import pytest
import torch

from lab.scoring import losses, score, windows
from tests.exact import raises_exactly

SYMBOLS, SPAN = 5, (40, 136)
GENERATOR = torch.Generator().manual_seed(0)
TOKENS = torch.randint(SYMBOLS, (150,), generator=GENERATOR)
BIGRAMS = torch.randn(SYMBOLS, SYMBOLS, dtype=torch.float64, generator=GENERATOR)
# float64, a few hundred terms of size 1; the mean of both sides is rounded in another order.
EQUAL = 1e-12


def bigram(tokens):
    """Logits of the next token from the last one alone."""
    return BIGRAMS[tokens]


def bigram_loss(index: int) -> float:
    """Minus the log of the softmax of the row of the token before, by hand."""
    row = BIGRAMS[TOKENS[index - 1]].tolist()
    return math.log(sum(math.exp(logit) for logit in row)) - row[TOKENS[index]]


def worse_with_place(tokens):
    """A model whose loss depends on the place in the window: logit -place for the true token."""
    place = torch.arange(tokens.shape[1], dtype=torch.float64)
    logits = torch.zeros(*tokens.shape, 2, dtype=torch.float64)
    logits[..., 0] = -place
    return logits


def place_loss(place: int) -> float:
    """Cross-entropy of symbol 0 with logits (-place, 0)."""
    return place + math.log(1 + math.exp(-place))


def test_windows_end_where_they_are_told():
    inputs, targets = windows(torch.arange(10, 30), torch.tensor([4, 19]), length=4)
    assert inputs.tolist() == [[10, 11, 12, 13], [25, 26, 27, 28]]
    assert targets.tolist() == [[11, 12, 13, 14], [26, 27, 28, 29]]


@pytest.mark.parametrize("end", [3, 20])
def test_a_window_that_leaves_the_text_is_refused(end):
    with raises_exactly(ValueError, f"ends must be from 4 to 19, got {end} to {end}"):
        windows(torch.arange(20), torch.tensor([end]), length=4)


@pytest.mark.parametrize("at_once", [1, 7, 8192])
def test_losses_of_a_bigram_model_are_those_by_hand(at_once, monkeypatch):
    monkeypatch.setattr("lab.scoring.TOKENS_AT_ONCE", at_once)
    ends = torch.tensor([7, 30, 149])
    found = losses(bigram, *windows(TOKENS, ends, length=3))
    want = [[bigram_loss(int(end) - 2 + i) for i in range(3)] for end in ends]
    torch.testing.assert_close(found, torch.tensor(want, dtype=torch.float64), rtol=0, atol=EQUAL)


@pytest.mark.parametrize("length", [8, 16, 32])
def test_a_bigram_model_gets_one_score_with_every_window_and_in_both_ways(length):
    found = score(bigram, TOKENS, length, span=SPAN, stride=8, bin_size=4)
    want = sum(bigram_loss(index) for index in range(*SPAN)) / (SPAN[1] - SPAN[0])
    assert found["sliding"] == pytest.approx(want, abs=EQUAL)
    assert found["plain"] == pytest.approx(want, abs=EQUAL)


def test_the_loss_by_place_is_that_of_the_windows_that_cover_it():
    found = score(bigram, TOKENS, 16, span=SPAN, stride=8, bin_size=4)["by_position"]
    ends = range(SPAN[0] + 7, SPAN[1], 8)
    for i, value in enumerate(found):
        covered = [bigram_loss(end - 15 + 4 * i + j) for end in ends for j in range(4)]
        assert value == pytest.approx(sum(covered) / len(covered), abs=EQUAL)


def test_only_the_last_places_count_in_sliding_windows_and_all_in_plain_ones():
    tokens = torch.zeros(200, dtype=torch.int64)
    found = score(worse_with_place, tokens, 48, span=(60, 156), stride=16, bin_size=8)
    by_place = [place_loss(place) for place in range(48)]
    assert found["sliding"] == pytest.approx(sum(by_place[32:]) / 16, abs=EQUAL)
    assert found["plain"] == pytest.approx(sum(by_place) / 48, abs=EQUAL)
    means = [sum(by_place[i : i + 8]) / 8 for i in range(0, 48, 8)]
    assert found["by_position"] == pytest.approx(means, abs=EQUAL)


def test_every_target_of_the_span_is_scored_once():
    seen = []

    def spy(tokens):
        seen.append(tokens)
        return torch.zeros(*tokens.shape, 150)

    score(spy, torch.arange(150), 32, span=SPAN, stride=8)
    slid, plain = seen
    # A target is the token after its input.
    assert (slid[:, -8:] + 1).flatten().tolist() == list(range(*SPAN))
    assert (plain + 1).flatten().tolist() == list(range(*SPAN))


def test_a_span_that_does_not_divide_is_refused():
    with raises_exactly(ValueError, "length must divide the span of 96, got 40"):
        score(bigram, TOKENS, 40, span=SPAN, stride=8)
    with raises_exactly(ValueError, "stride must divide the span of 96, got 9"):
        score(bigram, TOKENS, 32, span=SPAN, stride=9)
