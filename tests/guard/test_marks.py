"""tests.guard.marks refuses what the guard could not compare later."""

import pytest

from tests.guard.marks import claim
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
            "tests": ["tests/test_x.py::test_one", "tests/test_x.py::TestIt::test_two"],
        }
    }
