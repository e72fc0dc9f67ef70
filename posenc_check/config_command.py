# SPDX-License-Identifier: MIT
"""python -m posenc_check config CONFIG.json: what a model's rope does, and what is wrong with it.

Exit status: 0 nothing wrong, 1 problems found, 2 not usable.
"""

import argparse
import json
import sys
from pathlib import Path

from posenc_check.config_numbers import numbers
from posenc_check.config_plot import plot
from posenc_check.config_report import report
from posenc_check.report import FAILED, FINE, UNUSABLE
from posenc_check.rope_config import read_ropes
from posenc_check.rope_config_blocks import NoRope


def add_config(commands) -> None:
    """The subcommand and its options."""
    config = commands.add_parser("config", help="read the rope of a model's config.json")
    config.add_argument("file", metavar="CONFIG.json")
    config.add_argument("--length", type=_length, metavar="N", help="tokens in the sequence")
    drawing = "draw slow-down against wavelength"
    config.add_argument("--plot", type=_svg, metavar="OUT.svg", help=drawing)
    config.add_argument("--json", action="store_true", help="print the numbers as JSON")
    config.set_defaults(run=run_config)


def run_config(asked: argparse.Namespace) -> int:
    try:
        config = json.loads(Path(asked.file).read_text(encoding="utf-8"))
        ropes = read_ropes(config)
    except NoRope as error:
        return _unusable(f"{asked.file}: {error}")
    except OSError as error:
        return _unusable(f"cannot read {asked.file}: {error.strerror}")
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        return _unusable(f"{asked.file} is not JSON: {error}")
    except ValueError as error:
        found = [{"layer_type": None, "rope_type": None, "problems": [str(error)]}]
    else:
        found = [numbers(rope, asked.length) for rope in ropes]
    name = Path(asked.file).name
    drawn = [rope for rope in found if "pairs" in rope] if asked.plot else []
    if drawn:
        try:
            Path(asked.plot).write_text(plot(name, drawn), encoding="utf-8")
        except OSError as error:
            return _unusable(f"cannot write {asked.plot}: {error.strerror}")
    if asked.json:
        print(json.dumps({"file": name, "ropes": found}, indent=1, allow_nan=False))
    else:
        print(report(name, found), end="")
    if drawn:
        # What --json prints is for a program, and stays JSON.
        print(f"written: {asked.plot}", file=sys.stderr if asked.json else sys.stdout)
    elif asked.plot:
        print("posenc_check: nothing to draw", file=sys.stderr)
    return FAILED if any(rope["problems"] for rope in found) else FINE


def _length(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"must be a positive whole number, got {text!r}")
    return int(text)


def _svg(text: str) -> str:
    if not text.endswith(".svg"):
        raise argparse.ArgumentTypeError(f"must end in .svg, got {text!r}")
    return text


def _unusable(text: str) -> int:
    print(f"posenc_check: {text}", file=sys.stderr)
    return UNUSABLE
