"""Layer 1: every Python block a reader sees is text that ran and passed in this run.

Closes: a block that is shown and not run, runs and is not shown, shows an output that was never
compared, or stands under a language that nobody runs. Texts are compared as multisets: counts
would balance out.
"""

from collections import Counter
from pathlib import Path

from tests.guard.digest import ROOT
from tests.guard.page import Code, Page
from tests.guard.python_text import format_problem

OTHER_LANGUAGES = ("console", "toml", "json", "bibtex")


def block_problems(page: Page, run: dict, root: Path = ROOT) -> list[str]:
    """Compare one page with the blocks that passed from its source file in the run."""
    if page.file.endswith((".py", ".ipynb")):
        return notebook_problems(page, run)
    passed = [b for b in run["blocks"] if b["file"] == page.file and b["outcome"] == "passed"]
    python = Counter(exact(b["code"]) for b in passed if b["language"] == "python")
    outputs = Counter(exact(b["expected"]) for b in passed if b["expected"] is not None)

    problems = []
    for code in page.code:
        if code.language == "python" and code.title is None:
            if not take(python, code.text):
                problems.append(problem(code, "shown but did not run and pass"))
        elif code.language == "text":
            if not take(outputs, code.text):
                problems.append(problem(code, "shown as output but never compared"))
        elif code.language == "py":
            problems += listing_problems(code, root)
        elif code.language in OTHER_LANGUAGES:
            reason = format_problem(code.language, code.text)
            if reason:
                problems.append(problem(code, f"{code.language} block {reason}"))
        elif code.language is None:
            problems.append(problem(code, "shown but did not run: a bare <pre>"))
        else:
            problems.append(problem(code, f"shown but did not run: language {code.language!r}"))
    for text in python.elements():
        problems.append(f"{page.file}: ran but is not shown: {first_line(text)!r}")
    for text in outputs.elements():
        problems.append(f"{page.file}: output compared but not shown: {first_line(text)!r}")
    for block in run["blocks"]:
        if block["file"] == page.file and block["outcome"] != "passed":
            where = f"{block['file']}:{block['line']}"
            problems.append(f"{where}: block {block['outcome']}: {first_line(block['code'])!r}")
    return problems


def listing_problems(code: Code, root: Path) -> list[str]:
    """A `py` block is a whole file of snippets/, under the name of that file."""
    title = code.title or ""
    path = root / title
    if not title.startswith("snippets/") or path.suffix != ".py" or ".." in Path(title).parts:
        return [problem(code, "py block without title snippets/X.py: shown but did not run")]
    if not path.is_file():
        return [problem(code, f"listing of {title}, which does not exist")]
    if exact(path.read_text(encoding="utf-8")) != exact(code.text):
        return [problem(code, f"listing is not the whole of {title}")]
    return []


def notebook_problems(page: Page, run: dict) -> list[str]:
    """Every input cell is source that the notebook test executed, and nothing else has code."""
    ours = [c for c in run["cells"] if c["file"] in (page.file, None)]  # None: the only notebook
    cells = [c for c in ours if c["outcome"] == "passed"]
    executed = Counter(exact(cell["code"]) for cell in cells)
    problems = []
    for code in page.code:
        if not code.is_cell:
            problems.append(problem(code, "in a notebook but not as a cell, so it did not run"))
        elif not take(executed, code.text):
            problems.append(problem(code, "notebook cell shown but did not run and pass"))
    for text in executed.elements():
        problems.append(f"{page.file}: cell ran but is not shown: {first_line(text)!r}")
    if not cells:
        problems.append(f"{page.file}: no test recorded the cells of this notebook")
    return problems


def take(counter: Counter, text: str) -> bool:
    """Use up one occurrence of `text`."""
    key = exact(text)
    if counter[key] < 1:
        return False
    counter[key] -= 1
    return True


def exact(text: str) -> str:
    """The text itself; only empty lines at both ends and blanks at line ends do not show."""
    lines = [line.rstrip() for line in text.replace("\xa0", " ").splitlines()]
    return "\n".join(lines).strip("\n")


def problem(code: Code, what: str) -> str:
    return f"{code.place}: {what}: {first_line(code.text)!r}"


def first_line(text: str) -> str:
    return next((line.strip() for line in text.splitlines() if line.strip()), "")[:80]
