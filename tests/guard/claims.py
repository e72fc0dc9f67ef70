"""Layer 2: a marked sentence and the sentence over its test are one and the same.

Closes: a mark without a test, a test without a mark, a test that did not pass in this run, a
sentence or a formula that changed on one side only, and a formula that nobody checks.
"""

import posixpath
import re

from tests.guard.difference import difference
from tests.guard.page import Page
from tests.guard.prose import CODE, LINK, MARK, REF, TEX, Block, Mark

VERIFIED = "docs/verified.md"
HOME_PREFIX = "home"
# Formulas without a mark are allowed here, each for its reason.
UNCHECKED_FORMULAS = {
    VERIFIED: "its rows repeat the sentences of the other pages",
    "README.md": "holds no formulas of its own",
}
BOUNDARY = re.compile(r"[.!?:][\"'”’)]* $")


def claim_problems(pages: dict[str, Page], claims: dict[str, dict]) -> list[str]:
    """`claims` as tests.guard.record.read_claims gives them."""
    problems = outcome_problems(claims)
    marked: dict[str, str] = {}
    for page in pages.values():
        problems += page_problems(page, claims)
        for _, mark in page.marks:
            if mark.claim_id in marked:
                problems.append(
                    f"{page.file}: {mark.claim_id} is marked a second time, "
                    f"first on {marked[mark.claim_id]}"
                )
            marked[mark.claim_id] = page.file
    for claim_id in sorted(claims.keys() - marked.keys()):
        tests = ", ".join(claims[claim_id]["tests"])
        problems.append(f"{claim_id}: claim has no mark on any page; its tests: {tests}")
    if VERIFIED in pages:
        for claim_id in sorted(marked.keys() - pages[VERIFIED].ids):
            problems.append(f"{VERIFIED}: has no row for {claim_id}")
    return problems


def outcome_problems(claims: dict[str, dict]) -> list[str]:
    """What can be seen from the tests alone."""
    problems = []
    for claim_id, claim in claims.items():
        for test, outcome in claim["tests"].items():
            if outcome != "passed":
                problems.append(f"{claim_id}: claim did not pass in this run: {test} ({outcome})")
        if not claim["texts"]:
            problems.append(f"{claim_id}: no test gives the sentence of this claim")
        if len(claim["texts"]) > 1:
            where = ", ".join(test for test, _ in claim["texts"])
            problems.append(f"{claim_id}: claim text given twice, over {where}")
    return problems


def page_problems(page: Page, claims: dict[str, dict]) -> list[str]:
    """What one page shows, against the claims."""
    problems = [f"{page.file}: a mark is hidden from the reader: {m}" for m in page.hidden_marks]
    for block in page.blocks:
        for href in block.odd_ticks:
            problems.append(f"{block.place}: ✓ is a link without the class claim: {href}")
        if "✓" in block.text:
            at = block.text.index("✓")
            if block.kinds[at] not in CODE + LINK:
                problems.append(f"{block.place}: ✓ stands in the text without a link")
        if "$$" in block.text:
            problems.append(f"{block.place}: a formula was left as raw $$; add an empty line")
        for mark in block.marks:
            problems += mark_problems(page, block, mark, claims)
    if page.file not in UNCHECKED_FORMULAS:
        for block, (end, tex) in page.formulas:
            if block.text[end:].lstrip()[:1] != MARK:
                problems.append(f"{block.place}: formula without a mark: {tex}")
    return problems


def mark_problems(page: Page, block: Block, mark: Mark, claims: dict[str, dict]) -> list[str]:
    claim_id, where = mark.claim_id, f"{block.place}: {mark.claim_id}"
    problems = []
    if not points_at_row(page, mark.href):
        problems.append(f"{where}: mark does not point at its row in verified: {mark.href}")
    prefix = HOME_PREFIX if page.file == "docs/index.md" else stem(page.file).replace("_", "-")
    if not claim_id.startswith(f"{prefix}-"):
        problems.append(f"{where}: claim id does not begin with its page, {prefix}-")
    if claim_id not in claims:
        problems.append(f"{where}: mark has no test")
    elif claims[claim_id]["texts"]:
        problems += text_problems(where, block, mark, claims[claim_id]["texts"][0][1])
    return problems


def text_problems(where: str, block: Block, mark: Mark, text: str) -> list[str]:
    start = block.start_of(mark, text)
    head = block.text[: start or 0].replace(REF, "")
    if start is None or not (head in ("", " ") or MARK in head[-2:] or BOUNDARY.search(head)):
        shown = last_words(block.plain(0, mark.position), text)
        return [f"{where}: claim text differs\n{difference(shown, text)}"]
    problems = []
    opens_well = block.kinds[start] in CODE + TEX or text[0].isupper() or text[0].isdigit()
    if not opens_well and block.tag not in ("td", "th"):
        problems.append(f"{where}: claim text begins in the middle of a sentence: {text!r}")
    is_formula = block.kinds[start] == TEX and text.endswith("\\]")
    is_cell = block.tag in ("td", "th") and not head.strip()
    if not (text[-1] in ".!?" or is_formula or is_cell):
        problems.append(f"{where}: claim text ends without a full stop: {text!r}")
    return problems


def last_words(before: str, text: str) -> str:
    """The part of the page that the sentence should be compared with."""
    after_mark = before.rpartition("✓")[2].strip()
    count = len(text.split()) + 3
    words = after_mark.split()
    return after_mark if len(words) <= count else " ".join(words[-count:])


def points_at_row(page: Page, href: str) -> bool:
    """Both as written in Markdown (../verified.md#id) and as built (../../verified/#id)."""
    path, _, fragment = href.partition("#")
    name = page.file.removeprefix("docs/")
    if path.endswith(".md"):
        folder, target = posixpath.dirname(name), "verified.md"
    else:
        folder = posixpath.dirname(name) if stem(name) == "index" else posixpath.splitext(name)[0]
        target = "verified"
    return bool(fragment) and posixpath.normpath(posixpath.join(folder, path)) == target


def stem(file: str) -> str:
    return posixpath.splitext(posixpath.basename(file))[0]
