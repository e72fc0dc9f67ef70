"""Find a Chromium, or get one: `python -m tools.browser`.

Tried in this order: $CHROMIUM, the PATH, the browser that playwright downloaded, then
`playwright install chromium`, then (as root on Debian or Ubuntu) the system's package.
"""

import os
import shutil
import subprocess
import sys

from playwright.sync_api import sync_playwright

NAMES = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome"]
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
MISSING = "No Chromium found. Run `make browser`, or set CHROMIUM to the path of one."


def find_chromium() -> str | None:
    """The path of a Chromium that starts, or None."""
    named = os.environ.get("CHROMIUM")
    if named:
        return named if starts(named) else None
    for name in NAMES:
        path = shutil.which(name)
        if path and starts(path):
            return path
    return downloaded()


def downloaded() -> str | None:
    with sync_playwright() as playwright:
        path = playwright.chromium.executable_path
    return path if os.path.exists(path) and starts(path) else None


def starts(path: str) -> bool:
    """A browser without its system libraries is there, but does not even tell its version."""
    try:
        answer = subprocess.run([path, "--version"], capture_output=True, timeout=60)
    except OSError:
        return False
    return answer.returncode == 0


def install_with_playwright() -> None:
    print("Looking for Chromium: none on the PATH, downloading the one of playwright", flush=True)
    subprocess.run([sys.executable, "-m", "playwright", "install", "chromium"])


def install_with_apt() -> None:
    print("Looking for Chromium: installing the package of the system", flush=True)
    subprocess.run(["apt-get", "update", "-q"])
    subprocess.run(["apt-get", "install", "-y", "-q", "chromium"])


def may_use_apt() -> bool:
    return bool(shutil.which("apt-get")) and hasattr(os, "geteuid") and os.geteuid() == 0


def advice() -> str:
    if os.environ.get("CHROMIUM"):
        return f"CHROMIUM is set to {os.environ['CHROMIUM']}, which does not start. Unset it."
    if shutil.which("apt-get"):
        return "Type: sudo apt-get update && sudo apt-get install -y chromium"
    command = f"{sys.executable} -m playwright install chromium"
    return f"Type: {command}\nor install Chromium or Chrome and set CHROMIUM to its path."


def main() -> int:
    path = find_chromium()
    if path is None and not os.environ.get("CHROMIUM"):
        install_with_playwright()
        path = find_chromium()
        if path is None and may_use_apt():
            install_with_apt()
            path = find_chromium()
    if path is None:
        print(f"The site checks need Chromium, and none could be found.\n{advice()}")
        return 1
    print(f"Chromium: {path}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
