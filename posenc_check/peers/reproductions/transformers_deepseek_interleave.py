# SPDX-License-Identifier: MIT
"""transformers: where apply_rotary_pos_emb_interleave puts the two coordinates of a pair.

A pair that comes in side by side comes back half a head apart; its docstring says so, and
scores are the same as both q and k are reordered. Run in .venv-peers.
"""

import torch
from transformers.models.deepseek_v3.modeling_deepseek_v3 import apply_rotary_pos_emb_interleave

x = torch.tensor([[[[1.0, 2.0, 3.0, 4.0]]]])
cos, sin = torch.ones(1, 1, 4), torch.zeros(1, 1, 4)  # position 0: nothing turns
q, _ = apply_rotary_pos_emb_interleave(x, x, cos, sin)
print("called: apply_rotary_pos_emb_interleave(q, k, cos, sin) at position 0")
print("layout kept:", x.flatten().tolist())
print("got:", q.flatten().tolist())
