"""Layer 3, numbers and strong words in prose, and telling Python from other text."""

import pytest

from tests.guard.numbers import number_problems, strong_sentences
from tests.guard.page import parse
from tests.guard.python_text import format_problem, reads_as_python
from tests.guard.source import render

FILE = "docs/methods/rope.md"
TICK = "[✓](../verified.md#rope-a){ .claim }"


def page(markdown: str):
    return parse(render(markdown), FILE)


def claim(text: str) -> dict:
    return {"rope-a": {"id": "rope-a", "texts": [["t", text]], "tests": {"t": "passed"}}}


@pytest.mark.parametrize(
    ("markdown", "found"),
    [
        ("It is 4 times.", ["4"]),
        ("It is 1,000.5 times and -3.", ["1,000.5", "-3"]),
        ("A rate of 50%.", ["50"]),
        ("In `x[10]` and \\(10^{-2}\\), not `x[1]`.", ["10", "10"]),
        ("# Heading 7", ["7"]),
        ("float32, bf16, M2M-100, Tensor2tensor, 2-D and R2.", []),
        ("Su et al. 2021, sections 3.2 and 4, equation 34, Chapter 1.", []),
        ("Llama 3.1 8B, Qwen2.5 and Phi-3, but not Llama 8192.", ["8192"]),
        ("It is 4 times.[^n]\n\n[^n]: Page 5.", []),
        ("It is 4 times.[^n] Then 5.\n\n[^n]: Page 5.", ["5"]),
        ("[Version 2](x.md) has it.", []),
        (f"It is 4 times.{TICK}", []),
        (f"It was 3. It is 4 times.{TICK}", ["3"]),
        (f"It is 5 times.{TICK}", ["5"]),
    ],
)
def test_numbers_outside_claims(markdown, found):
    problems = number_problems(page(markdown), claim("It is 4 times."))
    assert [p.split("claim: '")[1].split("'")[0] for p in problems] == found


def test_strong_words_are_listed():
    found = page(f"It never ends. It is here. It only is.{TICK}")
    assert strong_sentences(found, claim("It only is.")) == [f"{FILE}: It never ends."]


@pytest.mark.parametrize("text", ["import x", "x = f(1)", "$ python\n>>> 1", "for i in x:\n  y"])
def test_python_is_recognised(text):
    assert reads_as_python(text)


@pytest.mark.parametrize("text", ["$ make test", "3 passed", "[1, 2]", "for each of them"])
def test_other_text_is_not_python(text):
    assert not reads_as_python(text)


def test_formats_are_parsed():
    assert format_problem("toml", "a = 1") is None and format_problem("json", "[1]") is None
    assert "is not valid toml" in format_problem("toml", "a =")
