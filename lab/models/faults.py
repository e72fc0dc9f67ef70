"""The classic faults of rotation code, each as a turn that is wrong in one way."""

from typing import Callable

import torch
from torch import Tensor

from lab.models.decoder import Turn
from snippets.rope import apply_rope, rope_inv_freq

BF16 = torch.bfloat16


def by_angles(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """x (1, H, T, D) turned in half layout by given cosines and sines, (T, P)."""
    a, b = x.chunk(2, dim=-1)  # 2 x (1, H, T, P)
    return torch.cat((a * cos - b * sin, b * cos + a * sin), dim=-1)


def _both(change: Callable) -> Callable:
    """A fault that treats q and k alike: change(x, positions, inv_freq)."""

    def fault(positions: Tensor, head_dim: int, base: float) -> Turn:
        inv_freq = rope_inv_freq(head_dim, base)
        return lambda q, k: (change(q, positions, inv_freq), change(k, positions, inv_freq))

    return fault


def _only_q(positions: Tensor, head_dim: int, base: float) -> Turn:
    inv_freq = rope_inv_freq(head_dim, base)
    return lambda q, k: (apply_rope(q, positions, inv_freq), k)


def _wrong_sign(x, positions, inv_freq):
    """base ** (+2i/D): the speeds are one over the right ones."""
    return apply_rope(x, positions, 1 / inv_freq)


def _base_10000(x, positions, inv_freq):
    return apply_rope(x, positions, rope_inv_freq(2 * len(inv_freq), 10_000.0))


def _bf16_positions(x, positions, inv_freq):
    return apply_rope(x, positions.to(BF16).float(), inv_freq)


def _bf16_inv_freq(x, positions, inv_freq):
    return apply_rope(x, positions, inv_freq.to(BF16).float())


def _bf16_angles(x, positions, inv_freq):
    angle = (positions.float()[:, None] * inv_freq.float()).to(BF16).double()  # (T, P)
    return by_angles(x, angle.cos().to(x.dtype), angle.sin().to(x.dtype))


def _bf16_cos_sin(x, positions, inv_freq):
    angle = positions.double()[:, None] * inv_freq  # (T, P)
    return by_angles(x, angle.cos().to(BF16).to(x.dtype), angle.sin().to(BF16).to(x.dtype))


FAULTS = {
    "right": _both(apply_rope),
    "wrong frequency sign": _both(_wrong_sign),
    "only q rotated": _only_q,
    "other layout": _both(lambda x, p, w: apply_rope(x, p, w, layout="interleaved")),
    "direction flipped": _both(lambda x, p, w: apply_rope(x, -p, w)),
    "no RoPE": _both(lambda x, p, w: x),
    "base 10000": _both(_base_10000),
    "bf16 positions": _both(_bf16_positions),
    "bf16 angles": _both(_bf16_angles),
    "bf16 inv_freq": _both(_bf16_inv_freq),
    "bf16 cos and sin": _both(_bf16_cos_sin),
}

# How the second call counts, given how many tokens the cache holds and how many are new.
COUNTS = {
    "right cache": lambda cached, new: torch.arange(cached, cached + new),
    "cache restart at 0": lambda cached, new: torch.arange(new),
    "every new token at 0": lambda cached, new: torch.zeros(new, dtype=torch.int64),
    "cache one too far": lambda cached, new: torch.arange(cached, cached + new) + 1,
    "cache one too few": lambda cached, new: torch.arange(cached, cached + new) - 1,
}
