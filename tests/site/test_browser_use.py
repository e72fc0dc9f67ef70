"""What a reader does: keys, search, copying, colours, paper, and a wrong address."""

import pytest

from tools.local_site import NOT_FOUND

PAGE = "methods/rope/"


@pytest.fixture
def rope(page, home):
    page.goto(home + PAGE, wait_until="load")
    return page


def expect_scheme(page, name: str) -> None:
    """Within five seconds: the theme listens to the system, and hears of a change later."""
    page.wait_for_function(
        "name => document.body.dataset.mdColorScheme === name", arg=name, timeout=5000
    )


@pytest.mark.parametrize("where", [PAGE, NOT_FOUND])
def test_first_tab_is_the_skip_link(page, home, where):
    page.goto(home + where, wait_until="load")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.matches('.md-skip')")
    target = page.evaluate("document.activeElement.hash")
    assert page.locator(f"article {target}, article h1{target}").count() == 1
    page.keyboard.press("Enter")
    assert page.evaluate("location.hash") == target


@pytest.mark.parametrize("key", ["/", "s"])
def test_search_opens_by_key_and_finds_rope(rope, key):
    early = rope.evaluate("performance.getEntriesByType('resource').map((entry) => entry.name)")
    assert not any("search_index" in name for name in early), "the index is loaded too early"
    rope.keyboard.press(key)
    rope.keyboard.type("rope", delay=20)
    results = rope.locator(".md-search-result__item a.md-search-result__link")
    results.first.wait_for(timeout=10_000)
    assert any(PAGE in link for link in results.evaluate_all("links => links.map(l => l.href)"))


def test_a_search_result_leads_to_the_marked_words(rope, home):
    rope.keyboard.press("/")
    rope.keyboard.type("sinusoidal", delay=20)
    rope.locator(".md-search-result__item a.md-search-result__link").first.wait_for(timeout=10_000)
    rope.keyboard.press("ArrowDown")
    rope.keyboard.press("Enter")
    rope.wait_for_url("**/?h=*")
    rope.locator("article mark").first.wait_for(timeout=10_000)


def test_copy_button_copies_the_code(rope):
    rope.context.grant_permissions(["clipboard-read", "clipboard-write"])
    block = rope.locator("article .highlight.language-python, article .language-python").first
    block.scroll_into_view_if_needed()
    block.hover()
    block.locator(".md-code__button").first.click()
    copied = rope.evaluate("navigator.clipboard.readText()")
    shown = block.locator("pre > code").text_content()
    assert copied.strip() == shown.strip() != ""


def test_colours_follow_the_system_and_the_button(rope):
    expect_scheme(rope, "default")
    rope.emulate_media(color_scheme="dark")
    expect_scheme(rope, "slate")
    rope.emulate_media(color_scheme="light")
    expect_scheme(rope, "default")

    button = rope.locator("label.md-header__button[for^=__palette]:visible")
    button.click()  # from the system's colours to light
    button.click()  # from light to dark
    expect_scheme(rope, "slate")
    rope.reload(wait_until="load")
    expect_scheme(rope, "slate")
    assert luminance(rope, "background-color") < 0.1 < 0.5 < luminance(rope, "color")


def luminance(page, what: str) -> float:
    """Mean of the three channels, from 0 to 1."""
    colour = page.evaluate(f"getComputedStyle(document.body).getPropertyValue('{what}')")
    channels = [float(part) for part in colour.strip("rgba()").split(",")[:3]]
    return sum(channels) / 3 / 255


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_copy_button_shows_before_a_pointer_comes(rope, scheme):
    """WCAG 1.4.11: 3 to 1. A phone has no pointer that would darken the button."""
    rope.emulate_media(color_scheme=scheme)
    expect_scheme(rope, {"light": "default", "dark": "slate"}[scheme])
    rope.wait_for_timeout(600)  # the theme fades colours
    button, ground = rope.locator(".md-code__button").first.evaluate(
        "b => [b, b.parentElement].map((e, i) =>"
        " getComputedStyle(e)[i ? 'backgroundColor' : 'color'].match(/[\\d.]+/g).map(Number))"
    )
    lighter, darker = sorted((relative_luminance(c) for c in (button, ground)), reverse=True)
    assert (lighter + 0.05) / (darker + 0.05) >= 3


def relative_luminance(colour) -> float:
    """As WCAG defines it, of red, green and blue from 0 to 255."""
    parts = (channel / 255 for channel in colour[:3])
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_wide_parts_scroll_by_keyboard(browser, home):
    context = browser.new_context(viewport={"width": 320, "height": 800}, has_touch=True)
    page = context.new_page()
    page.goto(home + PAGE, wait_until="load")
    boxes = page.locator("article pre > code")
    scrolling = boxes.evaluate_all("all => all.filter((b) => b.scrollWidth > b.clientWidth).length")
    reachable = boxes.evaluate_all(
        "all => all.filter((b) => b.scrollWidth > b.clientWidth && b.tabIndex === 0).length"
    )
    context.close()
    assert scrolling == reachable > 0


def test_print_has_the_text_and_no_navigation(rope):
    rope.emulate_media(media="print", color_scheme="dark")
    for part in [".md-header", ".md-sidebar--primary", ".md-footer", ".md-code__nav"]:
        assert rope.locator(part).first.is_hidden(), part
    assert rope.locator("article h1").is_visible()
    assert luminance(rope, "background-color") == 1
    listing = rope.locator("article .highlight:has(.filename) pre").first
    # A listing may be longer than a sheet.
    assert listing.evaluate("pre => getComputedStyle(pre).breakInside") == "auto"
    pdf = rope.pdf()
    assert pdf.startswith(b"%PDF") and len(pdf) > 20_000


def test_wrong_address_shows_our_page_with_a_way_home(page, home):
    response = page.goto(home + NOT_FOUND, wait_until="load")
    assert response.status == 404
    assert page.locator("h1").text_content() == "No page at this position"
    page.locator("article a", has_text="home page").click()
    page.wait_for_url(home)


def test_without_scripts_text_and_tex_are_there(browser, home):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(home + PAGE)
    assert page.locator("article h1").is_visible()
    assert "\\(" in page.locator("article").text_content()
    context.close()
