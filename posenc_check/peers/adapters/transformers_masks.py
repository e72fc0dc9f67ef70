# SPDX-License-Identifier: MIT
"""transformers: masks, and the positions of tokens in batches, packs, and images."""

from collections.abc import Iterator
from types import SimpleNamespace

import torch
import transformers
from transformers import DynamicCache
from transformers.generation import GenerationMixin
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import create_causal_mask
from transformers.models.llama import modeling_llama as llama
from transformers.models.vit import modeling_vit as vit
from transformers.vision_utils import get_vision_position_ids

from posenc_check.peers.subject import Subject

WIDTH, HEADS = 8, 2
SMALL = {"hidden_size": WIDTH, "num_attention_heads": HEADS, "num_hidden_layers": 2}
SMALL |= {"vocab_size": 3, "intermediate_size": 16, "pad_token_id": 0}


def seen(config, n_tokens):
    """A cache that holds n_tokens."""
    cache = DynamicCache(config=config)
    if n_tokens:
        nothing = torch.zeros(1, HEADS, n_tokens, WIDTH // HEADS)
        for layer in range(config.num_hidden_layers):
            cache.update(nothing, nothing, layer)
    return cache


def mask(q_len, k_len, attention="eager"):
    config = transformers.LlamaConfig(**SMALL, attn_implementation=attention)
    asked = {"inputs_embeds": torch.zeros(1, q_len, WIDTH), "attention_mask": None}
    more = {"cache": seen(config, k_len - q_len), "allow_is_causal_skip": False}
    return create_causal_mask(config, **asked, **more)[0, 0]


def mask_sdpa(q_len, k_len):
    return mask(q_len, k_len, "sdpa")


def attended(q, k, v, key_keep, kind):
    """An attention function of the library with the mask that it makes for it."""
    config = transformers.LlamaConfig(**SMALL, attn_implementation=kind)
    x = q.new_zeros(q.shape[0], q.shape[2], WIDTH)
    causal = create_causal_mask(config, x, key_keep, seen(config, k.shape[2] - q.shape[2]))
    module = SimpleNamespace(num_key_value_groups=1, training=False, is_causal=True)
    function = llama.eager_attention_forward if kind == "eager" else sdpa_attention_forward
    y, _ = function(module, q, k, v, causal, scaling=q.shape[-1] ** -0.5)
    return y.transpose(1, 2)


def eager(q, k, v, key_keep):
    return attended(q, k, v, key_keep, "eager")


def eager_float32(q, k, v, key_keep):
    return attended(q.float(), k.float(), v.float(), key_keep, "eager").to(q.dtype)


def sdpa(q, k, v, key_keep):
    return attended(q, k, v, key_keep, "sdpa")


def positions(mask):
    return GenerationMixin._prepare_position_ids_for_generation(
        None, mask, {"attention_mask": mask}
    )


def packed(lengths):
    collate = transformers.DataCollatorWithFlattening()
    batch = collate([{"input_ids": [1] * length} for length in lengths])
    return batch["position_ids"][0]


def grid(height, width):
    """One image of one frame; merge size 1 leaves the order of the patches as it is."""
    return get_vision_position_ids(torch.tensor([[1, height, width]]), 1)


def resize(table, old, new):
    keys = {"hidden_size": table.shape[1], "num_attention_heads": 1, "patch_size": 2}
    said = transformers.ViTConfig(**keys, image_size=tuple(2 * side for side in old))
    embeddings = vit.ViTEmbeddings(said)
    embeddings.position_embeddings.data = torch.cat((table[:1], table))[None]  # one for CLS
    tokens = torch.zeros(1, 1 + new[0] * new[1], table.shape[1])
    resized = embeddings.interpolate_pos_encoding(tokens, 2 * new[0], 2 * new[1])
    return resized[0, 1:].detach()


def subjects() -> Iterator[Subject]:
    of = "transformers.masking_utils.create_causal_mask with a DynamicCache, "
    yield Subject("mask", of + "eager", mask)
    yield Subject("mask", of + "sdpa", mask_sdpa)
    of = "transformers.models.llama: eager_attention_forward with create_causal_mask"
    yield Subject("masked_attention", of + ", float64", eager)
    yield Subject("masked_attention", of + ", float32", eager_float32)
    of = "transformers.integrations: sdpa_attention_forward with create_causal_mask"
    yield Subject("masked_attention", of, sdpa)
    of = "transformers.generation: GenerationMixin._prepare_position_ids_for_generation"
    yield Subject("positions", of, positions)
    yield Subject("packed", "transformers.DataCollatorWithFlattening()(features)", packed)
    yield Subject("grid", "transformers.vision_utils.get_vision_position_ids", grid)
    of = "transformers.models.vit: ViTEmbeddings.interpolate_pos_encoding"
    yield Subject("resize", of, resize)
