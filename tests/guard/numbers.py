"""Layer 3: a number in prose stands in a claim or in a citation.

Closes: a result slipped into a sentence that nobody checks. In words every number counts; in
inline code and TeX those with two or more digits or a decimal point, since the small ones are
indices, shapes and exponents. Numbers written as words are not seen.
"""

import re

from tests.guard.page import Page
from tests.guard.prose import CODE, LINK, MARK, REF, TEX, TEXT, Block

# Pages without this check, each for its reason.
UNCHECKED_PAGES = {
    "docs/references.md": "all of it is citations",
    "docs/changelog.md": "dates and versions of the project",
    "docs/verified.md": "repeats claims, with the versions of the run",
    "docs/contributing.md": "shows how to write marks and numbers",
    "README.md": "sizes and versions needed to install; not a page of the site",
}
MODELS = r"(Llama|Qwen|Phi|Gemma)[ -]?\d(\.\d)?( \d+B)?\b"  # names with a number, no measurements
NAMES = re.compile(  # words that hold a digit and are no number
    rf"\b({MODELS}"
    r"|[A-Za-z_]+\d+(-\d+)?[A-Za-z_]\w*(-\d+)?|[A-Za-z_]+\d+|[1-4]-D|\d+-bit|i\.i\.d)\b"
)
CITATIONS = re.compile(
    r"et al\. (19|20)\d\d\b"
    r"|\b([Ss]ections?|[Ee]quations?|[Cc]hapters?|[Tt]ables?|[Ff]igures?|[Aa]ppendix|version)"
    r" [A-Z]?\d+(\.\d+)*(( to |, | and )\d+(\.\d+)*)*"
    r"|\barXiv:\d{4}\.\d{5}"
)
WORD_NUMBER = re.compile(r"[-+−]?\d+([.,]\d+)*")
CODE_NUMBER = re.compile(r"(?<![\w.])[-+−]?(\d+\.\d+|\d\d+)\w*")
SENTENCE_END = re.compile(rf"[.!?][\"”’)]*[{REF}{MARK} ]*(?= |$)")
STRONG = re.compile(r"\b(must|never|always|only|cannot|does not|do not)\b", re.IGNORECASE)


def number_problems(page: Page, claims: dict[str, dict]) -> list[str]:
    """`claims` as tests.guard.record.read_claims gives them."""
    problems = []
    for block in free_blocks(page):
        taken = covered(block, claims)
        for match in numbers(block, taken):
            text = sentence_at(block, match.start())
            problems.append(f"{block.place}: number outside a claim: {match[0]!r} in {text!r}")
    return problems


def strong_sentences(page: Page, claims: dict[str, dict]) -> list[str]:
    """Unclaimed sentences with a strong word: a list to read, not a gate."""
    found = []
    for block in free_blocks(page):
        free = blank(block.text, [not taken for taken in covered(block, claims)])
        starts = {start for start, end in sentences(block) if STRONG.search(free[start:end])}
        found += [f"{block.place}: {sentence_at(block, start)}" for start in sorted(starts)]
    return found


def free_blocks(page: Page) -> list[Block]:
    if page.file in UNCHECKED_PAGES:
        return []
    return [block for block in page.blocks if not block.footnote]


def covered(block: Block, claims: dict[str, dict]) -> list[bool]:
    """For every character: does it belong to a claim, to a cited sentence or to a link?"""
    taken = [kind == LINK for kind in block.kinds]
    spans = [(s, e) for s, e in sentences(block) if REF in block.text[s:e]]
    for mark in block.marks:
        for _, text in claims.get(mark.claim_id, {"texts": []})["texts"]:
            start = block.start_of(mark, text)
            if start is not None:
                spans.append((start, mark.position))
    for start, end in spans:
        taken[start:end] = [True] * (end - start)
    return taken


def numbers(block: Block, taken: list[bool]) -> list[re.Match]:
    words = blank(block.text, [k == TEXT and not t for k, t in zip(block.kinds, taken)])
    words = without(CITATIONS, without(NAMES, words))
    exact = blank(block.text, [k in CODE + TEX and not t for k, t in zip(block.kinds, taken)])
    exact = without(NAMES, exact)
    return [*WORD_NUMBER.finditer(words), *CODE_NUMBER.finditer(exact)]


def blank(text: str, keep: list[bool]) -> str:
    return "".join(c if k else " " for c, k in zip(text, keep))


def without(pattern: re.Pattern, text: str) -> str:
    return pattern.sub(lambda match: " " * len(match[0]), text)


def sentences(block: Block) -> list[tuple[int, int]]:
    """A footnote number behind the full stop belongs to the sentence before it."""
    ends = [match.end() for match in SENTENCE_END.finditer(block.text)] + [len(block.text)]
    return [(start, end) for start, end in zip([0, *ends], ends) if start < end]


def sentence_at(block: Block, position: int) -> str:
    return next(block.plain(s, e) for s, e in sentences(block) if s <= position < e)
