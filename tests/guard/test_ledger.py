"""The ledger lists every claim, and says so where there is no result."""

import pytest

from tests.guard.page import parse
from tests.guard.record import new_run, write_run
from tests.guard.source import render
from tests.guard.static import static_claims
from tools.ledger import PAGES, main

CLAIMS = r"""
@claim("rope-a", r"Pipes \(|a|_b < c\) and `*x*` | \[ y \].")
def test_a(): pass

@claim("home-b", "Second.", measured="lab/results/recall.json")
def test_b(): pass
"""


@pytest.fixture
def root(tmp_path):
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests/test_x.py").write_text(CLAIMS)
    return tmp_path


def written(root) -> tuple[str, list[str]]:
    main(root)
    stamp = (root / ".results/stamp").read_text().splitlines()
    return (root / "docs/_generated/ledger.md").read_text(), stamp


def results(root, outcome="passed") -> dict:
    claims = [
        {"id": "rope-a", "texts": [], "tests": {"tests/test_x.py::test_a": outcome}},
        {"id": "home-b", "texts": [], "tests": {"t[1]": "passed", "t[2]": "passed"}},
    ]
    return new_run(root) | {"exitstatus": 0, "claims": claims, "blocks": [{}]}


def test_without_results_every_row_says_so(root, capsys):
    text, stamp = written(root)
    assert text.count('<td class="open">not verified here yet</td>') == 2
    assert stamp == ["This build: not verified here yet", "none"]
    assert ".results/run.json is missing" in capsys.readouterr().err


def test_measured_rows_name_their_record(root):
    text, _ = written(root)
    first, second = (text.partition(f'<tr id="{row}">')[2] for row in ("rope-a", "home-b"))
    assert "<td>checked</td>" in first.partition("</tr>")[0]
    second = second.partition("</tr>")[0].replace("<wbr>", "")
    assert "<td>measured</td>" in second and "<br><code>lab/results/recall.json</code>" in second


def test_results_of_another_tree_are_not_shown(root):
    write_run(results(root), root)
    (root / "README.md").write_text("edited")
    assert "passed" not in written(root)[0]


def test_results_and_stamp(root):
    run = results(root)
    write_run(run, root)
    text, stamp = written(root)
    assert '<td class="passed">passed</td>' in text and "passed, 2 cases" in text
    assert stamp[0].startswith("Verified with torch 2.") and stamp[1] == run["id"]
    assert stamp[0].endswith(f"on {run['date']}: 2 claims, 1 code blocks")


def test_a_claim_that_did_not_pass_is_not_called_passed(root):
    write_run(results(root, "skipped"), root)
    assert '<td class="failed">failed</td>' in written(root)[0]


def test_tex_and_markdown_survive_and_rows_are_no_marks(root):
    page = parse(render(written(root)[0]), "docs/verified.md")
    assert {"rope-a", "home-b"} <= page.ids
    assert page.marks == []
    cells = [block.plain() for block in page.blocks if block.tag == "td"]
    assert r"Pipes \(|a|_b < c\) and `*x*` | \[ y \]." in cells
    assert [tex for _, (_, tex) in page.formulas] == [r"\[ y \]"]


def test_every_claim_belongs_to_a_page_of_the_ledger():
    for claim_id in static_claims():
        assert any(claim_id.startswith(f"{prefix}-") for prefix in PAGES), claim_id
