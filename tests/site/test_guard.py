"""The guard over the built site and the results of the run behind it.

Refuses to look at results that are missing, red or of another tree, and at a site that was built
from another run. Run by `make test` after the build.
"""

import pytest
from bs4 import BeautifulSoup

from tests.guard.baseline import baseline_problems, count_saboteurs, read_baseline
from tests.guard.blocks import block_problems
from tests.guard.claims import claim_problems
from tests.guard.digest import ROOT
from tests.guard.lint import lint
from tests.guard.numbers import number_problems, strong_sentences
from tests.guard.page_saboteurs import problems_of_text
from tests.guard.record import read_claims, read_run
from tests.guard.saboteurs import read_saboteurs
from tests.guard.source import load_pages
from tools.ledger import stamp

PAGE_SABOTEURS = [saboteur for saboteur in read_saboteurs() if saboteur.guard]


@pytest.fixture(scope="module")
def run() -> dict:
    results, reason = read_run()
    if results is None:
        pytest.fail(f"{reason}; run `make test`", pytrace=False)
    index = ROOT / "site/index.html"
    if not index.is_file():
        pytest.fail("site/ is missing; run `make test`", pytrace=False)
    soup = BeautifulSoup(index.read_text(encoding="utf-8"), "html.parser")
    meta = soup.find("meta", attrs={"name": "run-id"})
    built_from = meta.get("content") if meta else None
    if built_from != results["id"]:
        reason = f"site/ was built from run {built_from!r}, the results are of {results['id']!r}"
        pytest.fail(f"{reason}; run `make test`", pytrace=False)
    return results


@pytest.fixture(scope="module")
def pages(run):
    return load_pages()[0]


def show(problems: list[str]) -> None:
    if problems:
        pytest.fail(f"{len(problems)} problems\n" + "\n".join(problems), pytrace=False)


def test_every_page_is_built(run):
    pages, problems = load_pages()
    show(problems)
    assert len(pages) >= 10


def test_the_foot_of_each_page_says_what_the_run_says(run):
    said = f"{stamp(run)[0]}"
    for path in (ROOT / "site").rglob("*.html"):
        soup = BeautifulSoup(path.read_text(encoding="utf-8"), "html.parser")
        for foot in soup.select(".page-foot p.verified, .page-foot p.open"):
            assert foot.get_text(strip=True) == said, path
        assert soup.select(".page-foot") or path.name == "404.html", path


def test_the_ledger_has_one_row_for_each_claim_and_no_other(run):
    page = ROOT / "site/verified/index.html"
    soup = BeautifulSoup(page.read_text(encoding="utf-8"), "html.parser")
    rows = [row.get("id") for row in soup.select("article table tr") if row.find("td")]
    assert sorted(rows) == sorted(claim["id"] for claim in run["claims"])


def test_docs_hold_only_pages_notebooks_and_assets():
    for path in (ROOT / "docs").rglob("*"):
        folder = path.relative_to(ROOT / "docs").parts[0]
        if path.is_file() and folder not in ("assets", "_generated"):
            assert path.suffix == ".md" or folder == "notebooks", path


def test_every_visible_block_ran_and_passed(run, pages):
    assert sum(block["outcome"] == "passed" for block in run["blocks"]) >= 10
    show([problem for page in pages.values() for problem in block_problems(page, run)])


def test_sources_hold_no_form_that_the_runner_passes_by(pages):
    files = [file for file in pages if file.endswith(".md")]
    show([p for file in files for p in lint((ROOT / file).read_text(encoding="utf-8"), file)])


def test_every_mark_and_every_claim_are_one(run, pages):
    assert len(run["claims"]) >= 50
    show(claim_problems(pages, read_claims(run)))


def test_no_number_outside_claims_and_citations(run, pages):
    claims = read_claims(run)
    strong = [line for page in pages.values() for line in strong_sentences(page, claims)]
    text = "Unclaimed sentences with a strong word, to be read by a person:\n\n" + "\n".join(strong)
    (ROOT / ".results/unclaimed.txt").write_text(text + "\n", encoding="utf-8")
    show([problem for page in pages.values() for problem in number_problems(page, claims)])


def test_counts_are_those_of_the_baseline(pages):
    show(baseline_problems(pages, read_baseline(), count_saboteurs()))


@pytest.mark.parametrize("file", sorted({saboteur.file for saboteur in PAGE_SABOTEURS}))
def test_page_without_an_edit_has_no_problem(file, run, pages):
    text = (ROOT / file).read_text(encoding="utf-8")
    show(problems_of_text(text, file, pages, run))


@pytest.mark.parametrize("saboteur", PAGE_SABOTEURS, ids=lambda saboteur: saboteur.id)
def test_wrong_edit_of_a_page_is_reported(saboteur, run, pages, record_property):
    text = saboteur.apply((ROOT / saboteur.file).read_text(encoding="utf-8"))
    found = problems_of_text(text, saboteur.file, pages, run)
    assert any(saboteur.guard in problem for problem in found), found
    record_property("saboteur", saboteur.id)
