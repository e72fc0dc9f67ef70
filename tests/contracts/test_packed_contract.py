"""Positions of packed documents: right ones pass, wrong ones fail with their cause."""

import functools
import math

import pytest
import torch

from posenc_check.contracts import check_packed
from tests.contracts.verdicts import asked_names, assert_fails, failed_names

ZERO = "each document counts from 0: 3, 3, 3 tokens"
OTHER = "takes documents of different lengths: 3, 1, 1, 4, 2 tokens"
ALONE = "takes a single document: 4 tokens"
EMPTY = "takes a document without tokens, or refuses it: 2, 0, 3 tokens"
WHOLE = "returns whole numbers, to look up rows with"


def each(lengths):
    return torch.cat([torch.arange(n) for n in lengths])


def listed(doc_lens):
    return [at for n in doc_lens for at in range(n)]


def by_borders(cu_seqlens, total):
    run = torch.arange(total)
    document = torch.bucketize(run, cu_seqlens[1:], right=True)
    return run - cu_seqlens[document]


def by_ids(document_ids):
    """From the document of each token, as a batch of one row."""
    first = torch.ones_like(document_ids, dtype=torch.bool)
    first[1:] = document_ids[1:] != document_ids[:-1]
    run = torch.arange(len(document_ids))
    return (run - torch.where(first, run, 0).cummax(0).values)[None]


@pytest.mark.parametrize(
    "positions, call",
    [
        (each, None), (each, "lengths_list"), (listed, None), (by_ids, None),
        (by_borders, "cumulative, length"),
    ],
)  # fmt: skip
def test_right_positions_of_packed_documents_pass(positions, call):
    report = check_packed(positions, call=call)
    assert report.passed, report


def test_an_empty_document_may_be_refused():
    def refusing(lengths):
        if lengths.min() < 1:
            raise ValueError("a document must have a token")
        return each(lengths)

    report = check_packed(refusing)
    assert report.passed and EMPTY in asked_names([report])


def borders(lengths, shift):
    """Starts again `shift` tokens behind each border."""
    marks = (torch.cumsum(lengths, 0)[:-1] + shift).tolist()
    count, places = 0, []
    for token in range(int(lengths.sum())):
        count = 0 if token in marks else count
        places.append(count)
        count += 1
    return torch.tensor(places)


def ids(lengths):
    return torch.repeat_interleave(torch.arange(len(lengths)), lengths)


def starts(lengths):
    return (torch.cumsum(lengths, 0) - lengths)[ids(lengths)]


WRONG = {
    "run on": (
        lambda lengths: torch.arange(int(lengths.sum())),
        ZERO,
        "positions run on across the borders of documents",
    ),
    "from 1": (lambda lengths: each(lengths) + 1, ZERO, "each document starts at 1"),
    "backwards": (
        lambda lengths: lengths[ids(lengths)] - 1 - each(lengths), ZERO, "each document is counted"
    ),
    "documents": (ids, ZERO, "the number of the document is given, not the position in it"),
    "as long as the first": (
        lambda lengths: torch.arange(int(lengths.sum())) % lengths[0],
        OTHER,
        "all documents are taken to be as long as the first one",
    ),
    "as long as the longest": (
        lambda lengths: torch.arange(int(lengths.sum())) % lengths.max(),
        OTHER,
        "all documents are taken to be as long as the longest one",
    ),
    "one late": (
        lambda lengths: torch.cat((torch.zeros(1), each(lengths)[:-1] + 1)).long(),
        ZERO,
        "the count starts again one token late",
    ),
    "one early": (
        lambda lengths: torch.cat((each(lengths)[1:], torch.zeros(1).long())),
        ZERO,
        "the count starts again one token early",
    ),
    "border in front": (
        lambda lengths: borders(lengths, -1), ZERO, "the last token of a document is counted with"
    ),
    "border behind": (lambda lengths: borders(lengths, 1), ZERO, ""),
    "starts": (starts, ZERO, "the start of each document is given"),
    "later from 1": (
        lambda lengths: each(lengths) + (ids(lengths) > 0), ZERO, "documents after the first start"
    ),
    "second alone": (
        lambda lengths: torch.arange(int(lengths.sum())) - starts(lengths).clamp(max=lengths[0]),
        ZERO,
        "only the second document starts again",
    ),
    "shares": (
        lambda lengths: each(lengths) / lengths[ids(lengths)],
        ZERO,
        "positions are divided by the length of the document",
    ),
    "doubled": (lambda lengths: 2 * each(lengths), ZERO, "every value is multiplied by 2"),
    "one document is none": (
        lambda lengths: each(lengths) if len(lengths) > 1 else ids(lengths),
        ALONE,
        "the number of the document is given",
    ),
    "an empty document has a token": (
        lambda lengths: torch.cat([torch.arange(max(int(n), 1)) for n in lengths]), EMPTY, ""
    ),
    "an empty document crashes": (
        lambda lengths: each(lengths) + 0 * torch.stack([torch.arange(n)[-1] for n in lengths])[0],
        EMPTY,
        "an empty document is not refused in words",
    ),
    "int8": (lambda lengths: each(lengths).to(torch.int8), WHOLE, "a lookup needs an integer"),
    "floats": (lambda lengths: each(lengths).float(), WHOLE, "a lookup needs an integer type"),
}


@functools.cache
def report_of(fault):
    return check_packed(WRONG[fault][0])


@pytest.mark.parametrize("fault", WRONG)
def test_wrong_positions_of_packed_documents_fail_with_their_cause(fault):
    _, requirement, cause = WRONG[fault]
    assert_fails(report_of(fault), requirement, cause)


def test_every_requirement_is_failed_by_some_wrong_form():
    reports = [report_of(fault) for fault in WRONG]
    assert failed_names(reports) == asked_names(reports) == {ZERO, OTHER, ALONE, EMPTY, WHOLE}


def raises(lengths):
    raise TypeError("no lengths")


def adds(lengths):
    return each(lengths.add_(1) - 1)


def unknown(mask):
    return mask


UNUSABLE = [
    (raises, "raises(lengths) raised TypeError: no lengths"),
    (lambda lengths: each(lengths)[1:], "must have shape (9,), got a tensor of shape (8,)"),
    (lambda lengths: "row", "must return (9,), got str"),
    (adds, "adds(lengths) changes its argument lengths in place"),
    (
        lambda lengths: each(lengths) * math.nan,
        "returned NaN at token 0 of document 0, expected 0",
    ),
    (
        unknown,
        "cannot tell what unknown takes as mask; say all of its arguments in order with call "
        "(--call), in these words, or as name=5: cumulative, document_ids, length, lengths, "
        "lengths_list",
    ),
]


@pytest.mark.parametrize("subject, text", UNUSABLE)
def test_an_unusable_form_is_told_apart_from_a_wrong_one(subject, text):
    report = check_packed(subject)
    assert (report.unusable, report.exit_code) == (text, 2)


def test_an_option_out_of_its_range_makes_it_unusable():
    report = check_packed(each, call="sizes")
    assert report.unusable == (
        "call: 'sizes' is no word of this contract (cumulative, document_ids, length, lengths, "
        "lengths_list)"
    )
