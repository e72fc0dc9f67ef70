# SPDX-License-Identifier: MIT
"""python -m posenc_check rope mypkg.rope:apply_rotary --layout half: check code by its name.

Each contract is a subcommand. Its options are the keyword arguments of its function, and their
help is what the docstring says of them.
"""

import argparse
import contextlib
import inspect
import json
import re
import sys
import typing

from posenc_check.contracts import CONTRACTS
from posenc_check.report import UNUSABLE
from posenc_check.subject import Unusable
from posenc_check.target import load


def add_contracts(commands) -> None:
    """A subcommand for each contract."""
    for name, check in CONTRACTS.items():
        first = inspect.getdoc(inspect.getmodule(check)).splitlines()[0].partition(": ")[2]
        subcommand, about = name.replace("_", "-"), {"help": first, "description": first}
        parser = commands.add_parser(subcommand, allow_abbrev=False, **about)
        target = "module:name, or path/to/file.py:name"
        parser.add_argument("target", metavar="TARGET", help=target)
        _options(parser, check)
        parser.add_argument("--json", action="store_true", help="print the report as JSON")
        own = "print the traceback of your own exception"
        parser.add_argument("--traceback", action="store_true", help=own)
        parser.set_defaults(run=run_contract, check=check)


def run_contract(asked: argparse.Namespace) -> int:
    names = _keywords(asked.check)
    options = {name: getattr(asked, name) for name in names if hasattr(asked, name)}
    try:
        # What the code under check prints is no part of the report.
        with contextlib.redirect_stdout(sys.stderr):
            report = asked.check(load(asked.target), **options)
    except KeyboardInterrupt:
        return _refused(asked, "stopped")
    except (Unusable, ValueError) as error:
        status = _refused(asked, str(error))
        if asked.traceback and getattr(error, "traceback", ""):
            print(error.traceback, file=sys.stderr, end="")
        return status
    print(json.dumps(report.as_dict(), indent=1) if asked.json else report)
    if asked.traceback and report.traceback:
        print(report.traceback, file=sys.stderr, end="")
    return report.exit_code


def _refused(asked: argparse.Namespace, text: str) -> int:
    print(f"posenc_check: {text}", file=sys.stderr)
    if asked.json:
        print(json.dumps({"passed": False, "unusable": text}, indent=1))
    return UNUSABLE


def _keywords(check) -> dict[str, inspect.Parameter]:
    parameters = inspect.signature(check).parameters.values()
    return {p.name: p for p in parameters if p.kind is p.KEYWORD_ONLY}


def _options(parser: argparse.ArgumentParser, check) -> None:
    hints = typing.get_type_hints(check)
    # An argument is indented by four, the later lines of its text by eight.
    entry = re.compile(r"^    (\w+): (.*(?:\n {8}.*)*)", re.MULTILINE)
    help_of = {name: " ".join(text.split()) for name, text in entry.findall(inspect.getdoc(check))}
    for name, parameter in _keywords(check).items():
        kind, choices = _kind(hints[name])
        required = parameter.default is parameter.empty
        more = {"required": required, "default": argparse.SUPPRESS, "help": help_of.get(name)}
        flag = f"--{name.replace('_', '-')}"
        if kind is bool:
            parser.add_argument(flag, dest=name, action=argparse.BooleanOptionalAction, **more)
        else:
            parser.add_argument(flag, dest=name, type=kind, choices=choices, **more)


def _kind(hint) -> tuple[type, list | None]:
    """int, float, str, or bool, and the choices of a Literal; X | None is X."""
    if typing.get_origin(hint) is typing.Literal:
        return str, list(typing.get_args(hint))
    if typing.get_args(hint):
        hint = next(kind for kind in typing.get_args(hint) if kind is not type(None))
    return hint, None
