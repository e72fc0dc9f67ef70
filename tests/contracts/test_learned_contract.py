"""Learned tables: right lookups pass, wrong ones fail with their cause."""

import functools
import math

import pytest
import torch
from torch import nn

from posenc_check.contracts import check_learned
from snippets.learned import LearnedPositionEncoding
from tests.contracts.verdicts import asked_names, assert_fails, failed_names
from tests.exact import raises_exactly

ROW = "gives each token the row of its position"
ANY = "takes any batch and length"
ONE = "takes one token, as in decoding"
START = "counts on from start"
ORDER = "takes positions in any order"
EACH = "takes positions of each sequence of a batch"
PAST = "past the table: a ValueError that names its length"
NEGATIVE = "refuses a negative position with a ValueError"
DTYPE = "returns the dtype of x"
TRAINS = "trains its table"
FINITE = "starts from finite numbers"
TRAINING = "gives the same in training mode"
GRADIENT = "the gradient reaches the rows that were read, and no other"


class Added(nn.Module):
    """x plus the rows from start on; wrong ones override a part."""

    first_row = 0

    def __init__(self, d_model, max_len=512, dropout=0.1):
        super().__init__()
        self.max_len = max_len
        self.embed = nn.Embedding(self.first_row + max_len, d_model)
        self.dropout = nn.Dropout(dropout)

    def check(self, first, last):
        if first < 0 or last >= self.max_len:
            raise ValueError(f"positions {first} to {last} leave the {self.max_len} rows")

    def forward(self, x, offset=0):
        last = offset + x.shape[1] - 1
        self.check(offset, last)
        return self.dropout(self.mix(x, self.rows(torch.arange(offset, last + 1))))

    def rows(self, places):
        return self.embed(places + self.first_row)

    def mix(self, x, rows):
        return x + rows


class Kept(Added):
    first_row = 2


class Broadcast(nn.Module):
    """A bare parameter with an axis for the batch, sliced; sequence first."""

    def __init__(self, dim, max_len):
        super().__init__()
        self.pos = nn.Parameter(torch.randn(max_len, 1, dim))

    def forward(self, x, *, start=0):
        if not 0 <= start <= len(self.pos) - len(x):
            raise ValueError(f"start {start} and length {len(x)} do not fit {len(self.pos)} rows")
        return x + self.pos[start : start + len(x)]


class Looked(nn.Module):
    """Rows at positions; wrong ones override a part."""

    def __init__(self, d_model, max_len):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(max_len, d_model))

    def forward(self, position_ids):
        wrong = (position_ids < 0) | (position_ids >= len(self.weight))
        if wrong.any():
            raise ValueError(f"there are {len(self.weight)} rows, asked for {position_ids}")
        return self.read(position_ids)

    def read(self, places):
        return self.weight[places]


@pytest.mark.parametrize("options", [{}, {"d_model": 6, "max_len": 40}])
@pytest.mark.parametrize("call", ["positions", "batch_positions"])
def test_our_snippet_passes(call, options):
    report = check_learned(LearnedPositionEncoding, call=call, **options)
    assert report.passed, report
    built = LearnedPositionEncoding(4, 8)
    assert check_learned(built, call=call).passed


@pytest.mark.parametrize(
    "subject, options",
    [
        (Added, {}),
        (Added(4, 8, 0.0), {"call": "x, start"}),
        (Kept, {"first_row": 2, "max_len": 16}),
        (Broadcast, {"axes": "TBD"}),
        (Looked, {"d_model": 3}),
        (Looked, {"call": "batch_positions"}),
    ],
)
def test_other_right_forms_pass(subject, options):
    report = check_learned(subject, **options)
    assert report.passed, report


class Beside(Added):
    """A projection of as many numbers as the table has, and of its shape."""

    def __init__(self, d_model, max_len):
        super().__init__(d_model, max_len)
        self.up = nn.Linear(d_model, max_len)
        self.mix_in = nn.Parameter(torch.ones(d_model, max_len))


class Drops(Added):
    """Its dropout is a function, and is not told to stop."""

    def __init__(self, dim, max_len, rate=0.5):
        super().__init__(dim, max_len)
        self.rate = rate

    def mix(self, x, rows):
        return nn.functional.dropout(x + rows, self.rate, self.training)


def test_a_table_is_told_from_a_projection_beside_it():
    report = check_learned(Beside)
    assert report.passed, report


def test_dropout_that_cannot_be_switched_off_leaves_training_mode_unasked():
    report = check_learned(Drops, init="d_model, max_len")
    assert report.passed and TRAINING not in asked_names([report]), report


class Unchecked(Added):
    """No check: an index error, or an answer from the end of the table."""

    def check(self, first, last):
        pass


