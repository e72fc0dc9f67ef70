"""Right turns: plain RoPE and the rules for longer context, all with speeds of the snippets."""

import torch
from torch import Tensor

from lab.models.decoder import Turn
from snippets.rope import apply_rope, rope_inv_freq
from snippets.rope_scaling import dynamic_ntk, linear, ntk_aware
from snippets.yarn import yarn

FACTOR = 2.0
RULES = ("plain", "PI", "NTK", "dynamic NTK", "YaRN")


def speeds(
    rule: str, head_dim: int, base: float, length: int, trained_length: int
) -> tuple[Tensor, float]:
    """(inv_freq, attention_factor) of a rule, with factor 2 where it has one."""
    if rule == "plain":
        return rope_inv_freq(head_dim, base), 1.0
    if rule == "PI":
        return linear(head_dim, FACTOR, base)
    if rule == "NTK":
        return ntk_aware(head_dim, FACTOR, base)
    if rule == "dynamic NTK":  # its factor 1 is the paper's: grow with length / trained_length
        return dynamic_ntk(head_dim, length, trained_length, 1.0, base)
    if rule == "YaRN":
        return yarn(head_dim, FACTOR, trained_length, base=base)
    raise ValueError(f"rule must be one of {RULES}, got {rule!r}")


def turn_by(inv_freq: Tensor, attention_factor: float, positions: Tensor) -> Turn:
    """q and k turned by the same positions (T,)."""

    def turn(q: Tensor, k: Tensor) -> tuple[Tensor, Tensor]:
        return tuple(
            apply_rope(x, positions, inv_freq, attention_factor=attention_factor) for x in (q, k)
        )

    return turn


def plain(head_dim: int, base: float, positions: Tensor) -> Turn:
    return turn_by(rope_inv_freq(head_dim, base), 1.0, positions)


def first(length: int) -> Tensor:
    """Positions of a text that starts here, (T,)."""
    return torch.arange(length)
