# SPDX-License-Identifier: MIT
"""transformers: which row the first token gets in tables taken over from fairseq.

Expected without padding: row 0. Comments in the classes of BART and OPT, and the docstring of
M2M100's create_position_ids_from_input_ids, name the offset. Run in .venv-peers.
"""

import math

import torch
from transformers.models.bart.modeling_bart import BartLearnedPositionalEmbedding
from transformers.models.m2m_100.modeling_m2m_100 import M2M100SinusoidalPositionalEmbedding
from transformers.models.opt.modeling_opt import OPTLearnedPositionalEmbedding

tokens = torch.ones(1, 1, dtype=torch.int64)
for kind in (BartLearnedPositionalEmbedding, OPTLearnedPositionalEmbedding):
    table = kind(8, 4)
    row = (table.weight == table(tokens)[0, 0]).all(dim=1).nonzero().item()
    print(f"{kind.__name__}(8, 4): {len(table.weight)} rows, the first token gets row {row}")
table = M2M100SinusoidalPositionalEmbedding(8, 4, 1)
sine = table(inputs_embeds=torch.zeros(1, 1, 4))[0, 0, 0]
print("M2M100SinusoidalPositionalEmbedding(8, 4, 1): sine of the first token", end=" ")
print(f"{float(sine):.6f}, sin(2): {math.sin(2):.6f}")