class LengthAlone(Added):
    """The start is not counted."""

    def check(self, first, last):
        if last - first >= self.max_len or first < 0:
            raise ValueError(f"at most {self.max_len} tokens")

    def rows(self, places):
        return self.embed(places.clamp(max=self.max_len - 1))


class Clamped(Unchecked):
    def rows(self, places):
        return self.embed(places.clamp(0, self.max_len - 1))


class Wrapped(Unchecked):
    def rows(self, places):
        return self.embed(places % self.max_len)


class Nameless(Added):
    def check(self, first, last):
        if first < 0 or last >= self.max_len:
            raise ValueError("the sequence is too long")


class Asserts(Added):
    def check(self, first, last):
        if not 0 <= first <= last < self.max_len:
            raise AssertionError(f"more than {self.max_len} tokens")


class NegativeRead(Added):
    def check(self, first, last):
        if last >= self.max_len:
            raise ValueError(f"more than {self.max_len} tokens")

    def rows(self, places):
        return self.embed.weight[places]


class ByBatch(nn.Module):
    """Written for (T, B, D)."""

    def __init__(self, d_model, max_len):
        super().__init__()
        self.pos = nn.Parameter(torch.randn(max_len, 1, d_model))

    def forward(self, x):
        return x + self.pos[: x.size(0)]


class Uncut(ByBatch):
    def forward(self, x):
        return x + self.pos[:, 0]


class NoStart(Added):
    def rows(self, places):
        return self.embed(places - places[0])


class OneIsFirst(Added):
    def rows(self, places):
        return self.embed(places * (len(places) > 1))


class FromOne(Added):
    def rows(self, places):
        return self.embed((places + 1) % self.max_len)


class PaddingRows(Kept):
    """The rows in front are forgotten when positions are looked up."""

    def rows(self, places):
        return self.embed(places)


class Reversed(Added):
    def rows(self, places):
        return self.embed(self.max_len - 1 - places)


class Unused(Added):
    def mix(self, x, rows):
        return x


class RowsAlone(Added):
    def mix(self, x, rows):
        return rows.expand(x.shape)


class Scaled(Added):
    def mix(self, x, rows):
        return x * math.sqrt(x.shape[-1]) + rows


class Doubled(Added):
    def mix(self, x, rows):
        return x + rows + rows


class Fixed(Added):
    def mix(self, x, rows):
        return (x + rows).float()


class Frozen(Added):
    def __init__(self, d_model, max_len):
        super().__init__(d_model, max_len)
        self.embed.requires_grad_(False)


class Buffered(Looked):
    def __init__(self, d_model, max_len):
        nn.Module.__init__(self)
        self.register_buffer("weight", torch.zeros(max_len, d_model))


class Detached(Added):
    def mix(self, x, rows):
        return x + rows.detach()


class NanTable(Added):
    def __init__(self, d_model, max_len):
        super().__init__(d_model, max_len)
        nn.init.constant_(self.embed.weight, math.nan)


class OnlyInEval(Added):
    def mix(self, x, rows):
        return x if self.training else x + rows


class ScaledInTraining(Added):
    def mix(self, x, rows):
        return x * math.sqrt(x.shape[-1]) + rows if self.training else x + rows


class AllRows(Added):
    """Reads by a product with one-hot rows of the wrong kind: every row gets a gradient."""

    def rows(self, places):
        return self.embed(places) + self.embed.weight.sum() * 1e-9


class Sorted(Looked):
    def read(self, places):
        return self.weight[places.sort(-1).values]


class FirstOfBatch(Looked):
    def read(self, places):
        return self.weight[places[:1]].expand(*places.shape, -1) if places.ndim == 2 else (
            self.weight[places])


class Counted(Looked):
    def read(self, places):
        return self.weight[torch.arange(places.shape[-1])].expand(*places.shape, -1)


