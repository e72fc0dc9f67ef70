# SPDX-License-Identifier: MIT
"""transformers: one token far behind a cache, in two copies of one sinusoidal class.

Expected: the docstrings of both say "sinusoidal positional embeddings of any length"; M2M100
makes a longer table. Run in .venv-peers.
"""

import torch
from transformers.models.m2m_100.modeling_m2m_100 import M2M100SinusoidalPositionalEmbedding
from transformers.models.speecht5.modeling_speecht5 import SpeechT5SinusoidalPositionalEmbedding

print("called: table(16 positions, width 8, padding 1)(one token, cache_length=100)")
for kind in (M2M100SinusoidalPositionalEmbedding, SpeechT5SinusoidalPositionalEmbedding):
    try:
        shape = tuple(kind(16, 8, 1)(torch.tensor([[2]]), cache_length=100).shape)
        print(f"{kind.__name__}: got a row, {shape}")
    except Exception as error:
        print(f"{kind.__name__}: got {type(error).__name__}: {error}")
