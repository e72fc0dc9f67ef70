# SPDX-License-Identifier: MIT
"""diffusers: what holds of SinusoidalPositionalEmbedding beside its numbers.

Expected: an odd width or a text, a sum in the dtype of x, no computed table in the state dict,
a text for a sequence past the table. Run in .venv-peers-torch.
"""

import torch
from diffusers.models.embeddings import SinusoidalPositionalEmbedding

table = SinusoidalPositionalEmbedding(8, 16)
print("called: SinusoidalPositionalEmbedding(8, 16)")
print("state dict:", list(table.state_dict()))
print("bfloat16 in:", table(torch.zeros(1, 4, 8, dtype=torch.bfloat16)).dtype)
for text, call in {
    "17 tokens": lambda: table(torch.zeros(1, 17, 8)),
    "width 5": lambda: SinusoidalPositionalEmbedding(5, 16),
}.items():
    try:
        call()
    except Exception as error:
        print(f"{text}: {type(error).__name__}: {error}")
