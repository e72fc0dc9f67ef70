"""Sinusoidal modules: right ones pass, wrong ones fail with their cause."""

import functools
import math

import pytest
import torch
from torch import nn

from posenc_check.contracts import check_sinusoidal
from snippets.sinusoidal import SinusoidalPositionEncoding
from tests.contracts import encoders
from tests.contracts.verdicts import asked_names, assert_fails, failed_names

ADDS = "adds the sine and cosine of p * base ** (-2 i / d_model) to x"
SINGLE = "takes a single sequence"
ANY = "takes any batch and length"
START = "counts on from start"
ONE = "takes one token, as in decoding"
ODD = "takes an odd width, or says that it must be even"
BASE = "uses the base that it is given"
DTYPE = "returns the dtype of its input"
FAR32 = "is right at far positions, float32"
FAR16 = "is right at far positions, bfloat16"
BEFORE = "an earlier call in bfloat16 changes nothing"
LENGTHS = "an earlier call of another length changes nothing"
TWICE = "gives the same twice, in eval mode"
GRADIENT = "passes gradients back, twice"
NOTHING = "trains nothing"
CAST = "is right after module.to(bfloat16)"
LOADS = "loads a checkpoint of another max_len"
EMPTY = "is right after to_empty"
PAST = "past max_len: refuses with a ValueError, or is right"
ALL = {
    ADDS, SINGLE, ANY, START, ONE, ODD, BASE, DTYPE, FAR32, FAR16, BEFORE, LENGTHS, TWICE,
    GRADIENT, NOTHING, CAST, LOADS, EMPTY, PAST,
}  # fmt: skip
OURS = {"init": "d_model, max_len, persistent=False"}


@pytest.mark.parametrize("options", [{}, {"d_model": 12, "max_len": 100}])
def test_our_snippet_passes(options):
    report = check_sinusoidal(SinusoidalPositionEncoding, layout="interleaved", **OURS, **options)
    assert report.passed, report
    exact = check_sinusoidal(
        SinusoidalPositionEncoding,
        layout="interleaved",
        init="d_model, max_len, persistent=False, keep_float32=True",
        **options,
    )
    assert exact.passed, exact


def test_our_snippet_as_a_built_module_passes():
    module = SinusoidalPositionEncoding(8, 300, 0.1, persistent=False)
    report = check_sinusoidal(module, layout="interleaved", max_len=300)
    assert report.passed, report


def test_our_snippet_stores_its_table_by_default_and_says_so():
    report = check_sinusoidal(SinusoidalPositionEncoding, layout="interleaved")
    assert [entry.name for entry in report.failures] == [LOADS]
    assert "build the module with persistent=False" in report.failures[0].reason


RIGHT = {
    "plain": (encoders.Plain, {}),
    "plain, another base": (encoders.Plain, {"base": 500.0, "d_model": 16}),
    "computed, sequence first": (encoders.Computed, {"axes": "TBD", "init": "d_model"}),
    "table alone": (encoders.TableAlone, {"returns": "table"}),
    "looked up at positions": (encoders.Reader, {}),
    "written for sequence first": (encoders.ByBatch, {"axes": "TBD", "max_len": 64}),
    "x times sqrt(d_model)": (encoders.Scaled, {"scaled": True}),
}


@pytest.mark.parametrize("form", RIGHT)
def test_right_forms_pass(form):
    subject, options = RIGHT[form]
    report = check_sinusoidal(subject, **{"layout": "interleaved", **options})
    unfit = {PAST} if form == "written for sequence first" else set()  # it checks no length
    assert {entry.name for entry in report.failures} == unfit, report
    assert not report.unusable


