# SPDX-License-Identifier: MIT
"""transformers: what holds of sinusoidal tables that are an nn.Embedding, or a buffer.

Expected: a sum has the dtype of x, a computed table is not in the state dict, a position past
it is refused with a text. Tables have the dtype of the model, so x usually has it too.
Run in .venv-peers.
"""

import torch
from transformers.models.m2m_100.modeling_m2m_100 import M2M100SinusoidalPositionalEmbedding
from transformers.models.marian.modeling_marian import MarianSinusoidalPositionalEmbedding
from transformers.models.roformer.modeling_roformer import RoFormerSinusoidalPositionalEmbedding

x = torch.zeros(1, 4, 8, dtype=torch.bfloat16)
for kind in (MarianSinusoidalPositionalEmbedding, RoFormerSinusoidalPositionalEmbedding):
    table = kind(16, 8)
    print(f"called: {kind.__name__}(16, 8)")
    print("state dict:", list(table.state_dict()))
    print("bfloat16 x + table:", (x + table(x.shape)).dtype)
    try:
        table(x.shape, 16)
    except Exception as error:
        print(f"position 16: {type(error).__name__}: {error}")
table = M2M100SinusoidalPositionalEmbedding(16, 8, 1)
print("called: M2M100SinusoidalPositionalEmbedding(16, 8, 1)")
print("state dict:", list(table.state_dict()), "bfloat16 x + table:", (x + table(None, x)).dtype)
