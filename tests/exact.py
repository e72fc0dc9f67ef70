"""An error text is part of what a snippet promises, so tests quote all of it."""

import re

import pytest


def raises_exactly(error: type[Exception], text: str):
    """pytest.raises for an error whose whole text is `text`."""
    return pytest.raises(error, match=rf"\A{re.escape(text)}\Z")
