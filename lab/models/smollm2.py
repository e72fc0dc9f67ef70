"""SmolLM2 135M from its GGUF file: weights as float32, and its tokens.

The file keeps rows of q and k in interleaved order of the pairs; the snippet brings them to half
layout. Loading goes through no model code of transformers, so that the two can be compared.
"""

import re
from functools import cache

import torch
from torch import Tensor

from lab.models.decoder import Decoder
from lab.models.files import DECODER, model_file
from lab.models.texts import text
from snippets.rope import half_from_interleaved

# Four characters a token in plain English, fewer in verse: enough for the tokens asked for.
CHARACTERS_PER_TOKEN = 8


@cache
def reader():
    import gguf

    return gguf.GGUFReader(model_file(DECODER))


def value(key: str):
    return reader().fields[key].contents()


BASE, TRAINED_LENGTH, HEAD_DIM = 100_000.0, 8192, 64


@cache
def decoder() -> Decoder:
    from gguf.quants import dequantize

    torch.set_num_threads(1)
    found = (value("llama.rope.freq_base"), value("llama.context_length"))
    found += (value("llama.rope.dimension_count"),)
    if found != (BASE, TRAINED_LENGTH, HEAD_DIM):
        raise ValueError(f"the file must say {BASE, TRAINED_LENGTH, HEAD_DIM}, got {found}")
    heads = {"q": value("llama.attention.head_count"), "k": value("llama.attention.head_count_kv")}
    weights = {}
    for tensor in reader().tensors:
        weight = torch.tensor(dequantize(tensor.data, tensor.tensor_type))  # float32
        projection = re.search(r"attn_([qk])\.weight$", tensor.name)
        if projection:
            weight = half_from_interleaved(weight, heads[projection[1]])
        weights[tensor.name] = weight
    eps = value("llama.attention.layer_norm_rms_epsilon")
    return Decoder(weights, value("llama.block_count"), heads["q"], heads["k"], eps)


@cache
def tokenizer():
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers

    kinds = (value("tokenizer.ggml.model"), value("tokenizer.ggml.pre"))
    if kinds != ("gpt2", "smollm"):
        raise ValueError(f'the tokenizer must be ("gpt2", "smollm"), got {kinds}')
    vocabulary = {token: number for number, token in enumerate(value("tokenizer.ggml.tokens"))}
    merges = [tuple(merge.split(" ")) for merge in value("tokenizer.ggml.merges")]
    found = Tokenizer(models.BPE(vocab=vocabulary, merges=merges))
    byte_level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
    digits = pre_tokenizers.Digits(individual_digits=True)
    found.pre_tokenizer = pre_tokenizers.Sequence([digits, byte_level])
    found.decoder = decoders.ByteLevel()
    return found


@cache
def tokens(name: str, count: int) -> Tensor:
    """The first tokens of a text, (count,); nothing stands before them."""
    ids = tokenizer().encode(text(name)[: count * CHARACTERS_PER_TOKEN]).ids
    if len(ids) < count:
        raise ValueError(f"count must be at most the {len(ids)} tokens of {name}, got {count}")
    return torch.tensor(ids[:count])


def shown(ids) -> str:
    return tokenizer().decode(list(ids), skip_special_tokens=False)
