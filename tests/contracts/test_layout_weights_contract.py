"""Converters of q and k projections: right ones pass, wrong ones fail with their cause."""

import functools

import pytest
import torch

from posenc_check.contracts import check_layout_weights
from snippets.rope import half_from_interleaved, interleaved_from_half
from tests.contracts.verdicts import asked_names, assert_fails, failed_names
from tests.exact import raises_exactly

HEADS = "puts the rows of each head in order"
MORE = "takes another number of heads, as keys have"
SINGLE = "takes a single head"
BITS = "keeps every number and its dtype"
BIAS = "takes a bias"


def viewed(w, n_heads, dim1, dim2):
    """As in many conversion scripts: view, transpose, reshape."""
    return w.view(n_heads, dim1 // n_heads // 2, 2, dim2).transpose(1, 2).reshape(dim1, dim2)


def indexed(weight, n_heads):
    rows = torch.arange(len(weight)).view(n_heads, -1)
    return weight[torch.cat((rows[:, 0::2], rows[:, 1::2]), dim=1).flatten()]


class Converter:
    """A class that keeps the sizes."""

    def __init__(self, n_heads, head_dim):
        self.n_heads, self.head_dim = n_heads, head_dim

    def __call__(self, weight):
        by_head = weight.reshape(self.n_heads, self.head_dim, -1)
        halves = [torch.cat((h[0::2], h[1::2])) for h in by_head]
        return torch.cat(halves).reshape(weight.shape)


OPTIONS = [{}, {"n_heads": 3, "head_dim": 8}, {"head_dim": 12, "rotary_dim": 8}]


@pytest.mark.parametrize("options", OPTIONS)
def test_our_snippets_pass(options):
    half = check_layout_weights(half_from_interleaved, to="half", bias=True, **options)
    assert half.passed, half
    back = check_layout_weights(interleaved_from_half, to="interleaved", bias=True, **options)
    assert back.passed, back
    assert len(back.requirements) == 5


def test_other_right_forms_pass():
    for reorder, options in (
        (viewed, {"call": "weight, n_heads, n_rows, d_model"}),
        (viewed, {"call": "weight, n_heads, n_rows, d_model", "n_heads": 4, "head_dim": 10}),
        (indexed, {"bias": True}),
        (Converter, {"bias": True}),
        (lambda weight, n_heads: indexed(weight, n_heads).tolist(), {}),
    ):
        report = check_layout_weights(reorder, to="half", **options)
        unfit = {BITS} if reorder.__name__ == "<lambda>" else set()  # a list has no dtype
        assert {entry.name for entry in report.failures} == unfit, report


def unchanged(weight, n_heads):
    return weight.clone()


def one_head(weight, n_heads):
    return torch.cat((weight[0::2], weight[1::2]))


def two_heads(weight, n_heads):
    return indexed(weight, 2)


def all_heads_two(weight, n_heads):
    """Right for the first weight and for one head; its keys get the heads of the queries."""
    return indexed(weight, 1 if n_heads == 1 else 2)


def first_head(weight, n_heads):
    width = len(weight) // n_heads
    return torch.cat((indexed(weight[:width], 1), weight[width:]))


def odd_first(weight, n_heads):
    rows = torch.arange(len(weight)).view(n_heads, -1)
    return weight[torch.cat((rows[:, 1::2], rows[:, 0::2]), dim=1).flatten()]


def heads_inside(weight, n_heads):
    rows = torch.arange(len(weight)).view(-1, n_heads)
    return weight[torch.cat((rows[0::2], rows[1::2])).flatten()]


def of_columns(weight, n_heads):
    return indexed(weight.mT.contiguous(), n_heads).mT if weight.ndim == 2 else weight


def transposed(weight, n_heads):
    return weight.mT.contiguous()


def turned_besides(weight, n_heads):
    return indexed(weight, n_heads).mT.contiguous()


def twice(weight, n_heads):
    return indexed(indexed(weight, n_heads), n_heads)


def backwards(weight, n_heads):
    return weight.flip(0)


def scaled(weight, n_heads):
    return indexed(weight, n_heads) / 2


def shifted(weight, n_heads):
    return indexed(weight, n_heads).roll(1, 0)


def crash_for_one(weight, n_heads):
    return indexed(weight, n_heads) if n_heads > 1 else weight


def through_half(weight, n_heads):
    return indexed(weight, n_heads).to(torch.float16).to(weight.dtype)


def to_float(weight, n_heads):
    return indexed(weight, n_heads).float()


def matrix_alone(weight, n_heads):
    return indexed(weight[:, :], n_heads)


def whole_head(weight, n_heads, rotary_dim):
    return indexed(weight, n_heads)


def last_part(weight, n_heads, rotary_dim):
    heads = weight.unflatten(0, (n_heads, -1))
    kept = heads.shape[1] - rotary_dim
    rest = heads[:, kept:]
    return torch.cat((heads[:, :kept], rest[:, 0::2], rest[:, 1::2]), dim=1).flatten(0, 1)


PART = {"head_dim": 10, "rotary_dim": 6}
WRONG = {
    unchanged: (HEADS, "the rows come back in their old order", {}),
    interleaved_from_half: (HEADS, "it reorders the other way, from half to interleaved", {}),
    one_head: (HEADS, "all rows are treated as one head", {}),
    two_heads: (MORE, "the number of heads is fixed", {}),
    all_heads_two: (MORE, "the number of heads is fixed", {}),
    first_head: (HEADS, "only the first head is reordered", {}),
    odd_first: (HEADS, "the two members of each pair are exchanged", {}),
    heads_inside: (HEADS, "the heads are read as the inner axis", {}),
    of_columns: (HEADS, "the columns are reordered, not the rows", {}),
    transposed: (HEADS, "the weight is transposed", {}),
    turned_besides: (HEADS, "the weight is transposed besides", {}),
    twice: (HEADS, "it reorders twice", {}),
    backwards: (HEADS, "the rows run backwards", {}),
    scaled: (HEADS, "every value is multiplied by 0.5", {}),
    shifted: (HEADS, "", {}),
    crash_for_one: (SINGLE, "the rows come back in their old order", {}),
    through_half: (BITS, "the weight is cast on its way", {}),
    to_float: (BITS, "the weight is cast on its way", {}),
    matrix_alone: (BIAS, "", {"bias": True}),
    whole_head: (HEADS, "all rows of a head are reordered, not those that turn alone", PART),
    last_part: (HEADS, "the last rows of a head are reordered, not the first ones", PART),
}


@functools.cache
def report_of(fault):
    return check_layout_weights(fault, to="half", **WRONG[fault][2])


@pytest.mark.parametrize("fault", WRONG, ids=lambda fault: fault.__name__)
def test_a_wrong_order_fails_with_its_cause(fault):
    requirement, cause, _ = WRONG[fault]
    assert_fails(report_of(fault), requirement, cause)


@pytest.mark.parametrize(
    "reorder, cause",
    [
        (half_from_interleaved, "it reorders the other way, from interleaved to half"),
        (
            lambda weight, n_heads: interleaved_from_half(weight, 1),
            "all rows are treated as one head",
        ),
        (
            lambda weight, n_heads: interleaved_from_half(weight, n_heads)
            .unflatten(0, (-1, 2)).flip(1).flatten(0, 1),
            "the two members of each pair are exchanged",
        ),
    ],
)
def test_a_wrong_order_to_interleaved_fails_with_its_cause(reorder, cause):
    assert_fails(check_layout_weights(reorder, to="interleaved"), HEADS, cause)


def test_every_requirement_is_failed_by_some_wrong_order():
    reports = [report_of(fault) for fault in WRONG]
    assert failed_names(reports) == asked_names(reports) == {HEADS, MORE, SINGLE, BITS, BIAS}


def raises(weight, n_heads):
    return weight.view(n_heads, 5, -1)


def halved(weight, n_heads):
    return weight[::2]


def nan(weight, n_heads):
    return weight * float("nan")


def changes(weight, n_heads):
    return weight.copy_(indexed(weight, n_heads))


def unknown(weight, colour):
    return weight


UNUSABLE = {
    raises: "raises(weight, n_heads) raised RuntimeError: shape '[2, 5, -1]' is invalid for "
    "input of size 144",
    halved: "must have shape (12, 12), got a tensor of shape (6, 12)",
    nan: "returned NaN at head 0, row 0, column 0 (a number is its old row + column / 16), "
    "expected 0",
    changes: "changes(weight, n_heads) changes its argument weight in place",
    unknown: "cannot tell what unknown takes as colour; say all of its arguments in order with "
    "call (--call), in these words, or as name=5: d_model, head_dim, n_heads, n_rows, rotary_dim, "
    "weight",
}


@pytest.mark.parametrize("subject", UNUSABLE)
def test_an_unusable_converter_is_told_apart_from_a_wrong_one(subject):
    report = check_layout_weights(subject, to="half")
    assert (report.unusable, report.exit_code) == (UNUSABLE[subject], 2)


@pytest.mark.parametrize(
    "options, text",
    [
        ({"to": "neox"}, "to must be half or interleaved, got 'neox'"),
        ({"n_heads": 1}, "n_heads must be at least 2, got 1"),
        ({"head_dim": 4}, "head_dim must be even and at least 6, got 4"),
        ({"head_dim": 7}, "head_dim must be even and at least 6, got 7"),
        ({"rotary_dim": 4}, "rotary_dim must be even, from 6 to head_dim, got 4"),
    ],
)
def test_an_option_out_of_its_range_is_refused(options, text):
    with raises_exactly(ValueError, text):
        check_layout_weights(indexed, **{"to": "half", **options})
