# SPDX-License-Identifier: MIT
"""Runs of attention with a cache: the same tokens, in chunks of any size, from a fresh start."""

import copy
import inspect
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from posenc_check.binding import Binding, name_of
from posenc_check.examination import describe
from posenc_check.subject import Subject, Unusable, guarded

WORDS = ["x", "start", "positions"]
# Parameters that bring the cache of the call before.
HANDED = "past past_key_value past_key_values cache kv_cache layer_past state".split()
# Both runs compute the same numbers; one that rotates in float32 keeps 6 digits of them.
TOLERANCE = 1e-5
# Sequences to find a cause with: where one softmax is a hard choice, another is not.
PROBES = 8


class Runs:
    """`run(x, chunks)` gives the outputs of all chunks, one after the other, (B, T, width)."""

    def __init__(self, exam, make, d_model: int, call: str | None, init: str | None):
        self.exam, self.make, self.d_model, self.call = exam, make, d_model, call
        ready = isinstance(make, nn.Module)
        self.init = None if ready else Binding(make, init, ["d_model"], "")

    def fresh(self) -> Subject:
        """A step with an empty cache, and the weights of every other one."""
        if self.init is None:
            step = guarded(copy.deepcopy, f"copying {name_of(self.make)}", (self.make,), {})
        else:
            args, kwargs = self.init.arguments({"d_model": self.d_model})
            with torch.random.fork_rng(devices=[]):
                torch.manual_seed(0)
                step = guarded(self.make, str(self.init), args, kwargs)
        if not callable(step):
            raise Unusable(f"{self.init} must return a step to call, got {describe(step)}")
        if isinstance(step, nn.Module):
            step = guarded(step.double, "module.double", (), {}).eval()
        target = step.forward if isinstance(step, nn.Module) else step
        if self.call is None:
            _keeps_its_cache(target, name_of(step))
        subject = Subject(step, Binding(target, self.call, WORDS, "x"))
        if self.init is not None:
            subject.name = f"{self.init} -> step({str(subject.binding).partition('(')[2]}"
        return self.exam.called(subject)

    def tokens(self, length: int, batch: int = 2, seed: int = 0) -> Tensor:
        draw = torch.Generator().manual_seed(seed)
        return torch.randn(batch, length, self.d_model, generator=draw, dtype=torch.float64)

    def run(self, x: Tensor, chunks: Sequence[int] | None = None) -> Tensor:
        """chunks left out: all tokens in one call."""
        step, outputs, start = self.fresh(), [], 0
        for part in x.split(list(chunks or [x.shape[1]]), dim=1):
            n = part.shape[1]
            values = {"x": part, "start": start, "positions": torch.arange(start, start + n)}
            with torch.no_grad():
                y = step(values)
            outputs.append(_read(y, part))
            start += n
        return torch.cat(outputs, dim=1)

    def wrong(self, length: int, chunks: Sequence[int]) -> list[bool]:
        """Which tokens come out otherwise than in the full pass."""
        x = self.tokens(length, PROBES)
        return differs(self.run(x, chunks), self.run(x))

    def seen(self, length: int, chunks: Sequence[int] | None = None) -> Tensor:
        """(T, T) bool: whether the output of token i depends on the input of token j.

        However little: a weight may be tiny, and only one that is masked is 0.
        """
        x, columns = self.tokens(length, PROBES), []
        before = self.run(x, chunks)
        for j in range(length):
            other = x.clone()
            other[:, j] = self.tokens(1, PROBES, seed=j + 1)[:, 0]
            columns.append(differs(self.run(other, chunks), before, tolerance=0))
        return torch.tensor(columns).T


def differs(one: Tensor, other: Tensor, tolerance: float = TOLERANCE) -> list[bool]:
    """For each token."""
    near = (one - other).abs() <= tolerance
    return (~near).any(dim=-1).any(dim=0).tolist()


def exchanged(x: Tensor, i: int, j: int) -> Tensor:
    """Two tokens change places."""
    y = x.clone()
    y[:, i], y[:, j] = x[:, j], x[:, i]
    return y


def _keeps_its_cache(step, name: str) -> None:
    """A step that is handed its cache would start with an empty one each time."""
    try:
        handed = [word for word in inspect.signature(step).parameters if word in HANDED]
    except (TypeError, ValueError):  # it tells no names
        return
    if handed:
        raise Unusable(
            f"{name} is handed its cache as {handed[0]}: give a factory instead, whose "
            "step remembers what came back and passes it on in its next call"
        )


def _read(y, part: Tensor) -> Tensor:
    y = y[0] if isinstance(y, tuple) and y else y  # (output, cache)
    wanted = tuple(part.shape[:2])
    if not isinstance(y, Tensor) or y.ndim != 3 or tuple(y.shape[:2]) != wanted:
        text = f"a step must return (B, T, width) like x, here {(*wanted, part.shape[2])}"
        raise Unusable(f"{text}, got {describe(y)}")
    return y.double().cpu()
