# SPDX-License-Identifier: MIT
"""sinusoidal: does a table, or what adds it to x, hold the right sines and cosines?"""

from dataclasses import replace
from typing import Literal

from posenc_check.contracts.sinusoidal_asked import Asked, odd_width
from posenc_check.contracts.sinusoidal_case import INIT_WORDS, WORDS, Case, Settings, settings
from posenc_check.contracts.sinusoidal_module import module_requirements
from posenc_check.factory import Factory
from posenc_check.report import Report

PAGE = "docs/methods/sinusoidal.md"
PRECISION = "docs/guides/precision.md"


def check_sinusoidal(
    encode,
    *,
    layout: Literal["interleaved", "half"],
    d_model: int = 8,
    base: float = 10_000.0,
    max_len: int = 5000,
    axes: Literal["BTD", "TBD"] = "BTD",
    returns: Literal["sum", "table"] = "sum",
    scaled: bool = False,
    call: str | None = None,
    init: str | None = None,
) -> Report:
    """Check a function that makes a table, or a module or its class that adds it to x.

    Args:
        encode: takes length and d_model and gives a table, or takes x and gives the sum.
        layout: interleaved is sine, cosine, sine, cosine; half is all sines, then all cosines.
        d_model: width of the table, even; odd widths are asked for besides.
        base: base of the frequencies.
        max_len: rows that a class is built with; no position from here on is asked for.
        axes: order of the axes of x.
        returns: what a module that takes x gives back, x plus the table or the table alone.
        scaled: x is multiplied by sqrt(d_model) before the sum.
        call: what encode takes, in order: x, start, length, positions, d_model, base.
        init: what its class takes: d_model, base, max_len, dropout.

    Returns:
        The report.

    Raises:
        ValueError: if an option is out of its range.
    """
    said = settings(layout, d_model, base, max_len, axes, returns, scaled)
    options = {"layout": layout, "d_model": d_model, "base": f"{base:g}"}
    with Factory.examine(
        "sinusoidal", encode, WORDS, "length, d_model", call, init, options, INIT_WORDS
    ) as (exam, new):
        asked = Asked(exam, new, said)
        ask = module_requirements if asked.subject().takes("x") else _table
        ask(asked)
    return exam.report


def _table(asked: Asked) -> None:
    """A function that makes a table, or a module that reads one at positions."""
    said, width = asked.said, asked.said.d_model
    any_place = asked.subject().takes("positions")
    # As many rows as columns, so that an exchange of both is seen in the values.
    name = "row p holds the sine and cosine of p * base ** (-2 i / d_model)"
    asked.right(name, Case(said, range(min(width, said.max_len))))
    name = "takes any length"
    asked.right(name, Case(said, range(3)))
    asked.right("is right at far positions", Case(said, _far(said, any_place)), page=PRECISION)
    name = "takes another width"
    if asked.takes("d_model"):
        asked.right(name, Case(replace(said, d_model=width + 4), range(5)))
    else:
        asked.exam.skip(name, "it takes no d_model", page=PAGE)
    odd_width(asked, lambda said: Case(said, range(4)))
    name = "takes positions in any order"
    if any_place:
        asked.right(name, Case(said, [7, 0, 12, 3, 3, 1]))
    else:
        asked.exam.skip(name, "no positions are passed", page=PAGE)
    name = "uses the base that it is given"
    if asked.takes("base"):
        other = replace(said, base=said.base * 50)
        case = Case(other, range(6))
        asked.right(name, case, subject=asked.subject(base=other.base))
    else:
        asked.exam.skip(name, "it takes no base", page=PAGE)


def _far(said: Settings, any_place: bool) -> list[int] | range:
    last = min(said.max_len, 4096)
    if any_place:
        return [p for p in (255, 256, 257, 1023, 2049, 4095) if p < last] or [last - 1]
    return range(last)
