"""What the functions of xpos refuse, word for word."""

import math

import pytest
import torch

from snippets.xpos import apply_xpos, xpos_scale
from tests.exact import raises_exactly


def call(x=(2, 3, 5, 8), positions=(5,), inv_freq=(4,), scale=(4,), **options):
    """apply_xpos where each tensor is right unless a shape or a tensor replaces it."""
    if isinstance(x, tuple):
        x = torch.zeros(x)
    if isinstance(positions, tuple):
        positions = torch.zeros(positions, dtype=torch.int64)
    if isinstance(inv_freq, tuple):
        inv_freq = torch.ones(inv_freq, dtype=torch.float64)
    if isinstance(scale, tuple):
        scale = torch.ones(scale, dtype=torch.float64)
    return apply_xpos(x, positions, inv_freq, scale, **({"keys": True} | options))


def test_the_call_that_these_tests_spoil_is_right():
    assert call().shape == (2, 3, 5, 8)
    assert call(positions=(2, 5), scale_base=0.5).shape == (2, 3, 5, 8)


@pytest.mark.parametrize("value", [0, -2, 1, 7])
def test_a_head_dim_that_is_odd_or_below_two_is_refused(value):
    with raises_exactly(ValueError, f"head_dim must be even and positive, got {value}"):
        xpos_scale(value)


@pytest.mark.parametrize("value", [0, 0.0, -0.4, math.nan])
def test_a_gamma_that_is_not_positive_is_refused(value):
    with raises_exactly(ValueError, f"gamma must be positive, got {value}"):
        xpos_scale(8, value)


@pytest.mark.parametrize("shape", [(3, 5, 8), (1, 2, 3, 5, 8), (2, 3, 5, 7)])
def test_an_x_of_another_rank_or_of_odd_width_is_refused(shape):
    with raises_exactly(ValueError, f"x must be [B, H, T, D] with D even, got {list(shape)}"):
        call(x=shape)


@pytest.mark.parametrize("name", ["int64", "bool", "complex64"])
def test_an_x_that_is_not_floating_point_is_refused(name):
    with raises_exactly(TypeError, f"x must be floating point, got torch.{name}"):
        call(x=torch.zeros(2, 3, 5, 8, dtype=getattr(torch, name)))


@pytest.mark.parametrize("name", ["bool", "float16", "bfloat16", "complex64"])
def test_positions_of_a_dtype_that_cannot_count_are_refused(name):
    text = f"positions must be integer, float32 or float64, got torch.{name}"
    with raises_exactly(TypeError, text):
        call(positions=torch.zeros(5, dtype=getattr(torch, name)))


@pytest.mark.parametrize("shape", [(), (1,), (4,), (2,), (1, 5), (3, 5), (2, 4), (2, 3, 5)])
def test_positions_of_another_shape_are_refused(shape):
    text = f"positions must be [T] or [B, T] with T=5, B=2, got {list(shape)}"
    with raises_exactly(ValueError, text):
        call(positions=shape)


@pytest.mark.parametrize("argument", ["inv_freq", "scale"])
@pytest.mark.parametrize("name", ["float16", "bfloat16", "int64", "complex128"])
def test_speeds_or_scales_of_a_dtype_that_cannot_hold_them_are_refused(argument, name):
    text = f"{argument} must be float32 or float64, got torch.{name}"
    with raises_exactly(TypeError, text):
        call(**{argument: torch.ones(4, dtype=getattr(torch, name))})


@pytest.mark.parametrize("argument", ["inv_freq", "scale"])
@pytest.mark.parametrize("shape", [(), (0,), (1,), (3,), (5,), (1, 4)])
def test_speeds_or_scales_of_another_shape_are_refused(argument, shape):
    with raises_exactly(ValueError, f"{argument} must be [P] with P=4, got {list(shape)}"):
        call(**{argument: shape})


@pytest.mark.parametrize("value", [0, 0.0, -512, math.nan])
def test_a_scale_base_that_is_not_positive_is_refused(value):
    with raises_exactly(ValueError, f"scale_base must be positive, got {value}"):
        call(scale_base=value)


@pytest.mark.parametrize("layout", ["Half", "neox", "", None])
def test_an_unknown_layout_is_refused(layout):
    text = f"layout must be one of ('half', 'interleaved'), got {layout!r}"
    with raises_exactly(ValueError, text):
        call(layout=layout)


def test_the_side_is_given_by_name_and_has_no_default():
    one = torch.ones(4, dtype=torch.float64)
    with pytest.raises(TypeError, match="positional argument"):
        apply_xpos(torch.zeros(2, 3, 5, 8), torch.arange(5), one, one, True)
    with pytest.raises(TypeError, match="required keyword-only argument: 'keys'"):
        apply_xpos(torch.zeros(2, 3, 5, 8), torch.arange(5), one, one)
