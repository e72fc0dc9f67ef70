"""Does a text read as Python?

Closes: showing Python under a language that nobody runs, such as `console` or `text`.
"""

import ast
import json
import re
import tomllib

STATEMENT = re.compile(
    r"^\s*(>>> |import \w|from [\w.]+ import |(async )?def \w+\(|class \w+[(:]|assert |return\b"
    r"|(for|while|if|with|try|else|elif)\b.*:\s*$)"
)
EXPRESSIONS = (ast.Constant, ast.Name, ast.Tuple, ast.List, ast.Dict, ast.UnaryOp, ast.BinOp)


def reads_as_python(text: str) -> bool:
    """A whole that parses to more than plain values, or one line that can be nothing else."""
    lines = [line for line in text.splitlines() if not line.startswith("$")]
    if any(STATEMENT.match(line) for line in lines):
        return True
    try:
        body = ast.parse("\n".join(lines)).body
    except (SyntaxError, ValueError):
        return False
    return any(not isinstance(s, ast.Expr) or not isinstance(s.value, EXPRESSIONS) for s in body)


def format_problem(language: str, text: str) -> str | None:
    """Why a block is not what its language says; None if it is."""
    try:
        if language == "toml":
            tomllib.loads(text)
        elif language == "json":
            json.loads(text)
        elif reads_as_python(text):
            return "reads as Python, and no Python runs under this language"
    except (tomllib.TOMLDecodeError, json.JSONDecodeError) as error:
        return f"is not valid {language}: {error}"
    return None
