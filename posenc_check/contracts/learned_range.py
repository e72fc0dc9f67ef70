# SPDX-License-Identifier: MIT
"""What a learned table must do past its ends: refuse, and say how long it is."""

import re

from posenc_check.contracts.learned_case import Case
from posenc_check.subject import Unusable

PAGE = "docs/methods/learned.md"
ANSWERED = "an answer came back"


def past_the_table(asked) -> None:
    n = asked.said.max_len
    past = [("one token too many", range(n + 1))]
    if asked.anywhere:
        past += [("the last token one too far", range(n - 3, n + 1)), ("one past the end", [n])]
    cause = "the length is not checked before the table is read, or the start is not counted"
    name = "past the table: a ValueError that names its length"

    found = [(what, _refusal(asked, places, str(n))) for what, places in past]
    problem = next((f"{what}: {text}" for what, text in found if text), "")
    asked.exam.holds(name, lambda: problem, page=PAGE, cause=cause)
    name = "refuses a negative position with a ValueError"
    if not asked.anywhere:
        return asked.exam.skip(name, "no positions are passed", page=PAGE)
    problem = _refusal(asked, [-1], "")
    cause = "the position is not checked before the table is read"
    if problem == ANSWERED:
        cause = "a negative index is read from the end of the table, or as a row in front"
    asked.exam.holds(name, lambda: problem, page=PAGE, cause=cause)


def _refusal(asked, places, named: str) -> str:
    """What is wrong with the refusal of these positions."""
    try:
        asked.subject(Case(asked.said, places, 2, seed=6).values())
    except Unusable as error:
        kind, _, text = str(error).partition("raised ")[2].partition(": ")
        if kind != "ValueError":
            return f"{kind}: {text}"
        known = (named, str(asked.said.max_len - 1))
        if named and not set(known) & set(re.findall(r"\d+", text)):
            return f"the ValueError does not name {named}: {text}"
        return ""
    return ANSWERED
