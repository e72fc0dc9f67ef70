# SPDX-License-Identifier: MIT
"""x-transformers: the angles after module.to(torch.bfloat16), and what the state dict holds.

Expected: neighbouring positions are turned differently (Su et al. 2021, section 3.2).
Run in .venv-peers-torch.
"""

import torch
from x_transformers.x_transformers import RotaryEmbedding

rope = RotaryEmbedding(16)
print("called: RotaryEmbedding(16).state_dict()")
print("got:", list(rope.state_dict()))
freqs, _ = rope.to(torch.bfloat16)(torch.tensor([4094, 4095]))
print("called: RotaryEmbedding(16).to(torch.bfloat16)(positions 4094 and 4095), angles of pair 0")
print("expected: [4094.0, 4095.0], got", freqs[0, :, 0].tolist())
