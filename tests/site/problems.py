"""What may be wrong with a page, as sentences. An empty list is a sound page."""

import re

from tests.site.visit import Visit
from tools.local_site import NOT_FOUND

MAX_SHIFT = 0.05
MAX_WEIGHT = 300 * 1024
# A notebook page carries the styles of the notebook viewer (84 KiB) and its pictures.
MAX_NOTEBOOK_WEIGHT = 560 * 1024

RAW_TEX = re.compile(r"\\[()\[\]]|\$\$|\\[A-Za-z]{2,}|\$[^\s$][^$\n]*\$")

# Rules of axe that the theme breaks and CSS cannot mend: rule, part of the element, reason.
AXE_EXCEPTIONS: list[tuple[str, str, str]] = []


def page_problems(visit: Visit) -> list[str]:
    facts = visit.facts
    found = [f"console {line}" for line in visit.console]
    found += [f"request {line}" for line in visit.failed]
    found += [f"external request {url}" for url in visit.external]
    found += [f"raw TeX in the text: {raw}" for raw in RAW_TEX.findall(facts["text"])]
    found += [f"formula not drawn: {formula}" for formula in facts["notDrawn"]]
    found += [f"formula error: {error}" for error in facts["formulaErrors"]]
    if not is_notebook(visit) and facts["drawn"] != facts["formulas"]:
        found.append(f"{facts['formulas']} formulas in the source, {facts['drawn']} drawn")
    if facts["sideways"] > 0:
        found.append(f"scrolls sideways by {facts['sideways']} px: {facts['tooWide']}")
    found += [f"image does not load: {image}" for image in facts["deadImages"]]
    found += [f"id used twice: {name}" for name in facts["doubleIds"]]
    if len(facts["titles"]) != 1:
        found.append(f"{len(facts['titles'])} h1 headings instead of one: {facts['titles']}")
    if not facts["description"]:
        found.append("no meta description")
    if visit.address != NOT_FOUND and not facts["verified"]:
        found.append("no line at the foot that says what was verified")
    found += [f"code block without a copy button: {block}" for block in facts["uncopied"]]
    found += [f"formula wider than its column: {formula}" for formula in facts["wideFormulas"]]
    found += [f"formula cut at its upper edge: {formula}" for formula in facts["cutFormulas"]]
    found += [f"scrolls without a sign of it: {box}" for box in facts["unmarked"]]
    found += [f"title of a neighbour cut or hidden: {title}" for title in facts["cutTitles"]]
    found += [f"row of a printed table is broken: {row}" for row in facts["brokenRows"]]
    if facts["shift"] > MAX_SHIFT:
        found.append(f"layout shift {facts['shift']:.3f}, at most {MAX_SHIFT}")
    return found


def weight_problems(visit: Visit) -> list[str]:
    limit = MAX_NOTEBOOK_WEIGHT if is_notebook(visit) else MAX_WEIGHT
    total = sum(visit.weights.values())
    if total <= limit:
        return []
    heavy = sorted(visit.weights.items(), key=lambda item: -item[1])[:6]
    parts = ", ".join(f"{name} {size / 1024:.1f}" for name, size in heavy)
    return [f"{total / 1024:.1f} KiB gzipped, at most {limit // 1024}; heaviest: {parts}"]


def axe_problems(visit: Visit, scheme: str) -> list[str]:
    return [
        f"{scheme}: {violation['id']} ({violation['help']}): {node['html'][:160]} | "
        f"{node['failureSummary'][:240]}"
        for violation in visit.axe[scheme]
        for node in violation["nodes"]
        if not is_excepted(violation["id"], node["html"])
    ]


def is_excepted(rule: str, html: str) -> bool:
    return any(rule == name and part in html for name, part, reason in AXE_EXCEPTIONS)


def is_notebook(visit: Visit) -> bool:
    return visit.address.startswith("notebooks/")
