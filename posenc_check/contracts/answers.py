# SPDX-License-Identifier: MIT
"""What a subject gave back, read as one tensor: lists and numbers are as good as tensors."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from posenc_check.causes import Cause
from posenc_check.examination import Examination, describe
from posenc_check.subject import Unusable


def read(answer, what: str) -> Tensor:
    """The answer as a tensor; `what` says what it should be."""
    if isinstance(answer, Tensor):
        return answer.detach()
    try:
        return torch.as_tensor(answer)
    except (TypeError, ValueError, RuntimeError) as error:
        raise Unusable(f"must return {what}, got {describe(answer)}") from error


def spread(answer, shape: Sequence[int], what: str) -> Tensor:
    """The answer broadcast to a shape; more axes in front must have size 1."""
    shape = tuple(shape)
    given = read(answer, what)
    kept = given
    while kept.ndim > len(shape) and kept.shape[0] == 1:
        kept = kept[0]
    try:
        return kept.expand(shape)
    except RuntimeError as error:
        text = f"must return {what}, here {shape} or what broadcasts to it, got {describe(given)}"
        raise Unusable(text) from error


def joined(parts: Sequence[Tensor]) -> Tensor:
    """The answers of several calls as one, so that one requirement looks at all of them."""
    return torch.cat([part.flatten().double() for part in parts])


def place(parts: Sequence[Tensor], index: tuple[int, ...]) -> tuple[int, tuple[int, ...]]:
    """Which call a number of `joined(parts)` belongs to, and where it stands in its answer."""
    rest = index[0]
    for call, part in enumerate(parts):
        if rest < part.numel():
            return call, tuple(int(i) for i in torch.unravel_index(torch.tensor(rest), part.shape))
        rest -= part.numel()
    raise IndexError(index)


def joined_causes(calls: Sequence[Sequence[tuple[str, Callable[[], Tensor]]]]) -> list[Cause]:
    """For each call the same wrong forms, in the same order: (text, simulated answer)."""
    return [
        Cause(forms[0][0], lambda forms=forms: joined([form() for _, form in forms]))
        for forms in zip(*calls, strict=True)
    ]


# torch reads uint8 and bool as masks, and F.embedding takes no other type than these.
INDICES = (torch.int64, torch.int32)


def whole(exam: Examination, subject, values: dict, *, page: str) -> None:
    """A requirement: the answer can be the index of a table."""

    def problem() -> str:
        dtype = read(subject(values), "whole numbers").dtype
        return "" if dtype in INDICES else f"returns {dtype}, must be int64 or int32"

    cause = "a lookup needs an integer type of 64 or 32 bits: round down, then cast with .long()"
    exam.holds("returns whole numbers, to look up rows with", problem, page=page, cause=cause)
