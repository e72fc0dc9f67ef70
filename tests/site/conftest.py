"""One server and one browser for all checks. What is missing is an error, never a skip."""

from pathlib import Path

import pytest
from playwright.sync_api import sync_playwright

from tests.site.visit import visit
from tools.browser import FLAGS, MISSING, find_chromium
from tools.local_site import pages, serve

SITE = Path(__file__).resolve().parents[2] / "site"
NO_SITE = "site/ is missing or empty. Run `make build`, or `make test` for everything."
WIDTHS = [1360, 390, 320]


def pytest_generate_tests(metafunc):
    if "address" in metafunc.fixturenames:
        addresses = pages(SITE) or ["site/ is missing"]  # one case, which the fixture fails
        names = [address or "home" for address in addresses]
        metafunc.parametrize("address", addresses, ids=names, scope="session")
    if "width" in metafunc.fixturenames:
        metafunc.parametrize("width", WIDTHS)


@pytest.fixture(scope="session")
def site() -> Path:
    if not pages(SITE):
        raise RuntimeError(NO_SITE)
    return SITE


@pytest.fixture(scope="session")
def home(site):
    with serve(site) as address:
        yield address


@pytest.fixture(scope="session")
def browser():
    executable = find_chromium()
    if executable is None:
        raise RuntimeError(MISSING)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def visited(browser, home, site):
    """Each page is opened once at each width; all checks read the same visit."""
    visits = {}

    def get(address, width):
        if (address, width) not in visits:
            visits[address, width] = visit(browser, home, site, address, width)
        return visits[address, width]

    return get


@pytest.fixture
def page(browser):
    """A fresh page with a desktop window, for checks that press keys and buttons."""
    context = browser.new_context(viewport={"width": 1360, "height": 900}, color_scheme="light")
    yield context.new_page()
    context.close()
