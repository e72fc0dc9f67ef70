"""Layer 5: every small change of a source file, one at a time.

Closes: a line that no test looks at. Named wrong edits are those somebody thought of; these are
all of a kind. Left alone are docstrings, annotations, and what an error says: other tests quote it.

    .venv/bin/python -m tests.guard.mutants snippets/rope.py    # a line for each mutant
"""

import ast
import copy
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tests.guard.mutation_steps import Change, changes

WIDTH = 76  # of the words that show a mutant
NOT_CODE = {"annotation", "returns"}  # fields that do not decide what a function computes


@dataclass(frozen=True)
class Mutant:
    """`name` is line:column and the change; `shown` the changed statement, or the part that fits.

    Both together say which mutant is meant, even after lines have moved."""

    name: str
    shown: str
    tree: ast.Module = field(repr=False, compare=False)

    @property
    def full_name(self) -> str:
        return f"{self.name} | {self.shown}"


def mutants(source: str) -> list[Mutant]:
    """All mutants of a file; those with the same code count once."""
    tree = ast.parse(source)
    seen = {ast.dump(tree)}
    names: Counter[str] = Counter()
    found = []
    for path, node in sites(tree, []):
        for change in changes(node, path):
            put(path, change.new)
            ast.fix_missing_locations(tree)
            dump = ast.dump(tree)
            if dump not in seen:
                seen.add(dump)
                shown = show(path, change)
                name = f"{change.at.lineno}:{change.at.col_offset} {change.text}"
                names[name] += 1
                name += f" ({names[name]})" if names[name] > 1 else ""
                found.append(Mutant(name, shown, copy.deepcopy(tree)))
            put(path, node)
    return found


Step = tuple[ast.AST, str, int | None]  # parent, its field, and the place in it if it is a list


def sites(node: ast.AST, path: list[Step]) -> Iterator[tuple[list[Step], ast.AST]]:
    """Every node that may change, and the way to it."""
    for name, value in ast.iter_fields(node):
        if name in NOT_CODE:
            continue
        for index, child in enumerate(value if isinstance(value, list) else [value]):
            if not isinstance(child, ast.AST) or is_words(child, node, index):
                continue
            step = (node, name, index if isinstance(value, list) else None)
            yield [*path, step], child
            if not isinstance(child, ast.Raise):
                yield from sites(child, [*path, step])


def is_words(child: ast.AST, parent: ast.AST, index: int) -> bool:
    """A docstring, an f-string, a list of exported names."""
    docstring = (
        isinstance(child, ast.Expr)
        and isinstance(child.value, ast.Constant)
        and isinstance(child.value.value, str)
    )
    exports = isinstance(child, ast.Assign) and ast.unparse(child.targets[0]) == "__all__"
    return docstring or exports or isinstance(child, ast.JoinedStr)


def put(path: list[Step], new: ast.AST) -> None:
    parent, name, index = path[-1]
    if index is None:
        setattr(parent, name, new)
    else:
        getattr(parent, name)[index] = new


def show(path: list[Step], change: Change) -> str:
    """The largest part around the change that fits: the statement, or an expression of it."""
    if isinstance(change.new, ast.Pass):
        return first_line(change.at)[:WIDTH]
    around = [step[0] for step in path] + [change.new]
    start = max(i for i, node in enumerate(around) if isinstance(node, (ast.stmt, ast.Module)))
    parts = [node for node in around[max(start, 1) :] if hasattr(node, "lineno")]
    texts = [first_line(node) for node in parts]
    return next((text for text in texts if len(text) <= WIDTH), texts[-1][:WIDTH])


def first_line(node: ast.AST) -> str:
    return ast.unparse(node).splitlines()[0]


def main() -> None:
    for file in sys.argv[1:]:
        found = mutants(Path(file).read_text(encoding="utf-8"))
        print(*(mutant.full_name for mutant in found), f"{file}: {len(found)}", sep="\n")


if __name__ == "__main__":
    main()
