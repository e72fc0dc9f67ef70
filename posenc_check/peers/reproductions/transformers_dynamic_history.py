# SPDX-License-Identifier: MIT
"""transformers: does rope_type dynamic depend on the sequences seen before?

Expected: a sequence has the speeds of its own length (bloc97 and emozilla, 2023). The comments
of dynamic_rope_update say that they grow with the longest one and go back below the trained
length. Run in .venv-peers.
"""

import torch
import transformers
from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding

BLOCK = {"rope_type": "dynamic", "rope_theta": 10_000.0, "factor": 2.0}
SIZES = {"hidden_size": 64, "num_attention_heads": 4, "max_position_embeddings": 16}


def first_row(*lengths):
    """cos of pair 1 at position 1, in the last of these sequences."""
    rotary = LlamaRotaryEmbedding(transformers.LlamaConfig(**SIZES, rope_parameters=BLOCK))
    for length in lengths:
        cos, _ = rotary(torch.zeros(1), torch.arange(length)[None])
    return f"{float(cos[0, 1, 1]):.6f}"


print("called: LlamaRotaryEmbedding(config)(x, arange(length)), trained length 16; cos of pair 1")
for length in (15, 16, 17, 32):
    print(f"length {length}: alone {first_row(length)}, after length 64 {first_row(64, length)}")
