# SPDX-License-Identifier: MIT
"""transformers: relative positions of 1 query and 4 keys in wav2vec2-BERT.

Expected, if the query were the last of the keys: -3 -2 -1 0 (Shaw et al. 2018, equation 3).
The model is an encoder without a cache; its q and k have one length. Run in .venv-peers.
"""

from types import SimpleNamespace

import torch
from transformers.models.wav2vec2_bert.modeling_wav2vec2_bert import (
    _apply_relative_key_position_encoding,
)

table = torch.nn.Embedding(9, 1)
table.weight.data.copy_(torch.arange(9)[:, None])
reach = {"left_max_position_embeddings": 4, "right_max_position_embeddings": 4}
module = SimpleNamespace(distance_embedding=table, scaling=1.0, **reach)
q, k = torch.ones(1, 1, 1, 1), torch.ones(1, 1, 4, 1)
rows = _apply_relative_key_position_encoding(module, q, k)[1].flatten()
print("called: _apply_relative_key_position_encoding(reach 4, 1 query, 4 keys)")
print("got:", [int(row) - 4 for row in rows])
