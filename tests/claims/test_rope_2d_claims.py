"""The sentences of docs/methods/rope_2d.md, in the order of the page."""

import math

import pytest
import torch

from posenc_check import oracles
from snippets.rope import apply_rope, rope_inv_freq
from snippets.rope_2d import apply_rope_2d, axial_inv_freq, mixed_inv_freq, patch_positions
from tests.guard.marks import claim

F64 = torch.float64
ROW_COLUMN = torch.tensor([[3, 8], [4, 1], [9, 2], [5, 5], [2, 7]])


def close(a, b, atol=1e-12):
    torch.testing.assert_close(a, torch.as_tensor(b, dtype=F64), rtol=0, atol=atol)


def random(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=F64)


def mixed(head_dim=8, n_heads=3):
    return mixed_inv_freq(head_dim, n_heads, generator=torch.Generator().manual_seed(2))


Q, K = random(2, 2, 3, 5, 8)


def scores(inv_freq, positions=ROW_COLUMN, q=Q, k=K):
    return apply_rope_2d(q, positions, inv_freq) @ apply_rope_2d(k, positions, inv_freq).mT


def score_of_gap(inv_freq, row, column):
    """Query of ones at (row, column), key of ones at (0, 0); a number for each head."""
    one = torch.ones(1, inv_freq.shape[0] if inv_freq.ndim == 3 else 1, 2, 8, dtype=F64)
    return scores(inv_freq, torch.tensor([[row, column], [0, 0]]), one, one)[0, :, 0, 1]


@claim(
    "rope-2d-flat",
    "The patch to the right is one step away, the patch below a whole row. In a wider image the same two "
    "patches, one above the other, get another score.",
)
def test_one_number_for_a_patch():
    def below(width):
        place = torch.tensor([0, width])  # row by row: (0, 0) and (1, 0)
        q, k = Q[:, :, :2], K[:, :, :2]
        return (apply_rope(q, place, rope_inv_freq(8)) @ apply_rope(k, place, rope_inv_freq(8)).mT)[..., 0, 1]

    assert (below(14) - below(16)).abs().max() > 0.1
    place = torch.tensor([[0, 0], [1, 0]])  # the width plays no part
    two = scores(axial_inv_freq(8), place, Q[:, :, :2], K[:, :, :2])
    close(two, scores(axial_inv_freq(8), place + 30, Q[:, :, :2], K[:, :, :2]))
    assert patch_positions(2, 14)[14].tolist() == patch_positions(2, 16)[16].tolist() == [1, 0]


@claim("rope-2d-angle", r"\[ \theta_i(y, x) = y\,\omega_i^{\text{row}} + x\,\omega_i^{\text{col}} \]")
@pytest.mark.parametrize("layout", ["half", "interleaved"])
def test_angles(layout):
    inv_freq = mixed()
    turned = apply_rope_2d(Q, ROW_COLUMN, inv_freq, layout=layout)
    for h in range(3):
        for t, (row, column) in enumerate(ROW_COLUMN.tolist()):
            angles = [row * a + column * b for a, b in inv_freq[h].tolist()]
            for b in range(2):
                close(turned[b, h, t], oracles.rope_vector(Q[b, h, t], 1.0, angles, layout))


@claim(
    "rope-2d-relative",
    "Scores depend on the difference of the rows and the difference of the columns, and on nothing else of "
    "the positions.",
)
@pytest.mark.parametrize("inv_freq", [axial_inv_freq(8), mixed()], ids=["axial", "mixed"])
def test_scores_of_moved_patches(inv_freq):
    close(scores(inv_freq, ROW_COLUMN + torch.tensor([70, 11])), scores(inv_freq), atol=1e-11)
    for stretch in ([2, 1], [1, 2]):
        assert (scores(inv_freq, ROW_COLUMN * torch.tensor(stretch)) - scores(inv_freq)).abs().max() > 0.1


@claim(
    "rope-2d-axial",
    "Axial frequencies give each pair one axis: here the first half of the pairs turns with the row, the "
    "second half with the column.",
)
def test_one_axis_a_pair():
    inv_freq = axial_inv_freq(8)
    assert (inv_freq[:2, 0] > 0).all() and (inv_freq[:2, 1] == 0).all()
    assert (inv_freq[2:, 1] > 0).all() and (inv_freq[2:, 0] == 0).all()


