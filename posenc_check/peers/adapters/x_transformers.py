# SPDX-License-Identifier: MIT
"""x-transformers: the classes of x_transformers.x_transformers, taken one by one."""

from collections.abc import Iterator

import torch
from torch import nn
from x_transformers import x_transformers as library

from posenc_check.peers.subject import Subject


class Rotation(nn.Module):
    """RotaryEmbedding, then apply_rotary_pos_emb on a tensor of axes B H T D."""

    def __init__(self, head_dim, base):
        super().__init__()
        self.rope = library.RotaryEmbedding(head_dim, base=base)

    def forward(self, x, batch_positions):
        freqs, scale = self.rope(batch_positions)
        return library.apply_rotary_pos_emb(x, freqs, scale)


class Sinusoids(nn.Module):
    """x plus what ScaledSinusoidalEmbedding gives for it, as it is initialised."""

    def __init__(self, d_model, base=10_000):
        super().__init__()
        self.table = library.ScaledSinusoidalEmbedding(d_model, theta=base)

    def forward(self, x, start):
        return x + self.table(x, offset=start)


class UnitSinusoids(Sinusoids):
    """The same after training has moved its one parameter to 1."""

    def __init__(self, d_model, base=10_000):
        super().__init__(d_model, base)
        nn.init.ones_(self.table.scale)


class Learned(nn.Module):
    """x plus the rows of AbsolutePositionalEmbedding."""

    def __init__(self, d_model, max_len):
        super().__init__()
        self.table = library.AbsolutePositionalEmbedding(d_model, max_len)

    def forward(self, x, start):
        return x + self.table(x, offset=start)


def bucket(gap, bidirectional):
    rule = {"num_buckets": 32, "max_distance": 128}
    of = library.RelativePositionBias._relative_position_bucket
    return of(gap, causal=not bidirectional, **rule)


def slopes(n_heads):
    return torch.tensor(library.AlibiPositionalBias._get_slopes(n_heads))


def alibi(n_heads, q_len, k_len):
    return library.AlibiPositionalBias(n_heads)(q_len, k_len)


def alibi_positions(n_heads, q_len, k_len):
    k_positions = torch.arange(k_len)
    return library.AlibiPositionalBias(n_heads).forward_custom_pos(
        k_positions[k_len - q_len :], k_positions
    )


def linear(head_dim, base, factor):
    rope = library.RotaryEmbedding(head_dim, base=base, interpolation_factor=factor)
    return rope(torch.tensor([0, 1]))[0][0, 1, ::2]  # the angles of position 1


def ntk_aware(head_dim, base, factor):
    return library.RotaryEmbedding(head_dim, base=base, base_rescale_factor=factor).inv_freq


def subjects() -> Iterator[Subject]:
    of = "x_transformers.x_transformers."
    text = of + "RotaryEmbedding(dim, base=base)(positions), then apply_rotary_pos_emb"
    rope = {"layout": "interleaved", "init": "head_dim, base"}
    yield Subject("rope", text, Rotation, rope)
    yield Subject("rope", text + " on heads wider than dim", Rotation, rope | {"rotary_dim": 8})
    text = f"x + {of}ScaledSinusoidalEmbedding(d_model)(x, offset=start)"
    note = "the name of the class: the table is scaled; the scale begins at d_model ** -0.5"
    yield Subject("sinusoidal", text, Sinusoids, {"layout": "half"}, note)
    text += ", its parameter scale set to 1"
    yield Subject("sinusoidal", text, UnitSinusoids, {"layout": "half"})
    text = f"x + {of}AbsolutePositionalEmbedding(d_model, max_len)(x, offset=start)"
    yield Subject("learned", text, Learned)
    text = of + "RelativePositionBias._relative_position_bucket(gap, causal=not bidirectional)"
    yield Subject("t5", text, bucket)
    yield Subject("alibi_slopes", of + "AlibiPositionalBias._get_slopes(n_heads)", slopes)
    yield Subject("alibi", of + "AlibiPositionalBias(n_heads)(q_len, k_len)", alibi)
    text = of + "AlibiPositionalBias(n_heads).forward_custom_pos(q_positions, k_positions)"
    yield Subject("alibi", text, alibi_positions)
    text = of + "RotaryEmbedding(dim, base=base, interpolation_factor=factor), angles of position 1"
    yield Subject("scaling", text, linear, {"rule": "linear", "factor": 4.0})
    text = of + "RotaryEmbedding(dim, base=base, base_rescale_factor=factor).inv_freq"
    yield Subject("scaling", text, ntk_aware, {"rule": "ntk_aware", "factor": 4.0})
