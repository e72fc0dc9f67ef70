# SPDX-License-Identifier: MIT
"""transformers: how BERT's embeddings refuse positions that the table does not have.

Expected: a text that names the length of the table. Run in .venv-peers.
"""

import torch
import transformers
from transformers.models.bert.modeling_bert import BertEmbeddings

SIZES = {"hidden_size": 4, "num_attention_heads": 1, "vocab_size": 3}
embeddings = BertEmbeddings(transformers.BertConfig(**SIZES, max_position_embeddings=8))
for tokens, start in ((9, 0), (1, -1)):
    print(f"called: BertEmbeddings(8 positions)({tokens} tokens, cache_length={start})")
    try:
        embeddings(inputs_embeds=torch.zeros(1, tokens, 4), cache_length=start)
    except Exception as error:
        print(f"got {type(error).__name__}: {error}")
