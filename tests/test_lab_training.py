"""Batches, positions and the loop that trains: what is drawn, and what it does to a model."""

import math

import pytest
import torch

from lab.model import SmallModel
from lab.position_methods import Positions, Sinusoidal
from lab.training import (
    IGNORED, Plan, consecutive, learning_rate, random_windows, randomized, train,
)  # fmt: skip
from tests.exact import raises_exactly


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def test_windows_hold_consecutive_tokens_and_targets_are_the_next_ones():
    tokens, targets = random_windows(torch.arange(100, 140), 6, 500, generator())
    assert tokens.shape == targets.shape == (500, 6)
    assert torch.equal(tokens, tokens[:, :1] + torch.arange(6))
    assert torch.equal(targets, tokens + 1)
    # Every start is drawn, from the first token to the last that still has six targets.
    assert set(tokens[:, 0].tolist()) == set(range(100, 134))


def test_a_text_that_is_too_short_is_refused():
    with raises_exactly(ValueError, "tokens must be more than length=6, got 6"):
        random_windows(torch.arange(6), 6, 1, generator())


def test_random_positions_rise_and_cover_the_range():
    place, draws = randomized(40), generator()
    found = torch.stack([place(10, draws) for _ in range(200)])
    assert bool((found.diff(dim=1) > 0).all())
    assert set(found.flatten().tolist()) == set(range(40))
    assert torch.equal(place(40, draws), torch.arange(40))
    with raises_exactly(ValueError, "length must be at most 40, got 41"):
        place(41, draws)


def test_the_learning_rate_rises_then_falls_to_zero():
    plan = Plan(steps=100, learning_rate=0.5, warm_up=10)
    rates = [learning_rate(step, plan) for step in range(101)]
    assert rates[0] == pytest.approx(0.05) and rates.index(max(rates)) == 9
    assert rates[50] == pytest.approx(0.25) and rates[100] == pytest.approx(0, abs=1e-15)
    assert all(a > b for a, b in zip(rates[9:], rates[10:]))


def small(make=None, seed=0):
    torch.manual_seed(seed)
    make = make or (lambda *sizes: Positions())
    return SmallModel(3, make, d_model=8, n_heads=2, n_layers=1)


def always_the_next_symbol(plan, draws):
    tokens = torch.randint(3, (plan.batch, plan.length), generator=draws)
    return tokens, (tokens + 1) % 3


def test_a_rule_is_learned():
    model = small()
    train(model, Plan(150, length=8, batch=8, learning_rate=1e-2), always_the_next_symbol, seed=0)
    tokens, targets = always_the_next_symbol(Plan(1, length=20, batch=4), generator(9))
    logits = model(tokens, torch.arange(20))
    # Guessing gives ln 3 = 1.1 and is right once in three.
    assert torch.nn.functional.cross_entropy(logits.transpose(1, 2), targets) < 0.1
    assert torch.equal(logits.argmax(-1), targets)


def test_ignored_targets_teach_nothing():
    def two_rules(plan, draws):
        tokens, targets = always_the_next_symbol(plan, draws)
        wrong = (tokens + 2) % 3
        wrong[:, ::2] = IGNORED
        targets[:, 1::2] = IGNORED
        return torch.cat((tokens, tokens)), torch.cat((targets, torch.full_like(wrong, IGNORED)))

    model = small()
    train(model, Plan(150, length=8, batch=8, learning_rate=1e-2), two_rules, seed=0)
    tokens = torch.tensor([[0, 1, 2, 0, 2, 1]])
    assert model(tokens, torch.arange(6)).argmax(-1)[0, ::2].tolist() == [1, 0, 0]


def test_all_methods_of_a_seed_read_the_same_batches_and_start_from_the_same_weights():
    seen, starts = [], []
    for make, placing in ((None, consecutive), (lambda *sizes: Sinusoidal(), randomized(50))):
        model, batches = small(make), []
        starts.append({k: v.clone() for k, v in model.state_dict().items()})

        def spy(plan, draws, batches=batches):
            batches.append(always_the_next_symbol(plan, draws))
            return batches[-1]

        train(model, Plan(3, length=8, batch=2), spy, seed=4, placing=placing)
        seen.append(batches)
    for (a, _), (b, _) in zip(*seen, strict=True):
        assert torch.equal(a, b)
    assert starts[0].keys() == starts[1].keys()
    assert all(torch.equal(starts[0][name], starts[1][name]) for name in starts[0])


def test_a_training_gives_the_same_weights_twice_and_others_with_another_seed():
    found = []
    for seed in (0, 0, 1):
        model = small()
        train(model, Plan(5, length=8, batch=2), always_the_next_symbol, seed=seed)
        found.append(model.head.weight.detach().clone())
    assert torch.equal(found[0], found[1]) and not torch.equal(found[0], found[2])
    assert math.isfinite(found[0].sum())
