"""Execute the shape comments of a snippet: `# (B, H, T, D)` behind a statement.

A snippet's source is compiled once more, with a check around the value of
each commented statement; a call then compares every shape with its comment.
No tracer is involved, so debuggers and coverage keep working. `...` stands
for any axes, `2 x (B, T)` for two tensors of that shape.
"""

import ast
import io
import re
import tokenize
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

COMMENT = re.compile(r"# (?:(?P<count>\d+) x )?\((?P<axes>[^()]*)\)")
MEANT_AS_SHAPE = re.compile(r"#\s*(\d+\s*x\s*)?\(")


def shape_comments(source: str) -> dict[int, tuple[int, list[str]]]:
    """Line -> number of tensors and their axes, for each shape comment."""
    found = {}
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT and MEANT_AS_SHAPE.match(token.string):
            line, match = token.start[0], COMMENT.fullmatch(token.string)
            assert match, f"line {line}: cannot read the shape comment {token.string}"
            axes = [axis.strip() for axis in match["axes"].split(",") if axis.strip()]
            found[line] = int(match["count"] or 1), axes
    return found


def fits(shape: tuple[int, ...], axes: list[str], sizes: dict[str, int]) -> bool:
    """Whether a shape is what the axes say; each axis may be an expression."""
    if "..." in axes:
        head = axes.index("...")
        tail = len(axes) - head - 1
        if len(shape) < head + tail:
            return False
        axes = axes[:head] + axes[head + 1 :]
        shape = shape[:head] + shape[len(shape) - tail :]
    return tuple(eval(axis, {}, sizes) for axis in axes) == tuple(shape)


class _Wrap(ast.NodeTransformer):
    """Put `_shape_check(line, value)` in the place of each commented value."""

    def __init__(self, lines):
        self.lines, self.wrapped = lines, set()

    def visit_statement(self, node):
        if node.end_lineno in self.lines:
            self.wrapped.add(node.end_lineno)
            name = ast.Name("_shape_check", ast.Load())
            node.value = ast.Call(name, [ast.Constant(node.end_lineno), node.value], [])
        return node

    visit_Assign = visit_Return = visit_statement


@contextmanager
def shapes_checked(path, **sizes):
    """The module at path, with its shape comments checked while the block runs."""
    assert len(set(sizes.values())) == len(sizes), f"sizes must all differ: {sizes}"
    source = Path(path).read_text()
    comments, reached = shape_comments(source), set()

    def check(line, value):
        count, axes = comments[line]
        tensors = value if isinstance(value, (tuple, list)) else [value]
        got = [tuple(tensor.shape) for tensor in tensors]
        true = len(got) == count and all(fits(shape, axes, sizes) for shape in got)
        assert true, f"line {line}: the comment says {count} x ({', '.join(axes)}), got {got}"
        reached.add(line)
        return value

    wrap = _Wrap(set(comments))
    tree = ast.fix_missing_locations(wrap.visit(ast.parse(source)))
    loose = set(comments) - wrap.wrapped
    assert not loose, f"shape comments behind no assignment or return: lines {sorted(loose)}"
    module = ModuleType(Path(path).stem)
    module._shape_check = check
    exec(compile(tree, str(path), "exec"), module.__dict__)
    yield module
    missed = set(comments) - reached
    assert not missed, f"shape comments never reached: lines {sorted(missed)}"
