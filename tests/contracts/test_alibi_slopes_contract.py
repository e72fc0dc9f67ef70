"""check_alibi_slopes tells right slopes from wrong ones."""

import math

import pytest
import torch

from posenc_check.contracts import check_alibi_slopes
from snippets.alibi import alibi_slopes
from tests.contracts.judged import failed, passed

EIGHT = "is 2 ** (-8 h / H), h = 1 ... H"
POWERS = "takes every power of two, one head included"
OTHERS = "takes other numbers of heads, as published models have"
SERIES = "one geometric series for every number of heads"


def series(n):
    return [2 ** (-8 * (h + 1) / n) for h in range(n)]


def by_start(n):
    start = 2 ** (-(2 ** -(math.log2(n) - 3)))
    return [start * start**i for i in range(n)]


def only_powers(n_heads):
    assert n_heads & (n_heads - 1) == 0, "heads must be a power of two"
    return series(n_heads)


def closest(n):
    return 2 ** math.floor(math.log2(n))


def recursive(n, step=slice(0, None, 2), order=lambda first, more: first + more):
    if math.log2(n).is_integer():
        return series(n)
    return order(series(closest(n)), recursive(2 * closest(n))[step][: n - closest(n)])


WRONG = {
    "RB01 one series": (series, OTHERS, SERIES),
    "RB01 one series, by its start": (by_start, OTHERS, SERIES),
    "RB01 refuses": (only_powers, OTHERS, ""),
    "RB01 a tensor": (
        lambda n: torch.pow(2, -8 * torch.arange(1, n + 1) / n), OTHERS, SERIES
    ),
    "every slope of the higher": (
        lambda n: recursive(n, slice(None)), OTHERS, "the further heads take the first slopes"
    ),
    "every second from the second": (
        lambda n: recursive(n, slice(1, None, 2)), OTHERS, "the further heads start at the second"
    ),
    "next higher, cut": (
        lambda n: series(2 ** math.ceil(math.log2(n)))[:n], OTHERS, "the slopes are those of the"
    ),
    "sorted": (lambda n: sorted(recursive(n))[::-1], OTHERS, "the slopes are sorted"),
    "further first": (
        lambda n: recursive(n, order=lambda first, more: more + first),
        OTHERS,
        "the further slopes stand first",
    ),
    "negative": (lambda n: -alibi_slopes(n), EIGHT, "the slopes are negative"),
    "from head 0": (
        lambda n: [2 ** (-8 * h / n) for h in range(n)], EIGHT, "heads are counted from 0"
    ),
    "ratio one half": (
        lambda n: [2.0 ** -(h + 1) for h in range(n)], POWERS, "each slope is half of the one"
    ),
    "no factor 8": (
        lambda n: [2 ** (-(h + 1) / n) for h in range(n)], EIGHT, "the exponent lacks its factor 8"
    ),
    "divided by H - 1": (
        lambda n: [2 ** (-8 * h / max(n - 1, 1)) for h in range(n)],
        EIGHT,
        "the exponent is divided by H - 1",
    ),
    "powers of e": (
        lambda n: [math.exp(-8 * (h + 1) / n) for h in range(n)], EIGHT, "the slopes are powers of"
    ),
    "integer division": (
        lambda n: [2.0 ** (-(8 // n) * (h + 1)) for h in range(n)], POWERS, "integer division"
    ),
    "reversed": (lambda n: alibi_slopes(n).flip(0), EIGHT, "the slopes stand in reverse order"),
    "bfloat16": (lambda n: alibi_slopes(n).bfloat16(), POWERS, "the slopes are rounded to bf"),
    "float16": (lambda n: alibi_slopes(n).half(), POWERS, "the slopes are rounded to float16"),
    "halved": (lambda n: alibi_slopes(n) / 2, EIGHT, "every value is multiplied by 0.5"),
    "evenly spaced": (lambda n: torch.linspace(0.5, 2**-8, n), EIGHT, ""),
    "one head is 0": (lambda n: alibi_slopes(n) * (n > 1), POWERS, ""),
    "a crash at one head": (lambda n: by_start(n) if n > 1 else 1 / 0, POWERS, ""),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_form_fails_and_its_cause_is_told(name):
    slopes, requirement, cause = WRONG[name]
    failed(check_alibi_slopes(slopes, call="n_heads"), requirement, cause)


def test_each_requirement_is_failed_by_a_wrong_form():
    found = set()
    for slopes, requirement, cause in WRONG.values():
        found |= failed(check_alibi_slopes(slopes, call="n_heads"), requirement, cause)
    assert found == passed(check_alibi_slopes(alibi_slopes))


class Slopes(torch.nn.Module):
    def forward(self, num_heads):
        return alibi_slopes(num_heads).float()


@pytest.mark.parametrize(
    "slopes",
    [
        recursive,
        lambda heads: alibi_slopes(heads).float()[:, None, None],
        lambda nheads: torch.tensor(recursive(nheads), dtype=torch.float32),
        lambda num_heads: tuple(recursive(num_heads)),
        Slopes,
        Slopes(),
    ],
)
def test_right_forms_pass(slopes):
    passed(check_alibi_slopes(slopes))


def crash(n_heads):
    raise KeyError("slopes")


@pytest.mark.parametrize(
    "slopes, text",
    [
        (crash, "crash(n_heads) raised KeyError: 'slopes'"),
        (lambda n: torch.zeros(3), "must return 8 slopes for 8 heads, got a tensor of shape (3,)"),
        (
            lambda n: torch.zeros(8, 8),
            "must return 8 slopes for 8 heads, got a tensor of shape (8, 8)",
        ),
        (lambda n: "half", "must return one slope per head, got str"),
        (lambda n: torch.full((n,), math.nan), "returned NaN at head 0 of 8, expected 0.5"),
        (
            lambda chunk: chunk,
            "cannot tell what <lambda> takes as chunk; say all of its arguments in order with "
            "call (--call), in these words, or as name=5: n_heads",
        ),
    ],
)
def test_what_cannot_be_used_is_told_word_for_word(slopes, text):
    report = check_alibi_slopes(slopes)
    assert report.unusable == text and report.exit_code == 2
