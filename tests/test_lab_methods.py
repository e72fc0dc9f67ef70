"""How trained models are read at other lengths, and what goes on from what."""

import math

import pytest
import torch

from lab import trained
from lab.extrapolation import PLANS
from lab.methods import READINGS, TRAINED_LENGTH, TRAININGS
from lab.position_methods import Positions
from lab.trained import Experiment, readings
from posenc_check import oracles, scaling

WIDTH = 16  # of a head
LENGTHS = (64, 80, 96, 128, 256, 512)


def made(training):
    return TRAININGS[training].make(64, 4, 2)


@pytest.mark.parametrize("length", LENGTHS)
def test_scaling_rules_are_for_the_length_at_hand(length):
    factor, rope = length / 64, made("rope")
    want = {
        "pi": (scaling.linear(WIDTH, factor), 1.0),
        "ntk": (scaling.ntk_aware(WIDTH, factor), 1.0),
        "yarn": (scaling.yarn(WIDTH, factor, 64, beta_fast=8.0), scaling.yarn_mscale(factor)),
    }
    for name, (speeds, attention_factor) in want.items():
        found = READINGS[name].at(rope, length)
        assert found.inv_freq.tolist() == pytest.approx(speeds, rel=1e-12)
        assert found.attention_factor == pytest.approx(attention_factor, rel=1e-12)
        if length == TRAINED_LENGTH:  # nothing is scaled there
            assert found.inv_freq.tolist() == pytest.approx(rope.inv_freq.tolist(), rel=1e-15)


def test_yarn_s_ramp_lies_among_the_pairs_of_these_heads():
    speeds = READINGS["yarn"].at(made("rope"), 256).inv_freq
    slower = (made("rope").inv_freq / speeds).tolist()
    assert slower[0] == 1 and slower[3:] == pytest.approx([4.0] * 5)
    assert 1 < slower[1] < slower[2] < 4


def test_a_stretched_table_is_made_of_the_trained_rows():
    table = made("learned")
    weight = table.table.weight.detach()
    for length in LENGTHS:
        rows = READINGS["learned_stretched"].at(table, length).rows
        for row in (0, 1, 17, length - 1):
            want = oracles.stretched_row(weight[:64].double(), row, length)
            # float32 rows below 0.1, blended once.
            torch.testing.assert_close(rows[row].double(), want, rtol=0, atol=1e-7)


def test_dropped_rope_is_no_position_method_at_all():
    found = READINGS["rope_dropped"].at(made("rope"), 128)
    assert type(found) is Positions and not list(found.parameters())


def test_what_goes_on_from_another_training_can_take_all_its_weights():
    parents = {name: t.goes_on_from for name, t in TRAININGS.items() if t.goes_on_from}
    assert parents == {
        "rope_tuned": "rope", "pi_tuned": "rope", "ntk_tuned": "rope", "yarn_tuned": "rope",
        "drope": "rope", "none_longer": "none",
    }  # fmt: skip
    for name in {*parents, *parents.values()}:
        assert not made(name).state_dict()
    stages = {name: TRAININGS[name].stage for name in TRAININGS}
    assert {name for name, stage in stages.items() if stage != "fresh"} == set(parents)
    assert set(stages.values()) == PLANS.keys()


def test_a_tuned_model_reads_as_many_tokens_a_step_as_a_fresh_one():
    fresh, tuned = PLANS["fresh"], PLANS["tuned"]
    assert tuned.batch * tuned.length == fresh.batch * fresh.length == 1024
    assert tuned.length == 256 and fresh.length == TRAINED_LENGTH


def counted(monkeypatch):
    """An experiment whose trainings only note what they were given."""
    seen = []

    def fake_train(model, plan, draw, *, seed, placing):
        seen.append((plan.steps, seed, model.head.bias[0].item()))
        with torch.no_grad():
            model.head.bias[0] = plan.steps

    monkeypatch.setattr(trained, "train", fake_train)
    return Experiment("made_up", 5, None, PLANS, data="none", kept=False), seen


def test_training_goes_on_from_the_trained_parent(monkeypatch):
    task, seen = counted(monkeypatch)
    model = trained.trained(task, "drope", seed=3)
    start = seen[0][2]
    assert seen == [(1200, 3, start), (200, 3, 1200.0)] and abs(start) < 1
    assert model.head.bias[0] == 200


def test_a_reading_changes_the_method_and_nothing_else(monkeypatch):
    task, _ = counted(monkeypatch)
    placing, at = readings(task, "pi", seed=0)
    assert placing is TRAININGS["rope"].placing
    speeds = [at(length).method.inv_freq[0].item() for length in (64, 256, 128)]
    assert speeds == [1.0, 0.25, 0.5]
    assert torch.equal(at(64).head.weight, at(512).head.weight)
    _, plain = readings(task, "rope", seed=0)
    assert plain(64).method is plain(512).method


def test_xpos_fades_over_half_the_trained_length_as_in_its_paper():
    # The paper trains on 1024 tokens with 512.
    assert made("xpos").scale_base == TRAINED_LENGTH * 512 / 1024
    assert math.isclose(made("xpos").scale[0].item(), 0.4 / 1.4)
