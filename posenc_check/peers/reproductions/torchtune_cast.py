# SPDX-License-Identifier: MIT
"""torchtune: the table of cos and sin after module.to(torch.bfloat16).

Expected: cos(1) = 0.540302 to the digits of float32, for a float32 input.
Run in .venv-peers-torch.
"""

import torch
from torchtune.modules import RotaryPositionalEmbeddings

x = torch.zeros(1, 2, 1, 16)
x[..., 0] = 1
rope = RotaryPositionalEmbeddings(16)
print("called: RotaryPositionalEmbeddings(16).to(torch.bfloat16)(x), x float32; pair 0, position 1")
print("before the cast:", round(float(rope(x)[0, 1, 0, 0]), 6))
print("after it:", round(float(rope.to(torch.bfloat16)(x)[0, 1, 0, 0]), 6))
