# SPDX-License-Identifier: MIT
"""The object that a name on the command line stands for."""

import importlib
import importlib.util
import os
import sys
import traceback
from pathlib import Path

from posenc_check.subject import Unusable


def load(name: str):
    """`package.module:name`, looked up from the current folder too, or `path/to/file.py:name`."""
    place, colon, path = name.rpartition(":")
    if not colon or not place or not path:
        raise Unusable(f"target must be module:name or path/to/file.py:name, got {name!r}")
    module = _file(place) if place.endswith(".py") else _module(place)
    found = module
    for part in path.split("."):
        try:
            found = getattr(found, part)
        except AttributeError:
            raise Unusable(f"{place} has no {path}{_near(module)}") from None
        except Exception as error:
            text = f"{name} raised {type(error).__name__}: {error}"
            raise Unusable(text, traceback.format_exc()) from error
    if not callable(found):
        raise Unusable(f"{name} must be callable, got {type(found).__name__}")
    return found


def _module(place: str):
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    return _imported(place, lambda: importlib.import_module(place))


def _file(place: str):
    if not Path(place).is_file():
        raise Unusable(f"there is no file {place}")
    spec = importlib.util.spec_from_file_location(Path(place).stem, place)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look themselves up there
    # Its own imports are looked up beside it, as when it is run.
    sys.path.insert(0, str(Path(place).resolve().parent))
    return _imported(place, lambda: (spec.loader.exec_module(module), module)[1])


def _imported(place: str, run):
    try:
        return run()
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        text = f"importing {place} raised {type(error).__name__}: {error}"
        if "relative import" in str(error):
            text += "; name a module of a package as package.module:name"
        raise Unusable(text, traceback.format_exc()) from error


def _near(module) -> str:
    names = [name for name in vars(module) if not name.startswith("_")]
    names = [name for name in names if callable(getattr(module, name))]
    return f"; it has {', '.join(names[:12])}" if names else ""
