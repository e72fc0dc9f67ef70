# SPDX-License-Identifier: MIT
"""keras-hub: tables, biases, and masks, on keras' torch.

A layer gets the dtype of its input as its own, as keras asks for; otherwise it would cast.
"""

import os

os.environ.setdefault("KERAS_BACKEND", "torch")

from collections.abc import Iterator

import keras_hub
import torch
from keras_hub.src.layers.modeling.transformer_layer_utils import compute_causal_mask
from keras_hub.src.models.t5.t5_multi_head_attention import T5MultiHeadAttention
from torch import nn

from posenc_check.peers.subject import Subject

LAYERS = keras_hub.layers


def named(x) -> str:
    return str(x.dtype).removeprefix("torch.")


class Sinusoids(nn.Module):
    """x plus what SinePositionEncoding gives for it."""

    def forward(self, x, start):
        return x + LAYERS.SinePositionEncoding(dtype=named(x))(x, start_index=start)


class Learned(nn.Module):
    """x plus the rows that PositionEmbedding gives for it."""

    def __init__(self, d_model, max_len):
        super().__init__()
        self.layer = LAYERS.PositionEmbedding(max_len)
        self.layer.build((None, max_len, d_model))

    def forward(self, x, start):
        return x + self.layer(x, start_index=start)


def slopes(n_heads):
    return torch.tensor(LAYERS.AlibiBias()._get_slopes(n_heads))


def alibi(n_heads, q_len, k_len):
    return LAYERS.AlibiBias()(torch.zeros(1, n_heads, q_len, k_len))[0]


def bucket(gap, bidirectional):
    return T5MultiHeadAttention._relative_position_bucket(gap, bidirectional)


def mask(q_len, k_len):
    return compute_causal_mask(1, k_len, q_len, k_len - q_len)[0]


def subjects() -> Iterator[Subject]:
    of = "x + keras_hub.layers.SinePositionEncoding()(x, start_index=start)"
    yield Subject("sinusoidal", of, Sinusoids, {"layout": "interleaved"})
    of = "x + keras_hub.layers.PositionEmbedding(max_len)(x, start_index=start)"
    yield Subject("learned", of, Learned)
    yield Subject("alibi_slopes", "keras_hub.layers.AlibiBias()._get_slopes(n_heads)", slopes)
    yield Subject("alibi", "keras_hub.layers.AlibiBias() on scores of zeros", alibi)
    of = "keras_hub's T5MultiHeadAttention._relative_position_bucket(gap, bidirectional)"
    yield Subject("t5", of, bucket)
    of = "keras_hub's compute_causal_mask(1, k_len, q_len, cache_index=k_len - q_len)"
    yield Subject("mask", of, mask)
