# SPDX-License-Identifier: MIT
"""diffusers: by how much get_1d_rotary_pos_embed(ntk_factor=4) slows each pair.

Expected, for NTK-aware scaling by 4 (bloc97, 2023): the first pair by 1, the last by 4. Here
the factor multiplies the base, where the rule has factor ** (dim / (dim - 2)); the docstring
calls it the scaling factor for the NTK-aware RoPE. Run in .venv-peers-torch.
"""

import torch
from diffusers.models.embeddings import get_1d_rotary_pos_embed

WIDTH = 16
plain = get_1d_rotary_pos_embed(WIDTH, 2)[1].angle()
slow = get_1d_rotary_pos_embed(WIDTH, 2, ntk_factor=4.0)[1].angle()
print("called: get_1d_rotary_pos_embed(16, 2, ntk_factor=4.0)")
print("speed divided by, first and last pair: expected [1.0, 4.0], got", end=" ")
print([round(float(ratio), 3) for ratio in (plain / slow)[[0, -1]]])
print("base:", round(float(slow[1]) ** (-WIDTH / 2)), "expected:", round(1e4 * 4 ** (16 / 14)))
