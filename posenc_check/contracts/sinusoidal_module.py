# SPDX-License-Identifier: MIT
"""What adds a sinusoidal table to x: values, dtypes, and what it remembers."""

from dataclasses import replace

import torch
from torch import nn

from posenc_check.contracts.sinusoidal_asked import odd_width
from posenc_check.contracts.sinusoidal_case import Case
from posenc_check.contracts.sinusoidal_state import past_max_len, state_requirements
from posenc_check.subject import Unusable, guarded

PAGE = "docs/methods/sinusoidal.md"
PRECISION = "docs/guides/precision.md"
DECODING = "docs/guides/decoding.md"
DTYPES = (torch.bfloat16, torch.float16, torch.float32, torch.float64)
EQUAL = 8  # batch, length, and rows in the first call


def module_requirements(asked) -> None:
    _values(asked)
    _options(asked)
    _dtypes(asked)
    _far(asked)
    _memory(asked)
    _gradient(asked)
    if isinstance(asked.new.instance(asked.said.init), nn.Module):
        state_requirements(asked)
    past_max_len(asked)


def _values(asked) -> None:
    said = asked.said
    # Batch, length, and table are equally long, so that taking one for another is seen in the
    # values, not in a crash.
    subject = asked.subject(max_len=EQUAL)
    name = "adds the sine and cosine of p * base ** (-2 i / d_model) to x"
    if said.returns == "table":
        name = "gives the sine and cosine of p * base ** (-2 i / d_model)"
    asked.right(name, Case(said, range(EQUAL), EQUAL), subject=subject)
    asked.right("takes a single sequence", Case(said, range(7), 1, seed=1))
    asked.right("takes any batch and length", Case(said, range(5), 3, seed=2))
    name, start = "counts on from start", asked.subject().takes("start")
    if start:
        asked.right(name, Case(said, range(6, 10), 2, seed=3), page=DECODING)
    else:
        asked.exam.skip(name, "no start is passed", page=DECODING)
    one = Case(said, [11 if start else 0], 2, seed=4)
    asked.right("takes one token, as in decoding", one, page=DECODING)


def _options(asked) -> None:
    odd_width(asked, lambda said: Case(said, range(4), 2, seed=5))
    name = "uses the base that it is given"
    if not asked.takes("base"):
        return asked.exam.skip(name, "it takes no base", page=PAGE)
    other = replace(asked.said, base=asked.said.base * 50)

    def beside():
        """Two instances in one process share no table by mistake."""
        asked.subject()(Case(asked.said, range(6), 2).values())

    case, subject = Case(other, range(6), 2, seed=6), asked.subject(base=other.base)
    asked.right(name, case, subject=subject, first=beside)


def _dtypes(asked) -> None:
    def problem() -> str:
        found, subject = [], asked.subject()
        for dtype in DTYPES:
            y = subject(Case(asked.said, range(4), 2, seed=7).values(dtype))
            found += [f"{dtype} became {y.dtype}" for _ in range(y.dtype != dtype)]
        return "; ".join(found)

    cause = "the table has another dtype than x, and the sum is not cast back"
    name = "returns the dtype of its input"
    if asked.said.returns == "table":
        return asked.exam.skip(name, "the table alone is returned", page=PRECISION)
    asked.exam.holds(name, problem, page=PRECISION, cause=cause)


def far_case(asked, seed: int) -> Case:
    last = min(asked.said.max_len, 2048)
    return Case(asked.said, range(last), 1, seed=seed)


def _far(asked) -> None:
    asked.right("is right at far positions, float32", far_case(asked, 8), page=PRECISION)
    name = "is right at far positions, bfloat16"
    asked.right(name, far_case(asked, 9), torch.bfloat16, PRECISION)


def _memory(asked) -> None:
    """What an earlier call left behind must serve the later one, or be made anew."""
    subject = asked.subject()
    case = Case(asked.said, range(min(600, asked.said.max_len)), 1, seed=10)
    name = "an earlier call in bfloat16 changes nothing"
    try:
        subject(case.values(torch.bfloat16))
        asked.right(name, case, subject=subject, page=PRECISION)
    except Unusable as error:
        asked.exam.skip(name, f"bfloat16 is not taken: {error}", page=PRECISION)
    name = "an earlier call of another length changes nothing"
    asked.right(name, Case(asked.said, range(6), 2, seed=11), subject=subject)

    def problem() -> str:
        case = Case(asked.said, range(6), 2, seed=12)
        first, second = (case.answer(subject) for _ in range(2))
        differ = int((first != second).sum())
        return f"{differ} of {first.numel()} values differ in a second call" if differ else ""

    cause = "dropout is active outside training"
    asked.exam.holds("gives the same twice, in eval mode", problem, page=PAGE, cause=cause)


def _gradient(asked) -> None:
    name = "passes gradients back, twice"
    if asked.said.returns == "table":
        return asked.exam.skip(name, "the table alone is returned", page=PAGE)

    def problem() -> str:
        subject, case = asked.subject(), Case(asked.said, range(5), 2, seed=13)
        for _ in range(2):
            values = case.values(torch.float32)
            x = values["x"].requires_grad_(True)
            guarded(subject(values).sum().backward, "the backward pass", (), {})
            want = torch.full_like(x, asked.said.x_factor)
            if x.grad is None or not torch.allclose(x.grad, want):
                return f"the gradient of the sum must be {asked.said.x_factor:g} everywhere"
        return ""

    asked.exam.holds(name, problem, page=PAGE, cause="x is detached")
