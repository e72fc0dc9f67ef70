# SPDX-License-Identifier: MIT
"""transformers: rows 256 and 257 of PEGASUS-X's table for embeddings in bfloat16.

Expected: other rows, sin(257) = -0.573 (Vaswani et al. 2017, section 3.5). Positions are
multiplied in the dtype of the embeddings. Run in .venv-peers.
"""

import math

import torch
from transformers.models.pegasus_x.modeling_pegasus_x import PegasusXSinusoidalPositionalEmbedding

x = torch.zeros(1, 258, 8, dtype=torch.bfloat16)
row, later = PegasusXSinusoidalPositionalEmbedding(8)(x)[0, 256:258].double()
print("called: PegasusXSinusoidalPositionalEmbedding(8)(258 tokens in bfloat16)")
print(f"column 0: expected {math.sin(256):.3f} {math.sin(257):.3f}", end=", ")
print(f"got {float(row[0]):.3f} {float(later[0]):.3f}")
