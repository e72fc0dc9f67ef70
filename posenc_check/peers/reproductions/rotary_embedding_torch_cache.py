# SPDX-License-Identifier: MIT
"""rotary-embedding-torch: does an earlier call in bfloat16 change a later one in float32?

Expected: the same answer as from an instance that was not called before.
Run in .venv-peers-torch.
"""

import torch
from rotary_embedding_torch import RotaryEmbedding

torch.manual_seed(0)
x = torch.randn(1, 1, 600, 16)
fresh, used = RotaryEmbedding(16), RotaryEmbedding(16)
used.rotate_queries_or_keys(x.bfloat16())
gap = (used.rotate_queries_or_keys(x) - fresh.rotate_queries_or_keys(x)).abs().amax((0, 1, 3))
print("called: rotate_queries_or_keys(x.bfloat16()), then rotate_queries_or_keys(x), 600 rows")
first = int((gap > 0).nonzero()[0])
print(f"rows that differ: expected 0, got {int((gap > 0).sum())}, from row {first} on")
print(f"largest difference: expected 0, got {float(gap.max()):.2f}")
