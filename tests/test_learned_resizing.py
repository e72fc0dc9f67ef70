"""extend_table and resize_grid against sums over single rows, then what they refuse."""

import pytest
import torch

from posenc_check import oracles
from snippets.learned import extend_table, resize_grid
from tests.exact import raises_exactly


def generic(*shape):
    return torch.randn(shape, dtype=torch.float64, generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize("d_model", [1, 3])
@pytest.mark.parametrize(
    "old, new", [(1, 1), (1, 4), (2, 3), (2, 7), (5, 5), (5, 13), (8, 16), (512, 1536), (600, 1000)]
)
def test_every_row_lies_between_two_old_ones(old, new, d_model):
    weight = generic(old, d_model)
    want = torch.stack([oracles.stretched_row(weight, row, new) for row in range(new)])
    # A place below 1000 is rounded by 1e-13, rows differ by less than 10.
    torch.testing.assert_close(extend_table(weight, new), want, rtol=0, atol=1e-12)


@pytest.mark.parametrize("times", [1, 2, 3, 7, 10])
def test_a_multiple_of_the_rows_keeps_every_old_row_exactly(times):
    weight = generic(101, 4)
    assert torch.equal(extend_table(weight, 101 * times)[::times], weight)


def test_a_short_table_by_hand():
    weight = torch.tensor([[0.0], [6.0], [9.0]])
    # Rows 0, 1, 2, ... read the places 0, 3/5, 6/5, 9/5 and 12/5.
    got = extend_table(weight, 5)[:, 0].tolist()
    assert got == pytest.approx([0, 3.6, 6.6, 8.4, 9], abs=1e-6)


@pytest.mark.parametrize("name", ["float16", "bfloat16", "float32"])
def test_a_narrow_table_stays_narrow(name):
    dtype = getattr(torch, name)
    weight = generic(5, 4).to(dtype)
    got = extend_table(weight, 13)
    assert got.dtype == dtype
    want = torch.stack([oracles.stretched_row(weight, row, 13) for row in range(13)])
    # Two products and a sum of numbers below 3, and the shares, each rounded once.
    atol = 12 * torch.finfo(dtype).eps
    torch.testing.assert_close(got.double(), want, rtol=0, atol=atol)


def test_the_old_table_is_not_changed_and_gets_gradients():
    weight = generic(3, 2).requires_grad_()
    before = weight.detach().clone()
    extend_table(weight, 6).sum().backward()
    assert torch.equal(weight, before)
    # Six rows in all; the last old row serves the half step after it as well.
    assert weight.grad[:, 0].tolist() == [1.5, 2, 2.5]


def test_a_table_on_meta_stays_there():
    got = extend_table(torch.zeros(5, 3, device="meta"), 13)
    assert (got.device.type, got.shape) == ("meta", (13, 3))


@pytest.mark.parametrize("shape", [[], [5], [1, 5, 3]])
def test_a_table_of_another_rank_is_refused(shape):
    with raises_exactly(ValueError, f"weight must be [old, d_model], got {shape}"):
        extend_table(torch.zeros(shape), 8)


@pytest.mark.parametrize("max_len", [4, 0, -1])
def test_a_table_is_not_made_shorter(max_len):
    with raises_exactly(ValueError, f"max_len must be at least 5, got {max_len}"):
        extend_table(torch.zeros(5, 3), max_len)


GRIDS = [((2, 3), (2, 3)), ((2, 3), (5, 7)), ((3, 2), (6, 4)), ((1, 4), (3, 5)), ((5, 4), (3, 2))]


@pytest.mark.parametrize("old, new", GRIDS)
def test_every_cell_is_a_cubic_sum_around_its_centre(old, new):
    weight = generic(old[0] * old[1], 3)
    got = resize_grid(weight, old, new)
    cells = [(row, column) for row in range(new[0]) for column in range(new[1])]
    want = torch.stack([oracles.resized_cell(weight, old, new, *cell) for cell in cells])
    # float64 sums of 16 products of numbers below 10.
    torch.testing.assert_close(got, want, rtol=0, atol=1e-13)


def test_the_same_grid_comes_back_exactly():
    weight = generic(6, 3)
    assert torch.equal(resize_grid(weight, (2, 3), (2, 3)), weight)


def test_rows_of_the_grid_come_before_columns():
    weight = torch.tensor([[0.0], [0.0], [0.0], [1.0], [1.0], [1.0]])  # height 2, width 3
    got = resize_grid(weight, (2, 3), (2, 6))[:, 0]
    torch.testing.assert_close(got, torch.tensor([0.0] * 6 + [1.0] * 6), rtol=0, atol=1e-6)


@pytest.mark.parametrize("name", ["float32", "float64"])
def test_a_resized_grid_has_the_dtype_of_the_table(name):
    weight = generic(6, 3).to(getattr(torch, name))
    assert resize_grid(weight, (2, 3), (4, 5)).dtype == weight.dtype


@pytest.mark.parametrize("shape", [[7, 4], [6], [1, 6, 4]])
def test_a_table_that_is_not_the_old_grid_is_refused(shape):
    with raises_exactly(ValueError, f"weight must be [2 * 3, d_model], got {shape}"):
        resize_grid(torch.zeros(shape), (2, 3), (4, 5))


@pytest.mark.parametrize("old, new", [((-2, -3), (4, 5)), ((2, 3), (0, 5)), ((2, 3), (4, -1))])
def test_a_grid_of_no_cells_is_refused(old, new):
    with raises_exactly(ValueError, f"old and new must be positive, got {old} and {new}"):
        resize_grid(torch.zeros(6, 4), old, new)
