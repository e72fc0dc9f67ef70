# SPDX-License-Identifier: MIT
"""python -m posenc_check: read a model's config, or check your own code.

Exit status: 0 nothing wrong, 1 something found, 2 not usable.
"""

import argparse

from posenc_check.config_command import add_config
from posenc_check.contract_command import add_contracts


def main(arguments: list[str] | None = None) -> int:
    """Run one subcommand; its exit status."""
    parser = argparse.ArgumentParser(prog="python -m posenc_check")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    add_config(commands)
    add_contracts(commands)
    asked = parser.parse_args(arguments)
    return asked.run(asked)
