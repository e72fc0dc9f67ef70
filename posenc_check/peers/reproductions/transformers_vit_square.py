# SPDX-License-Identifier: MIT
"""transformers: ViT's position table of a grid of 3 rows and 5 columns, for another size.

Expected: a row for each new cell. The old grid is taken to be square. Run in .venv-peers.
"""

import torch
import transformers
from transformers.models.vit.modeling_vit import ViTEmbeddings

SIZES = {"hidden_size": 4, "num_attention_heads": 1, "patch_size": 2, "image_size": (6, 10)}
embeddings = ViTEmbeddings(transformers.ViTConfig(**SIZES))
print("called: ViTEmbeddings(image_size=(6, 10), patch_size=2).interpolate_pos_encoding, to 4 x 6")
try:
    print(embeddings.interpolate_pos_encoding(torch.zeros(1, 25, 4), 8, 12).shape)
except Exception as error:
    print(f"got {type(error).__name__}: {error}")
