"""One page as a reader sees it: code blocks, and blocks of prose with their marks and formulas.

Closes: trusting the Markdown source. A reader sees HTML, and what is hidden there, by `hidden`,
`aria-hidden`, `display:none`, `<template>`, `<script>` and the like, is not seen.
"""

from dataclasses import dataclass, field

from bs4 import BeautifulSoup, Tag

from tests.guard.prose import Block

HIDDEN_TAGS = {"script", "style", "template", "noscript", "dialog", "head", "iframe", "object"}
HIDDEN_STYLES = ("display:none", "visibility:hidden", "opacity:0", "font-size:0")
# What the theme and the notebook converter add around the text; an SVG is a picture, with tests of
# its own, and a notebook's outputs are made by the build from the cells that are compared.
ASIDE = {
    "headerlink", "footnote-backref", "page-foot", "md-content__button",
    "anchor-link", "clipboard-copy-txt", "jp-Cell-outputWrapper",
}  # fmt: skip
BLOCK_TAGS = set(
    "article aside blockquote body dd details div dl dt fieldset figcaption figure footer form h1 "
    "h2 h3 h4 h5 h6 header hr html li main nav ol p section summary table tbody td tfoot th thead "
    "tr ul".split()
)


@dataclass
class Code:
    language: str | None  # None: a bare <pre>
    title: str | None
    text: str
    place: str
    is_cell: bool = False  # input of a notebook


@dataclass
class Page:
    file: str
    code: list[Code] = field(default_factory=list)
    blocks: list[Block] = field(default_factory=list)
    figures: int = 0
    ids: set[str] = field(default_factory=set)
    hidden_marks: list[str] = field(default_factory=list)
    heading: str = ""

    @property
    def place(self) -> str:
        return f'{self.file}, under "{self.heading}"' if self.heading else self.file

    @property
    def marks(self):
        return [(block, mark) for block in self.blocks for mark in block.marks]

    @property
    def formulas(self):
        return [(block, tex) for block in self.blocks for tex in block.formulas]


def parse(html: str, file: str) -> Page:
    """The article of a built page, or all of a rendered fragment."""
    soup = BeautifulSoup(html, "html.parser")
    article = soup.find("article") or soup
    page = Page(file)
    page.ids = {tag["id"] for tag in article.find_all(id=True)}
    visit(article, page, Block("body", file))
    page.blocks = [block for block in page.blocks if block.text]
    return page


def visit(parent: Tag, page: Page, block: Block) -> None:
    """Add the inline content of `parent` to `block`, and what is a block of its own to `page`."""
    if block not in page.blocks:
        page.blocks.append(block)
    for child in parent.children:
        if not isinstance(child, Tag):
            if type(child).__name__ == "NavigableString":  # not a comment
                block.add(str(child))
        elif is_hidden(child):
            page.hidden_marks += [mark["href"] for mark in child.select("a.claim[href]")]
        elif ASIDE & classes(child) or child.name == "svg":
            pass
        elif child.name == "pre":
            page.code.append(code_of(child, page.place))
        elif block.add_inline(child):
            pass
        elif child.name not in BLOCK_TAGS:
            visit(child, page, block)
        else:
            visit_block(child, page, block)


def visit_block(child: Tag, page: Page, block: Block) -> None:
    if "equation" in classes(block.element) and child.name in ("p", "div"):
        visit(child, page, block)  # an equation and its mark are one block
        return
    inner = Block(child.name, page.place, child, footnote=block.footnote)
    inner.footnote = inner.footnote or "footnote" in classes(child)
    if child.name in ("h1", "h2", "h3", "h4", "h5", "h6"):
        page.heading = " ".join(text for text in child.stripped_strings if text != "¶")
        inner.place = page.place
    page.figures += child.name == "figure"
    visit(child, page, inner)


def classes(tag: Tag | None) -> set[str]:
    return set(tag.get("class") or ()) if tag is not None else set()


def is_hidden(tag: Tag) -> bool:
    style = "".join((tag.get("style") or "").lower().split())
    return (
        tag.name in HIDDEN_TAGS
        or tag.has_attr("hidden")
        or tag.get("aria-hidden") == "true"
        or (tag.name == "input" and tag.get("type") == "hidden")
        or any(hidden in style for hidden in HIDDEN_STYLES)
    )


def code_of(pre: Tag, place: str) -> Code:
    wrapper = pre.find_parent("div", class_="highlight")
    language, title = None, None
    if wrapper is not None:
        names = classes(wrapper) | classes(pre.find("code"))
        language = next((n[9:] for n in sorted(names) if n.startswith("language-")), None)
        filename = wrapper.find(class_="filename")
        title = filename.get_text() if filename is not None else None
    is_cell = pre.find_parent(class_="jp-CodeCell") is not None
    for extra in pre.select(".linenos, [hidden]"):
        extra.decompose()
    return Code(language, title, pre.get_text(), place, is_cell)
