"""Loss, accuracy and distance to the right model, by position.

`following` holds the token that comes after each position, so every score has T entries.
"""

from typing import Callable

import torch
from torch import Tensor
from torch.nn import functional

CHUNK = 512  # positions at a time: their logits, 49152 each, are 100 MB


def token_losses(hidden: Tensor, following: Tensor, to_logits: Callable) -> Tensor:
    """Nats of the token after each position, (T,), from the last layer's output (T, d_model)."""
    if len(hidden) != len(following):
        raise ValueError(
            f"following must have one token for each of {len(hidden)} rows, got {len(following)}"
        )
    parts = (
        functional.cross_entropy(to_logits(rows), wanted, reduction="none")
        for rows, wanted in zip(hidden.split(CHUNK), following.split(CHUNK), strict=True)
    )
    return torch.cat(list(parts))


def segment_means(values: Tensor, segment: int) -> list[float]:
    """Means over the positions [0, segment), [segment, 2 segment), ... of values (T,)."""
    if segment < 1 or len(values) % segment:
        raise ValueError(f"segment must divide the {len(values)} positions, got {segment}")
    return [float(f"{part.double().mean().item():.6g}") for part in values.split(segment)]


def compared(right: Tensor, other: Tensor, following: Tensor) -> dict[str, Tensor]:
    """Logits (T, V) of two models at the same positions; each score is (T,).

    kl is KL(right || other) in nats, difference the largest one of a position's logits.
    """
    a, b = right.float().log_softmax(-1), other.float().log_softmax(-1)  # (T, V)
    return {
        "loss": -b.gather(1, following[:, None])[:, 0],
        "accuracy": (other.argmax(-1) == following).float(),
        "kl": (a.exp() * (a - b)).sum(-1),
        "same_first": (right.argmax(-1) == other.argmax(-1)).float(),
        "difference": (right - other).abs().amax(-1).float(),
    }
