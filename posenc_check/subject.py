# SPDX-License-Identifier: MIT
"""The reader's code, called so that nothing it does can hurt the check."""

import copy
import traceback
from collections.abc import Callable, Mapping

import torch
from torch import Tensor


class Unusable(Exception):
    """Nothing can be said about the subject; traceback is that of its own exception."""

    def __init__(self, text: str, trace: str = ""):
        super().__init__(text)
        self.traceback = trace


class Subject:
    """A callable with a binding: `subject(values)` passes on what it takes.

    Tensors are copied for each call, and a call that changes one is refused.
    """

    def __init__(self, target: Callable, binding):
        self.target, self.binding = target, binding
        self.name = str(binding)

    def takes(self, *words: str) -> bool:
        return self.binding.takes(*words)

    def __call__(self, values: Mapping):
        args, kwargs = self.binding.arguments(values)
        given = [*args, *kwargs.values()]
        args, kwargs = copied(args), {key: copied(value) for key, value in kwargs.items()}
        answer = guarded(self.target, self.name, args, kwargs)
        for (key, word, _), before, after in zip(
            self.binding.parts, given, [*args, *kwargs.values()], strict=True
        ):
            if not unchanged(before, after):
                raise Unusable(f"{self.name} changes its argument {key or word} in place")
        return answer


def guarded(target: Callable, name: str, args, kwargs):
    """The answer of a call; whatever it raises becomes Unusable, with the traceback kept."""
    try:
        return target(*args, **kwargs)
    except (Exception, SystemExit) as error:
        said = str(error).strip() or f"at {traceback.extract_tb(error.__traceback__)[-1].line!r}"
        text = f"{name} raised {type(error).__name__}: {said}"
        raise Unusable(text, trace=traceback.format_exc()) from error


def copied(value):
    if isinstance(value, Tensor):
        return value.clone() if not value.requires_grad else value
    if isinstance(value, list):
        return [copied(entry) for entry in value]
    return copy.deepcopy(value)


def unchanged(before, after) -> bool:
    if isinstance(before, Tensor):
        # NaN equals itself here.
        return torch.equal(torch.nan_to_num(before), torch.nan_to_num(after))
    if isinstance(before, list):
        return len(before) == len(after) and all(map(unchanged, before, after))
    return before == after
