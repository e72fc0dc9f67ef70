# SPDX-License-Identifier: MIT
"""transformers: small random models that decode with a cache, fed with embeddings."""

from collections.abc import Iterator

import torch
import transformers
from transformers import DynamicCache, StaticCache
from transformers.models.t5 import modeling_t5 as t5

from posenc_check.peers.drawn import drawn
from posenc_check.peers.subject import Subject

WIDTH, HEADS = 8, 2
SMALL = {"hidden_size": WIDTH, "num_attention_heads": HEADS, "num_hidden_layers": 2}
SMALL |= {"vocab_size": 3, "intermediate_size": 16, "pad_token_id": 0}


def decoder(model, make_cache):
    """make() gives a step with a cache of its own; the model is one, and random."""
    model = drawn(model())

    def make():
        cache = make_cache(model.config)

        def step(x):
            with torch.no_grad():
                given = {"inputs_embeds": x.double(), "cache": cache, "use_cache": True}
                return model(**given).last_hidden_state.to(x.dtype)

        return step

    return make


def static(config):
    return StaticCache(config=config, max_cache_len=256)


def dynamic(config):
    return DynamicCache(config=config)


def growing_llama():
    """Its speeds change after 6 tokens, when keys of the old speeds are in the cache."""
    block = {"rope_type": "dynamic", "rope_theta": 10_000.0, "factor": 2.0}
    keys = SMALL | {"max_position_embeddings": 6, "rope_parameters": block}
    return transformers.LlamaModel(transformers.LlamaConfig(**keys))


def t5_decoder():
    keys = {"d_model": WIDTH, "d_kv": 4, "d_ff": 16, "num_layers": 2, "num_heads": HEADS}
    said = transformers.T5Config(**keys, vocab_size=3, is_decoder=True, use_cache=True)
    return t5.T5Stack(said)


def models():
    yield "LlamaModel", lambda: transformers.LlamaModel(transformers.LlamaConfig(**SMALL))
    yield "GPTNeoXModel", lambda: transformers.GPTNeoXModel(transformers.GPTNeoXConfig(**SMALL))
    gpt2 = {"n_embd": WIDTH, "n_head": HEADS, "n_layer": 2, "vocab_size": 3}
    yield "GPT2Model", lambda: transformers.GPT2Model(transformers.GPT2Config(**gpt2))
    yield "T5Stack as decoder", t5_decoder
    bloom = {"hidden_size": WIDTH, "n_head": HEADS, "n_layer": 2, "vocab_size": 3}
    yield "BloomModel", lambda: transformers.BloomModel(transformers.BloomConfig(**bloom))
    mpt = {"d_model": WIDTH, "n_heads": HEADS, "n_layers": 2, "vocab_size": 3}
    yield "MptModel", lambda: transformers.MptModel(transformers.MptConfig(**mpt))
    falcon = SMALL | {"alibi": True, "new_decoder_architecture": False}
    yield "FalconModel, alibi", lambda: transformers.FalconModel(
        transformers.FalconConfig(**falcon)
    )
    window = SMALL | {"sliding_window": 4, "num_key_value_heads": HEADS}
    yield "MistralModel, sliding_window 4", lambda: transformers.MistralModel(
        transformers.MistralConfig(**window)
    )
    yield "LlamaModel, rope_type dynamic", growing_llama


def subjects() -> Iterator[Subject]:
    for name, model in models():
        of = f"transformers {name}(inputs_embeds=x, cache=DynamicCache)"
        yield Subject("cache", of, decoder(model, dynamic))
    name, model = next(models())
    of = f"transformers {name}(inputs_embeds=x, cache=StaticCache)"
    yield Subject("cache", of, decoder(model, static))
