# SPDX-License-Identifier: MIT
"""`python -m posenc_check`: see posenc_check/command.py."""

import sys

from posenc_check.command import main

sys.exit(main())
