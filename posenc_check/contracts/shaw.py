# SPDX-License-Identifier: MIT
"""shaw: does each pair of a query and a key look up the row of its clipped gap?"""

import functools

import torch

from posenc_check.contracts.answers import joined, joined_causes, place, read, whole
from posenc_check.examination import describe
from posenc_check.factory import Factory
from posenc_check.report import Report
from posenc_check.subject import Unusable
from posenc_check.wrong_forms.shaw import forms

PAGE = "docs/methods/shaw.md"
DECODING = "docs/guides/decoding.md"
WORDS = ["q_len", "k_len", "length", "q_positions", "k_positions", "reach"]
ANY_KEYS = ("k_len", "k_positions")
# Gaps that numbers of 8 bits cannot hold.
FAR = 300


def check_shaw(
    index, *, reach: int = 3, call: str | None = None, init: str | None = None
) -> Report:
    """Check the rows of Shaw's relative vectors: clip(key - query) + reach.

    Args:
        index: takes the numbers of queries and keys, and the reach; gives back (Tq, Tk) whole
            numbers. The queries are the last of the keys.
        reach: gaps beyond it share the first and the last row.
        call: what index takes, in order: q_len, k_len, or length for both, or q_positions,
            k_positions; reach.
        init: what its class takes, if it is one.

    Returns:
        The report.

    Raises:
        ValueError: if reach is below 2.
    """
    if reach < 2:
        raise ValueError(f"reach must be at least 2, got {reach}")
    options = {"reach": reach}
    default = "q_len, k_len, reach"
    with Factory.examine("shaw", index, WORDS, default, call, init, options) as (exam, new):
        asked = Asked(exam, new({}), reach)
        n = 3 * reach + 2
        asked.looks_up("near gaps have a row each, key - query + reach", [(reach + 1, reach + 1)])
        asked.looks_up("gaps beyond the reach share the first and the last row", [(n, n)])
        asked.looks_up("takes any length", [(1, 1), (2, 2), (70, 70), (FAR, FAR)])
        one, some = "one query stands behind its keys", "more queries stand behind the keys"
        if asked.subject.takes(*ANY_KEYS):
            asked.looks_up(one, [(1, reach + 1), (1, n), (1, FAR)], DECODING)
            asked.looks_up(some, [(2, reach + 1), (4, n), (4, FAR)], DECODING)
        else:
            for name in (one, some):
                exam.skip(name, "no number of keys is passed", page=DECODING)
        whole(exam, asked.subject, asked.values(4, 4), page=PAGE)
    return exam.report


class Asked:
    """The subject under examination."""

    def __init__(self, exam, subject, reach: int):
        self.exam, self.subject, self.reach = exam, subject, reach

    def values(self, q_len: int, k_len: int) -> dict:
        keys = torch.arange(k_len)
        values = {"q_positions": keys[k_len - q_len :], "k_positions": keys, "reach": self.reach}
        return values | {"q_len": q_len, "k_len": k_len, "length": k_len}

    def looks_up(self, name: str, sizes, page: str = PAGE) -> None:
        """One requirement: (queries, keys) of some calls."""
        right = [_right(*size, self.reach) for size in sizes]
        keys = [torch.arange(k_len) for _, k_len in sizes]
        pairs = [(k[len(k) - q_len :], k) for k, (q_len, _) in zip(keys, sizes)]

        def where(position: tuple[int, ...]) -> str:
            call, (query, key) = place(right, position)
            q_len, k_len = sizes[call]
            return f"query {query + k_len - q_len}, key {key} (Tq {q_len}, Tk {k_len})"

        self.exam.values(
            name,
            lambda: joined([self._answer(*size) for size in sizes]),
            joined(right),
            page=page,
            tolerance=0.0,
            where=where,
            causes=joined_causes([list(forms(q, k, self.reach)) for q, k in pairs]),
        )

    def _answer(self, q_len: int, k_len: int):
        got = read(self.subject(self.values(q_len, k_len)), "a row for each query and key")
        if got.shape != (q_len, k_len):
            text = f"must return (queries, keys), here {(q_len, k_len)}, got {describe(got)}"
            raise Unusable(text)
        return got.cpu()


@functools.cache
def _right(q_len: int, k_len: int, reach: int) -> torch.Tensor:
    """One pair at a time, without a clamp."""
    rows = []
    for query in range(k_len - q_len, k_len):
        rows.append([reach + min(max(key - query, -reach), reach) for key in range(k_len)])
    return torch.tensor(rows, dtype=torch.float64)
