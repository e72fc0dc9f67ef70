# SPDX-License-Identifier: MIT
"""keras-hub: how PositionEmbedding refuses positions that the table does not have.

Expected: a ValueError that names the length of the table. Run in .venv-peers-jax.
"""

import os

os.environ.setdefault("KERAS_BACKEND", "torch")

import keras_hub
import torch

layer = keras_hub.layers.PositionEmbedding(8)
layer.build((None, 8, 4))
for tokens, start in ((9, 0), (1, -1)):
    print(f"called: PositionEmbedding(8)({tokens} tokens, start_index={start})")
    try:
        layer(torch.zeros(1, tokens, 4), start_index=start)
    except Exception as error:
        print(f"got {type(error).__name__}")
