# SPDX-License-Identifier: MIT
"""rotary-embedding-torch: what its state dict holds.

The frequencies are a parameter, so that they can be learned (learned_freq); they are stored,
and cast with the module, when they are not learned too. Expected: a constant that can be
computed is a buffer outside of the state dict. Run in .venv-peers-torch.
"""

import torch
from rotary_embedding_torch import RotaryEmbedding

rope = RotaryEmbedding(16)
print("called: RotaryEmbedding(16).state_dict()")
print("got:", list(rope.state_dict()), "requires_grad:", rope.freqs.requires_grad)
print("after .to(torch.bfloat16):", rope.to(torch.bfloat16).freqs.dtype)
