"""Which claims' tests read a record of what was measured, found without running them.

Closes: a measured sentence that the ledger shows as checked, as if its test had computed it.
"""

import ast
from pathlib import Path

from tests.guard.digest import ROOT
from tests.guard.static import claim_marks, test_functions

READERS = {"lab.record.read", "posenc_check.peers.results_file.load"}
READERS |= {"posenc_check.peers.summary.kept"}


def imported(tree: ast.Module) -> dict[str, str]:
    """Name in this file -> where it comes from, for every `from a import b` of the file."""
    found = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            found |= {a.asname or a.name: f"{node.module}.{a.name}" for a in node.names}
    return found


def used(function: ast.AST, names: dict[str, str]) -> set[str]:
    """What a function uses, by its full name where it was imported: `read` of `record` as well."""
    found = set()
    for node in ast.walk(function):
        if isinstance(node, ast.Name):
            found.add(names.get(node.id, node.id))
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            found.add(f"{names.get(node.value.id, node.value.id)}.{node.attr}")
    return found


def reading(tree: ast.Module) -> set[str]:
    """The functions of a file that read a record, themselves or by another function beside them."""
    names = imported(tree)
    uses = {n.name: used(n, names) for n in tree.body if isinstance(n, ast.FunctionDef)}
    found: set[str] = set()
    while more := {name for name, used_here in uses.items() if used_here & (READERS | found)} - found:
        found |= more
    return found


def kind_problems(root: Path = ROOT) -> list[str]:
    """A claim says `measured` exactly if its test reads a record."""
    problems = []
    for path in sorted((root / "tests/claims").glob("test_*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        readers = reading(tree)
        for _, function in test_functions(tree):
            reads = function.name in readers
            for claim_id, text, measured in claim_marks(function):
                if text and reads != bool(measured):
                    how = "reads a record" if reads else "reads no record"
                    problems.append(f"{claim_id}: its test {how}, but measured is {measured}")
    return problems
