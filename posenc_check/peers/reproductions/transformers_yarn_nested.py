# SPDX-License-Identifier: MIT
"""transformers: is truncate followed when the yarn block belongs to one type of layer?

Expected: the same speeds as from a flat block. Run in .venv-peers.
"""

import transformers
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

transformers.utils.logging.set_verbosity_error()
BLOCK = {"rope_type": "yarn", "rope_theta": 150_000.0, "factor": 32.0, "truncate": False}
BLOCK |= {"original_max_position_embeddings": 4096}
SIZES = {"hidden_size": 256, "num_attention_heads": 4, "head_dim": 64, "num_hidden_layers": 2}
SIZES |= {"max_position_embeddings": 131_072}


def speeds(truncate, nested):
    block = BLOCK | {"truncate": truncate}
    if not nested:
        config = transformers.LlamaConfig(**SIZES, rope_parameters=block)
        return ROPE_INIT_FUNCTIONS["yarn"](config)[0]
    other = {"rope_type": "default", "rope_theta": 10_000.0}
    parts = {"full_attention": block, "sliding_attention": other}
    config = transformers.Olmo3Config(**SIZES, rope_parameters=parts, layer_types=list(parts))
    return ROPE_INIT_FUNCTIONS["yarn"](config, layer_type="full_attention")[0]


def gap(one, two):
    return f"{float(((one - two) / two).abs().max()):.3f}"


flat, within = speeds(False, nested=False), speeds(False, nested=True)
print('called: ROPE_INIT_FUNCTIONS["yarn"] with "truncate": false, flat and in full_attention')
print("largest relative difference of speeds: expected 0.000, got", gap(within, flat))
print("nested false against nested true: got", gap(within, speeds(True, nested=True)))
