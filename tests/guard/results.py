"""pytest plugin: writes what passed in this run to `.results/run.json`.

Closes: believing an extractor, a collection or an old run. "Passed" comes from the report of the
call itself. A skipped, xfailed or xpassed test makes the session red and is named. Only a full
run is written: one over all of `testpaths`, with nothing deselected; the part of `make test`
that looks at the built site (tests/site) never is.

Other tests hand results over with pytest's own `record_property`:
  ("notebook", path) and ("cell", source), once per executed code cell of that notebook;
  ("saboteur", id), once per wrong edit that was killed.
"""

from pathlib import Path

import pytest

from tests.guard import record

SITE_TESTS = "tests/site/"


def pytest_configure(config):
    config.addinivalue_line("markers", "claim(id, text): the test shows a sentence to be true")
    config.pluginmanager.register(Recorder(config), "guard-recorder")


class Recorder:
    def __init__(self, config):
        self.config, self.root = config, config.rootpath
        self.outcome, self.reason, self.properties = {}, {}, {}
        self.claims, self.blocks = {}, {}
        self.partial = bool(config.getoption("lf", False) or config.getoption("sw", False))
        self.red = []
        self.run = record.new_run(self.root)  # the digest of the tree that the tests see

    def pytest_deselected(self, items):
        self.partial = self.partial or bool(items)

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items):
        for item in items:
            for mark in item.iter_markers("claim"):
                self.add_claim(item, *mark.args)
            if type(item).__module__.startswith("pytest_codeblocks"):
                self.blocks[item.nodeid] = item

    def add_claim(self, item, claim_id, text=None):
        claim = self.claims.setdefault(claim_id, {"id": claim_id, "texts": [], "tests": []})
        claim["tests"].append(item.nodeid)
        entry = [item.nodeid.split("[")[0], text]  # one text for all cases of one function
        if text is not None and entry not in claim["texts"]:
            claim["texts"].append(entry)

    def pytest_collectreport(self, report):
        if report.outcome != "passed":
            self.note(report.nodeid, report.outcome, report)

    def pytest_runtest_logreport(self, report):
        self.properties[report.nodeid] = report.user_properties
        if hasattr(report, "wasxfail"):
            self.note(report.nodeid, "xpassed" if report.passed else "xfailed", report)
        elif not report.passed:
            self.note(report.nodeid, report.outcome, report)
        elif report.when == "call":
            self.outcome.setdefault(report.nodeid, "passed")

    def note(self, nodeid, outcome, report):
        """Anything but a pass stays, whatever the other phases of the test say."""
        self.outcome[nodeid] = outcome
        if outcome != "failed":
            self.red.append(f"{nodeid}: {outcome}")

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session, exitstatus):
        if self.red and session.exitstatus == 0:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED
        if self.is_full():
            record.write_run(self.results(int(session.exitstatus)), self.root)

    def is_full(self) -> bool:
        if self.partial or self.config.option.collectonly:
            return False
        asked = {(self.root / arg).resolve() for arg in self.config.args}
        full = {(self.root / arg).resolve() for arg in self.config.getini("testpaths")}
        return asked == full

    def results(self, exitstatus: int) -> dict:
        claims = [
            claim | {"tests": {test: self.outcome.get(test, "not run") for test in claim["tests"]}}
            for claim in self.claims.values()
        ]
        return self.run | {
            "exitstatus": exitstatus,
            "tests": self.outcome,
            "claims": claims,
            "blocks": [self.block(item) for item in self.blocks.values()],
            "cells": list(self.cells()),
            "saboteurs": self.handed_over("saboteur"),
        }

    def block(self, item) -> dict:
        return {
            "file": Path(item.path).relative_to(self.root).as_posix(),
            "line": item.obj.lineno,
            "language": item.obj.syntax,
            "code": item.obj.code,
            "expected": item.obj.expected_output,
            "outcome": self.outcome.get(item.nodeid, "not run"),
        }

    def cells(self):
        for nodeid, properties in self.properties.items():
            notebook = dict(properties).get("notebook")
            for name, source in properties:
                if name == "cell":
                    yield {"file": notebook, "code": source, "outcome": self.outcome.get(nodeid)}

    def handed_over(self, name: str) -> list[str]:
        passed = [test for test, outcome in self.outcome.items() if outcome == "passed"]
        values = (self.properties.get(test, ()) for test in passed)
        return [value for properties in values for key, value in properties if key == name]

    def pytest_terminal_summary(self, terminalreporter):
        if self.red:
            terminalreporter.section("not run to the end, so this session is red", red=True)
            for line in self.red:
                terminalreporter.write_line(line)
        if any(test.startswith(SITE_TESTS + "test_guard.py") for test in self.outcome):
            terminalreporter.write_line(self.closing_line())

    def closing_line(self) -> str:
        run = record.read_run(self.root)[0] or {"blocks": [], "claims": [], "saboteurs": []}
        killed = len(set(run["saboteurs"]) | set(self.handed_over("saboteur")))
        browser = [
            test
            for test, outcome in self.outcome.items()
            if outcome == "passed" and test.startswith(SITE_TESTS) and "test_guard" not in test
        ]
        return (
            f"guard: {len(run['blocks'])} blocks, {len(run['claims'])} claims, "
            f"{killed} saboteurs killed, {len(browser)} browser checks"
        )
