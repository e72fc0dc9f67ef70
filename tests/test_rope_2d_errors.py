"""What the functions of rope_2d refuse, word for word."""

import math

import pytest
import torch

from snippets.rope_2d import apply_rope_2d, axial_inv_freq, mixed_inv_freq, patch_positions
from tests.exact import raises_exactly


def call(x=(2, 3, 5, 8), positions=(5, 2), inv_freq=(4, 2), **options):
    """apply_rope_2d where each tensor is right unless a shape or a tensor replaces it."""
    if isinstance(x, tuple):
        x = torch.zeros(x)
    if isinstance(positions, tuple):
        positions = torch.zeros(positions, dtype=torch.int64)
    if isinstance(inv_freq, tuple):
        inv_freq = torch.ones(inv_freq, dtype=torch.float64)
    return apply_rope_2d(x, positions, inv_freq, **options)


def test_the_call_that_these_tests_spoil_is_right():
    assert call().shape == (2, 3, 5, 8)
    assert call(positions=(2, 5, 2), inv_freq=(3, 4, 2)).shape == (2, 3, 5, 8)


@pytest.mark.parametrize("height, width", [(0, 3), (3, 0), (-1, 2), (2, -1)])
def test_a_grid_without_patches_is_refused(height, width):
    text = f"height and width must be positive, got {height} and {width}"
    with raises_exactly(ValueError, text):
        patch_positions(height, width)


@pytest.mark.parametrize("value", [0, -4, 2, 6, 7])
def test_a_head_dim_that_is_no_multiple_of_four_is_refused(value):
    text = f"head_dim must be a positive multiple of 4, got {value}"
    with raises_exactly(ValueError, text):
        axial_inv_freq(value)
    with raises_exactly(ValueError, text):
        mixed_inv_freq(value, 3)


@pytest.mark.parametrize("value", [0, 0.0, -2.5, math.nan])
def test_a_base_that_is_not_positive_is_refused(value):
    with raises_exactly(ValueError, f"base must be positive, got {value}"):
        axial_inv_freq(8, value)
    with raises_exactly(ValueError, f"base must be positive, got {value}"):
        mixed_inv_freq(8, 3, value)


@pytest.mark.parametrize("value", [0, -3])
def test_no_heads_are_refused(value):
    with raises_exactly(ValueError, f"n_heads must be positive, got {value}"):
        mixed_inv_freq(8, value)


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
        call(positions=torch.zeros(5, 2, dtype=getattr(torch, name)))


@pytest.mark.parametrize(
    "shape", [(), (5,), (2, 5), (5, 1), (5, 3), (4, 2), (1, 5, 2), (3, 5, 2), (2, 4, 2), (2, 5)]
)
def test_positions_of_another_shape_are_refused(shape):
    text = f"positions must be [T, 2] or [B, T, 2] with T=5, B=2, got {list(shape)}"
    with raises_exactly(ValueError, text):
        call(positions=shape)


@pytest.mark.parametrize("name", ["float16", "bfloat16", "int64", "complex128"])
def test_speeds_of_a_dtype_that_cannot_hold_angles_are_refused(name):
    text = f"inv_freq must be float32 or float64, got torch.{name}"
    with raises_exactly(TypeError, text):
        call(inv_freq=torch.ones(4, 2, dtype=getattr(torch, name)))


@pytest.mark.parametrize(
    "shape", [(), (4,), (2, 4), (3, 2), (5, 2), (4, 1), (4, 3), (1, 4, 2), (2, 4, 2), (3, 5, 2)]
)
def test_speeds_of_another_shape_are_refused(shape):
    text = f"inv_freq must be [P, 2] or [H, P, 2] with P=4, H=3, got {list(shape)}"
    with raises_exactly(ValueError, text):
        call(inv_freq=shape)


@pytest.mark.parametrize("layout", ["Half", "neox", "", None])
def test_an_unknown_layout_is_refused(layout):
    text = f"layout must be one of ('half', 'interleaved'), got {layout!r}"
    with raises_exactly(ValueError, text):
        call(layout=layout)


def test_layout_and_generator_are_given_by_name():
    with pytest.raises(TypeError, match="positional argument"):
        call(torch.zeros(2, 3, 5, 8), (5, 2), (4, 2), "half")
    with pytest.raises(TypeError, match="positional argument"):
        mixed_inv_freq(8, 3, 10.0, torch.Generator())
