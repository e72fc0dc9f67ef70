"""Rotations whose speeds depend on the length: where the length is taken from."""

import functools

import pytest
from torch import nn

from posenc_check.contracts import check_length_rule
from snippets.longrope import longrope
from snippets.rope import apply_rope, rope_inv_freq
from snippets.rope_scaling import dynamic_ntk

D, FACTOR, TRAINED = 16, 2.0, 16


def by_length(length):
    """A rotation by dynamic NTK, of length(x, positions) tokens."""
    def rotate(x, positions):
        inv_freq, _ = dynamic_ntk(D, max(1, int(length(x, positions))), TRAINED, FACTOR)
        return apply_rope(x, positions, inv_freq)

    return rotate


right = by_length(lambda x, positions: positions.max() + 1)


class Right(nn.Module):
    def __init__(self, head_dim, base, factor, original_max):
        super().__init__()
        self.said = head_dim, original_max, factor, base

    def forward(self, x, positions):
        head_dim, original_max, factor, base = self.said
        length = int(positions.max()) + 1
        inv_freq, _ = dynamic_ntk(head_dim, length, original_max, factor, base)
        return apply_rope(x, positions, inv_freq)


class Remembers(nn.Module):
    """Keeps the speeds of the longest sequence."""

    def __init__(self, head_dim, factor):
        super().__init__()
        self.longest = 0

    def forward(self, x, positions):
        self.longest = max(self.longest, int(positions.max()) + 1)
        return by_length(lambda x, positions: self.longest)(x, positions)


def long_rope(x, positions, short_factor, long_factor, length):
    inv_freq, _ = longrope(D, length, TRAINED, short_factor, long_factor, factor=FACTOR)
    return apply_rope(x, positions, inv_freq)


@pytest.mark.parametrize("subject", [right, Right])
def test_our_rule_passes(subject):
    report = check_length_rule(subject, rule="dynamic_ntk")
    assert report.passed, report
    assert len(report.requirements) == 7


def test_our_longrope_passes_and_its_layout_and_factor_are_told():
    report = check_length_rule(
        long_rope, rule="longrope", call="x, positions, short_factor, long_factor, length"
    )
    assert report.passed, report

    def interleaved(x, positions):
        inv_freq, _ = dynamic_ntk(D, int(positions.max()) + 1, TRAINED, FACTOR)
        return apply_rope(x, positions, inv_freq, layout="interleaved", attention_factor=1.3)

    more = {"layout": "interleaved", "attention_factor": 1.3}
    report = check_length_rule(interleaved, rule="dynamic_ntk", **more)
    assert report.passed, report


ONE = "one token at a far position has the speeds of its length"
LONG = "is right at four times the trained length"
WRONG = {
    "rows": (by_length(lambda x, p: x.shape[2]), ONE, "the length of this call"),
    "heads": (by_length(lambda x, p: x.shape[1]), LONG, "never starts"),
    "never": (by_length(lambda x, p: 1), LONG, "never starts"),
    "one too small": (
        by_length(lambda x, p: p.max()),
        "one token past the trained length is long",
        "one too small",
    ),
    "one too large": (
        by_length(lambda x, p: p.max() + 2),
        "the trained length itself is not yet long",
        "",
    ),
    "first position": (
        by_length(lambda x, p: p[0] + 1),
        "so has a chunk behind a cache",
        "",
    ),
    "remembers": (
        Remembers,
        "short sequences after a long one are as before",
        "an earlier, longer sequence",
    ),
    "always long": (
        by_length(lambda x, p: 64),
        "is right within the trained length",
        "an earlier, longer sequence",
    ),
    "turns backwards": (
        lambda x, p: right(x, -p) if x.shape[2] == 4 else right(x, p),
        "is right within the trained length",
        "",
    ),
}


@functools.cache
def report_of(name):
    return check_length_rule(WRONG[name][0], rule="dynamic_ntk")


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_length_fails_with_its_cause(name):
    _, requirement, cause = WRONG[name]
    report = report_of(name)
    assert not report.unusable, report.unusable
    found = {entry.name: entry for entry in report.failures}
    assert requirement in found, report
    assert cause in found[requirement].cause


def test_every_requirement_is_failed_by_some_wrong_form():
    reports = [report_of(name) for name in WRONG]
    failed = {entry.name for report in reports for entry in report.failures}
    assert failed == {entry.name for report in reports for entry in report.requirements}


def test_a_chunk_that_takes_the_speeds_of_its_own_rows_is_found():
    """The short list for a chunk behind a cache: what a long prompt in chunks meets."""
    def chunked(x, positions, short_factor, long_factor):
        inv_freq, _ = longrope(D, x.shape[2], TRAINED, short_factor, long_factor, factor=FACTOR)
        return apply_rope(x, positions, inv_freq)

    report = check_length_rule(
        chunked, rule="longrope", call="x, positions, short_factor, long_factor"
    )
    failed = [entry.name for entry in report.failures]
    assert failed == [ONE, "so has a chunk behind a cache"]
    assert {entry.cause for entry in report.failures} == {
        "the length of this call stands for that of the sequence"
    }


def test_unusable_subjects_and_wrong_options_are_named():
    report = check_length_rule(lambda x, p: x[..., :2], rule="dynamic_ntk")
    assert report.unusable == "must return a tensor like x, (1, 2, 4, 16) (BHTD), got (1, 2, 4, 2)"
    plain = rope_inv_freq(D)
    report = check_length_rule(lambda x, p: apply_rope(x, p, plain), rule="dynamic_ntk")
    assert report.exit_code == 1
    with pytest.raises(ValueError) as error:
        check_length_rule(right, rule="yarn")
    assert str(error.value) == "rule must be dynamic_ntk or longrope, got 'yarn'"
    with pytest.raises(ValueError) as error:
        check_length_rule(right, rule="dynamic_ntk", trained_length=64)
    expected = (
        "factor must be finite and larger than 1, trained_length from 8 to 32, got 2 and 64"
    )
    assert str(error.value) == expected
