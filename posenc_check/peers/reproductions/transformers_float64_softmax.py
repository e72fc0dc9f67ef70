# SPDX-License-Identifier: MIT
"""transformers: a padding query in eager attention, in float32 and in float64.

Expected: finite numbers. The mask holds the smallest number of its dtype, and softmax is taken
in float32, in which that of float64 is minus infinity. Run in .venv-peers.
"""

from types import SimpleNamespace

import torch
import transformers
from transformers.masking_utils import create_causal_mask
from transformers.models.llama.modeling_llama import eager_attention_forward

SIZES = {"hidden_size": 8, "num_attention_heads": 2, "num_hidden_layers": 1, "vocab_size": 3}
config = transformers.LlamaConfig(**SIZES, attn_implementation="eager", pad_token_id=0)
module = SimpleNamespace(num_key_value_groups=1, training=False)
print("called: eager_attention_forward with create_causal_mask, token 0 of 3 is a pad; its output")
for dtype in (torch.float32, torch.float64):
    x = torch.ones(1, 2, 3, 4, dtype=dtype)
    keep = torch.tensor([[0, 1, 1]])
    mask = create_causal_mask(config, torch.zeros(1, 3, 8, dtype=dtype), keep, None)
    y, _ = eager_attention_forward(module, x, x, x, mask, scaling=0.5)
    print(f"{dtype}: {y[0, 0, 0].tolist()}")
