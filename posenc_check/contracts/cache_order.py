# SPDX-License-Identifier: MIT
"""Whether positions reach the attention at all, which no comparison of two runs can tell."""

from posenc_check.contracts.cache_runs import PROBES, Runs, differs, exchanged
from posenc_check.examination import Examination
from posenc_check.wrong_forms import cache as wrong

PAGE = "docs/why-order.md"


def order(exam: Examination, runs: Runs, wanted: bool) -> bool:
    """False if it was asked and failed."""
    name = "the order of earlier tokens counts"
    if not wanted:
        exam.skip(name, "ordered is False", page=PAGE)
        return True
    # Small inputs too: a softmax that is nearly a choice hides where tokens stand.
    sizes = (1, 0.3, 0.1)
    return exam.holds(
        name, lambda: _alike(runs, 5, 0, 2, sizes), page=PAGE, cause=wrong.ORDERLESS
    )


def late_order(exam: Examination, runs: Runs, wanted: bool, early: bool, length: int) -> None:
    """Where positions stop growing in the full pass too, a cache equals it."""
    name = "the order of late tokens counts"
    if not wanted:
        return exam.skip(name, "ordered is False", page=PAGE)
    # Large and small inputs: many tokens weigh little each, or one of them weighs all.
    sizes = (10, 3, 1, 0.3, 0.1, 0.03)
    exam.holds(
        name,
        lambda: _alike(runs, length, length - 4, length - 2, sizes),
        page=PAGE,
        cause=wrong.ENDS if early else wrong.ORDERLESS,
    )


def _alike(runs: Runs, length: int, i: int, j: int, sizes) -> str:
    """What is wrong if two tokens change places and the last output stays."""
    for size in sizes:
        x = size * runs.tokens(length, PROBES)
        if differs(runs.run(x), runs.run(exchanged(x, i, j)))[-1]:
            return ""
    return f"tokens {i} and {j} change places, and token {length - 1} comes out the same"
