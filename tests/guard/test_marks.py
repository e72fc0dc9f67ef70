"""tests.guard.marks refuses what the guard could not compare later."""

import pytest

from tests.guard.marks import claim
from tests.guard.reads_record import kind_problems
from tests.guard.static import static_claims


def test_mark_carries_id_and_sentence():
    assert claim("rope-norm", "A sentence.").mark.args == ("rope-norm", "A sentence.")
    assert claim("rope-norm").mark.args == ("rope-norm",)


@pytest.mark.parametrize("claim_id", ["rope", "Rope-norm", "rope_norm", "rope-", "-norm", ""])
def test_other_ids_are_refused(claim_id):
    with pytest.raises(ValueError, match="^claim id must be <page>-<few words>"):
        claim(claim_id, "A sentence.")


@pytest.mark.parametrize("text", ["", "two  spaces", " before", "after ", "a\nline"])
def test_text_is_one_line(text):
    with pytest.raises(ValueError, match="^text of a-b must be one line"):
        claim("a-b", text)


def test_static_reading_finds_functions_and_methods(tmp_path):
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests/test_x.py").write_text(
        '@claim("a-b", "One " "sentence.")\n@other\ndef test_one(): pass\n'
        'class TestIt:\n    @claim("a-b")\n    def test_two(self): pass\n'
    )
    assert static_claims(tmp_path) == {
        "a-b": {
            "text": "One sentence.",
            "measured": None,
            "tests": ["tests/test_x.py::test_one", "tests/test_x.py::TestIt::test_two"],
        }
    }


def test_a_record_that_is_not_there_is_refused():
    assert claim("a-b", "Text.", measured="lab/results/recall.json").mark.args == ("a-b", "Text.")
    with pytest.raises(ValueError, match=r"^measured of a-b must be a file of the project, got 'x'$"):
        claim("a-b", "Text.", measured="x")


def test_every_measured_claim_says_so():
    assert kind_problems() == []


HEAD = "from lab import record\nfrom posenc_check.peers.summary import kept as all_kept\n"
HELPERS = "def rows(): return record.read('x')\ndef twice(): return rows()\ndef kept(): return 1\n"
READING = ["record.read('x')", "rows()", "twice()", "len(all_kept())", "map(rows, [1])"]


@pytest.mark.parametrize("body", [*READING, "kept()", "record.digest([])", "1"])
@pytest.mark.parametrize("measured", [False, True])
def test_a_claim_is_measured_exactly_if_its_test_reads_a_record(tmp_path, body, measured):
    (tmp_path / "tests/claims").mkdir(parents=True)
    word = ', measured="lab/results/recall.json"' if measured else ""
    test = f'@claim("a-b", "Text."{word})\ndef test_it(): assert {body}\n'
    (tmp_path / "tests/claims/test_a.py").write_text(HEAD + HELPERS + test)
    right = measured == (body in READING)
    assert (kind_problems(tmp_path) == []) == right
