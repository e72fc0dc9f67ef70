"""The text of the lab: what is kept, what is held out, and which text it was."""

import hashlib

import pytest

from lab import margins, text
from tests.exact import raises_exactly


def test_a_paragraph_that_came_before_is_left_out():
    texts = ["one\n\ntwo\n\nthree", "two\n\nfour", "one"]
    assert text.each_paragraph_once(texts) == "one\n\ntwo\n\nthree\n\nfour"


def test_tokens_are_the_characters_and_the_end_is_held_out():
    found = text.as_tokens("banana", held_out=2)
    assert found.symbols == "abn"
    assert found.train.tolist() == [1, 0, 2, 0] and found.held_out.tolist() == [2, 0]
    assert found.sha256 == hashlib.sha256(b"banana").hexdigest()


@pytest.mark.parametrize("held_out", [0, 6])
def test_a_text_that_leaves_nothing_on_one_side_is_refused(held_out):
    with raises_exactly(ValueError, f"held_out must be from 1 to 5, got {held_out}"):
        text.as_tokens("banana", held_out)


def test_no_whole_held_out_paragraph_was_trained_on():
    found = text.load()
    train, held_out = (
        "".join(found.symbols[token] for token in part.tolist()).split("\n\n")
        for part in (found.train, found.held_out)
    )
    inside = held_out[1:-1]  # the first may be cut
    assert len(inside) > 50 and not set(inside) & set(train)
    assert len(found.held_out) == text.HELD_OUT and len(found.train) > 10 * text.HELD_OUT


def test_records_of_another_text_are_not_compared():
    recorded = {"text_sha256": "a" * 64, "python": "3.11.7"}
    margins.check_text(recorded, "a" * 64)
    with raises_exactly(
        ValueError,
        "the record was made on text aaaaaaaaaaaa (Python 3.11.7), this Python's text is "
        "bbbbbbbbbbbb: do not compare them",
    ):
        margins.check_text(recorded, "b" * 64)
