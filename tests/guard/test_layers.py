"""Layers 1 and 2 and the baseline on small pages; known ways round them are in test_traps.py."""

import pytest

from tests.guard.baseline import as_toml, baseline_problems, counts
from tests.guard.blocks import block_problems
from tests.guard.claims import claim_problems
from tests.guard.difference import difference
from tests.guard.lint import lint
from tests.guard.page import parse
from tests.guard.source import render

FILE = "docs/methods/rope.md"
EMPTY = {"blocks": [], "cells": []}


def page(markdown: str, file: str = FILE):
    return parse(render(markdown), file)


def claim(text: str, claim_id: str = "rope-a", outcome: str = "passed") -> dict:
    return {claim_id: {"id": claim_id, "texts": [["t", text]], "tests": {"t": outcome}}}


def mark(claim_id: str = "rope-a") -> str:
    return f"[✓](../verified.md#{claim_id}){{ .claim }}"


@pytest.mark.parametrize(
    ("markdown", "text"),
    [
        (f"A `b` \\(c\\).{mark()}", "A b \\(c\\)."),
        (f"One.{mark('rope-z')} Two\nlines. {mark()}", "Two lines."),
        (f"It is before: Two.{mark()}", "Two."),
        (f"Said “so.” Two.{mark()}", "Two."),
        (f"First.[^n] Second.{mark()}\n\n[^n]: Foot.", "Second."),
        (f"`x` is y.{mark()}", "x is y."),
        (f"One. Two.{mark()}", "One. Two."),
    ],
)
def test_sentence_and_claim_agree(markdown, text):
    problems = claim_problems({FILE: page(markdown)}, claim(text))
    assert [p for p in problems if "rope-z" not in p] == []


@pytest.mark.parametrize(
    "text", ["Two line.", "two lines.", "lines.", "One. Two lines.", "Two lines. x", "Two  lines."]
)
def test_another_text_differs(text):
    problems = claim_problems({FILE: page(f"So two lines.{mark()}")}, claim(text))
    assert "claim text differs" in problems[0]


def test_difference_shows_both_words():
    assert "diff: a [-b-] {+c+} d" in difference("a b d", "a c d")


@pytest.mark.parametrize(
    ("code", "expected", "problems"),
    [("x = 1", None, 0), ("x = 1 ", None, 0), ("x = 2", None, 2), ("x = 1\n\ny = 1", None, 2)],
)
def test_blocks_are_compared_as_text(code, expected, problems):
    block = {"file": FILE, "line": 1, "language": "python", "outcome": "passed"}
    run = EMPTY | {"blocks": [block | {"code": code, "expected": expected}]}
    assert len(block_problems(page("```python\nx = 1\n```"), run)) == problems


@pytest.mark.parametrize("outcome", ["failed", "skipped", "xfailed", "xpassed", "not run"])
def test_only_passed_blocks_count(outcome):
    block = {"file": FILE, "line": 1, "language": "python", "code": "x = 1", "expected": None}
    run = EMPTY | {"blocks": [block | {"outcome": outcome}]}
    problems = block_problems(page("```python\nx = 1\n```"), run)
    assert problems == [
        f"{FILE}: shown but did not run and pass: 'x = 1'",
        f"{FILE}:1: block {outcome}: 'x = 1'",
    ]


CELL = '<div class="jp-CodeCell"><div class="highlight"><pre>x = 1</pre></div></div>'


def test_notebook_cells_are_compared_with_those_that_ran():
    file = "docs/notebooks/clock.py"
    cell = {"file": None, "code": "x = 1", "outcome": "passed"}
    found = parse(CELL, file)
    assert block_problems(found, EMPTY | {"cells": [cell]}) == []
    assert len(block_problems(found, EMPTY)) == 2
    assert len(block_problems(found, EMPTY | {"cells": [cell | {"outcome": "failed"}]})) == 2
    other = EMPTY | {"cells": [cell, cell | {"code": "x = 2"}]}
    assert block_problems(found, other) == [f"{file}: cell ran but is not shown: 'x = 2'"]
    loose = parse(CELL + "<pre>y</pre>", file)
    assert "not as a cell" in block_problems(loose, EMPTY | {"cells": [cell]})[0]


def test_counts_are_held_to_the_baseline():
    found = page("```python\nassert 1\nassert 2\n```\n\n```text\n3\n```")
    assert counts(found) == {"claims": 0, "blocks": 1, "checks": 3, "formulas": 0, "figures": 0}
    baseline = {"saboteurs": 2, "pages": {FILE: counts(found)}}
    assert baseline_problems({FILE: found}, baseline, 2) == []
    assert "3 saboteurs, baseline says 2" in baseline_problems({FILE: found}, baseline, 3)[0]
    baseline["pages"][FILE]["checks"] = 4
    assert f"{FILE}: 3 checks in its blocks, baseline says 4" in (
        baseline_problems({FILE: found}, baseline, 2)[0]
    )
    assert "page is gone" in baseline_problems({}, baseline, 2)[0]
    assert "not in the baseline" in baseline_problems({FILE: found}, {"saboteurs": 2}, 2)[0]
    assert f'[pages."{FILE}"]\nclaims = 0\nblocks = 1\nchecks = 3' in as_toml({FILE: found}, 2)


def test_lint_gives_file_and_line():
    assert lint("text\n\n~~~\n", "a.md") == ["a.md:3: ~~~ fence: the runner does not see it"]
    assert lint("```python\nx = (\n", "a.md") == ["a.md:1: fence is never closed"]
    assert "not Python" in lint("```python\nx = (\n```\n", "a.md")[0]
