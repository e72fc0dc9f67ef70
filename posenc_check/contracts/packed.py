# SPDX-License-Identifier: MIT
"""packed: does each document in a packed row count from 0?"""

import torch

from posenc_check.causes import Cause
from posenc_check.contracts import answers
from posenc_check.factory import Factory
from posenc_check.report import Report
from posenc_check.subject import Unusable
from posenc_check.wrong_forms.counting import packed as wrong_packed

PAGE = "docs/guides/decoding.md"
WORDS = ("lengths", "lengths_list", "cumulative", "document_ids", "length")
SIZES = (
    # As many documents as tokens in each, so that nothing crashes.
    ("each document counts from 0", [3, 3, 3]),
    ("takes documents of different lengths", [3, 1, 1, 4, 2]),
    ("takes a single document", [4]),
)


def check_packed(positions, *, call: str | None = None, init: str | None = None) -> Report:
    """Check a function that gives the positions of documents packed into one row.

    Args:
        positions: takes the lengths of the documents; gives the position of each token, (T,).
        call: what it takes, in order: lengths, lengths_list, cumulative, document_ids, length.
        init: what its class takes: nothing.

    Returns:
        The report.
    """
    with Factory.examine("packed", positions, WORDS, "lengths", call, init, {}, ()) as (exam, new):
        subject = new({})
        for name, lengths in SIZES:
            _counted(exam, subject, name, lengths)
        _empty(exam, subject)
        answers.whole(exam, subject, _values([3, 2]), page=PAGE)
    return exam.report


def _values(lengths: list[int]) -> dict:
    """Every word of the vocabulary: lengths, borders, or the document of each token."""
    borders = [sum(lengths[:i]) for i in range(len(lengths) + 1)]
    ids = [document for document, n in enumerate(lengths) for _ in range(n)]
    return {
        "lengths": torch.tensor(lengths),
        "lengths_list": lengths,
        "cumulative": torch.tensor(borders, dtype=torch.int32),
        "document_ids": torch.tensor(ids),
        "length": sum(lengths),
    }


def _counted(exam, subject, name: str, lengths: list[int]) -> None:
    places = [(document, at) for document, n in enumerate(lengths) for at in range(n)]

    def where(index) -> str:
        document, at = places[index[0]]
        return f"token {at} of document {document}"

    exam.values(
        _named(name, lengths),
        lambda: _row(subject(_values(lengths)), len(places)),
        torch.tensor([float(at) for _, at in places], dtype=torch.float64),
        page=PAGE,
        tolerance=1e-6,  # whole numbers
        where=where,
        causes=[
            Cause(text, lambda form=form: form.double()) for text, form in wrong_packed(lengths)
        ],
    )


def _empty(exam, subject) -> None:
    """A document without tokens may be refused in words; it must not move the others."""
    name, lengths = "takes a document without tokens, or refuses it", [2, 0, 3]
    try:
        subject(_values(lengths))
    except Unusable as error:
        refused = "raised ValueError" in str(error)
        text = "" if refused else str(error)
        cause = "an empty document is not refused in words"
        return exam.holds(_named(name, lengths), lambda: text, page=PAGE, cause=cause)
    _counted(exam, subject, name, lengths)


def _named(name: str, lengths: list[int]) -> str:
    return f"{name}: {', '.join(map(str, lengths))} tokens"


def _row(answer, total: int):
    """(T,), or one row of a batch."""
    given = answers.read(answer, f"({total},)")
    return given[0] if given.ndim == 2 and len(given) == 1 else given
