"""What a mutant changes in a step: guards, conditions, loops, and statements left out."""

import ast
from collections.abc import Iterator

from tests.guard import mutation_values as values
from tests.guard.mutation_values import OPERATORS, SWAPS, Change, fewer, replaced, swap_text

CONDITIONS = (ast.Compare, ast.BoolOp)  # they have changes of their own


def changes(node: ast.AST, path: list) -> Iterator[Change]:
    """All changes of one node; `path` leads to it from the module."""
    for kind, rule in RULES:
        if isinstance(node, kind):
            yield from rule(node, path)


def augmented(node: ast.AST, path: list) -> Iterator[Change]:
    other = OPERATORS[type(node.op)]()
    yield Change(node.value, swap_text(node.op, other), replaced(node, op=other))
    yield Change(node, "delete", ast.Pass())


def condition(node: ast.AST, path: list) -> Iterator[Change]:
    negated = isinstance(node.test, ast.UnaryOp) and isinstance(node.test.op, ast.Not)
    if not negated and not isinstance(node.test, CONDITIONS):
        test = ast.UnaryOp(ast.Not(), node.test)
        yield Change(node.test, "add not", replaced(node, test=test))


def guard(node: ast.AST, path: list) -> Iterator[Change]:
    if len(node.body) == 1 and isinstance(node.body[0], ast.Raise) and not node.orelse:
        yield Change(node, "delete", ast.Pass())


def error_type(node: ast.AST, path: list) -> Iterator[Change]:
    if isinstance(node.exc, ast.Call) and ast.unparse(node.exc.func) in SWAPS:
        old, new = node.exc.func.id, SWAPS[node.exc.func.id]
        call = replaced(node.exc, func=ast.Name(new, ast.Load()))
        yield Change(node, f"{old} -> {new}", replaced(node, exc=call))


def loop(node: ast.AST, path: list) -> Iterator[Change]:
    if isinstance(node.iter, (ast.Tuple, ast.List)):
        for change in fewer(node.iter):
            yield Change(change.at, change.text, replaced(node, iter=change.new))


def statement(node: ast.AST, path: list) -> Iterator[Change]:
    if isinstance(node.value, ast.Call):
        yield Change(node, "delete", ast.Pass())


def assignment(node: ast.AST, path: list) -> Iterator[Change]:
    """Only of a name that has a value before: without one, all that follows would crash."""
    owner = next((s[0] for s in reversed(path) if isinstance(s[0], ast.FunctionDef)), None)
    if owner is None:
        return
    before = {arg.arg for arg in (*owner.args.args, *owner.args.kwonlyargs)}
    for other in ast.walk(owner):
        if isinstance(other, ast.Name) and isinstance(other.ctx, ast.Store):
            if (other.lineno, other.col_offset) < (node.lineno, node.col_offset):
                before.add(other.id)
    targets = {n.id for t in node.targets for n in ast.walk(t) if isinstance(n, ast.Name)}
    if targets <= before:
        yield Change(node, "delete", ast.Pass())


RULES = (
    (ast.Constant, values.constant), (ast.BinOp, values.arithmetic), (ast.UnaryOp, values.unary),
    (ast.Compare, values.comparison), (ast.BoolOp, values.logic), (ast.Call, values.call),
    ((ast.Attribute, ast.Name), values.known_name), (ast.Slice, values.part),
    (ast.AugAssign, augmented), ((ast.If, ast.IfExp, ast.While), condition), (ast.If, guard),
    (ast.Raise, error_type), ((ast.For, ast.comprehension), loop), (ast.Expr, statement),
    (ast.Assign, assignment),
)  # fmt: skip
