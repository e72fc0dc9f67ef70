"""Registers the recorder for everything below: tests/, the blocks in docs/, and README.md."""

pytest_plugins = ["tests.guard.results"]
