# SPDX-License-Identifier: MIT
"""masked_attention: is causal attention right where sequences are padded, on the left too?"""

import inspect

from torch import Tensor

from posenc_check.causes import Cause
from posenc_check.contracts.answers import read
from posenc_check.contracts.masked_attention_case import MASKS, WORDS, Case
from posenc_check.examination import describe
from posenc_check.factory import Factory
from posenc_check.report import Report
from posenc_check.subject import Unusable, guarded
from posenc_check.wrong_forms.masked_attention import forms

PAGE = "docs/guides/decoding.md"
EMPTY = "a row whose keys are all at -inf has no softmax: let each pad see itself"
ONLY_WITH = "the causal part is applied only where a mask of padding is given"
# float64 sums of a few products below 10; a subject that computes in float32 keeps 6 digits.
TOLERANCE = 1e-5


def check_masked_attention(attend, *, call: str | None = None, init: str | None = None) -> Report:
    """Check causal attention with padded keys.

    Args:
        attend: takes q, k, v (B, H, T, D) float64 and key_keep (B, T), True = a real token;
            gives back a tensor like q. The rows of pads may hold any number.
        call: what attend takes, in order: q, k, v; key_keep, or key_ones (whole numbers), or
            pad (True = padding); causal (True).
        init: what its class takes, if it is one.

    Returns:
        The report.
    """
    default = "q, k, v, key_keep"
    with Factory.examine("masked_attention", attend, WORDS, default, call, init, {}) as (exam, new):
        asked = Asked(exam, new({}))
        ones = [[1] * 4] * 4
        asked.attends("is causal where nothing is padded", Case((4, 4, 4, 6), ones))
        name = "is causal without a mask of padding"
        if asked.optional():
            asked.attends(name, Case((4, 4, 4, 6), ones, given=False, seed=1))
        else:
            exam.skip(name, "it always takes one", page=PAGE)
        left = [[0, 0, 1, 1], [1, 1, 1, 1], [0, 1, 1, 1], [0, 0, 0, 1]]
        left_padded = Case((4, 4, 4, 6), left, seed=2)
        asked.attends("padded on the left: tokens as if alone", left_padded)
        asked.finite("padded on the left: no NaN in the rows of pads", left_padded)
        asked.gradients("padded on the left: gradients are finite", left_padded)
        right = [[1, 1, 0, 0], [1, 1, 1, 1], [1, 1, 1, 0], [1, 0, 0, 0]]
        asked.attends("padded on the right: tokens as if alone", Case((4, 4, 4, 6), right, seed=3))
        some = [[0, 1, 1, 1, 1], [0, 0, 0, 1, 1]]
        case = Case((2, 3, 5, 8), some, seed=4)
        asked.attends("takes any batch, heads, length, and width", case)
    return exam.report


class Asked:
    """The subject under examination."""

    def __init__(self, exam, subject):
        self.exam, self.subject = exam, subject

    def optional(self) -> bool:
        """Whether the mask of padding has None as its default."""
        try:
            parameters = inspect.signature(self.subject.binding.target).parameters
        except (TypeError, ValueError):
            return False
        names = list(parameters)
        for i, (key, word, _) in enumerate(self.subject.binding.parts):
            name = key or (names[i] if i < len(names) else "")
            if word in MASKS and name in parameters:
                return parameters[name].default is None
        return False

    def answer(self, case: Case, values: dict | None = None) -> Tensor:
        y = self.subject(values or case.values)
        y = y[0] if isinstance(y, tuple) and len(y) else y  # (output, weights)
        y = y if isinstance(y, Tensor) else read(y, "a tensor like q")
        if y.shape != case.q.shape:
            raise Unusable(f"must return a tensor like q, {tuple(case.q.shape)}, got {describe(y)}")
        return y

    def attends(self, name: str, case: Case) -> None:
        self.exam.values(
            name,
            lambda: case.real(self.answer(case)),
            case.right,
            page=PAGE,
            tolerance=TOLERANCE,
            where=lambda index: "token {2}, coordinate {3} (batch {0}, head {1})".format(*index),
            causes=self._causes(case),
        )

    def _causes(self, case: Case) -> list[Cause]:
        wrong = list(forms(case.q, case.k, case.v, case.keep))
        if not case.given and not self.exam.report.failures:
            # Causal with a mask of ones, so it is the mask that brings the causal part.
            wrong.insert(0, (ONLY_WITH, wrong[0][1]))
        return [
            Cause(text, lambda form=form: case.real(form().expand(case.q.shape)))
            for text, form in wrong
        ]

    def finite(self, name: str, case: Case) -> None:
        def problem() -> str:
            bad = ~self.answer(case).isfinite()
            if not bad.any():
                return ""
            batch, _, token, _ = bad.nonzero()[0].tolist()
            return f"token {token} of sequence {batch} is a pad and holds NaN or infinity"

        self.exam.holds(name, problem, page=PAGE, cause=EMPTY)

    def gradients(self, name: str, case: Case) -> None:
        """Of a loss that looks at real tokens alone."""

        def problem() -> str:
            values = case.values
            for word in "qkv":
                values[word] = values[word].clone().requires_grad_(True)
            loss = case.real(self.answer(case, values)).sum()
            guarded(loss.backward, "the backward pass", (), {})
            for word in "qkv":
                gradient = values[word].grad
                if gradient is None or not gradient.isfinite().all():
                    return f"the gradient of {word} is {'missing' if gradient is None else 'NaN'}"
            return ""

        self.exam.holds(name, problem, page=PAGE, cause=EMPTY)
