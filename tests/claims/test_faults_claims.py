"""The one claim of each page of the field guide: its wrong code is caught, its right code passes."""

import re

import pytest

from posenc_check.examination import Examination
from tests.guard.digest import ROOT
from tests.guard.marks import claim

ENTRY = re.compile(r"^### ([^\n]*)\n.*?^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)


def reports_of(code: str, monkeypatch) -> list:
    """Every report that a block makes."""
    made = []
    begin = Examination.__init__

    def remembered(self, *args, **options):
        begin(self, *args, **options)
        made.append(self.report)

    with monkeypatch.context() as patch:
        patch.setattr(Examination, "__init__", remembered)
        exec(compile(code, "block", "exec"), {"__name__": "block"})
    return made


def blocks(page: str) -> list:
    """The code of each entry, by its heading."""
    text = (ROOT / f"docs/check/{page}.md").read_text(encoding="utf-8")
    found = [pytest.param(code, id=heading) for heading, code in ENTRY.findall(text)]
    assert len(found) == text.count("\n### ") == text.count("```python\n") > 5
    return found


def caught(code: str, monkeypatch) -> None:
    reports = reports_of(code, monkeypatch)
    assert "# wrong" in code
    assert any(not report.passed for report in reports)
    assert any(report.passed for report in reports)


@claim(
    "faults-rotation-caught",
    "Each wrong rotation on this page fails the check, and the right one beside it passes.",
)
@pytest.mark.parametrize("code", blocks("faults_rotation"))
def test_rotations(code, monkeypatch, capsys):
    caught(code, monkeypatch)


@claim(
    "faults-scaling-caught",
    "Each wrong rule on this page fails the check, and the right one beside it passes.",
)
@pytest.mark.parametrize("code", blocks("faults_scaling"))
def test_scaling(code, monkeypatch, capsys):
    caught(code, monkeypatch)


@claim(
    "faults-tables-caught",
    "Each wrong form on this page fails the check, and the right one beside it passes.",
)
@pytest.mark.parametrize("code", blocks("faults_tables"))
def test_tables(code, monkeypatch, capsys):
    caught(code, monkeypatch)


@claim(
    "faults-attention-caught",
    "Each wrong cache, mask, or bias on this page fails the check, and the right one beside it "
    "passes.",
)
@pytest.mark.parametrize("code", blocks("faults_attention"))
def test_attention(code, monkeypatch, capsys):
    caught(code, monkeypatch)


@claim("faults-all-listed", "Every entry of the four pages of faults is listed here once.")
def test_every_entry_is_listed_once():
    index = (ROOT / "docs/check/faults.md").read_text(encoding="utf-8")
    listed = re.findall(r"^- \[(.*)\]\((\w+)\.md#[\w-]+\)$", index, re.MULTILINE)
    headings = [
        (heading, path.stem)
        for path in sorted((ROOT / "docs/check").glob("faults_*.md"))
        for heading in re.findall(r"^### (.*)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    ]
    assert sorted(listed) == sorted(headings) and len(headings) > 40
