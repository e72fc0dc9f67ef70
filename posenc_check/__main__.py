# SPDX-License-Identifier: MIT
"""`python -m posenc_check`: see posenc_check/command.py."""

import os
import sys

from posenc_check.command import main

try:
    status = main()
    # Now and not at the exit: a closed pipe shows when the text leaves its buffer.
    sys.stdout.flush()
except BrokenPipeError:
    # `| head` has read enough. What is left goes nowhere, or the exit would complain of it.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    status = 1
sys.exit(status)
