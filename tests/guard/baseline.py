"""How many claims, blocks and checks each page has, against tests/guard/baseline.toml.

Closes: a check that disappears together with its sentence, so that nothing is left to compare.

    python -m tests.guard.baseline --write    # after a change that is meant; needs the built site
"""

import ast
import sys
import tomllib
from pathlib import Path

from tests.guard.digest import ROOT
from tests.guard.page import Page
from tests.guard.source import load_pages

FILE = Path("tests/guard/baseline.toml")
SABOTEURS = Path("tests/guard/saboteurs.toml")
COUNTS = {
    "claims": "claims",
    "blocks": "blocks that run",
    "checks": "checks in its blocks",
    "formulas": "displayed formulas",
    "figures": "figures",
}


def counts(page: Page) -> dict[str, int]:
    run = [c.text for c in page.code if c.language == "python" or c.is_cell]
    outputs = [c for c in page.code if c.language == "text"]
    return {
        "claims": len(page.marks),
        "blocks": len(run),
        "checks": sum(map(asserts, run)) + len(outputs),
        "formulas": len(page.formulas),
        "figures": page.figures,
    }


def asserts(code: str) -> int:
    try:
        return sum(isinstance(node, ast.Assert) for node in ast.walk(ast.parse(code)))
    except SyntaxError:
        return 0  # reported as a block that did not run


def count_saboteurs(root: Path = ROOT) -> int:
    path = root / SABOTEURS
    if not path.is_file():
        return 0
    return len(tomllib.loads(path.read_text(encoding="utf-8")).get("saboteur", []))


def baseline_problems(pages: dict[str, Page], baseline: dict, saboteurs: int) -> list[str]:
    problems = []
    expected = baseline.get("pages", {})
    for file, page in pages.items():
        if file not in expected:
            problems.append(f"{file}: page is not in the baseline; {advice()}")
            continue
        for name, found in counts(page).items():
            if found != expected[file].get(name):
                said = expected[file].get(name, "nothing")
                problems.append(f"{file}: {found} {COUNTS[name]}, baseline says {said}; {advice()}")
    for file in sorted(expected.keys() - pages.keys()):
        problems.append(f"{file}: page is gone, baseline still has it; {advice()}")
    if saboteurs != baseline.get("saboteurs"):
        said = baseline.get("saboteurs", "nothing")
        problems.append(f"{SABOTEURS}: {saboteurs} saboteurs, baseline says {said}; {advice()}")
    return problems


def advice() -> str:
    return f"if this is meant, run `.venv/bin/python -m tests.guard.baseline --write` (edits {FILE})"


def read_baseline(root: Path = ROOT) -> dict:
    path = root / FILE
    return tomllib.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}


def as_toml(pages: dict[str, Page], saboteurs: int) -> str:
    lines = [
        "# Counts that may not change in silence. Written by",
        "# `python -m tests.guard.baseline --write`.",
        f"saboteurs = {saboteurs}",
    ]
    for file, page in sorted(pages.items()):
        lines += ["", f'[pages."{file}"]']
        lines += [f"{name} = {count}" for name, count in counts(page).items()]
    return "\n".join(lines) + "\n"


def main() -> None:
    if sys.argv[1:] != ["--write"]:
        sys.exit("usage: python -m tests.guard.baseline --write")
    pages, problems = load_pages(ROOT)
    if problems:
        sys.exit("\n".join([*problems, "Build the site first: make build"]))
    (ROOT / FILE).write_text(as_toml(pages, count_saboteurs()), encoding="utf-8")
    print(f"wrote {FILE}")


if __name__ == "__main__":
    main()
