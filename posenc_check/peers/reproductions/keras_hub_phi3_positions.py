# SPDX-License-Identifier: MIT
"""keras-hub: Phi3SuScaledRotaryEmbedding with given positions.

Expected: the rotation of RotaryEmbedding.call, which it inherits, at these positions.
Run in .venv-peers-jax.
"""

import os

os.environ.setdefault("KERAS_BACKEND", "torch")

import torch
from keras_hub.src.models.phi3.phi3_rotary_embedding import Phi3SuScaledRotaryEmbedding

layer = Phi3SuScaledRotaryEmbedding([1.0] * 4, [2.0] * 4)
print("called: layer(x, positions=[0, 1, 2]), x of shape (1, 3, 2, 8)")
try:
    y = layer(torch.ones(1, 3, 2, 8), positions=torch.arange(3))
    print("got an answer of shape", tuple(y.shape))
except Exception as error:
    text = str(error).replace("\x1b[1m", "").splitlines()
    print("got", type(error).__name__, "in", text[2][:90])
