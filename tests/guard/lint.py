"""Lints of the Markdown source: forms that pytest-codeblocks runs past, with file and line.

Closes: skip marks, `__main__` guards, `~~~` and quoted fences, attributes behind `python`, fences
on the line of a list marker, three backticks inside a line (they swap code and prose), stray
comments for the runner, and blocks that check nothing.
"""

import ast
import re

EXPECTED = "<!--pytest-codeblocks:expected-output-->"
LANGUAGES = ("python", "text", "console", "toml", "json", "bibtex")
LISTING = re.compile(r'py title="snippets/\w+\.py"')
FENCE = re.compile(r"^(\s*)(`{3,})(.*)$")
SOURCE_RULES = (
    (re.compile(r"^\s*~~~"), "~~~ fence: the runner does not see it"),
    (re.compile(r"^\s*>.*```"), "fence in a quotation: the runner does not see it"),
    (re.compile(r"^\s*([-*+]|\d+[.)])\s+(```|~~~)"), "fence on the line of a list marker"),
    (re.compile(r"<(pre|style|script|template|iframe|object)\b"), "raw HTML that can hide or show"),
    (re.compile(r"^\s*(:::\s*python|#!python)"), "language line of another Markdown dialect"),
)
CODE_RULES = (
    (re.compile(r"__main__"), "__main__ guard: its body does not run"),
    (re.compile(r"pytest\s*\.\s*(skip|xfail|importorskip|mark|exit)\b"), "skip inside a block"),
    (re.compile(r"\b(sys\.exit|SystemExit|os\._exit|exit\(|quit\()"), "exit inside a block"),
)


def lint(text: str, file: str) -> list[str]:
    """Problems of one Markdown file, as `file:line: what`."""
    problems: list[str] = []
    lines = text.splitlines()
    previous, expecting, index = None, False, 0
    while index < len(lines):
        line, where = lines[index], f"{file}:{index + 1}"
        fence = FENCE.match(line)
        if not fence:
            problems += [f"{where}: {what}" for rule, what in SOURCE_RULES if rule.search(line)]
            if "pytest" in line and "<!--" in line:
                if line.strip() != EXPECTED:
                    problems.append(f"{where}: comment for the runner: {line.strip()}")
                elif previous != "python":
                    problems.append(f"{where}: expected-output does not follow a python block")
                else:
                    expecting = True
            if line.strip():
                previous = None
            index += 1
            continue
        ticks, info = fence[2], fence[3]
        end = next((i for i in range(index + 1, len(lines)) if closes(lines[i], ticks)), None)
        if "`" in info:
            problems.append(f"{where}: three backticks inside a line swap code and prose")
            index += 1
            continue
        if end is None:
            problems.append(f"{where}: fence is never closed")
            break
        body = [cut(raw, len(fence[1])) for raw in lines[index + 1 : end]]
        if expecting and info != "text":
            problems.append(f"{where}: expected-output is not followed by a text block")
        if not (info in LANGUAGES or LISTING.fullmatch(info)):
            problems.append(f"{where}: fence {info!r} is not one of {', '.join(LANGUAGES)}")
        if info == "python":
            checked = next((raw for raw in lines[end + 1 :] if raw.strip()), "").strip() == EXPECTED
            problems += lint_python("\n".join(body), where, checked)
        previous, expecting, index = info, False, end + 1
    return problems


def closes(line: str, ticks: str) -> bool:
    return line.strip().startswith(ticks) and not line.strip().strip("`")


def cut(line: str, indent: int) -> str:
    return line[min(indent, len(line) - len(line.lstrip())) :]


def lint_python(code: str, where: str, has_output: bool) -> list[str]:
    """Ways of a block to run and yet to check nothing."""
    problems = [f"{where}: {what}" for rule, what in CODE_RULES if rule.search(code)]
    try:
        tree = ast.parse(code)
    except SyntaxError as error:
        return [*problems, f"{where}: not Python: {error.msg}"]
    nodes = list(ast.walk(tree))
    asserts = [node for node in nodes if isinstance(node, ast.Assert)]
    if not asserts and not has_output:
        problems.append(f"{where}: block without assert and without compared output")
    used = {n.id for n in nodes if isinstance(n, ast.Name)}
    used |= {n.attr for n in nodes if isinstance(n, ast.Attribute)}
    for node in nodes:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            special = node.name.startswith("__") or node.name == "forward"
            if node.name not in used and not special:
                problems.append(f"{where}: function {node.name} is defined and never called")
        if isinstance(node, ast.Assert) and isinstance(node.test, (ast.Constant, ast.Tuple)):
            problems.append(f"{where}: assert of a constant checks nothing")
        if isinstance(node, (ast.If, ast.While)) and isinstance(node.test, ast.Constant):
            problems.append(f"{where}: condition that is a constant")
    return problems
