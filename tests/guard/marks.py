"""`@claim` ties a sentence of a page to the test that shows it to be true.

Closes: a sentence with a check mark whose test was never written, or a test whose sentence
nobody can find. The id is `<page>-<few words>`; the sentence stands over exactly one test,
word for word as the page shows it, TeX as `\\(...\\)` or `\\[ ... \\]`. Further tests of the
same claim carry the id alone. A sentence about what was measured names the record that its test
reads: `measured="lab/results/recall.json"`; the ledger says so, and keeps it apart from what the
test itself computes.
"""

import re

import pytest

from tests.guard.digest import ROOT

ID = re.compile(r"[a-z0-9]+(-[a-z0-9]+)+")


def claim(
    claim_id: str, text: str | None = None, measured: str | None = None
) -> pytest.MarkDecorator:
    """Mark a test as a check of the claim `claim_id`; `text` is the sentence itself."""
    if not ID.fullmatch(claim_id):
        raise ValueError(f"claim id must be <page>-<few words>, lower-case, got {claim_id!r}")
    if text is None:
        return pytest.mark.claim(claim_id)
    if text != " ".join(text.split()) or not text:
        raise ValueError(f"text of {claim_id} must be one line with single spaces, got {text!r}")
    if measured is not None and not (ROOT / measured).exists():
        raise ValueError(f"measured of {claim_id} must be a file of the project, got {measured!r}")
    return pytest.mark.claim(claim_id, text)
