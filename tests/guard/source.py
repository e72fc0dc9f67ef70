"""Which source makes which page, and how one page is rendered without building the site.

Closes: a page of docs/ that no built file stands for (a draft, an excluded file, another suffix),
so that no check of the built site would ever look at it.
"""

from dataclasses import dataclass
from pathlib import Path

import markdown
from mkdocs.utils import meta
from mkdocs.utils.yaml import yaml_load

from tests.guard.digest import ROOT
from tests.guard.page import Page, parse

MKDOCS_DEFAULTS = ("toc", "tables", "fenced_code")


@dataclass(frozen=True)
class Source:
    """One source of prose: `file` is its name in messages and in run.json."""

    file: str
    html: Path | None  # where the build puts it; None for README.md

    @property
    def name(self) -> str:
        return self.file.removeprefix("docs/")


def sources(root: Path = ROOT) -> list[Source]:
    """README.md and every page source below docs/."""
    found = [Source("README.md", None)] if (root / "README.md").is_file() else []
    for path in sorted((root / "docs").rglob("*")):
        relative = path.relative_to(root / "docs")
        if is_page(relative):
            folder = relative.parent if relative.stem == "index" else relative.with_suffix("")
            html = root / "site" / folder / "index.html"
            found.append(Source(path.relative_to(root).as_posix(), html))
    return found


def is_page(path: Path) -> bool:
    """Anything that could be prose or a notebook; what is generated or served raw is not."""
    if path.parts[0] in ("_generated", "assets"):
        return False
    return path.suffix in (".md", ".markdown", ".mdown", ".mkd", ".py", ".ipynb")


def load_pages(root: Path = ROOT) -> tuple[dict[str, Page], list[str]]:
    """The pages as built (README.md as rendered), and a problem for each one not built."""
    pages, problems = {}, []
    for source in sources(root):
        if source.html is None:
            text = (root / source.file).read_text(encoding="utf-8")
            pages[source.file] = parse(render(text, root), source.file)
        elif source.html.is_file():
            pages[source.file] = parse(source.html.read_text(encoding="utf-8"), source.file)
        else:
            problems.append(f"{source.file}: has no page in site/, so nothing on it is checked")
    return pages, problems


def render(text: str, root: Path = ROOT) -> str:
    """One page as HTML, with the Markdown extensions of mkdocs.yml."""
    body, _ = meta.get_data(text)
    with open(root / "mkdocs.yml", encoding="utf-8") as file:
        listed = yaml_load(file)["markdown_extensions"]
    options: dict[str, dict] = {name: {} for name in MKDOCS_DEFAULTS}
    for entry in listed:
        options.update({entry: {}} if isinstance(entry, str) else entry)
    options = {name: given or {} for name, given in options.items()}
    if "pymdownx.snippets" in options:
        options["pymdownx.snippets"] = options["pymdownx.snippets"] | {"base_path": [str(root)]}
    return markdown.markdown(body, extensions=list(options), extension_configs=options)
