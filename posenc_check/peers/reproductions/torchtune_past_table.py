# SPDX-License-Identifier: MIT
"""torchtune: a position past max_seq_len.

Expected: the docstring of RotaryPositionalEmbeddings says that the table is recomputed if
max_seq_len is exceeded. Run in .venv-peers-torch.
"""

import torch
from torchtune.modules import RotaryPositionalEmbeddings

rope = RotaryPositionalEmbeddings(16, max_seq_len=8)
print("called: RotaryPositionalEmbeddings(16, max_seq_len=8) on 9 tokens, and on position 8")
for keys in ({}, {"input_pos": torch.tensor([[8]])}):
    x = torch.ones(1, 1 if keys else 9, 1, 16)
    try:
        rope(x, **keys)
        print("got an answer")
    except Exception as error:
        print(f"got {type(error).__name__}: {error}")
