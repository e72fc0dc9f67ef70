"""The sentences of docs/methods/learned.md, in the order of the page."""

import pytest
import torch

from posenc_check import oracles
from snippets.learned import LearnedPositionEncoding, extend_table, resize_grid
from tests.guard.marks import claim


def table(d_model=6, max_len=9):
    torch.manual_seed(0)
    return LearnedPositionEncoding(d_model, max_len)


@claim(
    "learned-formula",
    r"\[ y_p = x_p + W_p, \qquad 0 \le p < L \]",
)
def test_the_row_of_each_position_is_added():
    encode, x = table(), torch.randn(2, 4, 6)
    positions = torch.tensor([[0, 3, 8, 1], [5, 5, 0, 2]])
    y = x + encode(positions)
    for b in range(2):
        for t in range(4):
            assert torch.equal(y[b, t], x[b, t] + encode.weight[positions[b, t].item()])
    assert encode.weight.shape == (9, 6)


@claim(
    "learned-gradient",
    "Each row is a trainable address of one position: a loss that looks at position 3 alone has a "
    "gradient in row 3 and in no other.",
)
def test_gradient_reaches_the_used_row_only():
    encode = table()
    encode(torch.arange(7))[3].square().sum().backward()
    assert dict(encode.named_parameters()).keys() == {"weight"}
    used = encode.weight.grad.abs().sum(dim=1) > 0
    assert used.tolist() == [row == 3 for row in range(9)]


@claim(
    "learned-range",
    "The last row answers; one position further there is none, and the module says so.",
)
def test_the_range_ends_with_the_table():
    encode = table()
    assert torch.equal(encode(torch.tensor([8]))[0], encode.weight[8])
    with pytest.raises(ValueError, match="^positions must be from 0 to 8, got 9$"):
        encode(torch.tensor([3, 9]))


@claim(
    "learned-other-length",
    "A table of one length does not load into a module of another.",
)
def test_another_length_does_not_load():
    with pytest.raises(RuntimeError, match="size mismatch for weight"):
        table(max_len=16).load_state_dict(table(max_len=8).state_dict())
    assert list(table().state_dict()) == ["weight"]


@claim(
    "learned-interpolate",
    "With twice the rows, every second new row is an old one.",
)
def test_interpolation_keeps_the_old_rows():
    old = table(max_len=8).weight.detach()
    new = extend_table(old, 16)
    assert new.shape == (16, 6) and torch.equal(new[::2], old)
    torch.testing.assert_close(new[5], (old[2] + old[3]) / 2)
    assert torch.equal(new[15], old[7])


@claim(
    "learned-grid",
    "resize_grid matches the areas of the pixels, not their centres, with bicubic weights: at twice the "
    "height, an inner row of a ramp becomes two rows that lie evenly around it.",
)
def test_a_grid_is_resized_by_areas():
    constant = torch.full((6, 3), 2.5)
    torch.testing.assert_close(resize_grid(constant, (2, 3), (4, 5)), torch.full((20, 3), 2.5))
    ramp = torch.arange(12.0).repeat_interleave(2)[:, None]
    doubled = resize_grid(ramp, (12, 2), (24, 4)).view(24, 4)[:, 0]
    torch.testing.assert_close(doubled.view(12, 2).mean(1)[2:-2], torch.arange(2.0, 10.0))
    assert (doubled.diff() > 0.1).all()  # still a ramp


@claim(
    "learned-appended-rows",
    "Until then they are noise: appended rows do not resemble their neighbours, interpolated rows do.",
)
def test_appended_rows_do_not_resemble_their_neighbours():
    trained = oracles.sinusoid_table(range(32), 64).float()  # stands in for a smooth trained table
    torch.manual_seed(0)
    appended = torch.cat((trained, LearnedPositionEncoding(64, 32, std=0.7).weight.detach()))

    def neighbours(rows):
        return torch.cosine_similarity(rows[:-1], rows[1:], dim=-1)

    stretched = extend_table(trained, 64)
    assert neighbours(stretched).min() > 0.9
    assert (stretched.diff(dim=0)[:-1].norm(dim=1) > 0.1).all()  # a row in between, not the same again
    assert neighbours(appended[32:]).max() < 0.5


@claim(
    "learned-can-hold-relations",
    "Its dot products then depend on the gap alone, and the table is still trainable.",
)
def test_a_trainable_table_can_hold_relations():
    encode = table(d_model=16, max_len=40)
    with torch.no_grad():
        encode.weight.copy_(oracles.sinusoid_table(range(40), 16))
    gram = encode(torch.arange(40)) @ encode(torch.arange(40)).T
    spread = [gram.diagonal(gap).std(correction=0).item() for gap in (1, 5, 30)]
    assert max(spread) < 1e-5  # float32 sums of 16 products
    assert encode.weight.requires_grad
    assert gram.diagonal(5).mean() < gram.diagonal(0).mean() - 1  # gaps do differ


@claim(
    "learned-no-built-in-gap",
    "What is missing is the explicit form: in a table as it is drawn at the start, equal gaps differ in "
    "their dot products.",
)
def test_a_drawn_table_has_no_relations():
    rows = table(d_model=16, max_len=40)(torch.arange(40)).detach() / 0.02
    gram = rows @ rows.T
    assert min(gram.diagonal(gap).std() for gap in (1, 5, 30)) > 1


@claim("learned-negative", "In eager mode the module refuses a negative position.")
def test_negative_positions_are_refused():
    assert torch.equal(table().weight[-1], table().weight[8])  # what indexing would do
    with pytest.raises(ValueError, match="^positions must be from 0 to 8, got -1$"):
        table()(torch.tensor([[4, -1]]))


@claim("learned-parameters", "The table has max_len times d_model parameters.")
def test_number_of_parameters():
    assert sum(p.numel() for p in table(7, 11).parameters()) == 7 * 11
