"""The recall task and its scoring, against a solver that reads a row from left to right."""

import pytest
import torch

from lab import recall, recall_shares
from lab.recall_task import IGNORED, N_ASKED, N_KEYS, N_SYMBOLS, draw
from tests.exact import raises_exactly

GUESS = 1 / 16


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def solved(row: list[int]) -> list[int]:
    """For each token the value that followed the same key last, IGNORED where there is none."""
    after, answers = {}, []
    for token, following in zip(row, [*row[1:], None]):
        answers.append(after.get(token, IGNORED))
        if token < N_KEYS:
            after[token] = following
    return answers


@pytest.mark.parametrize("length", [32, 64, 256])
def test_the_targets_are_what_a_reader_from_left_to_right_finds(length):
    rows = draw(length, 200, generator())
    assert rows.tokens.shape == rows.targets.shape == (200, length)
    for tokens, targets in zip(rows.tokens.tolist(), rows.targets.tolist()):
        assert targets == solved(tokens)
        assert sum(target != IGNORED for target in targets) == N_ASKED
        # A question is answered by the next token, as everywhere in a language model.
        for place, target in enumerate(targets):
            assert target in (IGNORED, tokens[place + 1] if place + 1 < length else None)


def test_distances_are_counted_from_the_key_to_its_question():
    rows = draw(64, 200, generator(1))
    for tokens, found in zip(rows.tokens.tolist(), rows.distances.tolist()):
        questions = range(64 - 2 * N_ASKED, 64, 2)
        assert found == [place - tokens.index(tokens[place]) for place in questions]


def test_every_key_value_and_distance_comes_up():
    rows = draw(64, 2000, generator(2))
    assert set(rows.tokens.flatten().tolist()) == set(range(N_SYMBOLS))
    assert set(rows.distances.flatten().tolist()) == set(range(2, 64, 2))


def test_the_noise_holds_no_key_and_the_values_alone_do_not_tell():
    rows = draw(64, 2000, generator(3))
    keys = (rows.tokens < N_KEYS).sum(1)
    assert bool((keys == 2 * N_ASKED).all())
    # The value that stands most often before the questions is seldom the one that is meant.
    before = rows.tokens[:, : 64 - 2 * N_ASKED]
    counts = torch.stack([(before == value).sum(1) for value in range(N_KEYS, N_SYMBOLS)], 1)
    guess = N_KEYS + counts.argmax(1)
    asked = rows.targets[:, -2]
    assert (guess == asked).float().mean() < 0.25


@pytest.mark.parametrize("length", [30, 63])
def test_a_row_without_room_for_all_pairs_is_refused(length):
    with raises_exactly(ValueError, f"length must be even and at least 32, got {length}"):
        draw(length, 1, generator())


def answers(rule):
    """A model whose logits are 1 at the answer of the rule."""

    def model(tokens, positions):
        best = torch.tensor([rule(row) for row in tokens.tolist()])
        return torch.nn.functional.one_hot(best.clamp(min=0), N_SYMBOLS).float()

    return model


def place(length, draws):
    return torch.arange(length)


def test_the_solver_gets_every_question_and_each_is_counted_once():
    found = recall.answered(answers(solved), place, length=128, seed=0)
    assert found["right"] == found["asked"] and sum(found["asked"]) == recall.ROWS * N_ASKED
    assert found["asked"][-2:] == [0, 0] and min(found["asked"][:3]) > 0
    short = recall.answered(answers(solved), place, length=64, seed=0)
    assert short["asked"][2:] == [0, 0, 0]


def test_a_short_memory_gets_the_near_questions_only():
    def near(row):
        """Forgets a pair that lies more than 32 tokens back."""
        found = solved(row)
        for i, token in enumerate(row):
            if token < N_KEYS and i - row.index(token) > 32:
                found[i] = N_KEYS - 1  # never a value
        return found

    found = recall.answered(answers(near), place, length=128, seed=0)
    assert found["right"] == [found["asked"][0], 0, 0, 0, 0]
    row = {"length": 128} | found
    assert recall_shares.share(row) == found["asked"][0] / 1024
    assert recall_shares.share(row, 32) == 0


def test_shares_are_of_the_questions_beyond_a_distance():
    row = {"asked": [10, 20, 40, 0, 10], "right": [10, 10, 10, 0, 1]}
    assert recall_shares.share(row) == 31 / 80
    assert recall_shares.share(row, 64) == 11 / 50 and recall_shares.share(row, 256) == 0.1


def test_guessing_is_right_once_in_sixteen():
    draws = generator(4)

    def guesser(tokens, positions):
        logits = torch.full((*tokens.shape, N_SYMBOLS), -1.0)
        logits[..., N_KEYS:] = torch.rand((*tokens.shape, N_SYMBOLS - N_KEYS), generator=draws)
        return logits

    found = recall.answered(guesser, place, length=512, seed=0)
    # 1024 questions: three standard deviations are 0.023.
    assert recall_shares.share({"length": 512} | found) == pytest.approx(GUESS, abs=0.03)


@pytest.mark.parametrize("seed", recall.SEEDS)
def test_training_and_asking_draw_different_rows(seed, monkeypatch):
    asked = []

    def spy(length, batch, draws):
        asked.append(draw(length, batch, draws))
        return asked[-1]

    monkeypatch.setattr(recall, "draw", spy)
    recall.answered(answers(solved), place, length=64, seed=seed)
    recall.rows_to_train_on(recall.PLANS["fresh"], generator(seed))
    of_test, of_training = (rows.tokens for rows in asked)
    assert not any((of_test == row).all(1).any() for row in of_training)
