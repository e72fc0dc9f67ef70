"""Open a page once in the browser and write down everything that the checks ask about."""

import gzip
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from urllib.parse import unquote, urlsplit

from tools.local_site import NOT_FOUND

HERE = Path(__file__).parent
FACTS = (HERE / "facts.js").read_text("utf-8")
AXE = (HERE / "vendor" / "axe.min.js").read_text("utf-8")
AXE_WIDTHS = (1360, 390)
THEME_NAMES = {"light": "default", "dark": "slate"}
IN_SCHEME = "name => [name, undefined].includes(document.body.dataset.mdColorScheme)"
COUNT_SHIFT = """
window.layoutShift = 0;
new PerformanceObserver((list) => {
  for (const entry of list.getEntries()) {
    if (!entry.hadRecentInput) window.layoutShift += entry.value;
  }
}).observe({ type: "layout-shift", buffered: true });
"""


@dataclass
class Visit:
    address: str
    width: int
    console: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    external: list[str] = field(default_factory=list)
    weights: dict[str, int] = field(default_factory=dict)  # gzipped bytes of each file
    facts: dict = field(default_factory=dict)
    axe: dict[str, list] = field(default_factory=dict)  # of each colour scheme

    def __str__(self):
        return f"/{self.address} at {self.width} px"


def visit(browser, home: str, folder: Path, address: str, width: int) -> Visit:
    result = Visit(address, width)
    context = browser.new_context(
        viewport={"width": width, "height": 900},
        color_scheme="light",
        reduced_motion="reduce",
        has_touch=width < 600,
    )
    context.add_init_script(COUNT_SHIFT)
    page = context.new_page()
    listen(page, result, home, folder)
    page.goto(home + address, wait_until="load")
    page.evaluate("document.fonts.ready")
    page.wait_for_timeout(150)  # layout after the fonts, and what starts when the page is idle
    result.facts = page.evaluate(FACTS)
    if width in AXE_WIDTHS:
        page.evaluate(AXE)
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            page.wait_for_function(IN_SCHEME, arg=THEME_NAMES[scheme])
            result.axe[scheme] = page.evaluate("axe.run({ resultTypes: ['violations'] })")[
                "violations"
            ]
    context.close()
    return result


def listen(page, result: Visit, home: str, folder: Path) -> None:
    origin = "{0.scheme}://{0.netloc}/".format(urlsplit(home))

    def on_console(message):
        expected = result.address == NOT_FOUND and message.location["url"] == home + NOT_FOUND
        if message.type in ("error", "warning") and not expected:
            result.console.append(f"{message.type}: {message.text}")

    def on_request(request):
        local = request.url.startswith((origin, "data:", "blob:"))
        if not local:
            result.external.append(request.url)

    def on_response(response):
        if response.status >= 400 and response.url != home + NOT_FOUND:
            result.failed.append(f"{response.status} {response.url}")
        elif response.url.startswith(home):
            name = unquote(urlsplit(response.url).path).removeprefix(urlsplit(home).path)
            result.weights[name or "/"] = weight(folder, name)

    page.on("console", on_console)
    page.on("pageerror", lambda error: result.console.append(f"exception: {error}"))
    page.on("request", on_request)
    page.on("response", on_response)
    page.on("requestfailed", lambda request: result.failed.append(f"failed {request.url}"))
    # Nothing leaves this machine, also when a page asks for it.
    page.route(lambda url: not url.startswith(origin), lambda route: route.abort())


@cache
def weight(folder: Path, name: str) -> int:
    path = folder / name
    if path.is_dir():
        path = path / "index.html"
    if name == NOT_FOUND:
        path = folder / "404.html"
    body = path.read_bytes()
    return min(len(body), len(gzip.compress(body)))  # fonts and pictures do not shrink
