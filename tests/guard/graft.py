"""Put other code into a module that is in use: whoever holds its functions holds the new ones."""

import ast
import sys
import types
from pathlib import Path


def put_in_place(tree: ast.Module, path: Path) -> None:
    """The functions, classes and constants of `snippets/X.py` become those of the tree."""
    module = sys.modules[f"snippets.{path.stem}"]
    other = types.ModuleType(module.__name__)
    exec(compile(tree, str(path), "exec"), other.__dict__)
    graft(module, other)


def graft(old, new) -> None:
    for name, value in list(vars(new).items()):
        was = vars(old).get(name)
        if value is was or name.startswith("__") and name != "__init__":
            continue
        if isinstance(value, types.FunctionType) and value.__closure__ is None is was.__closure__:
            was.__code__, was.__defaults__ = value.__code__, value.__defaults__
            was.__kwdefaults__ = value.__kwdefaults__
        elif isinstance(value, type):
            graft(was, value)
        else:
            setattr(old, name, bound(value, was))


def bound(value, was):
    """A method that says super() keeps the class that it had."""
    if not isinstance(value, types.FunctionType) or value.__closure__ is None:
        return value
    code, name, defaults = value.__code__, value.__name__, value.__defaults__
    method = types.FunctionType(code, was.__globals__, name, defaults, was.__closure__)
    method.__kwdefaults__ = value.__kwdefaults__
    return method
