# SPDX-License-Identifier: MIT
"""rotary-embedding-torch: RotaryEmbedding, with a module of its own for each base."""

from collections.abc import Iterator

from rotary_embedding_torch import RotaryEmbedding, apply_rotary_emb
from torch import nn

from posenc_check.peers.subject import Subject


class Rotation(nn.Module):
    """rotate_queries_or_keys(x, offset=start), axes B H T D."""

    def __init__(self, head_dim, base, **keys):
        super().__init__()
        self.rope = RotaryEmbedding(head_dim, theta=base, **keys)

    def forward(self, x, start):
        return self.rope.rotate_queries_or_keys(x, offset=start)


class Uncached(Rotation):
    def __init__(self, head_dim, base):
        super().__init__(head_dim, base, cache_if_possible=False)


class TokensFirst(nn.Module):
    """The same with seq_before_head_dim, axes B T H D."""

    def __init__(self, head_dim, base):
        super().__init__()
        self.rope = RotaryEmbedding(head_dim, theta=base, seq_before_head_dim=True)

    def forward(self, x, start):
        return self.rope.rotate_queries_or_keys(x, offset=start)


class AtPositions(nn.Module):
    """The frequencies of given positions, and the function that applies them."""

    def __init__(self, head_dim, base):
        super().__init__()
        self.rope = RotaryEmbedding(head_dim, theta=base)

    def forward(self, x, positions):
        return apply_rotary_emb(self.rope(positions), x)


def linear(head_dim, base, factor):
    rope = RotaryEmbedding(head_dim, theta=base, interpolate_factor=factor)
    return rope.freqs.detach() * rope.get_seq_pos(2)[1]  # radians from position 0 to 1


def ntk_aware(head_dim, base, factor):
    return RotaryEmbedding(head_dim, theta=base, theta_rescale_factor=factor).freqs.detach()


def subjects() -> Iterator[Subject]:
    name = "rotary_embedding_torch.RotaryEmbedding"
    keys = {"layout": "interleaved", "init": "head_dim, base"}
    text = f"{name}(dim, theta=base).rotate_queries_or_keys"
    yield Subject("rope", f"{text}(x, offset=start)", Rotation, keys)
    of = f"{name}(dim, theta=base, cache_if_possible=False).rotate_queries_or_keys(x, offset=start)"
    yield Subject("rope", of, Uncached, keys)
    of = f"{name}(dim, theta=base, seq_before_head_dim=True).rotate_queries_or_keys(x, offset)"
    yield Subject("rope", of, TokensFirst, keys | {"axes": "BTHD"})
    of = f"rotary_embedding_torch.apply_rotary_emb({name}(dim, theta=base)(positions), x)"
    yield Subject("rope", of, AtPositions, keys)
    of = f"{name}(8, theta=base) with rotate_queries_or_keys on heads of 16"
    yield Subject("rope", of, Rotation, keys | {"rotary_dim": 8})
    of = f"{name}(dim, theta=base, interpolate_factor=factor): freqs and get_seq_pos"
    yield Subject("scaling", of, linear, {"rule": "linear", "factor": 4.0})
    of = f"{name}(dim, theta=base, theta_rescale_factor=factor).freqs"
    yield Subject("scaling", of, ntk_aware, {"rule": "ntk_aware", "factor": 4.0})
