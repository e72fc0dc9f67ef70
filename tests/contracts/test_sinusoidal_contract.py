"""Sinusoidal tables made by functions: right ones pass, wrong ones fail with their cause."""

import functools
import math

import pytest
import torch

from posenc_check.contracts import check_sinusoidal
from snippets.sinusoidal import sinusoidal_table
from tests.contracts.verdicts import asked_names, assert_fails, failed_names
from tests.exact import raises_exactly

ROWS = "row p holds the sine and cosine of p * base ** (-2 i / d_model)"
LENGTH = "takes any length"
FAR = "is right at far positions"
WIDTH = "takes another width"
ODD = "takes an odd width, or says that it must be even"
ORDER = "takes positions in any order"
BASE = "uses the base that it is given"


def ours(length, d_model, base=10_000.0):
    return sinusoidal_table(torch.arange(length), d_model, base)


def scalar_loop(seq_len, d_model, n=10_000):
    """As in many tutorials, with Python floats and lists."""
    table = [[0.0] * d_model for _ in range(seq_len)]
    for k in range(seq_len):
        for i in range(0, d_model, 2):
            angle = k / n ** (i / d_model)
            table[k][i] = math.sin(angle)
            if i + 1 < d_model:
                table[k][i + 1] = math.cos(angle)
    return table


def by_exponentials(n_position, d_hid):
    """float32 all the way, refuses odd widths, and keeps an axis for the batch."""
    if d_hid % 2:
        raise ValueError(f"d_hid must be even, got {d_hid}")
    position = torch.arange(n_position).unsqueeze(1)
    div_term = torch.exp(torch.arange(0, d_hid, 2) * (-math.log(10_000.0) / d_hid))
    pe = torch.zeros(n_position, d_hid)
    pe[:, 0::2], pe[:, 1::2] = torch.sin(position * div_term), torch.cos(position * div_term)
    return pe.unsqueeze(0)


def by_numpy_steps(length, d_model):
    """Column by column, through an array."""
    columns = torch.arange(d_model, dtype=torch.float64)
    speed = 1 / torch.pow(10_000, 2 * torch.div(columns, 2, rounding_mode="floor") / d_model)
    table = torch.arange(length)[:, None] * speed
    table[:, 0::2], table[:, 1::2] = table[:, 0::2].sin(), table[:, 1::2].cos()
    return table.numpy()


