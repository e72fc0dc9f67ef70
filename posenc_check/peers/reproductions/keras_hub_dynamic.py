# SPDX-License-Identifier: MIT
"""keras-hub: by how much RotaryEmbedding(rope_type="dynamic") slows each pair.

Expected, for NTK-aware scaling by 4 (bloc97, 2023): the first pair by 1, the last by 4.
Run in .venv-peers-jax.
"""

import os

os.environ.setdefault("KERAS_BACKEND", "torch")

import keras_hub
import torch

WIDTH, BASE = 128, 10_000
layer = keras_hub.layers.RotaryEmbedding(BASE, scaling_factor=4.0, rope_type="dynamic")
x = torch.cat((torch.ones(1, 2, WIDTH // 2), torch.zeros(1, 2, WIDTH // 2)), dim=-1)
cos, sin = layer(x)[0, 1].double().chunk(2)  # pairs (1, 0) turned at position 1
ratio = BASE ** (-torch.arange(0, WIDTH, 2).double() / WIDTH) / torch.atan2(sin, cos)
print('called: RotaryEmbedding(10000, scaling_factor=4.0, rope_type="dynamic")(x)')
print("speed divided by, first and last pair: expected [1.0, 4.0], got", end=" ")
print([round(float(r), 3) for r in ratio[[0, -1]]])
