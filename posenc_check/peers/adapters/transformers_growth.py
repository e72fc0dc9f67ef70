# SPDX-License-Identifier: MIT
"""transformers: rotary modules that change their speeds when the sequence gets long."""

from collections.abc import Iterator

import transformers
from torch import nn
from transformers.models.deepseek_v3 import modeling_deepseek_v3 as deepseek_v3
from transformers.models.llama import modeling_llama as llama
from transformers.models.phi3 import modeling_phi3 as phi3

from posenc_check.peers.adapters.transformers_scaling import config
from posenc_check.peers.subject import Subject


class Rotation(nn.Module):
    """A model's rotary module that changes its speeds as the sequence grows."""

    def __init__(self, kind, place, said):
        super().__init__()
        self.rotary, self.apply = kind(said), place.apply_rotary_pos_emb

    def forward(self, q, k, batch_positions):
        return self.apply(q, k, *self.rotary(q, batch_positions))


class Dynamic(Rotation):
    def __init__(self, head_dim, base, factor, trained_length):
        block = {"rope_type": "dynamic", "rope_theta": base, "factor": factor}
        said = config(head_dim, block, trained_length)
        super().__init__(llama.LlamaRotaryEmbedding, llama, said)


class LongRope(Rotation):
    def __init__(self, head_dim, base, trained_length, max_len, short_factor, long_factor):
        block = {"rope_type": "longrope", "rope_theta": base, "short_factor": short_factor}
        block |= {"long_factor": long_factor, "attention_factor": 1.0, "factor": 2.0}
        # Phi-3 reads the trained length beside the block; its default there goes before the block.
        more = {"kind": transformers.Phi3Config, "original_max_position_embeddings": trained_length}
        said = config(head_dim, block, max_len, **more)
        super().__init__(phi3.Phi3RotaryEmbedding, phi3, said)


def softmax_scale(head_dim, factor, mscale_all_dim):
    """What the attention of DeepSeek-V3 multiplies the scores with."""
    block = {"rope_type": "yarn", "rope_theta": 10_000.0, "factor": factor, "mscale": 1.0}
    block |= {"mscale_all_dim": mscale_all_dim, "original_max_position_embeddings": 4096}
    widths = {"qk_rope_head_dim": 32, "qk_nope_head_dim": head_dim - 32, "v_head_dim": 8}
    said = transformers.DeepseekV3Config(
        hidden_size=8, num_attention_heads=1, kv_lora_rank=4, q_lora_rank=4, **widths,
        max_position_embeddings=int(4096 * factor), rope_parameters=block,
    )  # fmt: skip
    return deepseek_v3.DeepseekV3Attention(said, layer_idx=0).scaling


def subjects() -> Iterator[Subject]:
    words = "head_dim, base, factor, trained_length"
    of = "transformers.models.llama: LlamaRotaryEmbedding with rope_type dynamic, then apply"
    note = "docstring of dynamic_frequency_update: speeds grow with the longest sequence so far"
    yield Subject("length_rule", of, Dynamic, {"rule": "dynamic_ntk", "init": words}, note)
    words = "head_dim, base, trained_length, max_len, short_factor, long_factor"
    of = "transformers.models.phi3: Phi3RotaryEmbedding with rope_type longrope, then apply"
    yield Subject("length_rule", of, LongRope, {"rule": "longrope", "init": words})
    of = "transformers.models.deepseek_v3: DeepseekV3Attention(config, 0).scaling"
    yield Subject("softmax_scale", of, softmax_scale)
