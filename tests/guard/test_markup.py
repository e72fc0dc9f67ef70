"""The list of allowed markup: what the pages use passes, what can mislead is reported."""

import pytest

from tests.guard.digest import ROOT
from tests.guard.markup import markup_problems

PAGES = sorted((ROOT / "docs").rglob("*.md"))
PAGES = [page for page in PAGES if "_generated" not in page.parts]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_pages_hold_no_other_markup(page):
    file = page.relative_to(ROOT).as_posix()
    assert markup_problems(page.read_text(encoding="utf-8"), file) == []


@pytest.mark.parametrize(
    "line, problem",
    [
        ('It does <span style="position:absolute;left:-9999px">not</span> change.', "raw HTML"),
        ("It does <s>not</s> change.", "raw HTML"),
        ("<svg><text>faster</text></svg>", "raw HTML"),
        ("<tr><td>passed</td></tr>", "raw HTML"),
        ('<div class="page-foot" markdown>', "raw HTML"),
        ("<!-- hidden -->", "raw HTML"),
        ("RoPE is fast.\n{ .page-foot }", "attributes"),
        ('*not*{ style="opacity:0" }', "attributes"),
        ("Fast.[✓](../verified.md){ .mark-example }", "only on"),
        ("Fast ✔", "no link to the ledger"),
        ("Fast [✅](../verified.md)", "no link to the ledger"),
        ("Fast[.](../verified.md#rope-norm){ .mark-example }", "no claim mark"),
    ],
)
def test_markup_that_can_mislead_is_reported(line, problem):
    found = markup_problems(line, "docs/methods/rope.md")
    assert any(problem in entry for entry in found), found


@pytest.mark.parametrize(
    "line",
    [
        "A rotation keeps it.[✓](../verified.md#rope-norm){ .claim }",
        "### Su et al. 2021 { #su2021 }",
        "`<span>` in code, \\(a < b > c\\) in TeX",
        "[Start](a.md){ .md-button .md-button--primary }",
        "$$\n10000^{-2i/d} < b > c\n$$",
        "```python\nx = {1: '<s>'}\n```",
    ],
)
def test_markup_of_the_pages_passes(line):
    assert markup_problems(line, "docs/methods/rope.md") == []
