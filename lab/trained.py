"""Trained models of an experiment, from the cache where they are there."""

from collections.abc import Callable
from typing import NamedTuple

import torch

from lab import cells
from lab.methods import READINGS, TRAININGS
from lab.model import D_MODEL, N_HEADS, N_LAYERS, SmallModel
from lab.training import Batch, Placing, Plan, train


class Experiment(NamedTuple):
    name: str  # its folder under .lab/
    n_symbols: int
    draw: Callable[[Plan, torch.Generator], Batch]
    plans: dict[str, Plan]  # one for each stage of lab/methods.py that is used
    data: str  # names what `draw` draws from
    kept: bool = True


def setting(experiment: Experiment, training: str, seed: int) -> dict:
    """All that a training depends on besides the code, its parents included."""
    stage, parent = TRAININGS[training].stage, TRAININGS[training].goes_on_from
    return {
        "data": experiment.data,
        "torch": torch.__version__,
        "model": (D_MODEL, N_HEADS, N_LAYERS),
        "plan": experiment.plans[stage]._asdict(),
        "training": training,
        "seed": seed,
        "from": parent and setting(experiment, parent, seed),
    }


def trained(experiment: Experiment, name: str, seed: int) -> SmallModel:
    """The model of a training and seed; trains it, and what it goes on from, if not kept."""
    training = TRAININGS[name]
    torch.manual_seed(seed)
    model = SmallModel(experiment.n_symbols, training.make)

    def compute() -> dict:
        if training.goes_on_from:
            # Methods that go on from each other have no parameters: all weights fit.
            parent = trained(experiment, training.goes_on_from, seed)
            model.load_state_dict(parent.state_dict())
        plan = experiment.plans[training.stage]
        train(model, plan, experiment.draw, seed=seed, placing=training.placing)
        return model.state_dict()

    if experiment.kept:
        known = setting(experiment, name, seed)
        model.load_state_dict(cells.weights(f"{experiment.name}/{name}-{seed}", known, compute))
    else:
        compute()
    return model


def readings(experiment: Experiment, name: str, seed: int):
    """(placing, at) of a reading: at(length) is its model with the method of that length."""
    reading = READINGS[name]
    model = trained(experiment, reading.training, seed)
    own = model.method

    def at(length: int) -> SmallModel:
        model.method = reading.at(own, length) if reading.at else own
        return model

    placing: Placing = TRAININGS[reading.training].placing
    return placing, at
