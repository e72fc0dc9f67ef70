"""A number in a claim's sentence stands in its test as well.

Closes: a number that was changed in the sentence on both sides, page and test, while the assertion
still looks for the old one.
"""

import ast
import re

from tests.guard.digest import ROOT
from tests.guard.numbers import MODELS

NUMBER = re.compile(r"(?<![\w.])(\d+\.\d+|\d{2,})(?!\w)")
# The number is a default of the snippet or the value of a formula, not a literal of the test.
ELSEWHERE = {
    "alibi-eight-heads": "1/256 is 2.0**-8, the last of the powers",
    "rope-rotation": "the default base of the helper `turn`",
    "longer-context-base": "64 is half of the width 128",
    "rope-incomplete-turns": "the default base",
    "rope-base": "the default base",
    "rope-scaling-ntk-overshoot": "the default base",
    "sinusoidal-formula": "the default base",
    "sinusoidal-table-bytes": "the default max_len",
    "t5-bias-causal-edges": "the default max_distance",
}


def claim_tests():
    for path in sorted((ROOT / "tests/claims").glob("test_*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        shared = [node for node in tree.body if isinstance(node, ast.Assign)]
        for function in tree.body:
            for mark in getattr(function, "decorator_list", []):
                if ast.unparse(mark).startswith("claim(") and len(mark.args) == 2:
                    text = ast.literal_eval(mark.args[1])
                    others = [other for other in function.decorator_list if other is not mark]
                    yield mark.args[0].value, text, [*shared, *others, *function.body]


def literals(nodes) -> set[float]:
    """Numbers of the code, and those inside its strings, as in f"{x:.1e}" == "3.9e-04"."""
    found = set()
    for node in (child for top in nodes for child in ast.walk(top)):
        if isinstance(node, ast.Constant) and type(node.value) in (int, float):
            found.add(float(node.value))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            found |= {float(number) for number in re.findall(r"\d+(?:\.\d+)?", node.value)}
    return found


def missing(text: str, numbers: set[float]) -> list[str]:
    """A range ends one past its last number, so a neighbour counts for whole numbers."""
    text = re.sub(r"\\cdot 10\^\{-?\d+\}|\\\(10\^\{-?\d+\}\\\)", "", text)  # powers of ten
    lost = []
    for number in NUMBER.findall(re.sub(MODELS, "", text)):
        near = {float(number)} if "." in number else {float(number) + step for step in (-1, 0, 1)}
        if not near & numbers:
            lost.append(number)
    return lost


def test_every_number_of_a_claim_stands_in_its_test():
    lost = {
        claim_id: numbers
        for claim_id, text, nodes in claim_tests()
        if (numbers := missing(text, literals(nodes))) and claim_id not in ELSEWHERE
    }
    assert lost == {}


def test_the_exceptions_are_needed():
    found = {c for c, text, nodes in claim_tests() if missing(text, literals(nodes))}
    assert found == set(ELSEWHERE)


def test_a_number_changed_in_a_sentence_is_found():
    nodes = ast.parse('assert f"{turn:.1f}" == "1.4" and last == 177').body
    assert missing("It halves every 1.4 positions, or 177.", literals(nodes)) == []
    assert missing("It halves every 3.7 positions, or 190.", literals(nodes)) == ["3.7", "190"]


def test_the_number_of_a_model_needs_no_literal():
    assert missing("Llama 3.2 1B slows pair 31 by 32.5.", set()) == ["31", "32.5"]
