# SPDX-License-Identifier: MIT
"""transformers: a Llama with rope_type dynamic, token by token and in one pass.

Expected: the same outputs. Keys in the cache were turned by the speeds of a shorter sequence.
Run in .venv-peers.
"""

import torch
import transformers

torch.manual_seed(0)
BLOCK = {"rope_type": "dynamic", "rope_theta": 10_000.0, "factor": 2.0}
SIZES = {"hidden_size": 8, "num_attention_heads": 2, "num_hidden_layers": 1, "vocab_size": 3}


def last_output(block, chunks):
    torch.manual_seed(0)
    config = transformers.LlamaConfig(
        **SIZES, intermediate_size=8, max_position_embeddings=6, rope_parameters=block,
        pad_token_id=0,
    )  # fmt: skip
    model = transformers.LlamaModel(config).eval()
    for weight in model.parameters():
        torch.nn.init.normal_(weight, std=0.5)
    x, cache = torch.randn(1, sum(chunks), 8), transformers.DynamicCache(config=config)
    with torch.no_grad():
        for part in x.split(chunks, dim=1):
            y = model(inputs_embeds=part, cache=cache, use_cache=True).last_hidden_state
    return y[0, -1]


print("called: LlamaModel on 12 tokens, trained length 6, at once and after a prefill of 6")
for name, block in {"dynamic": BLOCK, "default": BLOCK | {"rope_type": "default"}}.items():
    gap = (last_output(block, [12]) - last_output(block, [6, *[1] * 6])).abs().max()
    print(f"{name}: largest difference of the last output: expected 0, got {float(gap):.6f}")
