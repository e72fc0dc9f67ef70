"""Loss of the same target tokens, seen with contexts of different length.

A span of targets is scored in two ways. Sliding: windows of the length end every `stride` tokens
and only their last `stride` targets count, so that each target has (almost) the whole length
before it. Plain: windows lie side by side and all targets count, those at the start of a window
with hardly any context. The targets are the same at every length and in both ways.
"""

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

TOKENS_AT_ONCE = 8192  # bounds the memory of one forward pass


def windows(tokens: Tensor, ends: Tensor, length: int) -> tuple[Tensor, Tensor]:
    """Inputs and targets, (W, length) each; the last target of a window is tokens[end]."""
    first = ends[:, None] - length
    if bool((first < 0).any()) or bool((ends >= len(tokens)).any()):
        raise ValueError(
            f"ends must be from {length} to {len(tokens) - 1}, "
            f"got {ends.min().item()} to {ends.max().item()}"
        )
    rows = tokens[first + torch.arange(length + 1)]  # (W, length + 1)
    return rows[:, :-1], rows[:, 1:]


@torch.no_grad()
def losses(logits_of: Callable[[Tensor], Tensor], inputs: Tensor, targets: Tensor) -> Tensor:
    """Cross-entropy of each target in nats, (W, length)."""
    at_once = max(1, TOKENS_AT_ONCE // inputs.shape[1])
    found = []
    for rows, wanted in zip(inputs.split(at_once), targets.split(at_once)):
        logits = logits_of(rows)  # (W, length, n_symbols)
        found.append(cross_entropy(logits.transpose(1, 2), wanted, reduction="none"))
    return torch.cat(found)


def check_span(first: int, last: int, length: int, stride: int) -> None:
    for name, step in (("length", length), ("stride", stride)):
        if (last - first) % step:
            raise ValueError(f"{name} must divide the span of {last - first}, got {step}")


def score(
    logits_of: Callable[[Tensor], Tensor],
    tokens: Tensor,
    length: int,
    *,
    span: tuple[int, int],
    stride: int = 32,
    bin_size: int = 8,
) -> dict:
    """Targets tokens[first:last], span = (first, last), with windows of one length.

    Returns:
        sliding: mean loss, each target with length - stride + 1 to length tokens before it.
        plain: mean loss, each target with 1 to length tokens before it.
        by_position: mean loss over all windows of the sliding kind, `bin_size` places together.
    """
    first, last = span
    check_span(first, last, length, stride)
    ends = torch.arange(first + stride, last + 1, stride) - 1
    slid = losses(logits_of, *windows(tokens, ends, length))  # (W, length)
    side_by_side = torch.arange(first + length, last + 1, length) - 1
    plain = losses(logits_of, *windows(tokens, side_by_side, length))
    by_position = slid.double().mean(0).unflatten(0, (-1, bin_size)).mean(1)
    return {
        "sliding": slid[:, -stride:].double().mean().item(),
        "plain": plain.double().mean().item(),
        "by_position": by_position.tolist(),
    }
