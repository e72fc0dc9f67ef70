# SPDX-License-Identifier: MIT
"""rotary-embedding-torch: at which position is a bfloat16 tensor turned?

Expected: neighbouring positions are turned differently (Su et al. 2021, section 3.2).
bfloat16 counts to 256, and positions are made in the dtype of x. Run in .venv-peers-torch.
"""

import torch
from rotary_embedding_torch import RotaryEmbedding

x = torch.ones(1, 1, 1, 16, dtype=torch.bfloat16)
first, second = (
    RotaryEmbedding(16).rotate_queries_or_keys(x, offset=place)[0, 0, 0, 0].item()
    for place in (256, 257)
)
right = [torch.tensor(p).double() for p in (256.0, 257.0)]
print("called: rotate_queries_or_keys(ones in bfloat16, offset=256) and offset=257")
print("expected:", *(round(float(p.cos() - p.sin()), 3) for p in right))
print("got:", round(first, 3), round(second, 3))
