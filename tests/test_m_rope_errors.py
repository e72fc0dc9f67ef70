"""What the functions of m_rope refuse, word for word."""

import pytest
import torch

from snippets.m_rope import apply_m_rope, m_rope_axes, m_rope_positions
from tests.exact import raises_exactly


def call(x=(2, 4, 5, 6), positions=(3, 5), inv_freq=(3,), axes=(3,)):
    """apply_m_rope where each tensor is right unless a shape or a tensor replaces it."""
    if isinstance(x, tuple):
        x = torch.zeros(x)
    if isinstance(positions, tuple):
        positions = torch.zeros(positions, dtype=torch.int64)
    if isinstance(inv_freq, tuple):
        inv_freq = torch.ones(inv_freq, dtype=torch.float64)
    if isinstance(axes, tuple):
        axes = torch.zeros(axes, dtype=torch.int64)
    return apply_m_rope(x, positions, inv_freq, axes)


def test_the_call_that_these_tests_spoil_is_right():
    assert call().shape == (2, 4, 5, 6)
    assert call(positions=(3, 2, 5)).shape == (2, 4, 5, 6)


@pytest.mark.parametrize(
    "sections", [(), (4,), (2, 2), (1, 1, 1, 1), (-1, 2, 2), (2, 3, -1), (0, 0, 0)]
)
@pytest.mark.parametrize("order", ["blocks", "interleaved"])
def test_sections_that_are_not_three_counts_are_refused(sections, order):
    text = f"sections must be 3 counts with a positive sum, got {list(sections)}"
    with raises_exactly(ValueError, text):
        m_rope_axes(sections, order)


@pytest.mark.parametrize("order", ["block", "Interleaved", "", None])
def test_an_unknown_order_is_refused(order):
    text = f"order must be one of ('blocks', 'interleaved'), got {order!r}"
    with raises_exactly(ValueError, text):
        m_rope_axes((2, 1, 1), order)


@pytest.mark.parametrize(
    "sections", [(16, 24, 24), (0, 2, 2), (1, 2, 1), (1, 1, 2), (0, 0, 1), (0, 1, 0)]
)
def test_sections_that_do_not_fit_in_turn_are_refused(sections):
    text = f"sections must fit into {sum(sections)} pairs in turn, got {list(sections)}"
    with raises_exactly(ValueError, text):
        m_rope_axes(sections, "interleaved")
    assert len(m_rope_axes(sections)) == sum(sections)


@pytest.mark.parametrize("parts", [[], ()])
def test_a_sequence_without_parts_is_refused(parts):
    with raises_exactly(ValueError, "parts must not be empty, got []"):
        m_rope_positions(parts)


@pytest.mark.parametrize(
    "part", [0, -2, (), (5,), (2, 3), (1, 2, 3, 4), (0, 2, 3), (1, 0, 3), (1, 2, -1)]
)
def test_a_part_that_is_neither_a_count_nor_a_grid_is_refused(part):
    text = f"parts must be a count or (frames, rows, columns), all positive, got {part}"
    with raises_exactly(ValueError, text):
        m_rope_positions([2, part])


@pytest.mark.parametrize("part", [2.0, (1, 2.0, 3), None])
def test_a_count_that_is_not_an_integer_is_refused(part):
    with pytest.raises(TypeError):
        m_rope_positions([2, part])


@pytest.mark.parametrize("shape", [(4, 5, 6), (1, 2, 4, 5, 6), (2, 4, 5, 7)])
def test_an_x_of_another_rank_or_of_odd_width_is_refused(shape):
    with raises_exactly(ValueError, f"x must be [B, H, T, D] with D even, got {list(shape)}"):
        call(x=shape)


@pytest.mark.parametrize("name", ["int64", "bool", "complex64"])
def test_an_x_that_is_not_floating_point_is_refused(name):
    with raises_exactly(TypeError, f"x must be floating point, got torch.{name}"):
        call(x=torch.zeros(2, 4, 5, 6, dtype=getattr(torch, name)))


@pytest.mark.parametrize("name", ["bool", "float16", "bfloat16", "complex64"])
def test_positions_of_a_dtype_that_cannot_count_are_refused(name):
    text = f"positions must be integer, float32 or float64, got torch.{name}"
    with raises_exactly(TypeError, text):
        call(positions=torch.zeros(3, 5, dtype=getattr(torch, name)))


@pytest.mark.parametrize(
    "shape", [(), (5,), (3,), (2, 5), (5, 3), (3, 4), (2, 3, 5), (3, 1, 5), (3, 4, 5), (3, 2, 4)]
)
def test_positions_of_another_shape_are_refused(shape):
    text = f"positions must be [3, T] or [3, B, T] with T=5, B=2, got {list(shape)}"
    with raises_exactly(ValueError, text):
        call(positions=shape)


@pytest.mark.parametrize("name", ["float16", "bfloat16", "int64", "complex128"])
def test_speeds_of_a_dtype_that_cannot_hold_angles_are_refused(name):
    text = f"inv_freq must be float32 or float64, got torch.{name}"
    with raises_exactly(TypeError, text):
        call(inv_freq=torch.ones(3, dtype=getattr(torch, name)))


@pytest.mark.parametrize("shape", [(), (0,), (1,), (2,), (6,), (1, 3)])
def test_speeds_or_axes_of_another_shape_are_refused(shape):
    with raises_exactly(ValueError, f"inv_freq must be [P] with P=3, got {list(shape)}"):
        call(inv_freq=shape)
    with raises_exactly(ValueError, f"axes must be [P] with P=3, got {list(shape)}"):
        call(axes=shape)


@pytest.mark.parametrize("name", ["int32", "uint8", "bool", "float32"])
def test_axes_of_another_dtype_are_refused(name):
    with raises_exactly(TypeError, f"axes must be int64, got torch.{name}"):
        call(axes=torch.zeros(3, dtype=getattr(torch, name)))
