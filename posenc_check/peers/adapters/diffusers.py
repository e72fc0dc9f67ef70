# SPDX-License-Identifier: MIT
"""diffusers: the rotary and sinusoidal functions of diffusers.models.embeddings."""

from collections.abc import Iterator

import torch
from diffusers.models import embeddings as library
from torch import nn

from posenc_check.peers.subject import Subject

HEAD_DIM = 16


def rope(x, positions):
    """As Flux and CogVideoX call it: cos and sin, pairs side by side."""
    tables = library.get_1d_rotary_pos_embed(HEAD_DIM, positions, use_real=True)
    return library.apply_rotary_emb(x, tables)


def rope_half(x, positions):
    """As Stable Audio and CogView 4 call it."""
    tables = library.get_1d_rotary_pos_embed(
        HEAD_DIM, positions, use_real=True, repeat_interleave_real=False
    )
    return library.apply_rotary_emb(x, tables, use_real_unbind_dim=-2)


def rope_complex(x, positions):
    """As Lumina calls it: complex numbers, axes B T H D."""
    turns = library.get_1d_rotary_pos_embed(HEAD_DIM, positions)
    return library.apply_rotary_emb(x, turns[None], use_real=False)


def speeds(head_dim, base, **factors):
    """The angles of position 1."""
    turns = library.get_1d_rotary_pos_embed(head_dim, 2, theta=base, **factors)
    return turns[1].angle()


def linear(head_dim, base, factor):
    return speeds(head_dim, base, linear_factor=factor)


def ntk_aware(head_dim, base, factor):
    return speeds(head_dim, base, ntk_factor=factor)


def table(length, d_model):
    return library.get_1d_sincos_pos_embed_from_grid(d_model, torch.arange(length))


def timesteps(length, d_model):
    return library.get_timestep_embedding(torch.arange(length), d_model, downscale_freq_shift=0)


def timesteps_default(length, d_model):
    return library.get_timestep_embedding(torch.arange(length), d_model)


class Sinusoids(nn.Module):
    def __init__(self, d_model, max_len):
        super().__init__()
        self.table = library.SinusoidalPositionalEmbedding(d_model, max_len)

    def forward(self, x):
        return self.table(x)


def subjects() -> Iterator[Subject]:
    of = "diffusers.models.embeddings."
    text = of + "get_1d_rotary_pos_embed(head_dim, positions, use_real=True), then apply_rotary_emb"
    side = {"layout": "interleaved", "head_dim": HEAD_DIM}
    yield Subject("rope", text, rope, side)
    text = of + "get_1d_rotary_pos_embed(..., repeat_interleave_real=False), then apply_rotary_emb"
    text += "(..., use_real_unbind_dim=-2)"
    yield Subject("rope", text, rope_half, side | {"layout": "half"})
    text = of + "get_1d_rotary_pos_embed(...), then apply_rotary_emb(..., use_real=False)"
    yield Subject("rope", text, rope_complex, side | {"axes": "BTHD"})
    text = of + "get_1d_rotary_pos_embed(head_dim, 2, theta=base, linear_factor=factor), position 1"
    yield Subject("scaling", text, linear, {"rule": "linear"})
    text = of + "get_1d_rotary_pos_embed(head_dim, 2, theta=base, ntk_factor=factor), position 1"
    yield Subject("scaling", text, ntk_aware, {"rule": "ntk_aware"})
    text = of + "get_1d_sincos_pos_embed_from_grid(d_model, arange(length))"
    yield Subject("sinusoidal", text, table, {"layout": "half"})
    text = of + "SinusoidalPositionalEmbedding(d_model, max_len)(x)"
    yield Subject("sinusoidal", text, Sinusoids, {"layout": "interleaved"})
    text = of + "get_timestep_embedding(arange(length), d_model, downscale_freq_shift=0)"
    yield Subject("sinusoidal", text, timesteps, {"layout": "half"})
    text = of + "get_timestep_embedding(arange(length), d_model)"
    note = "the docstring: as in Denoising Diffusion Probabilistic Models, with a shift of 1"
    yield Subject("sinusoidal", text, timesteps_default, {"layout": "half"}, note)
