"""Saboteurs of pages: wrong edits of the prose and of its blocks, shown to the guard itself.

Closes: a guard that finds nothing because it looks at nothing. The edited page is run and
rendered as a real run would: its blocks are executed again, so that a changed block counts as
one that ran; only then must one of the guard's layers report it.
"""

import contextlib
import io
from pathlib import Path

from pytest_codeblocks.main import extract_from_buffer

from tests.guard.baseline import baseline_problems, count_saboteurs, read_baseline
from tests.guard.blocks import block_problems
from tests.guard.claims import claim_problems
from tests.guard.digest import ROOT
from tests.guard.lint import lint
from tests.guard.numbers import number_problems
from tests.guard.page import Page, parse
from tests.guard.record import read_claims
from tests.guard.source import render


def problems_of_text(
    text: str, file: str, pages: dict[str, Page], run: dict, root: Path = ROOT
) -> list[str]:
    """The same for one page as if `text` were its source."""
    others = [block for block in run["blocks"] if block["file"] != file]
    run = run | {"blocks": others + run_blocks(text, file)}
    page = parse(render(text, root), file)
    claims = read_claims(run)
    pages = pages | {file: page}
    problems = claim_problems(pages, claims) + lint(text, file)
    problems += block_problems(page, run, root) + number_problems(page, claims)
    return problems + baseline_problems(pages, read_baseline(root), count_saboteurs(root))


def run_blocks(text: str, file: str) -> list[dict]:
    """Execute the blocks that pytest-codeblocks finds, in the form of run.json."""
    records = []
    for block in extract_from_buffer(io.StringIO(text)):
        if block.syntax == "python":
            records.append(
                {
                    "file": file,
                    "line": block.lineno,
                    "language": block.syntax,
                    "code": block.code,
                    "expected": block.expected_output,
                    "outcome": outcome(block),
                }
            )
    return records


def outcome(block) -> str:
    if block.marks or block.importorskip:
        return "skipped"
    printed = io.StringIO()
    try:
        with contextlib.redirect_stdout(printed):
            exec(block.code, {"__MODULE__": "__main__"})
    except Exception:
        return "failed"
    return "passed" if block.expected_output in (None, printed.getvalue()) else "failed"
