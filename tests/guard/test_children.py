"""The forking harness: what ends, what crashes, what hangs, and what it leaves behind."""

import json
import subprocess
import sys

import pytest

from tests.guard.digest import ROOT

SCRIPT = """
import json, os, sys, time
from tests.guard.children import run_children

def returns(folder):
    folder.mkdir()
    (folder / "kept").touch()
    return {"status": "ran", "tests": [str(folder)]}

def raises(folder):
    raise SystemError("no way")

def dies(folder):
    os._exit(3)

def sleeps(folder):
    time.sleep(60)

def works(folder):
    while True:
        pass

names = [returns, raises, dies, returns, sleeps]
found = list(run_children([(job.__name__, job) for job in names], timeout=5))
found += run_children([("works", works), ("returns", returns)], timeout=60, cpu=1)
print(json.dumps(found))
print([path for _, result in found for path in result["tests"] if os.path.exists(path)])
"""


@pytest.fixture(scope="module")
def found() -> list:
    command = [sys.executable, "-c", SCRIPT]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    results, left = done.stdout.splitlines()
    assert left == "[]"  # the children's folders are gone
    return json.loads(results)


def status(found: list, name: str) -> list[str]:
    return [result["status"] for other, result in found if other == name]


def test_each_job_ends_in_its_own_way(found):
    assert len(found) == 7
    assert status(found, "returns") == ["ran"] * 3
    assert status(found, "raises") == ["crashed (SystemError: no way)"]
    assert status(found, "dies") == ["crashed"]


def test_a_job_that_sleeps_or_works_for_ever_is_stopped(found):
    assert status(found, "sleeps") == status(found, "works") == ["timeout"]
    assert all(result["tests"] == [] for name, result in found if name in ("sleeps", "works"))


def test_time_is_counted(found):
    times = {name: (result["seconds"], result["cpu"]) for name, result in found}
    # A limit of one second of a processor; a clock may round it a little.
    assert times["works"][1] == pytest.approx(1, abs=0.5)
    assert times["sleeps"][0] >= 5 > 1 > times["sleeps"][1]
