"""Layer 6: every known way of fooling the guard is reported by name, and a clean page is not.

The trap pages lie in tests/guard/traps/ as `.md.txt`. Here they become a site: pytest runs its
blocks and tests with the recorder, mkdocs builds it with the project's own Markdown extensions,
and the guard reads both.
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from mkdocs.utils.yaml import yaml_load

from tests.guard.blocks import block_problems
from tests.guard.claims import claim_problems
from tests.guard.digest import ROOT
from tests.guard.lint import lint
from tests.guard.numbers import number_problems
from tests.guard.record import RUN_FILE, read_claims
from tests.guard.source import load_pages

TRAPS = Path(__file__).parent / "traps"
EXPECT = re.compile(r"^<!-- expect: (.*) -->\n", re.MULTILINE)
NAMES = sorted(path.name.removesuffix(".md.txt") for path in TRAPS.glob("*.md.txt"))
PYTEST_INI = """[pytest]
addopts = --codeblocks -p tests.guard.results -p no:cacheprovider
testpaths = tests docs
filterwarnings = error
"""


def page_text(name: str) -> str:
    return (TRAPS / f"{name}.md.txt").read_text(encoding="utf-8")


def write_site(root: Path) -> None:
    for name in ("docs", "tests", "snippets"):
        (root / name).mkdir()
    for name in NAMES:
        text = EXPECT.sub("", page_text(name))
        (root / f"docs/{name}.md").write_text(text, encoding="utf-8")
    ids = re.findall(r'@claim\("([^"]+)"', (TRAPS / "claims.py.txt").read_text(encoding="utf-8"))
    rows = [f'<p id="{claim_id}">row</p>' for claim_id in ids if claim_id != "norow-sum"]
    (root / "docs/verified.md").write_text("\n".join(["# Verified", "", *rows]), encoding="utf-8")
    (root / "docs/index.md").write_text("# Index\n", encoding="utf-8")
    (root / "docs/draft.md").write_text("---\ndraft: true\n---\n\n# Draft\n", encoding="utf-8")
    (root / "snippets/sum.py").write_text("def add(a, b):\n    return a + b\n", encoding="utf-8")
    code = (TRAPS / "claims.py.txt").read_text(encoding="utf-8")
    (root / "tests/test_claims.py").write_text(code, encoding="utf-8")
    (root / "pytest.ini").write_text(PYTEST_INI, encoding="utf-8")
    with open(ROOT / "mkdocs.yml", encoding="utf-8") as file:
        extensions = yaml_load(file)["markdown_extensions"]
    config = {
        "site_name": "Traps",
        "theme": {"name": "material", "font": False},
        "plugins": [],
        "exclude_docs": "draft.md",
        "markdown_extensions": extensions,
    }
    (root / "mkdocs.yml").write_text(yaml.safe_dump(config), encoding="utf-8")


def run(root: Path, *command: str) -> str:
    environment = os.environ | {"PYTHONPATH": str(ROOT), "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(
        [sys.executable, "-m", *command], cwd=root, env=environment, capture_output=True, text=True
    )
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def trapped(tmp_path_factory) -> tuple[list[str], str]:
    """Every problem of the trap site, and the output of its test run."""
    root = tmp_path_factory.mktemp("traps")
    write_site(root)
    output = run(root, "pytest", "--continue-on-collection-errors")
    built = run(root, "mkdocs", "build", "--quiet")
    assert (root / RUN_FILE).is_file(), output
    assert (root / "site/index.html").is_file(), built
    record = json.loads((root / RUN_FILE).read_text(encoding="utf-8"))
    claims = read_claims(record)
    pages, problems = load_pages(root)
    problems += claim_problems(pages, claims)
    for file, page in pages.items():
        problems += lint((root / file).read_text(encoding="utf-8"), file)
        problems += block_problems(page, record, root)
        problems += number_problems(page, claims)
    return problems, output


@pytest.mark.parametrize("name", [name for name in NAMES if name != "clean"])
def test_trap_is_reported_by_name(trapped, name):
    named = [p for p in trapped[0] if f"docs/{name}.md" in p or f"{name}-" in p]
    expected = EXPECT.findall(page_text(name))
    assert expected
    for part in expected:
        assert any(part in problem for problem in named), (part, named)


def test_clean_page_has_no_problem(trapped):
    assert [p for p in trapped[0] if p.startswith(("docs/clean.md", "clean-"))] == []


def test_page_that_is_not_built_is_reported(trapped):
    assert "docs/draft.md: has no page in site/, so nothing on it is checked" in trapped[0]


def test_skips_make_the_session_red_and_are_named(trapped):
    summary = trapped[1].partition("not run to the end, so this session is red")[2]
    assert "tests/test_claims.py::test_skipped: skipped" in summary
    assert re.search(r"docs/skip_mark\.md::line \d+: skipped", summary)
    assert re.search(r"docs/xfail_mark\.md::line \d+: xfailed", summary)
