"""Training in a loop that can be read: random windows, AdamW, a learning rate that ends at zero."""

import math
from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from lab.model import SmallModel

IGNORED = -100  # a target that is not scored
Batch = tuple[Tensor, Tensor]  # tokens and targets, (B, T) each
Placing = Callable[[int, torch.Generator], Tensor]  # a length in, positions (T,) out


class Plan(NamedTuple):
    steps: int
    length: int = 64
    batch: int = 16
    learning_rate: float = 3e-3
    warm_up: int = 50


def consecutive(length: int, generator: torch.Generator) -> Tensor:
    return torch.arange(length)


def randomized(highest: int) -> Placing:
    """Rising positions drawn from range(highest), one draw for a batch (arXiv:2305.16843)."""

    def place(length: int, generator: torch.Generator) -> Tensor:
        if length > highest:
            raise ValueError(f"length must be at most {highest}, got {length}")
        return torch.randperm(highest, generator=generator)[:length].sort().values

    return place


def random_windows(tokens: Tensor, length: int, batch: int, generator: torch.Generator) -> Batch:
    """Windows from anywhere in the text; the target of a token is the next one."""
    if len(tokens) <= length:
        raise ValueError(f"tokens must be more than length={length}, got {len(tokens)}")
    first = torch.randint(len(tokens) - length, (batch, 1), generator=generator)
    rows = tokens[first + torch.arange(length + 1)]  # (batch, length + 1)
    return rows[:, :-1], rows[:, 1:]


def learning_rate(step: int, plan: Plan) -> float:
    """A linear rise over `warm_up` steps, then half a cosine down to zero."""
    rise = min(1.0, (step + 1) / plan.warm_up)
    return plan.learning_rate * rise * 0.5 * (1 + math.cos(math.pi * step / plan.steps))


def train(
    model: SmallModel,
    plan: Plan,
    draw: Callable[[Plan, torch.Generator], Batch],
    *,
    seed: int,
    placing: Placing = consecutive,
) -> None:
    """Train in place. Batches and positions come from generators of their own, so that all
    methods of one seed read the same batches."""
    texts, places = (torch.Generator().manual_seed(seed) for _ in range(2))
    optimizer = torch.optim.AdamW(model.parameters(), weight_decay=0.0, betas=(0.9, 0.98))
    for step in range(plan.steps):
        for group in optimizer.param_groups:
            group["lr"] = learning_rate(step, plan)
        tokens, targets = draw(plan, texts)
        logits = model(tokens, placing(tokens.shape[1], places))  # (B, T, n_symbols)
        loss = cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=IGNORED)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
