"""What kerple_bias and Kerple refuse, word for word."""

import pytest
import torch

from snippets.kerple import Kerple, kerple_bias
from tests.exact import raises_exactly

GOOD = {
    "q_positions": torch.arange(4) + 3,
    "k_positions": torch.arange(5),
    "r1": torch.tensor([0.5, 1.0, 2.0]),
    "r2": torch.tensor([0.5, 1.0, 2.0]),
}


def call(kind="log", **replaced):
    return kerple_bias(**(GOOD | replaced), kind=kind)


@pytest.mark.parametrize("value", ["linear", "Log", None])
def test_another_kind_is_refused(value):
    with raises_exactly(ValueError, f"kind must be one of ('log', 'power'), got {value!r}"):
        call(value)
    with raises_exactly(ValueError, f"kind must be one of ('log', 'power'), got {value!r}"):
        Kerple(3, kind=value)


@pytest.mark.parametrize("argument", GOOD)
@pytest.mark.parametrize("shape", [[], [2, 4]])
def test_a_tensor_of_another_rank_is_refused(argument, shape):
    with raises_exactly(ValueError, f"{argument} must be 1-D, got {shape}"):
        call(**{argument: torch.ones(shape).to(GOOD[argument].dtype)})


@pytest.mark.parametrize("argument", ["q_positions", "k_positions"])
@pytest.mark.parametrize("name", "bool float32 float64 complex64".split())
def test_positions_that_are_not_integer_are_refused(argument, name):
    bad = {argument: GOOD[argument].to(getattr(torch, name))}
    positions = {key: GOOD[key] for key in ("q_positions", "k_positions")}
    with raises_exactly(TypeError, f"{argument} must be integer, got torch.{name}"):
        call(**bad)
    with raises_exactly(TypeError, f"{argument} must be integer, got torch.{name}"):
        Kerple(3, kind="log")(**(positions | bad))


@pytest.mark.parametrize("argument", ["r1", "r2"])
@pytest.mark.parametrize("name", "bool int64 complex64".split())
def test_numbers_that_are_not_floating_point_are_refused(argument, name):
    with raises_exactly(TypeError, f"{argument} must be floating point, got torch.{name}"):
        call(**{argument: GOOD[argument].to(getattr(torch, name))})


def test_numbers_for_different_heads_are_refused():
    with raises_exactly(ValueError, "r1 and r2 must have one length, got 3 and 1"):
        call(r2=torch.ones(1))


@pytest.mark.parametrize("argument", ["r1", "r2"])
@pytest.mark.parametrize("value", [0.0, -0.5])
@pytest.mark.parametrize("kind", ["log", "power"])
def test_a_number_that_is_not_positive_is_refused(argument, value, kind):
    with raises_exactly(ValueError, f"{argument} must be positive, got {value}"):
        call(kind, **{argument: torch.tensor([1.0, value, 2.0])})


def test_a_power_above_two_is_refused_and_a_large_r2_of_the_logarithm_is_not():
    r2 = torch.tensor([0.5, 2.5, 2.0])
    with raises_exactly(ValueError, "r2 must be at most 2 in the power kernel, got 2.5"):
        call("power", r2=r2)
    assert call("log", r2=r2).isfinite().all()


def test_a_number_that_is_none_is_refused():
    with raises_exactly(ValueError, "r1 must be positive, got nan"):
        call(r1=torch.tensor([1.0, float("nan"), 1.0]))


@pytest.mark.parametrize("value", [0, -3])
def test_a_number_of_heads_below_one_is_refused(value):
    with raises_exactly(ValueError, f"n_heads must be positive, got {value}"):
        Kerple(value, kind="log")


def test_kind_and_dtype_are_given_by_name():
    with pytest.raises(TypeError, match="kind"):
        kerple_bias(**GOOD)
    with pytest.raises(TypeError, match="kind"):
        Kerple(3)
    with pytest.raises(TypeError, match="positional argument"):
        kerple_bias(*GOOD.values(), "log")


def test_values_are_looked_at_in_eager_mode_only(monkeypatch):
    bias = call("power", **{name: tensor.to("meta") for name, tensor in GOOD.items()})
    assert (bias.device.type, bias.shape) == ("meta", (3, 4, 5))
    for name in ("r1", "r2"):  # one of the two on the CPU
        bias = call("power", **{n: GOOD[n].to("meta") for n in GOOD if n != name})
        assert bias.device.type == "meta"
    monkeypatch.setattr(torch.compiler, "is_compiling", lambda: True)
    assert call("power", r1=torch.zeros(3), r2=torch.full((3,), 2.5)).shape == (3, 4, 5)


def test_one_head_is_taken():
    positions = {key: GOOD[key] for key in ("q_positions", "k_positions")}
    assert Kerple(1, kind="log")(**positions).shape == (1, 4, 5)