@claim("rope-2d-speeds", r"\[ \omega_j = \text{base}^{-4j/d}, \quad 0 \le j < d/4 \]")
@pytest.mark.parametrize("head_dim, base", [(8, 100.0), (64, 100.0), (64, 10.0)])
def test_speeds_of_an_axis(head_dim, base):
    expected = [math.exp(-4 * j / head_dim * math.log(base)) for j in range(head_dim // 4)]
    inv_freq = axial_inv_freq(head_dim, base)
    close(inv_freq[: head_dim // 4, 0], expected)
    close(inv_freq[head_dim // 4 :, 1], expected)


@claim("rope-2d-axial-sum", "An axial score is a term of the row gap plus a term of the column gap.")
def test_axial_scores_add():
    inv_freq = axial_inv_freq(8)
    both, row, column, none = (score_of_gap(inv_freq, *gap) for gap in [(3, 5), (3, 0), (0, 5), (0, 0)])
    close(both + none, row + column)
    assert (row - none).abs() > 0.1 and (column - none).abs() > 0.1


@claim(
    "rope-2d-mixed-start",
    "They start as the axial ones with base 10, with all pairs of a head turned by one random angle: the "
    "directions of its two halves stay at right angles.",
)
def test_start_of_mixed_frequencies():
    start = mixed(64, 3)
    speeds = torch.tensor([10 ** (-4 * j / 64) for j in range(16)], dtype=F64)
    close(start.norm(dim=-1), torch.cat((speeds, speeds)).expand(3, 32))
    unit = start / start.norm(dim=-1, keepdim=True)
    for half in (unit[:, :16], unit[:, 16:]):
        close(half, half[:, :1].expand(3, 16, 2))  # one direction for the half
    close(torch.linalg.vecdot(unit[:, 0], unit[:, 16]), torch.zeros(3))
    assert (unit[0, 0] - unit[1, 0]).norm() > 0.1  # each head has its own


@claim("rope-2d-mixed", "Their score is no such sum.")
def test_mixed_scores_do_not_add():
    inv_freq = mixed()
    both, row, column, none = (score_of_gap(inv_freq, *gap) for gap in [(3, 5), (3, 0), (0, 5), (0, 0)])
    assert (both + none - row - column).abs().max() > 0.1


@claim(
    "rope-2d-exchanged", "Exchanged, scores change, while every property above stays."
)
def test_rows_and_columns_exchanged():
    inv_freq = axial_inv_freq(8)
    swapped = ROW_COLUMN.flip(-1)
    assert (scores(inv_freq, swapped) - scores(inv_freq)).abs().max() > 0.1
    close(scores(inv_freq, swapped + 9), scores(inv_freq, swapped))
    close(apply_rope_2d(Q, swapped, inv_freq).norm(dim=-1), Q.norm(dim=-1))


@claim(
    "rope-2d-split-pair",
    "If one used the row and the other the column, the vector would change its length.",
)
def test_a_pair_split_between_the_axes():
    a, b = Q.chunk(2, dim=-1)
    row, column = (ROW_COLUMN[:, i, None] * rope_inv_freq(8) for i in (0, 1))  # each (T, P)
    wrong = torch.cat((a * row.cos() - b * row.sin(), b * column.cos() + a * column.sin()), -1)
    assert (wrong.norm(dim=-1) / Q.norm(dim=-1) - 1).abs().max() > 0.1
    close(apply_rope_2d(Q, ROW_COLUMN, axial_inv_freq(8)).norm(dim=-1), Q.norm(dim=-1))


@claim(
    "rope-2d-class-token",
    "A token that is not rotated stands where rotated ones stand at row 0 and column 0: at the first patch.",
)
def test_a_token_that_is_not_rotated():
    for inv_freq in (axial_inv_freq(8), mixed()):
        place = torch.zeros(5, 2, dtype=torch.int64)
        assert torch.equal(apply_rope_2d(Q, place, inv_freq), Q)
    assert patch_positions(3, 4)[0].tolist() == [0, 0]


@claim(
    "rope-2d-resolution",
    "Divide positions by the growth of the grid, and angles go at most half a step past the trained ones.",
)
def test_a_finer_grid():
    trained, finer = patch_positions(14, 14), patch_positions(28, 28) / 2
    assert patch_positions(28, 28).max() == 27 and trained.max() == 13
    assert trained.max() < finer.max() <= trained.max() + 1 / 2
    x = random(1, 1, 1, 8)
    close(apply_rope_2d(x, finer[2 * 28 * 5 + 2 * 3][None], axial_inv_freq(8)),
          apply_rope_2d(x, trained[14 * 5 + 3][None], axial_inv_freq(8)))


@claim("rope-2d-parameters", r"Mixed frequencies add \(H \cdot d\) numbers to train in each layer.")
def test_numbers_to_train():
    start = torch.nn.Parameter(mixed_inv_freq(64, 12))
    assert start.numel() == 12 * 64
    x = random(1, 12, 5, 64)
    (apply_rope_2d(x, ROW_COLUMN, start) * x.flip(-1)).sum().backward()
    assert (start.grad != 0).all()
