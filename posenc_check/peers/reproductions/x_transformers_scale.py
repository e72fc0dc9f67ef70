# SPDX-License-Identifier: MIT
"""x-transformers: the length of a row of its tables.

Expected for a sinusoidal row of width 64: sqrt(64 / 2) (Vaswani et al. 2017, section 3.5).
Both classes multiply by d_model ** -0.5; the sinusoidal one trains this factor, and its name,
ScaledSinusoidalEmbedding, says that there is one. Run in .venv-peers-torch.
"""

import torch
from x_transformers.x_transformers import AbsolutePositionalEmbedding, ScaledSinusoidalEmbedding

x = torch.zeros(1, 1, 64)
row = ScaledSinusoidalEmbedding(64)(x)[0].detach()
print("called: ScaledSinusoidalEmbedding(64)(x)")
print(f"length of row 0: expected {32**0.5:.4f}, got {float(row.norm()):.4f}")
table = AbsolutePositionalEmbedding(64, 4)
ratio = (table(x)[0] / table.emb.weight[0]).detach()
print("called: AbsolutePositionalEmbedding(64, 4)(x)")
print(f"row 0 over its parameter: expected 1, got {float(ratio.mean()):.4f}")