def halves(length, d_model):
    pair = torch.arange(d_model // 2, dtype=torch.float64)
    angle = torch.arange(length)[:, None] * 10_000 ** (-2 * pair / d_model)
    return torch.cat((angle.sin(), angle.cos()), dim=1).float()


@pytest.mark.parametrize("options", [{}, {"d_model": 16, "base": 500.0}, {"max_len": 64}])
def test_our_snippet_passes(options):
    report = check_sinusoidal(ours, layout="interleaved", **options)
    assert report.passed, report
    at_positions = check_sinusoidal(sinusoidal_table, layout="interleaved", **options)
    assert at_positions.passed, at_positions
    assert len([e for e in at_positions.requirements if e.status == "pass"]) == 7


@pytest.mark.parametrize(
    "table, options",
    [
        (scalar_loop, {"call": "length, d_model, n=base"}),
        (scalar_loop, {"call": "length, d_model, n=base", "base": 100.0}),
        (by_exponentials, {}),
        (by_numpy_steps, {"call": "length, d_model"}),
    ],
)
def test_other_right_forms_pass(table, options):
    report = check_sinusoidal(table, layout="interleaved", **options)
    assert report.passed, report


def test_halves_pass_and_odd_widths_are_not_asked_there():
    report = check_sinusoidal(halves, layout="half")
    assert report.passed, report
    odd = next(entry for entry in report.requirements if entry.name == ODD)
    assert odd.reason == "which column an odd width ends with is not agreed on in this layout"


def table(length, d_model, power=None, cosine_power=None, base=10_000.0, places=None, keep=None):
    """A table with one part got wrong; the powers are those of sine and cosine of pair i."""
    power = power or (lambda i, d: -2 * i / d)
    cosine_power = cosine_power or power
    p = torch.arange(length, dtype=torch.float64) if places is None else places(length)
    out = torch.zeros(length, d_model, dtype=torch.float64)
    for i in range((d_model + 1) // 2):
        out[:, 2 * i] = (p * base ** power(i, d_model)).sin()
        if 2 * i + 1 < d_model:
            out[:, 2 * i + 1] = (p * base ** cosine_power(i, d_model)).cos()
    return out if keep is None else keep(out)


def with_parts(**parts):
    return lambda length, d_model: table(length, d_model, **parts)


def doubled_columns(seq_len, d_model):
    """As a widely read tutorial had it: the loop variable is the column already."""
    pe = torch.zeros(seq_len, d_model)
    for pos in range(seq_len):
        for i in range(0, d_model, 2):
            pe[pos, i] = math.sin(pos / 10_000 ** (2 * i / d_model))
            if i + 1 < d_model:
                pe[pos, i + 1] = math.cos(pos / 10_000 ** (2 * (i + 1) / d_model))
    return pe


def n_minus_one_steps(length, channels):
    """Sines and cosines apart, and the timescales of another library."""
    n = channels // 2
    step = math.log(10_000.0) / max(n - 1, 1)
    angle = torch.arange(length)[:, None] * torch.exp(torch.arange(n) * -step)
    return torch.cat((angle.sin(), angle.cos()), dim=1)


def even_only(length, d_model):
    div = torch.exp(torch.arange(0, d_model, 2) * (-math.log(10_000.0) / d_model))
    pe = torch.zeros(length, d_model)
    pe[:, 0::2] = torch.sin(torch.arange(length)[:, None] * div)
    pe[:, 1::2] = torch.cos(torch.arange(length)[:, None] * div)
    return pe


def zero_column(length, d_model):
    right = table(length, d_model - d_model % 2)
    return torch.cat((right, torch.zeros(length, d_model % 2)), dim=1)


def low_precision(dtype, part):
    def rounded(length, d_model):
        p = torch.arange(length, dtype=torch.float64)
        p = p.to(dtype).double() if part == "positions" else p
        pair = torch.arange((d_model + 1) // 2, dtype=torch.float64)
        angle = p[:, None] * 10_000 ** (-2 * pair / d_model)
        angle = angle.to(dtype).double() if part == "angles" else angle
        out = torch.stack((angle.sin(), angle.cos()), -1).flatten(1)[:, :d_model]
        return out.to(dtype) if part == "table" else out

    return rounded


def sorted_rows(positions, d_model):
    return sinusoidal_table(positions.sort().values, d_model)


def own_base(length, d_model, base):
    return ours(length, d_model)


def fixed_width(length, d_model):
    return ours(length, 8)


def capped(length, d_model):
    return ours(min(length, 8), d_model)


def normal(length, d_model):
    return table(length, d_model, places=lambda n: torch.arange(n, dtype=torch.float64) / n)


BF16, FP16 = torch.bfloat16, torch.float16
WRONG = {
    "all sines first": (halves, ROWS, "all sines come first, then all cosines"),
    "cosine first": (
        with_parts(keep=lambda t: t.unflatten(1, (-1, 2)).flip(-1).flatten(1)),
        ROWS,
        "sine and cosine are exchanged",
    ),
    "column doubled": (doubled_columns, ROWS, "the column, not the pair, is doubled in the exp"),
    "column doubled for both": (
        with_parts(power=lambda i, d: -4 * i / d),
        ROWS,
        "the column, not the pair, is doubled in the exponent: base ** (-4 i",
    ),
    "a speed for each column": (
        with_parts(cosine_power=lambda i, d: -(2 * i + 1) / d),
        ROWS,
        "each column has a speed of its own",
    ),
    "n - 1 steps": (n_minus_one_steps, ROWS, "all sines come first, then all cosines; you said "
                    "interleaved; and the speeds end at 1 / base"),
    "n - 1 steps, interleaved": (
        with_parts(power=lambda i, d: -i / max((d + 1) // 2 - 1, 1)),
        ROWS,
        "the speeds end at 1 / base",
    ),
    "plus sign": (with_parts(power=lambda i, d: 2 * i / d), ROWS, "exponent sign"),
    "no factor 2": (with_parts(power=lambda i, d: -i / d), ROWS, "the exponent lacks its factor"),
    "integer division": (with_parts(power=lambda i, d: -(2 * i // d)), ROWS, "integer division"),
    "pairs from 1": (
        with_parts(power=lambda i, d: -2 * (i + 1) / d), ROWS, "the exponent starts at pair 1"
    ),
    "another base": (with_parts(base=1000.0), ROWS, "the base is about 1000, you said 10000"),
    "positions from 1": (
        with_parts(places=lambda n: torch.arange(1.0, n + 1).double()),
        ROWS,
        "positions start at 1",
    ),
    "normalised": (normal, ROWS, "positions are divided by the length"),
    "turns, not radians": (
        with_parts(places=lambda n: torch.arange(n) * (2 * math.pi)),
        ROWS,
        "angles are multiplied by 2 pi",
    ),
    "row for padding": (
        with_parts(keep=lambda t: torch.cat((t[:1] * 0, t[1:]))), ROWS, "row 0 is zero"
    ),
    "sine twice": (
        with_parts(keep=lambda t: t[:, 0::2].repeat_interleave(2, 1)[:, : t.shape[1]]),
        ROWS,
        "both columns of a pair hold the sine",
    ),
    "transposed": (
        with_parts(keep=lambda t: t.mT.contiguous()), ROWS, "rows and columns are exchanged"
    ),
    "halved": (with_parts(keep=lambda t: t / 2), ROWS, "every value is multiplied by 0.5"),
    "noise": (with_parts(keep=lambda t: t + 1), ROWS, ""),
    "sine of another sign": (with_parts(keep=lambda t: t * torch.tensor([-1.0, 1]).repeat(
        t.shape[1])[: t.shape[1]]), ROWS, ""),
    "odd width crashes": (
        even_only, ODD, "all frequencies are written into the cosine columns"
    ),
    "odd width: a zero column": (
        zero_column,
        ODD,
        "the exponent is divided by d_model - 1; and the last column is zero",
    ),
    "bfloat16 positions": (low_precision(BF16, "positions"), FAR, "positions are rounded to bf"),
    "float16 positions": (low_precision(FP16, "positions"), FAR, "positions are rounded to float"),
    "float16 angles": (low_precision(FP16, "angles"), ROWS, "the angles are computed in float16"),
    "bfloat16 angles": (low_precision(BF16, "angles"), ROWS, "the angles are computed in bf"),
    "bfloat16 table": (low_precision(BF16, "table"), ROWS, "the table is rounded to bfloat16"),
    "float16 table": (low_precision(FP16, "table"), ROWS, "the table is rounded to float16"),
    "fixed width": (fixed_width, WIDTH, ""),
    "capped length": (capped, FAR, ""),
    "length ignored": (lambda length, d_model: ours(8, d_model), LENGTH, ""),
    "sorted positions": (sorted_rows, ORDER, ""),
    "a base of its own": (own_base, BASE, "the base is about 10000, you said 500000"),
}


@functools.cache
def report_of(fault):
    return check_sinusoidal(WRONG[fault][0], layout="interleaved")


@pytest.mark.parametrize("fault", WRONG)
def test_a_wrong_table_fails_with_its_cause(fault):
    _, requirement, cause = WRONG[fault]
    assert_fails(report_of(fault), requirement, cause)


def test_interleaved_columns_fail_where_halves_were_said():
    report = check_sinusoidal(ours, layout="half")
    assert_fails(report, ROWS, "sines and cosines take turns; you said half")
    halved = check_sinusoidal(n_minus_one_steps, layout="half")
    assert_fails(halved, ROWS, "the speeds end at 1 / base: the exponent is divided by d_model / 2")


def test_every_requirement_is_failed_by_some_wrong_table():
    reports = [report_of(fault) for fault in WRONG]
    assert failed_names(reports) == asked_names(reports)
    assert asked_names(reports) == {ROWS, LENGTH, FAR, WIDTH, ODD, ORDER, BASE}


def raises(length, d_model):
    raise IndexError("no such row")


def changes(positions, d_model):
    return sinusoidal_table(positions.add_(1), d_model)


UNUSABLE = {
    "raises": (raises, "raises(length, d_model) raised IndexError: no such row"),
    "shape": (
        lambda length, d_model: torch.zeros(length, d_model // 2),
        "must return (8, 8), got a tensor of shape (8, 4)",
    ),
    "words": (lambda length, d_model: "table", "must return a tensor (8, 8), got str"),
    "nan": (
        with_parts(keep=lambda t: t * math.nan),
        "returned NaN at position 0, column 0, expected 0",
    ),
    "in place": (
        changes, "changes(positions, d_model) changes its argument positions in place"
    ),
    "parameter": (
        lambda length, kind: None,
        "cannot tell what <lambda> takes as kind; say all of its arguments in order with call "
        "(--call), in these words, or as name=5: base, d_model, length, positions, start, x",
    ),
}


@pytest.mark.parametrize("kind", UNUSABLE)
def test_an_unusable_table_is_told_apart_from_a_wrong_one(kind):
    subject, text = UNUSABLE[kind]
    report = check_sinusoidal(subject, layout="interleaved")
    assert (report.unusable, report.exit_code) == (text, 2)


@pytest.mark.parametrize(
    "options, text",
    [
        ({"layout": "neox"}, "layout must be interleaved or half, got 'neox'"),
        ({"d_model": 7}, "d_model must be even and at least 4, got 7"),
        ({"base": 1.0}, "base must be larger than 1, got 1.0"),
        ({"max_len": 8}, "max_len must be at least 16, got 8"),
        ({"axes": "DTB"}, "axes must be BTD or TBD, got 'DTB'"),
        ({"returns": "x"}, "returns must be sum or table, got 'x'"),
    ],
)
def test_an_option_out_of_its_range_is_refused(options, text):
    with raises_exactly(ValueError, text):
        check_sinusoidal(ours, **{"layout": "interleaved", **options})
