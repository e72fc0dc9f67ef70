# SPDX-License-Identifier: MIT
"""keras-hub: rows 256 and 257 of SinePositionEncoding(dtype="bfloat16").

Expected: sin(256) and sin(257) (Vaswani et al. 2017, section 3.5). Positions are cast to the
compute dtype before they are multiplied. Run in .venv-peers-jax.
"""

import os

os.environ.setdefault("KERAS_BACKEND", "torch")

import math

import keras_hub
import torch

x = torch.zeros(1, 258, 8, dtype=torch.bfloat16)
rows = keras_hub.layers.SinePositionEncoding(dtype="bfloat16")(x)[0, 256:258, 0].tolist()
print('called: SinePositionEncoding(dtype="bfloat16")(258 tokens), column 0')
print(f"expected {math.sin(256):.3f} {math.sin(257):.3f}, got {rows[0]:.3f} {rows[1]:.3f}")
