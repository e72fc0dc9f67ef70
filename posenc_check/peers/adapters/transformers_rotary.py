# SPDX-License-Identifier: MIT
"""transformers: the rotary module of a model, and the function with which it turns q and k.

Each pair of heads, 16 wide, is what the model's attention would pass on.
"""

import importlib
from collections.abc import Iterator

import transformers
from torch import nn

from posenc_check.peers.subject import Subject

HEAD_DIM, HEADS = 16, 4
SIZES = {"hidden_size": HEAD_DIM * HEADS, "num_attention_heads": HEADS}
PLAIN = {"rope_type": "default", "rope_theta": 10_000.0}


def place(model: str):
    return importlib.import_module(f"transformers.models.{model}.modeling_{model}")


def filler(module, name: str, said):
    """What from_pretrained fills a module of the model with that no checkpoint holds."""
    return getattr(module, f"{name}PreTrainedModel")(said)._init_weights


def rotation(
    model: str, name: str, keys: dict, apply: str = "apply_rotary_pos_emb", config: str = ""
) -> type[nn.Module]:
    """A class whose instances turn q and k as the model does."""
    module = place(model)
    sizes = SIZES | {"max_position_embeddings": 131_072, "rope_parameters": PLAIN} | keys

    class Rotation(nn.Module):
        def __init__(self):
            super().__init__()
            said = getattr(transformers, config or f"{name}Config")(**sizes)
            self.rotary = getattr(module, f"{name}RotaryEmbedding")(said)
            self.filled_by = filler(module, name, said)

        def reset_parameters(self):
            self.filled_by(self.rotary)

        def forward(self, q, k, batch_positions):
            cos, sin = self.rotary(q, batch_positions)
            return getattr(module, apply)(q, k, cos, sin)

    return Rotation


class Gptj(nn.Module):
    """GPT-J turns one tensor at a time, axes B T H D, and hands on sin before cos."""

    def __init__(self):
        super().__init__()
        keys = {"n_embd": HEAD_DIM * HEADS, "n_head": HEADS, "rotary_dim": 8, "n_positions": 4096}
        module = place("gptj")
        said = transformers.GPTJConfig(**keys)
        self.rotary = module.GPTJRotaryEmbedding(said)
        self.apply = module.apply_rotary_pos_emb
        self.filled_by = filler(module, "GPTJ", said)

    def reset_parameters(self):
        self.filled_by(self.rotary)

    def forward(self, x, batch_positions):
        sin, cos = self.rotary(x, batch_positions)
        part = self.apply(x[..., :8], sin, cos)  # the attention cuts off the part itself
        return nn.functional.pad(part, (0, HEAD_DIM - 8)) + nn.functional.pad(x[..., 8:], (8, 0))


class Qwen2VL(nn.Module):
    """M-RoPE with the same position on its three axes, as text has it."""

    def __init__(self):
        super().__init__()
        block = PLAIN | {"mrope_section": [2, 3, 3]}
        sizes = SIZES | {"max_position_embeddings": 131_072, "rope_parameters": block}
        said = transformers.Qwen2VLTextConfig(**sizes)
        module = place("qwen2_vl")
        self.rotary, self.apply = module.Qwen2VLRotaryEmbedding(said), module.apply_rotary_pos_emb
        self.filled_by = filler(module, "Qwen2VL", said)

    def reset_parameters(self):
        self.filled_by(self.rotary)

    def forward(self, q, k, batch_positions):
        cos, sin = self.rotary(q, batch_positions[None].expand(3, -1, -1))
        return self.apply(q, k, cos, sin)


class Roformer(nn.Module):
    """The first implementation that its paper names: a table of sines, pairs side by side."""

    def __init__(self):
        super().__init__()
        module = place("roformer")
        self.table = module.RoFormerSinusoidalPositionalEmbedding(1024, HEAD_DIM)
        self.table.weight.data.copy_(self.table.create_weight())
        self.apply = module.RoFormerSelfAttention.apply_rotary_position_embeddings

    def forward(self, q, k, start):
        table = self.table(q.shape[:1] + q.shape[2:3], start)[None, None]
        return self.apply(table, q, k)


def of(model: str, name: str, apply: str = "apply_rotary_pos_emb") -> str:
    return f"transformers.models.{model}: {name}RotaryEmbedding, then {apply}"


def subjects() -> Iterator[Subject]:
    half = {"layout": "half", "head_dim": HEAD_DIM, "init": ""}
    side = half | {"layout": "interleaved"}
    yield Subject("rope", of("llama", "Llama"), rotation("llama", "Llama", {}), half)
    large = {"rope_parameters": PLAIN | {"rope_theta": 500_000.0}}
    text = of("llama", "Llama") + ", rope_theta 5e5"
    yield Subject("rope", text, rotation("llama", "Llama", large), half | {"base": 5e5})
    part = {"rope_parameters": PLAIN | {"partial_rotary_factor": 0.25}}
    neox = half | {"rotary_dim": 4}
    yield Subject("rope", of("gpt_neox", "GPTNeoX"), rotation("gpt_neox", "GPTNeoX", part), neox)
    gptj = side | {"rotary_dim": 8, "axes": "BTHD", "max_position": 4096}
    yield Subject("rope", of("gptj", "GPTJ") + ", on the first rotary_dim coordinates", Gptj, gptj)
    part = {"rope_parameters": PLAIN | {"partial_rotary_factor": 0.5}, "head_dim": HEAD_DIM}
    glm = side | {"rotary_dim": 8}
    yield Subject("rope", of("glm", "Glm"), rotation("glm", "Glm", part), glm)
    yield Subject("rope", of("cohere", "Cohere"), rotation("cohere", "Cohere", {}), side)
    apply = "apply_rotary_pos_emb_interleave"
    deep = {"qk_rope_head_dim": HEAD_DIM, "qk_nope_head_dim": HEAD_DIM, "head_dim": HEAD_DIM}
    deepseek = rotation("deepseek_v3", "DeepseekV3", deep, apply)
    note = "the docstring says that the output is de-interleaved: pairs come back half a head apart"
    yield Subject("rope", of("deepseek_v3", "DeepseekV3", apply), deepseek, side, note)
    yield Subject("rope", of("qwen2_vl", "Qwen2VL") + ", three equal axes", Qwen2VL, half)
    text = "transformers.models.roformer: RoFormerSinusoidalPositionalEmbedding, "
    text += "then apply_rotary_position_embeddings"
    yield Subject("rope", text, Roformer, side | {"max_position": 1024})
