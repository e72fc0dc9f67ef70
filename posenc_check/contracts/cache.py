# SPDX-License-Identifier: MIT
"""cache: does attention with a cache give each token what one pass over the whole text gives?"""

import functools

import torch
from torch import Tensor

from posenc_check.binding import name_of
from posenc_check.causes import Cause
from posenc_check.contracts.cache_order import late_order, order
from posenc_check.contracts.cache_runs import TOLERANCE, Runs
from posenc_check.examination import Examination
from posenc_check.report import Report
from posenc_check.subject import Unusable
from posenc_check.wrong_forms import cache as wrong

PAGE = "docs/guides/decoding.md"
LONG = [3, *[1] * 29]
CHUNKS = {
    "a prefill, then single tokens": [4, 1, 1, 1],
    "single tokens from the first one on": [1] * 5,
    "a chunk behind a prefill": [3, 2],
    "chunks of several sizes": [2, 3, 1],
    "many steps": LONG,
}
# Longer than the small tables and buffers that code begins with.
FAR = 160


def check_cache(
    make,
    *,
    d_model: int = 8,
    ordered: bool = True,
    max_len: int = FAR,
    call: str | None = None,
    init: str | None = None,
) -> Report:
    """Check causal attention with a cache against its own pass over the whole text.

    Args:
        make: gives a step with an empty cache, each time with the same weights; or a class or
            a module whose instances are the step. A step takes x (B, T, d_model) float64, the
            next tokens, remembers them, and gives back (B, T, width).
        d_model: width of x.
        ordered: whether order must be seen; False for attention without positions.
        max_len: tokens that a step has room for; no more than 160 of them are asked for.
        call: what a step takes, in order: x, start (number of cached tokens), positions.
        init: what make takes, in order: d_model.

    Returns:
        The report.

    Raises:
        ValueError: if d_model is below 1, or max_len below 32.
    """
    if d_model < 1:
        raise ValueError(f"d_model must be positive, got {d_model}")
    if max_len < sum(LONG):
        raise ValueError(f"max_len must be at least {sum(LONG)}, got {max_len}")
    far = min(max_len, FAR)
    exam = Examination("cache", name_of(make), d_model=d_model, ordered=ordered)
    with exam:
        asked = Asked(exam, Runs(exam, make, d_model, call, init))
        asked.empty()
        asked.causal()
        asked.batch()
        early = order(exam, asked.runs, ordered)
        for name, chunks in CHUNKS.items():
            asked.equals(f"equals the full pass: {name}", chunks)
        late_order(exam, asked.runs, ordered, early, far)
        name = "equals the full pass: a long prefill, single tokens, and a chunk"
        asked.equals(name, [far - 10, 1, 1, 1, 7])
    return exam.report


class Asked:
    """The subject under examination."""

    def __init__(self, exam: Examination, runs: Runs):
        self.exam, self.runs = exam, runs
        self.known = ""  # a fault that is no matter of chunks
        self.short_right = True
        self.diagnosis = functools.cache(lambda: wrong.diagnosis(runs))

    def empty(self) -> None:
        x = self.runs.tokens(5)
        first = self.runs.run(x)

        def again() -> Tensor:
            self.runs.run(self.runs.tokens(5, seed=1))
            return self.runs.run(x)

        self._alone("starts with an empty cache", again, lambda: first, wrong.KEPT)

    def causal(self) -> None:
        x = self.runs.tokens(5)
        other = x.clone()
        other[:, -1] = self.runs.tokens(1, seed=9)[:, 0]
        got, expected = (lambda y=y: self.runs.run(y)[:, :-1] for y in (other, x))
        self._alone("a later token changes no earlier output", got, expected, wrong.FUTURE)

    def batch(self) -> None:
        x, name = self.runs.tokens(5, batch=3), "the sequences of a batch do not mix"

        def alone() -> Tensor:
            return torch.cat([self.runs.run(x[i : i + 1], [3, 2]) for i in range(3)])

        self._alone(name, lambda: self.runs.run(x, [3, 2]), alone, wrong.MIXED)

    def equals(self, name: str, chunks: list[int]) -> None:
        x, long = self.runs.tokens(sum(chunks)), sum(chunks) >= sum(LONG)

        def cause() -> str:
            if self.known:
                return self.known
            if long and self.short_right:
                return wrong.long_diagnosis(self.runs, chunks)
            return self.diagnosis()

        got, expected = lambda: self.runs.run(x, chunks), lambda: self.runs.run(x)
        same = self._same(name, got, expected, cause, chunks)
        self.short_right &= same or long

    def _alone(self, name, got, expected, text: str) -> None:
        """Its failure explains all that follow."""
        if not self._same(name, got, expected, lambda: text):
            self.known = self.known or text

    def _same(self, name, got, expected, cause, chunks=None) -> bool:
        try:
            right = expected()
        except Unusable:
            return self.exam.holds(name, expected, page=PAGE)  # raises again, and is written down
        shown = f" of chunks {chunks}" if chunks and chunks != LONG else ""

        def where(index: tuple[int, ...]) -> str:
            return f"token {index[1]}{shown}, coordinate {index[2]} (batch {index[0]})"

        def causes(answer: Tensor):
            try:
                text = cause()
            except Unusable:  # it cannot be probed
                return []
            return [Cause(text, lambda: answer)] if text else []

        return self.exam.values(
            name, got, right, page=PAGE, tolerance=TOLERANCE, where=where, causes=causes
        )