UNCHECKED = "the length is not checked before the table is read, or the start is not counted"
WRONG = {
    ByBatch: (ROW, "the rows are taken by the place in the batch", {}),
    Uncut: (ANY, "", {}),
    NoStart: (ONE, "the given start or positions are ignored", {}),
    OneIsFirst: (ONE, "the given start or positions are ignored", {}),
    FromOne: (ROW, "", {}),
    PaddingRows: (ROW, "the rows in front of the first position are not left", {"first_row": 2}),
    Reversed: (ROW, "positions run backwards", {}),
    Unused: (ROW, "x comes back as it was: the rows are not added", {}),
    RowsAlone: (ROW, "x is missing: the rows alone come back", {}),
    Scaled: (ROW, "x is multiplied by sqrt(d_model) before the sum", {}),
    Doubled: (ROW, "the rows are added twice", {}),
    Counted: (ONE, "the given start or positions are ignored", {}),
    Sorted: (ORDER, "positions are sorted first", {}),
    FirstOfBatch: (
        EACH, "all sequences get the positions of the first", {"call": "batch_positions"}
    ),
    Unchecked: (PAST, UNCHECKED, {}),
    LengthAlone: (PAST, UNCHECKED, {}),
    Clamped: (PAST, UNCHECKED, {}),
    Wrapped: (PAST, UNCHECKED, {}),
    Nameless: (PAST, UNCHECKED, {}),
    Asserts: (PAST, UNCHECKED, {}),
    NegativeRead: (NEGATIVE, "a negative index is read from the end of the table", {}),
    Fixed: (DTYPE, "the rows are cast to a fixed dtype", {}),
    Frozen: (TRAINS, "the table is a buffer, or is frozen", {}),
    Buffered: (TRAINS, "the table is a buffer, or is frozen", {}),
    Detached: (GRADIENT, "the rows are detached", {}),
    NanTable: (FINITE, "the table is filled with NaN", {}),
    OnlyInEval: (TRAINING, "x comes back as it was: the rows are not added", {}),
    ScaledInTraining: (TRAINING, "x is multiplied by sqrt(d_model) before the sum", {}),
    AllRows: (GRADIENT, "the rows are detached, or a copy of the table is read", {}),
}


@functools.cache
def report_of(fault):
    return check_learned(fault, **WRONG[fault][2])


@pytest.mark.parametrize("fault", WRONG, ids=lambda fault: fault.__name__)
def test_a_wrong_lookup_fails_with_its_cause(fault):
    requirement, cause, _ = WRONG[fault]
    assert_fails(report_of(fault), requirement, cause)


def test_every_requirement_is_failed_by_some_wrong_lookup():
    reports = [report_of(fault) for fault in WRONG]
    assert failed_names(reports) == asked_names(reports)
    assert asked_names(reports) == {
        ROW, ANY, ONE, START, ORDER, EACH, PAST, NEGATIVE, DTYPE, TRAINS, GRADIENT,
        FINITE, TRAINING,
    }  # fmt: skip


@pytest.mark.parametrize(
    "fault, reason",
    [
        (Unchecked, "one token too many: IndexError: index out of range in self"),
        (LengthAlone, "the last token one too far: an answer came back"),
        (Wrapped, "one token too many: an answer came back"),
        (Asserts, "one token too many: AssertionError: more than 8 tokens"),
        (
            Nameless,
            "one token too many: the ValueError does not name 8: the sequence is too long",
        ),
    ],
)
def test_what_happened_past_the_table_is_told(fault, reason):
    found = {entry.name: entry.reason for entry in report_of(fault).failures}
    assert found[PAST] == reason


class Raises(Added):
    def mix(self, x, rows):
        raise KeyError("embed")


class Narrow(Added):
    def mix(self, x, rows):
        return (x + rows)[..., :2]


class Changes(Added):
    def mix(self, x, rows):
        return x.add_(rows.detach())


class Nan(Added):
    def mix(self, x, rows):
        return x + rows * math.nan


class NoTable(nn.Module):
    def __init__(self, d_model, max_len):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(d_model))

    def forward(self, x):
        return x * self.scale


class Width(Added):
    def __init__(self, d_model, colour):
        super().__init__(d_model)


UNUSABLE = {
    Raises: "Raises(d_model, max_len, dropout)(x, start) raised KeyError: 'embed'",
    Narrow: "must return (8, 8, 4), got a tensor of shape (8, 8, 2)",
    Changes: "Changes(d_model, max_len, dropout)(x, start) changes its argument x in place",
    Nan: "returned NaN at position 0, column 0 (batch 0), expected -0.328125",
    NoTable: "must hold one table of 8 rows of 4; it holds scale (4,)",
    Width: "cannot tell what Width takes as colour; say all of its arguments in order with init "
    "(--init), in these words, or as name=5: d_model, dropout, max_len",
}


@pytest.mark.parametrize("subject", UNUSABLE)
def test_an_unusable_lookup_is_told_apart_from_a_wrong_one(subject):
    report = check_learned(subject)
    assert (report.unusable, report.exit_code) == (UNUSABLE[subject], 2)


def test_a_function_holds_no_table():
    report = check_learned(lambda x: x)
    assert report.unusable == "must be a module or the class of one, got function"


@pytest.mark.parametrize(
    "options, text",
    [
        ({"d_model": 17}, "d_model must be from 1 to 16, got 17"),
        ({"max_len": 7}, "max_len must be from 8 to 1024, got 7"),
        ({"first_row": -1}, "first_row must not be negative, got -1"),
        ({"axes": "BHTD"}, "axes must be BTD or TBD, got 'BHTD'"),
        ({"returns": "x"}, "returns must be auto, sum, or rows, got 'x'"),
    ],
)
def test_an_option_out_of_its_range_is_refused(options, text):
    with raises_exactly(ValueError, text):
        check_learned(LearnedPositionEncoding, **options)
