"""Markup that may stand in a page: a short list, everything else is refused.

Closes: text that a reader sees and the guard passes by, or the other way round. Raw HTML and
attributes can hide, move, recolour or relabel a sentence, and a look-alike of the check mark can
claim what no test shows.
"""

import re

from tests.guard.lint import EXPECTED, FENCE, closes

TAGS = re.compile(
    r'</?(figure|figcaption)>|<div class="(equation|facts|hero|map)" markdown>|</div>'
)
ATTRIBUTES = re.compile(
    r"\{ (\.claim|\.mark-example|\.md-button( \.md-button--primary)?|#[a-z0-9-]+) \}"
)
ANY_TAG = re.compile(r"</?[A-Za-z!][^<>]*>")
ANY_ATTRIBUTES = re.compile(r"(?<!\\)\{\s*[.#:][^{}]*\}|(?<=[)\]*_`])\{[^{}]*\}")
INLINE_CODE = re.compile(r"(`+).*?\1")
TEX = re.compile(r"\\\(.*?\\\)|\$\$.*?\$\$", re.S)
TICKS = "✓✔☑✅🗸"
# These two pages explain the mark; elsewhere a mark that links to no row is a fake.
EXPLAINING = ("docs/index.md", "docs/conventions.md")
# The ledger's own rows are generated, with an id each.
INCLUDE = re.compile(r'^--8<-- "[\w./]+"$')


def markup_problems(text: str, file: str) -> list[str]:
    """Problems of one Markdown source, as `file:line: what`."""
    problems = []
    for number, line in prose_lines(text):
        where = f"{file}:{number}"
        if line.strip() == EXPECTED or INCLUDE.match(line):
            continue
        plain = INLINE_CODE.sub("", TEX.sub("", line))
        for tag in ANY_TAG.findall(plain):
            if not TAGS.fullmatch(tag):
                problems.append(f"{where}: raw HTML that is not on the list: {tag}")
        for attributes in (match[0] for match in ANY_ATTRIBUTES.finditer(plain)):
            if not ATTRIBUTES.fullmatch(attributes):
                problems.append(f"{where}: attributes that are not on the list: {attributes}")
        if ".mark-example" in plain and file not in EXPLAINING:
            problems.append(f"{where}: a mark without a claim may stand only on {EXPLAINING}")
        marks = len(re.findall(r"\[✓\]\([^)]*\)\{ \.(claim|mark-example) \}", plain))
        if sum(plain.count(tick) for tick in TICKS) != marks:
            problems.append(f"{where}: a check mark that is no link to the ledger")
        links = len(re.findall(r"\]\([^)]*verified\.md#", plain))
        if links != len(re.findall(r"\[✓\]\([^)]*verified\.md#[^)]*\)\{ \.claim \}", plain)):
            problems.append(f"{where}: a link to a row of the ledger that is no claim mark")
    return problems


def prose_lines(text: str):
    """(number, line) of everything outside fences, front matter and display formulas."""
    lines, index, formula = text.splitlines(), 0, False
    if lines and lines[0] == "---":
        index = lines.index("---", 1) + 1
    while index < len(lines):
        fence = FENCE.match(lines[index])
        if fence and "`" not in fence[3]:
            end = (i for i in range(index + 1, len(lines)) if closes(lines[i], fence[2]))
            index = next(end, len(lines)) + 1
            continue
        if lines[index].strip() == "$$":
            formula = not formula
        elif not formula:
            yield index + 1, lines[index]
        index += 1
