# SPDX-License-Identifier: MIT
"""The sinusoidal subject under examination, and what tables and modules are both asked."""

from dataclasses import replace

import torch

from posenc_check.contracts.sinusoidal_case import Case, Settings
from posenc_check.examination import Examination
from posenc_check.factory import Factory
from posenc_check.subject import Unusable
from posenc_check.wrong_forms.sinusoidal import causes

PAGE = "docs/methods/sinusoidal.md"


class Asked:
    """The subject under examination."""

    def __init__(self, exam: Examination, new: Factory, said: Settings):
        self.exam, self.new, self.said = exam, new, said

    def subject(self, **changes):
        """A fresh one, with another width or length if asked."""
        return self.new(replace(self.said, **changes).init)

    def takes(self, word: str) -> bool:
        """Whether the call takes it, or the class."""
        return self.subject().takes(word) or (self.new.is_class and self.new.init.takes(word))

    def right(self, name, case: Case, dtype=torch.float32, page=PAGE, subject=None, first=None):
        """One requirement: the answer for a case is the oracle's; `first()` goes before it."""
        subject = subject or self.subject(d_model=case.said.d_model)

        def answer():
            if first:
                first()
            return case.answer(subject, dtype)

        tolerance = case.tolerance(dtype)
        return self.exam.values(
            name,
            answer,
            case.expected(),
            page=page,
            tolerance=tolerance,
            where=case.where,
            causes=causes(case.form(), tolerance),
        )


def odd_width(asked: Asked, case_of) -> None:
    """One sine more than cosines, or a refusal that says why."""
    name = "takes an odd width, or says that it must be even"
    if not asked.takes("d_model"):
        return asked.exam.skip(name, "it takes no d_model", page=PAGE)
    if asked.said.layout == "half":
        reason = "which column an odd width ends with is not agreed on in this layout"
        return asked.exam.skip(name, reason, page=PAGE)
    case = case_of(replace(asked.said, d_model=asked.said.d_model + 1))
    try:
        subject = asked.subject(d_model=case.said.d_model)
        case.answer(subject)
    except Unusable as error:
        text = str(error)
        refused = "raised ValueError" in text and ("odd" in text or "even" in text)
        cause = "all frequencies are written into the cosine columns, of which there is one less"
        cause = cause if _even_works(asked, case_of) else ""
        asked.exam.holds(name, lambda: "" if refused else text, page=PAGE, cause=cause)
        return
    asked.right(name, case, subject=subject)


def _even_works(asked: Asked, case_of) -> bool:
    """The next width, which is even, gives no error."""
    case = case_of(replace(asked.said, d_model=asked.said.d_model + 2))
    try:
        case.answer(asked.subject(d_model=case.said.d_model))
    except Unusable:
        return False
    return True
