"""The checks must be able to fail: small bad pages, each of which has to be reported."""

import shutil

import pytest

from tests.site.conftest import SITE
from tests.site.problems import axe_problems, page_problems, weight_problems
from tests.site.visit import visit
from tools.local_site import serve

ASSETS = SITE.parent / "docs" / "assets"
MATH = (
    '<link rel="stylesheet" href="../katex/katex.min.css">'
    '<script defer src="../katex/katex.min.js"></script>'
    '<script defer src="../js/math.js"></script>'
)
PAGE = """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Sample</title>
<meta name="viewport" content="width=device-width">
<meta name="description" content="A sample"><link rel="icon" href="data:,">{head}</head>
<body style="background:#fff;color:#000"><main><article><h1>Sample</h1>{body}
<footer class="page-foot"><p class="verified">Verified</p></footer></article></main></body></html>
"""
GOOD = '<p>A formula, <span class="arithmatex">\\(x^2\\)</span>.</p>'
# name: (part of the head, body, what has to be reported)
BAD = {
    "brace": (MATH, '<p><span class="arithmatex">\\(\\frac{1}{2\\)</span></p>', "formula error"),
    "macro": (MATH, '<p><span class="arithmatex">\\(\\nosuch\\)</span></p>', "formula error"),
    "undrawn": ("", '<p><span class="arithmatex">\\(x\\)</span></p>', "formula not drawn"),
    "raw-inline": ("", "<p>Here \\(x\\) stays.</p>", "raw TeX in the text: \\("),
    "raw-dollar": ("", "<p>Here $x$ stays.</p>", "raw TeX in the text: $x$"),
    "raw-display": ("", "<p>$$ x $$</p>", "raw TeX in the text: $$"),
    "raw-macro": ("", "<p>omega is \\omega</p>", "raw TeX in the text: \\omega"),
    "external": ("", '<script src="https://example.org/x.js"></script>', "external request"),
    "missing-file": ('<link rel="stylesheet" href="no.css">', "", "request 404"),
    "console": ("", "<script>console.warn('careful')</script>", "console warning: careful"),
    "exception": ("", "<script>throw new Error('broken')</script>", "console exception"),
    "sideways": ("", '<div id="wide" style="width:1500px">x</div>', 'px: [\'<div id="wide"'),
    "dead-image": ("", '<img src="no.png" alt="none">', "image does not load"),
    "double-id": ("", '<p id="a">1</p><p id="a">2</p>', "id used twice: a"),
    "two-titles": ("", "<h1>Another</h1>", "2 h1 headings"),
    "no-description": (
        "<script>document.querySelector('[name=description]').remove()</script>",
        "",
        "no meta description",
    ),
    "no-foot": (
        "",
        "<script>onload = () => document.querySelector('.verified').remove()</script>",
        "no line at the foot",
    ),
    "no-copy": ("", '<div class="highlight"><pre>x = 1</pre></div>', "without a copy button"),
    "wide-formula": (
        MATH,
        '<div style="width:90px"><div class="arithmatex">\\[a + b + c + d + e + f\\]</div></div>',
        "formula wider than its column",
    ),
    "cut-formula": (
        MATH + "<style>.katex-display { overflow: auto hidden }</style>",
        '<div class="arithmatex">\\[R(m)^\\top\\]</div>',
        "formula cut at its upper edge",
    ),
    "no-sign": (
        "",
        '<pre tabindex="0" style="width:60px;overflow:auto">x = [1, 2, 3, 4]</pre>',
        "scrolls without a sign",
    ),
    "cut-title": (
        "",
        '<div class="md-footer__title" style="width:60px;overflow:hidden;white-space:nowrap">'
        "Learned table</div>",
        "title of a neighbour cut or hidden: Learned table",
    ),
    "hidden-title": (
        "",
        '<div class="md-footer__title" style="display:none">Learned table</div>',
        "title of a neighbour cut or hidden: Learned table",
    ),
    "broken-row": (
        "",
        '<div class="highlight language-text"><pre><code style="display:block;width:120px;'
        'white-space:pre-wrap">name       1       2</code></pre></div>',
        "row of a printed table is broken: name",
    ),
    "shift": (
        "",
        "<p>Text</p>" * 20
        + "<script>setTimeout(() => document.querySelector('h1').style.height = '400px', 60)"
        "</script>",
        "layout shift",
    ),
}
BAD_AXE = {
    "contrast": ('<p style="color:#aaa;background:#fff">Pale</p>', "color-contrast"),
    "no-alt": ('<img src="data:image/gif;base64,R0lGODlhAQABAAAAACw=">', "image-alt"),
    "no-name": ("<button></button>", "button-name"),
}


@pytest.fixture(scope="session")
def open_sample(browser, tmp_path_factory):
    """Write a page, open it as the real ones are opened, and return the visit."""
    folder = tmp_path_factory.mktemp("samples")
    for part in ["katex", "js"]:
        shutil.copytree(ASSETS / part, folder / part)

    with serve(folder) as home:

        def open_sample(name, head="", body="", width=800):
            (folder / name).mkdir()
            html = PAGE.format(head=head, body=body)
            (folder / name / "index.html").write_text(html, "utf-8")
            return visit(browser, home, folder, f"{name}/", width)

        yield open_sample


def test_sound_page_is_not_reported(open_sample):
    sample = open_sample("good", MATH, GOOD, width=1360)
    assert page_problems(sample) + weight_problems(sample) == []
    assert axe_problems(sample, "light") == axe_problems(sample, "dark") == []
    assert sample.facts["drawn"] == 1


@pytest.mark.parametrize("name", BAD)
def test_bad_page_is_reported(open_sample, name):
    head, body, expected = BAD[name]
    problems = page_problems(open_sample(name, head, body))
    assert any(expected in problem for problem in problems), problems


@pytest.mark.parametrize("name", BAD_AXE)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_inaccessible_page_is_reported(open_sample, name, scheme):
    body, expected = BAD_AXE[name]
    problems = axe_problems(open_sample(f"{name}-{scheme}", body=body, width=390), scheme)
    assert any(expected in problem for problem in problems), problems


def test_heavy_page_is_reported(open_sample):
    noise = "".join(f"{number * number * 7919 % 1000003:x}" for number in range(400_000))
    problems = weight_problems(open_sample("heavy", body=f"<p hidden>{noise}</p>"))
    assert problems and "KiB gzipped, at most 300; heaviest: heavy/" in problems[0]
