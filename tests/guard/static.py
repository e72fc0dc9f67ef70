"""The claims as they stand in the test files, read without running or importing anything.

Serves the ledger of a site that was built without a run: every row is there, and says so.
"""

import ast
from pathlib import Path

from tests.guard.digest import ROOT


def static_claims(root: Path = ROOT) -> dict[str, dict]:
    """claim id -> {"text": sentence or None, "measured": record or None, "tests": [nodeid of a
    test function]}"""
    claims: dict[str, dict] = {}
    for path in sorted((root / "tests").rglob("test_*.py")):
        module = path.relative_to(root).as_posix()
        for scope, function in test_functions(ast.parse(path.read_text(encoding="utf-8"))):
            for claim_id, text, measured in claim_marks(function):
                claim = claims.setdefault(claim_id, {"text": None, "measured": None, "tests": []})
                claim["text"] = claim["text"] or text
                claim["measured"] = claim["measured"] or measured
                claim["tests"].append("::".join((module, *scope, function.name)))
    return claims


def test_functions(tree: ast.AST, scope: tuple[str, ...] = ()):
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.ClassDef):
            yield from test_functions(node, (*scope, node.name))
        elif isinstance(node, ast.FunctionDef) and node.name.startswith("test"):
            yield scope, node


def claim_marks(function: ast.FunctionDef):
    """(id, text, record) of each `@claim(...)` over a function; None where one is not given. The
    arguments are literals."""
    for decorator in function.decorator_list:
        is_call = isinstance(decorator, ast.Call) and isinstance(decorator.func, ast.Name)
        if is_call and decorator.func.id == "claim":
            claim_id, text = ([ast.literal_eval(a) for a in decorator.args] + [None])[:2]
            named = {word.arg: ast.literal_eval(word.value) for word in decorator.keywords}
            yield claim_id, text, named.get("measured")
