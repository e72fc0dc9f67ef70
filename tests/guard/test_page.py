"""What counts as seen on a page, and how a page is taken apart."""

import pytest

from tests.guard.page import parse
from tests.guard.source import render

TICK = "[✓](../verified.md#rope-e){ .claim }"


def page(markdown: str):
    return parse(render(markdown), "docs/methods/rope.md")


def test_blocks_have_language_title_and_place():
    toml = '```toml title="t"\ny = 2\n```'
    found = page(f"## Code\n\n```python\nx = 1\n```\n\n{toml}\n\n<pre>z</pre>")
    assert [(c.language, c.title, c.text.strip()) for c in found.code] == [
        ("python", None, "x = 1"),
        ("toml", "t", "y = 2"),
        (None, None, "z"),
    ]
    assert found.code[0].place == 'docs/methods/rope.md, under "Code"'


@pytest.mark.parametrize(
    "start",
    [
        "<div hidden>",
        '<div aria-hidden="true">',
        '<div style="color: red; display : none">',
        '<div style="visibility:hidden">',
        "<template>",
        "<noscript>",
        "<dialog>",
        "<!--",
    ],
)
def test_hidden_things_are_not_seen(start):
    end = "-->" if start == "<!--" else f"</{start[1:].partition(' ')[0].strip('>')}>"
    inside = '<pre>x</pre><p>text <a class="claim" href="v#a-b">✓</a></p>'
    found = parse(f"<article>{start}{inside}{end}<p>seen</p></article>", "docs/a.md")
    assert found.code == [] and found.marks == []
    assert [block.text for block in found.blocks] == ["seen"]
    assert found.hidden_marks == ([] if start == "<!--" else ["v#a-b"])


def test_text_has_marks_kinds_and_no_footnote_numbers():
    found = page(f"A `b` [c](x.md) \\(d\\).[^n] E.{TICK}\n\n[^n]: Foot 3.")
    block = found.blocks[0]
    assert block.plain() == "A b c \\(d\\). E.✓"
    assert "".join(dict.fromkeys(block.kinds)) == "tclm"
    assert block.start_of(block.marks[0], "E.") == block.text.index("E.")
    assert block.start_of(block.marks[0], "A b c \\(d\\). E.") == 0
    assert block.start_of(block.marks[0], "F.") is None
    assert [b.footnote for b in found.blocks if "Foot" in b.text] == [True]


def test_equation_and_its_mark_are_one_block():
    found = page(f'<div class="equation" markdown>\n\n$$\na = b\n$$\n\n{TICK}\n\n</div>')
    block, mark = found.marks[0]
    assert block.plain() == "\\[ a = b \\] ✓"
    assert block.start_of(mark, "\\[ a = b \\]") == 0
    assert [tex for _, (_, tex) in found.formulas] == ["\\[ a = b \\]"]


def test_list_items_cells_and_captions_are_blocks():
    found = page("- one\n- two\n\n    three\n\n| h | i |\n| --- | --- |\n| c | d |\n")
    assert [(b.tag, b.plain()) for b in found.blocks] == [
        ("li", "one"),
        ("p", "two"),
        ("p", "three"),
        ("th", "h"),
        ("th", "i"),
        ("td", "c"),
        ("td", "d"),
    ]


def test_figures_count_and_their_drawing_is_no_prose():
    drawing = "<svg><text>12</text></svg>"
    found = page(f"<figure>\n{drawing}\n<figcaption>Caption</figcaption>\n</figure>\n")
    assert found.figures == 1
    assert [block.plain() for block in found.blocks] == ["Caption"]
