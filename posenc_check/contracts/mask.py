# SPDX-License-Identifier: MIT
"""mask: does a causal mask let each query see its own key and the ones before, cached or not?"""

import functools

import torch
from torch import Tensor

from posenc_check.contracts.answers import joined, joined_causes, place, spread
from posenc_check.factory import Factory
from posenc_check.report import Report
from posenc_check.subject import Unusable
from posenc_check.wrong_forms.mask import forms, windows

PAGE = "docs/guides/decoding.md"
WORDS = ["q_len", "k_len", "length", "start", "q_positions", "k_positions"]
ANY_KEYS = ("k_len", "start", "k_positions")
# Added to logits of ordinary size, this leaves a weight of 0 in every dtype.
LOW = -1e4
# More keys than a buffer of 256 rows, or a number of 8 bits, has room for.
FAR = 300


def check_mask(mask, *, call: str | None = None, init: str | None = None) -> Report:
    """Check a causal mask.

    Args:
        mask: takes the numbers of queries and keys; gives back (Tq, Tk), bool with True = may
            attend, or floating point numbers to add to the logits. Axes of size 1 may stand in
            front. The queries are the last of the keys.
        call: what mask takes, in order: q_len, k_len, or length (of the queries) and start
            (cached keys), or length for both, or q_positions and k_positions.
        init: what its class takes, if it is one.

    Returns:
        The report.
    """
    with Factory.examine("mask", mask, WORDS, "q_len, k_len", call, init, {}) as (exam, new):
        subject = new({})
        _asks(exam, subject, "a query sees its own key and those before it", [(4, 4)])
        _asks(exam, subject, "takes any length", [(1, 1), (2, 2), (7, 7), (70, 70), (FAR, FAR)])
        one, some = "one query sees every cached key", "more queries stand behind the cached keys"
        if subject.takes(*ANY_KEYS):
            _asks(exam, subject, one, [(1, 4), (1, 9), (1, FAR)])
            _asks(exam, subject, some, [(2, 5), (3, 7), (4, 5), (5, FAR)])
        else:
            for name in (one, some):
                exam.skip(name, "no number of keys is passed", page=PAGE)
    return exam.report


def _asks(exam, subject, name: str, sizes) -> None:
    right = [_right(*size) for size in sizes]

    def where(index: tuple[int, ...]) -> str:
        call, (query, key) = place(right, index)
        q_len, k_len = sizes[call]
        return f"query {query + k_len - q_len}, key {key} (Tq {q_len}, Tk {k_len})"

    exam.values(
        name,
        lambda: joined([_answer(subject, *size) for size in sizes]),
        joined(right),
        page=PAGE,
        tolerance=0.0,
        where=where,
        causes=lambda got: [
            *joined_causes([list(forms(*size)) for size in sizes]),
            *windows(got.split([q_len * k_len for q_len, k_len in sizes]), sizes),
        ],
        show=lambda value: "may attend" if value else "may not",
    )


@functools.cache
def _right(q_len: int, k_len: int) -> Tensor:
    """Query i of the call is token k_len - q_len + i."""
    rows = [[j <= k_len - q_len + i for j in range(k_len)] for i in range(q_len)]
    return torch.tensor(rows)


def _answer(subject, q_len: int, k_len: int) -> Tensor:
    keys, start = torch.arange(k_len), k_len - q_len
    length = q_len if subject.takes("start") else k_len
    values = {"q_len": q_len, "k_len": k_len, "length": length, "start": start}
    answer = subject(values | {"q_positions": keys[start:], "k_positions": keys})
    if answer is None and q_len == 1:
        return torch.ones(1, k_len, dtype=torch.bool)  # no mask: one query sees every key
    return allowed(spread(answer, (q_len, k_len), "a mask of (queries, keys)").cpu())


def allowed(mask: Tensor) -> Tensor:
    """As bool, True = may attend."""
    if mask.dtype == torch.bool:
        return mask
    if not mask.is_floating_point():
        if ((mask != 0) & (mask != 1)).any():
            raise Unusable("a mask of whole numbers must hold 0 and 1")
        return mask == 1
    if mask.isnan().any():
        raise Unusable("returned NaN, as 0 * -inf gives: choose with torch.where or masked_fill")
    between = mask[(mask != 0) & (mask > LOW)]
    if len(between):
        raise Unusable(
            f"returned {float(between[0]):g}: numbers are added to the logits, where 0 may attend "
            f"and -inf, or a number below {LOW:g}, may not; or return bool"
        )
    return mask == 0