STORED = "a table that can be computed is stored in the state dict"
UNCHECKED = "the length is not checked before the table is read"
BATCH = "the rows are taken by the place in the batch"
WRONG = {
    "ByBatch": (ADDS, BATCH),
    "FirstAxisSlice": (ADDS, BATCH),
    "CutByBatch": (SINGLE, "every token gets the first row: the table is cut by the size of the"),
    "Uncut": (SINGLE, ""),
    "Forgotten": (ADDS, "x comes back as it was: the table is not added"),
    "Missing": (ADDS, "x is missing: the table alone comes back"),
    "Scaled": (ADDS, "x is multiplied by sqrt(d_model) before the sum"),
    "Subtracted": (ADDS, "the table is subtracted"),
    "AddedTwice": (ADDS, "the table is added twice"),
    "FromOne": (ADDS, "positions start at 1"),
    "Normalised": (ADDS, "positions are divided by the length"),
    "Dropped": (ADDS, ""),
    "NoStart": (START, "the given start or positions are ignored"),
    "LateStart": (START, "positions start at 1"),
    "OneTokenIsFirst": (ONE, "the given start or positions are ignored"),
    "EvenOnly": (ODD, "all frequencies are written into the cosine columns"),
    "OwnBase": (BASE, "the base is about 10000, you said 500000"),
    "SharedTable": (BASE, "the base is about 10000, you said 500000"),
    "Promoted": (DTYPE, "the table has another dtype than x, and the sum is not cast back"),
    "Float32": (DTYPE, "the table has another dtype than x, and the sum is not cast back"),
    "PositionsInXsDtype": (FAR16, "positions are rounded to bfloat16, which merges 256 and 257"),
    "Remembers": (BEFORE, "the table is rounded to bfloat16"),
    "RemembersLength": (LENGTHS, ""),
    "AlwaysDrops": (TWICE, "dropout is active outside training"),
    "Detached": (GRADIENT, ""),
    "HalfGradient": (GRADIENT, "x is detached"),
    "Trained": (NOTHING, "the table is a parameter"),
    "InverseFrequencies": (CAST, ""),
    "Stored": (LOADS, STORED),
    "LoadedShort": (LOADS, ""),
    "ConstantWithoutHook": (EMPTY, ""),
    "Unchecked": (PAST, UNCHECKED),
    "Repeated": (PAST, ""),
}


@functools.cache
def report_of(fault):
    return check_sinusoidal(getattr(encoders, fault), layout="interleaved", max_len=600)


@pytest.mark.parametrize("fault", WRONG)
def test_a_wrong_module_fails_with_its_cause(fault):
    requirement, cause = WRONG[fault]
    assert_fails(report_of(fault), requirement, cause)


def test_x_that_is_not_scaled_where_it_was_said():
    report = check_sinusoidal(encoders.Plain, layout="interleaved", scaled=True)
    assert_fails(report, ADDS, "x is not multiplied by sqrt(d_model)")


def test_every_requirement_is_failed_by_some_wrong_module():
    reports = [report_of(fault) for fault in WRONG]
    assert asked_names(reports) == ALL
    assert failed_names(reports) == ALL


class Raises(nn.Module):
    def forward(self, x):
        return x[:, 10**6]


class Changes(encoders.Plain):
    def mix(self, x, table):
        return x.add_(table.to(x.dtype))


class Nan(encoders.Plain):
    def mix(self, x, table):
        return x + table * math.nan


class Wide(encoders.Plain):
    def mix(self, x, table):
        return torch.cat((x, table.expand(x.shape)), -1)


class Kind(encoders.Plain):
    def __init__(self, d_model, kind):
        super().__init__(d_model)


UNUSABLE = {
    Raises: "Raises()(x) raised IndexError: index 1000000 is out of bounds for dimension 1 with "
    "size 8",
    Changes: "Changes(d_model, max_len, base, dropout)(x, start) changes its argument x in place",
    Nan: "returned NaN at position 0, column 0 (batch 0), expected -0.328125",
    Wide: "must return (8, 8, 8), got a tensor of shape (8, 8, 16)",
    Kind: "cannot tell what Kind takes as kind; say all of its arguments in order with init "
    "(--init), in these words, or as name=5: base, d_model, dropout, max_len",
}


@pytest.mark.parametrize("subject", UNUSABLE)
def test_an_unusable_module_is_told_apart_from_a_wrong_one(subject):
    report = check_sinusoidal(subject, layout="interleaved")
    assert (report.unusable, report.exit_code) == (UNUSABLE[subject], 2)
