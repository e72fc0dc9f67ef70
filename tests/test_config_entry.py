"""python -m posenc_check as a process of its own: it starts, and it ends quietly."""

import os
import subprocess
import sys

import pytest

from tests.rope_configs import EXAMPLES

COMMAND = [sys.executable, "-m", "posenc_check", "config", str(EXAMPLES / "llama-3.1-8b.json")]


def test_it_runs_as_a_module():
    done = subprocess.run(COMMAND, capture_output=True, text=True, cwd=EXAMPLES.parents[1])
    assert done.returncode == 0 and done.stderr == ""
    assert done.stdout.startswith("llama-3.1-8b.json\n")


@pytest.mark.parametrize("more", [[], ["--json"]])
def test_a_reader_that_has_left_is_no_error_to_report(more):
    reader, writer = os.pipe()
    os.close(reader)
    try:
        done = subprocess.run(
            [*COMMAND, *more], stdout=writer, stderr=subprocess.PIPE, cwd=EXAMPLES.parents[1]
        )
    finally:
        os.close(writer)
    assert (done.returncode, done.stderr) == (1, b"")
