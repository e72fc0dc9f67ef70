# SPDX-License-Identifier: MIT
"""transformers: every rule of ROPE_INIT_FUNCTIONS, a config for each question.

`inv_freq, attention_factor = ROPE_INIT_FUNCTIONS[rope_type](config, seq_len=length)`
"""

import json
from collections.abc import Iterator

import transformers
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS
from transformers.models.llama import modeling_llama as llama

from posenc_check.peers.subject import Subject

YARN = "factor beta_fast beta_slow truncate attention_factor mscale mscale_all_dim".split()


def config(head_dim, block, longest=131_072, kind=transformers.LlamaConfig, **more):
    sizes = {"hidden_size": 4 * head_dim, "num_attention_heads": 4, "head_dim": head_dim}
    sizes |= {"num_key_value_heads": 4, "pad_token_id": 0}
    return kind(**sizes, max_position_embeddings=longest, rope_parameters=block, **more)


def rule(rope_type, said, length=None, layer_type=None):
    return ROPE_INIT_FUNCTIONS[rope_type](said, seq_len=length, layer_type=layer_type)


def flat(rope_type, head_dim, base, longest=131_072, length=None, **block):
    """A config whose one block is for every layer; keys without a value are left out."""
    block = {key: value for key, value in block.items() if value is not None}
    block |= {"rope_type": rope_type, "rope_theta": base}
    return rule(rope_type, config(head_dim, block, longest), length)


def plain(head_dim, base):
    said = config(head_dim, {"rope_type": "default", "rope_theta": base})
    return llama.LlamaRotaryEmbedding.compute_default_rope_parameters(said)


def linear(head_dim, base, factor):
    return flat("linear", head_dim, base, factor=factor)


def dynamic(head_dim, base, factor, trained_length, length):
    return flat("dynamic", head_dim, base, trained_length, length, factor=factor)


def yarn_block(base, trained_length, values) -> dict:
    block = {"rope_type": "yarn", "rope_theta": base}
    block |= {key: value for key, value in zip(YARN, values) if value is not None}
    return block | {"original_max_position_embeddings": trained_length}


def yarn(
    head_dim, base, trained_length, factor, beta_fast, beta_slow, truncate, attention_factor,
    mscale, mscale_all_dim,
):  # fmt: skip
    values = (factor, beta_fast, beta_slow, truncate, attention_factor, mscale, mscale_all_dim)
    block = yarn_block(base, trained_length, values)
    return rule("yarn", config(head_dim, block, int(factor * trained_length)))


def yarn_nested(
    head_dim, base, trained_length, factor, beta_fast, beta_slow, truncate, attention_factor,
    mscale, mscale_all_dim,
):  # fmt: skip
    """The same block for one type of layer beside another, as Olmo 3 has it."""
    values = (factor, beta_fast, beta_slow, truncate, attention_factor, mscale, mscale_all_dim)
    full = yarn_block(base, trained_length, values)
    parts = {"full_attention": full, "sliding_attention": {"rope_type": "default"}}
    parts["sliding_attention"]["rope_theta"] = base
    more = {"layer_types": list(parts), "num_hidden_layers": 2, "kind": transformers.Olmo3Config}
    said = config(head_dim, parts, int(factor * trained_length), **more)
    return rule("yarn", said, layer_type="full_attention")


def longrope(
    head_dim, base, trained_length, max_len, length, short_factor, long_factor, attention_factor
):
    lists = {"short_factor": short_factor, "long_factor": long_factor}
    lists |= {"original_max_position_embeddings": trained_length}
    more = {"attention_factor": attention_factor}
    return flat("longrope", head_dim, base, max_len, length, **lists, **more)


def llama3(head_dim, base, factor, trained_length, low_freq_factor, high_freq_factor):
    edges = {"low_freq_factor": low_freq_factor, "high_freq_factor": high_freq_factor}
    edges |= {"original_max_position_embeddings": trained_length}
    return flat("llama3", head_dim, base, factor=factor, **edges)


def proportional(head_dim, base, share):
    return flat("proportional", head_dim, base, partial_rotary_factor=share)


def from_block(head_dim, base, block):
    """What a Llama makes of a block as it stands in its config.json."""
    said = json.loads(json.dumps({"rope_theta": base, "rope_scaling": block}))
    sizes = {"hidden_size": 4 * head_dim, "num_attention_heads": 4, "head_dim": head_dim}
    rotary = llama.LlamaRotaryEmbedding(transformers.LlamaConfig(**sizes, **said))
    return rotary.inv_freq, rotary.attention_scaling


def subjects() -> Iterator[Subject]:
    name = "transformers.modeling_rope_utils.ROPE_INIT_FUNCTIONS"
    of = "transformers.models.llama: LlamaRotaryEmbedding.compute_default_rope_parameters(config)"
    yield Subject("scaling", of, plain, {"rule": "plain"})
    for key, means, function in (
        ("linear", "linear", linear),
        ("dynamic", "dynamic_ntk", dynamic),
        ("yarn", "yarn", yarn),
        ("longrope", "longrope", longrope),
        ("llama3", "llama3", llama3),
        ("proportional", "proportional", proportional),
    ):
        of = f'{name}["{key}"](config, seq_len=length)'
        yield Subject("scaling", of, function, {"rule": means})
    of = f'{name}["yarn"](config, layer_type="full_attention"), the block nested per layer type'
    yield Subject("scaling", of, yarn_nested, {"rule": "yarn"})
    of = "transformers.LlamaConfig(rope_theta=base, rope_scaling=block), then LlamaRotaryEmbedding"
    yield Subject("parameters", of, from_block)
