# SPDX-License-Identifier: MIT
"""keras-hub: what position_scaling_factor changes in LlamaRotaryEmbedding.

Expected: its docstring says that it scales the positions, as RotaryEmbedding's scaling_factor
does. Run in .venv-peers-jax.
"""

import os

os.environ.setdefault("KERAS_BACKEND", "torch")

import keras_hub
import torch
from keras_hub.src.models.llama.llama_rotary_embedding import LlamaRotaryEmbedding

RotaryEmbedding = keras_hub.layers.RotaryEmbedding
x = torch.ones(1, 3, 8)
gap = LlamaRotaryEmbedding(position_scaling_factor=4.0)(x) - LlamaRotaryEmbedding()(x)
other = RotaryEmbedding(scaling_factor=4.0)(x) - RotaryEmbedding()(x)
print("called: each layer with a factor of 4 and without; largest difference of the outputs")
print(f"RotaryEmbedding(scaling_factor=4.0): {float(other.abs().max()):.3f}")
print(f"LlamaRotaryEmbedding(position_scaling_factor=4.0): {float(gap.abs().max()):.3f}")
