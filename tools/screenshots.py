"""Pictures of every built page: `python -m tools.screenshots FOLDER`."""

import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

from tools.browser import FLAGS, MISSING, find_chromium
from tools.local_site import pages, serve

SITE = Path(__file__).resolve().parents[1] / "site"
WIDTHS = [1360, 390, 320]
SCHEMES = ["light", "dark"]


def main(out: Path) -> int:
    executable = find_chromium()
    if executable is None or not SITE.exists():
        print(MISSING if executable is None else "site/ is missing. Run `make build`.")
        return 1
    out.mkdir(parents=True, exist_ok=True)
    with serve(SITE) as home, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=FLAGS)
        for width in WIDTHS:
            for scheme in SCHEMES:
                take(browser, home, out, width, scheme)
        browser.close()
    print(f"{len(pages(SITE)) * len(WIDTHS) * len(SCHEMES)} pictures in {out}/")
    return 0


def take(browser, home: str, out: Path, width: int, scheme: str) -> None:
    context = browser.new_context(
        viewport={"width": width, "height": 900}, color_scheme=scheme, reduced_motion="reduce"
    )
    page = context.new_page()
    for address in pages(SITE):
        page.goto(home + address, wait_until="networkidle")
        name = address.strip("/").replace("/", "-") or "home"
        page.screenshot(path=out / f"{name}-{width}-{scheme}.png", full_page=True)
    context.close()


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python -m tools.screenshots FOLDER")
    sys.exit(main(Path(sys.argv[1])))
