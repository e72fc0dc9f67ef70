# SPDX-License-Identifier: MIT
"""keras-hub: rotations, on keras' torch.

A layer gets the dtype of its input as its own, as keras asks for; otherwise it would cast.
"""

import os

os.environ.setdefault("KERAS_BACKEND", "torch")

from collections.abc import Iterator

import keras_hub
import torch
from keras_hub.src.models.llama.llama_rotary_embedding import LlamaRotaryEmbedding
from keras_hub.src.models.phi3.phi3_rotary_embedding import Phi3SuScaledRotaryEmbedding

from posenc_check.peers.subject import Subject

LAYERS = keras_hub.layers


def named(x) -> str:
    return str(x.dtype).removeprefix("torch.")


def rope(x, batch_positions):
    layer = LAYERS.RotaryEmbedding(sequence_axis=1, dtype=named(x))
    return layer(x, positions=batch_positions)


def rope_start(x, start):
    layer = LAYERS.RotaryEmbedding(max_wavelength=500_000, sequence_axis=2, dtype=named(x))
    return layer(x, start_index=start)


def speeds(layer, head_dim):
    """(inv_freq, attention_factor): what position 1 makes of the pairs (1, 0)."""
    x = torch.cat((torch.ones(1, 2, head_dim // 2), torch.zeros(1, 2, head_dim // 2)), dim=-1)
    one = torch.complex(*layer(x)[0, 1].double().chunk(2))
    return one.angle(), one.abs().mean()


def linear(head_dim, base, factor):
    return speeds(LAYERS.RotaryEmbedding(base, scaling_factor=factor), head_dim)


def dynamic(head_dim, base, factor):
    layer = LAYERS.RotaryEmbedding(base, scaling_factor=factor, rope_type="dynamic")
    return speeds(layer, head_dim)


def yarn(head_dim, base, factor, trained_length, beta_fast, beta_slow, truncate):
    layer = LAYERS.RotaryEmbedding(
        base,
        scaling_factor=factor,
        rope_type="yarn",
        beta_fast=beta_fast,
        beta_slow=beta_slow,
        original_max_position_embeddings=trained_length,
        truncate=truncate,
    )
    return speeds(layer, head_dim)


def llama3(head_dim, base, factor, trained_length, low_freq_factor, high_freq_factor):
    layer = LlamaRotaryEmbedding(
        base,
        frequency_adjustment_factor=factor,
        low_freq_factor=low_freq_factor,
        high_freq_factor=high_freq_factor,
        pretraining_sequence_length=trained_length,
    )
    return speeds(layer, head_dim)


def llama_linear(head_dim, base, factor):
    return speeds(LlamaRotaryEmbedding(base, position_scaling_factor=factor), head_dim)


class LongRope:
    """Phi-3's layer, its two lengths equal, so that nothing but the speeds changes."""

    def __init__(self, base, trained_length, short_factor, long_factor):
        self.keys = {"max_sequence_length": trained_length, "max_wavelength": base}
        self.keys |= {"pretraining_sequence_length": trained_length}
        self.lists = short_factor, long_factor

    def layer(self, x):
        return Phi3SuScaledRotaryEmbedding(*self.lists, **self.keys, dtype=named(x))

    def __call__(self, x, start):
        return self.layer(x)(x, start_index=start)


class LongRopePositions(LongRope):
    def __call__(self, x, positions):
        return self.layer(x)(x, positions=positions)


def subjects() -> Iterator[Subject]:
    name = "keras_hub.layers.RotaryEmbedding"
    options = {"layout": "half", "axes": "BTHD"}
    yield Subject("rope", f"{name}()(x, positions=positions)", rope, options)
    of = f"{name}(500000, sequence_axis=2)(x, start_index=start)"
    yield Subject("rope", of, rope_start, {"layout": "half", "base": 5e5})
    ends = ", angles of position 1"
    of = f"{name}(base, scaling_factor=factor)" + ends
    yield Subject("scaling", of, linear, {"rule": "linear"})
    of = f'{name}(base, scaling_factor=factor, rope_type="dynamic")' + ends
    yield Subject("scaling", of, dynamic, {"rule": "ntk_aware"})
    of = f'{name}(base, scaling_factor=factor, rope_type="yarn", ...)' + ends
    yield Subject("scaling", of, yarn, {"rule": "yarn"})
    of = "keras_hub's LlamaRotaryEmbedding(base, frequency_adjustment_factor=factor, ...)" + ends
    yield Subject("scaling", of, llama3, {"rule": "llama3"})
    of = "keras_hub's LlamaRotaryEmbedding(base, position_scaling_factor=factor)" + ends
    yield Subject("scaling", of, llama_linear, {"rule": "linear"})
    options = {"rule": "longrope", "axes": "BTHD"}
    options["init"] = "base, trained_length, short_factor, long_factor"
    of = "keras_hub's Phi3SuScaledRotaryEmbedding(...)"
    yield Subject("length_rule", of + "(x, start_index=start)", LongRope, options)
    yield Subject("length_rule", of + "(x, positions=positions)", LongRopePositions, options)
