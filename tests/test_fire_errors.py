"""What fire_distance and Fire refuse, word for word."""

import pytest
import torch

from snippets.fire import Fire, fire_distance
from tests.exact import raises_exactly

GOOD = {
    "q_positions": torch.arange(4) + 3,
    "k_positions": torch.arange(5),
    "c": torch.tensor(0.1),
    "threshold": torch.tensor(5.0),
}


def call(**replaced):
    return fire_distance(**(GOOD | replaced))


positions = pytest.mark.parametrize("argument", ["q_positions", "k_positions"])
numbers = pytest.mark.parametrize("argument", ["c", "threshold"])


@positions
@pytest.mark.parametrize("shape", [[], [2, 4]])
def test_positions_of_another_rank_are_refused(argument, shape):
    bad = {argument: torch.zeros(shape, dtype=torch.int64)}
    with raises_exactly(ValueError, f"{argument} must be 1-D, got {shape}"):
        call(**bad)
    with raises_exactly(ValueError, f"{argument} must be 1-D, got {shape}"):
        Fire(3)(**({name: GOOD[name] for name in ("q_positions", "k_positions")} | bad))


@positions
@pytest.mark.parametrize("name", "bool float32 float64 complex64".split())
def test_positions_that_are_not_integer_are_refused(argument, name):
    with raises_exactly(TypeError, f"{argument} must be integer, got torch.{name}"):
        call(**{argument: GOOD[argument].to(getattr(torch, name))})


@numbers
@pytest.mark.parametrize("shape", [[1], [2, 3]])
def test_a_number_that_is_no_scalar_is_refused(argument, shape):
    with raises_exactly(ValueError, f"{argument} must be a scalar tensor, got {shape}"):
        call(**{argument: torch.ones(shape)})


@numbers
@pytest.mark.parametrize("value", [0.0, -0.5, float("nan")])
def test_a_number_that_is_not_positive_is_refused(argument, value):
    with raises_exactly(ValueError, f"{argument} must be positive, got {value}"):
        call(**{argument: torch.tensor(value)})


@pytest.mark.parametrize("argument", ["n_heads", "hidden", "c", "threshold"])
@pytest.mark.parametrize("value", [0, -3])
def test_a_size_or_start_that_is_not_positive_is_refused(argument, value):
    with raises_exactly(ValueError, f"{argument} must be positive, got {value}"):
        Fire(**({"n_heads": 3} | {argument: value}))


def test_sizes_and_starts_are_given_by_name():
    with pytest.raises(TypeError, match="positional argument"):
        Fire(3, 32)


@numbers
def test_values_are_looked_at_in_eager_mode_only(argument, monkeypatch):
    distance = call(**{name: tensor.to("meta") for name, tensor in GOOD.items()})
    assert (distance.device.type, distance.shape) == ("meta", (4, 5))
    monkeypatch.setattr(torch.compiler, "is_compiling", lambda: True)
    assert call(**{argument: torch.tensor(-0.5)}).shape == (4, 5)
