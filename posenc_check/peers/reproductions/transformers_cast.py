# SPDX-License-Identifier: MIT
"""transformers: the speeds of a Llama after model.to(torch.bfloat16).

Expected: unchanged; a rotation by rounded speeds is off by more at each position. A model that
from_pretrained or _from_config builds with dtype=torch.bfloat16 keeps them in float32.
Run in .venv-peers.
"""

import torch
import transformers

SIZES = {"hidden_size": 256, "num_attention_heads": 2, "num_hidden_layers": 1}
config = transformers.LlamaConfig(**SIZES, vocab_size=3, intermediate_size=8)
model = transformers.LlamaModel(config)
before = model.rotary_emb.inv_freq.double()
after = model.to(torch.bfloat16).rotary_emb.inv_freq
built = transformers.LlamaModel._from_config(config, dtype=torch.bfloat16).rotary_emb.inv_freq
error = ((after.double() - before) * 4095).abs().max()
print("called: LlamaModel(config).to(torch.bfloat16)")
print("dtype of inv_freq: expected torch.float32, got", after.dtype)
print(f"largest error of an angle at position 4095: {float(error):.2f} radians")
print("LlamaModel._from_config(config, dtype=torch.bfloat16):", built.dtype)
