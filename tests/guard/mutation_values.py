"""What a mutant changes in a value: the nodes to put in the place of one expression."""

import ast
import copy
from collections.abc import Iterator
from dataclasses import dataclass

OPERATORS = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult, ast.Mod: ast.Mult, ast.Pow: ast.Mult, ast.MatMult: ast.Mult,
    ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd,
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.In: ast.NotIn, ast.NotIn: ast.In,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.And: ast.Or, ast.Or: ast.And,
}  # fmt: skip
PAIRS = (
    "sin cos", "min max", "minimum maximum", "amin amax", "floor ceil", "zeros ones",
    "zeros_like ones_like", "any all", "tril triu", "float32 float64", "TypeError ValueError",
)  # fmt: skip
SWAPS = {a: b for pair in PAIRS for a, b in (pair.split(), pair.split()[::-1])}
SYMMETRIC = {"min", "max", "minimum", "maximum", "promote_types"}  # f(a, b) is f(b, a)
SIGNED = (ast.Mult, ast.Div, ast.MatMult)  # a sign may stand before any factor: once is enough
MODULES = {"torch", "math", "nn", "self"}  # `torch.cat(x)` is no method of a value


@dataclass(frozen=True)
class Change:
    at: ast.AST  # where it is said to be
    text: str
    new: ast.AST


def replaced(node: ast.AST, **fields) -> ast.AST:
    new = copy.copy(node)
    for name, value in fields.items():
        setattr(new, name, value)
    return new


def without(items: list, index: int) -> list:
    return items[:index] + items[index + 1 :]


def fewer(node: ast.AST) -> Iterator[Change]:
    """One item less in a list that is searched or gone through."""
    for i, item in enumerate(node.elts):
        new = replaced(node, elts=without(node.elts, i))
        yield Change(item, f"drop {ast.unparse(item)}", new)


def sign(operator: ast.AST) -> str:
    a, b = ast.Name("a"), ast.Name("b")
    if isinstance(operator, ast.boolop):
        whole = ast.BoolOp(operator, [a, b])
    elif isinstance(operator, ast.cmpop):
        whole = ast.Compare(a, [operator], [b])
    else:
        whole = ast.BinOp(a, operator, b)
    return ast.unparse(whole)[2:-2]


def swap_text(old: ast.AST, new: ast.AST) -> str:
    return f"{sign(old)} -> {sign(new)}"


def constant(node: ast.AST, path: list) -> Iterator[Change]:
    value = node.value
    if value is None or value is Ellipsis:
        return
    if isinstance(value, bool):
        new = not value
    elif isinstance(value, int):
        new = value + 1
    elif isinstance(value, float):
        new = 2 * value or 1.0
    else:
        new = value + "x"
    yield Change(node, f"{value!r} -> {new!r}", ast.Constant(new))


def arithmetic(node: ast.AST, path: list) -> Iterator[Change]:
    other = OPERATORS[type(node.op)]()
    yield Change(node.right, swap_text(node.op, other), replaced(node, op=other))
    parent = path[-1][0]
    inside = isinstance(parent, ast.UnaryOp) or isinstance(getattr(parent, "op", None), SIGNED)
    if isinstance(node.op, (*SIGNED, ast.Pow)) and not inside:
        yield Change(node, "add -", ast.UnaryOp(ast.USub(), node))


def unary(node: ast.AST, path: list) -> Iterator[Change]:
    text = {ast.USub: "-", ast.Not: "not", ast.Invert: "~"}[type(node.op)]
    yield Change(node, f"drop {text}", node.operand)


def comparison(node: ast.AST, path: list) -> Iterator[Change]:
    for i, (old, right) in enumerate(zip(node.ops, node.comparators, strict=True)):
        new = OPERATORS[type(old)]()
        ops = [*node.ops[:i], new, *node.ops[i + 1 :]]
        yield Change(right, swap_text(old, new), replaced(node, ops=ops))
        if isinstance(old, (ast.In, ast.NotIn)) and isinstance(right, (ast.Tuple, ast.List)):
            for change in fewer(right):
                comparators = [*node.comparators[:i], change.new, *node.comparators[i + 1 :]]
                yield Change(change.at, change.text, replaced(node, comparators=comparators))


def logic(node: ast.AST, path: list) -> Iterator[Change]:
    other = OPERATORS[type(node.op)]()
    yield Change(node, swap_text(node.op, other), replaced(node, op=other))
    for i, part in enumerate(node.values):
        rest = without(node.values, i)
        new = replaced(node, values=rest) if len(rest) > 1 else rest[0]
        yield Change(part, "drop operand", new)


def known_name(node: ast.AST, path: list) -> Iterator[Change]:
    name = "attr" if isinstance(node, ast.Attribute) else "id"
    old = getattr(node, name)
    if old in SWAPS and isinstance(node.ctx, ast.Load):
        new = SWAPS[old]
        yield Change(node, f"{old} -> {new}", replaced(node, **{name: new}))


def call(node: ast.AST, path: list) -> Iterator[Change]:
    names = ast.unparse(node.func).split(".")
    called = names[-1]
    for i, (a, b) in enumerate(zip(node.args, node.args[1:], strict=False)):
        if isinstance(a, ast.Name) and isinstance(b, ast.Name) and called not in SYMMETRIC:
            args = [*node.args[:i], b, a, *node.args[i + 2 :]]
            yield Change(a, f"swap {a.id}, {b.id}", replaced(node, args=args))
    for i, keyword in enumerate(node.keywords):
        if keyword.arg:
            new = replaced(node, keywords=without(node.keywords, i))
            yield Change(keyword, f"drop {keyword.arg}=", new)
    if isinstance(node.func, ast.Attribute) and names[0] not in MODULES:
        yield Change(node, f"drop .{called}()", node.func.value)
        if called == "to" and len(node.args) == 2:  # a device and a dtype
            for i, arg in enumerate(node.args):
                new = replaced(node, args=without(node.args, i))
                yield Change(arg, f"drop {ast.unparse(arg)}", new)


def part(node: ast.AST, path: list) -> Iterator[Change]:
    if (node.lower is None) != (node.upper is None):
        new = replaced(node, lower=node.upper, upper=node.lower)
        yield Change(node, "other part", new)
