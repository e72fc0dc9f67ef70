"""DeepSeek's softmax scale: right, and as people got it wrong."""

import math

import pytest

from posenc_check.contracts import check_softmax_scale
from snippets.yarn import yarn_mscale


def right(head_dim, factor, mscale_all_dim):
    return yarn_mscale(factor, mscale_all_dim) ** 2 / math.sqrt(head_dim)


WRONG = {
    "not squared": (
        lambda d, s, m: yarn_mscale(s, m) / math.sqrt(d),
        "gives the squared scale over the root of the width",
        "the scale is not squared",
    ),
    "left out": (
        lambda d, s, m: 1 / math.sqrt(d),
        "gives the squared scale over the root of the width",
        "left out: 1 / sqrt(D) alone",
    ),
    "no root": (
        lambda d, s, m: yarn_mscale(s, m) ** 2,
        "gives the plain scale at factor 1",
        "the root of the width is left out",
    ),
    "divides": (
        lambda d, s, m: 1 / right(d, s, m) / d,
        "gives the squared scale over the root of the width",
        "divides the scores",
    ),
    "fixed width": (lambda d, s, m: right(192, s, m), "follows head_dim", ""),
    "fixed factor": (lambda d, s, m: right(d, 40.0, m), "follows factor", ""),
    "ignores mscale": (lambda d, s, m: right(d, s, 1.0), "follows mscale_all_dim", ""),
}
CALL = "head_dim, factor, mscale_all_dim"


def test_the_right_scale_passes():
    assert check_softmax_scale(right).passed


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_scale_fails_with_its_cause(name):
    scale, requirement, cause = WRONG[name]
    found = {entry.name: entry for entry in check_softmax_scale(scale, call=CALL).failures}
    assert cause in found[requirement].cause


def test_every_requirement_is_failed_by_some_wrong_scale():
    reports = [check_softmax_scale(scale, call=CALL) for scale, _, _ in WRONG.values()]
    failed = {entry.name for report in reports for entry in report.failures}
    assert failed == {entry.name for entry in reports[0].requirements}


def test_what_is_no_number_is_unusable():
    report = check_softmax_scale(lambda d, s, m: [1, 2], call=CALL)
    assert report.unusable == "must return a number, got list" and report.exit_code == 2
