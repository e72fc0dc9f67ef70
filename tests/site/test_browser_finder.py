"""The search for a browser says what it found, or what to type."""

import pytest

from tools import browser as finder


@pytest.fixture
def commands(monkeypatch):
    """Nothing is found, nothing is installed; the commands that would run are written down."""
    ran = []
    monkeypatch.delenv("CHROMIUM", raising=False)
    monkeypatch.setattr(finder, "find_chromium", lambda: None)
    monkeypatch.setattr(finder.subprocess, "run", lambda command: ran.append(command))
    return ran


def test_a_named_browser_that_does_not_start_is_not_replaced(monkeypatch, capsys):
    monkeypatch.setenv("CHROMIUM", "/no/such/browser")
    assert finder.find_chromium() is None
    assert finder.main() == 1
    assert "CHROMIUM is set to /no/such/browser, which does not start" in capsys.readouterr().out


def test_a_named_browser_comes_first(monkeypatch):
    path = finder.find_chromium()
    monkeypatch.setenv("CHROMIUM", path)
    monkeypatch.setenv("PATH", "")
    assert finder.find_chromium() == path


def test_root_on_debian_tries_playwright_and_then_apt(commands, monkeypatch, capsys):
    monkeypatch.setattr(finder, "may_use_apt", lambda: True)
    assert finder.main() == 1
    last_words = [" ".join(command[-3:]) for command in commands]
    assert last_words == ["playwright install chromium", "apt-get update -q", "-y -q chromium"]


def test_others_are_told_what_to_type(commands, monkeypatch, capsys):
    monkeypatch.setattr(finder, "may_use_apt", lambda: False)
    monkeypatch.setattr(finder.shutil, "which", lambda name: None)
    assert finder.main() == 1
    assert [command[-1] for command in commands] == ["chromium"]
    assert "-m playwright install chromium" in capsys.readouterr().out.splitlines()[-2]
