# SPDX-License-Identifier: MIT
"""Asks one requirement after the other and writes the report.

What goes wrong in the very first requirement (the subject raises, returns another shape, NaN, or
changes its input) leaves nothing to be said: the report is unusable. Later it is a failure.
"""

from collections.abc import Callable, Iterable

import torch
from torch import Tensor

from posenc_check.causes import Cause, likely
from posenc_check.report import Report, Requirement
from posenc_check.subject import Subject, Unusable


HINT = "What it takes was guessed from the names of its parameters; call (--call) says it."


class Examination:
    """Use as `with Examination(...) as exam:`; the report is `exam.report`."""

    def __init__(self, contract: str, name: str, **options):
        self.report = Report(contract, name, "", options)

    def called(self, subject: Subject) -> Subject:
        """From here on the report says how the subject is called."""
        self.report.called_as = subject.name
        if subject.binding.guessed:
            self.report.hint = HINT
        return subject

    def __enter__(self) -> "Examination":
        return self

    def __exit__(self, kind, error, trace) -> bool:
        if not isinstance(error, Unusable):
            return False
        self.report.traceback = self.report.traceback or error.traceback
        if not self.report.requirements:
            self.report.unusable = str(error)
        else:  # what was found before stands
            name = "can be asked everything"
            self._add(Requirement(name, "fail", "docs/check/your_code.md", reason=str(error)))
        return True

    def values(
        self,
        name: str,
        got: Callable[[], Tensor],
        expected: Tensor,
        *,
        page: str,
        tolerance: float | Tensor,
        where: Callable[[tuple[int, ...]], str],
        causes: Iterable[Cause] | Callable[[Tensor], Iterable[Cause]] = (),
        show: Callable[[float], str] = "{:.6g}".format,
        otherwise: str = "",
    ) -> bool:
        """The subject's answer against the oracle's; tells the first difference and its cause.

        otherwise: the cause where no wrong form explains the answer.
        """
        answer = self._answer(name, page, got)
        if answer is None:
            return False
        if not isinstance(answer, Tensor) or answer.shape != expected.shape:
            problem = f"must have shape {tuple(expected.shape)}, got {describe(answer)}"
            return self._problem(name, page, problem, "")
        answer = answer.detach().cpu().double()
        wrong = ~((answer - expected).abs() <= tolerance) & (answer != expected)
        if not wrong.any():
            return self._add(Requirement(name, "pass", page))
        index = tuple(wrong.nonzero()[0].tolist())
        cause = likely(answer, expected, tolerance, causes) or otherwise
        shown = {"expected": show(float(expected[index])), "got": show(float(answer[index]))}
        if not self.report.requirements and torch.isnan(answer).any():
            raise Unusable(f"returned NaN at {where(index)}, expected {shown['expected']}")
        return self._add(Requirement(name, "fail", page, where(index), **shown, cause=cause))

    def holds(self, name: str, problem: Callable[[], str], *, page: str, cause: str = "") -> bool:
        """A requirement in words: `problem()` says what is wrong, or gives "" if nothing is."""
        found = self._answer(name, page, problem)
        if found is None:
            return False
        if not found:
            return self._add(Requirement(name, "pass", page))
        return self._problem(name, page, found, cause)

    def skip(self, name: str, reason: str, *, page: str) -> None:
        self._add(Requirement(name, "skip", page, reason=reason))

    def _answer(self, name, page, asked):
        """What `asked` returns; None if it failed and the failure is written down."""
        try:
            return asked()
        except Unusable as error:
            if not self.report.requirements:
                raise
            self.report.traceback = self.report.traceback or error.traceback
            self._add(Requirement(name, "fail", page, reason=str(error)))
            return None

    def _problem(self, name, page, problem, cause) -> bool:
        if not self.report.requirements:
            raise Unusable(f"{problem}; likely cause: {cause}" if cause else problem)
        return self._add(Requirement(name, "fail", page, reason=problem, cause=cause))

    def _add(self, found: Requirement) -> bool:
        self.report.requirements.append(found)
        return found.status == "pass"


def describe(value) -> str:
    if isinstance(value, Tensor):
        return f"a tensor of shape {tuple(value.shape)}"
    return f"{type(value).__name__}"
