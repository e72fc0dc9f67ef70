"""A Llama-like decoder in plain steps; which positions its q and k get is the caller's choice.

Weights carry the names of a GGUF file, q and k rows in half layout. `turn(q, k)` turns the new
queries and keys; cached keys were turned when they came in. The mask goes by the order in which
tokens came, not by the positions in `turn`, so a fault of positions is a fault of positions only.

Axes: T tokens of this call, S tokens so far, H query heads, G key heads, D head_dim.
"""

from dataclasses import dataclass, field
from typing import Callable

import torch
from torch import Tensor
from torch.nn import functional

from snippets.masks import causal_mask

Turn = Callable[[Tensor, Tensor], tuple[Tensor, Tensor]]


@dataclass(frozen=True)
class Decoder:
    """Sizes and weights; the output matrix is the table of tokens."""

    weights: dict[str, Tensor]
    n_layers: int
    n_heads: int
    n_kv_heads: int
    eps: float

    @property
    def head_dim(self) -> int:
        return self.weights["blk.0.attn_q.weight"].shape[0] // self.n_heads

    def to(self, dtype: torch.dtype) -> "Decoder":
        weights = {name: weight.to(dtype) for name, weight in self.weights.items()}
        return Decoder(weights, self.n_layers, self.n_heads, self.n_kv_heads, self.eps)


@dataclass
class Cache:
    """Turned keys, and values, of each layer: layer -> (1, G, S, D)."""

    keys: dict[int, Tensor] = field(default_factory=dict)
    values: dict[int, Tensor] = field(default_factory=dict)

    def grown(self, layer: int, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        if layer in self.keys:
            k = torch.cat((self.keys[layer], k), dim=2)  # (1, G, S, D)
            v = torch.cat((self.values[layer], v), dim=2)  # (1, G, S, D)
        self.keys[layer], self.values[layer] = k, v
        return k, v


def rms_norm(x: Tensor, weight: Tensor, eps: float) -> Tensor:
    return x * (x.square().mean(-1, keepdim=True) + eps).rsqrt() * weight


def causal_attention(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """The last T of S tokens attend to all before them; each key head serves H / G queries."""
    heads, new, total = q.shape[1], q.shape[2], k.shape[2]
    k, v = (x.repeat_interleave(heads // x.shape[1], dim=1) for x in (k, v))  # (1, H, S, D)
    if new == total:  # no mask in memory: at 16384 tokens it would have 2.7e8 entries
        return functional.scaled_dot_product_attention(q, k, v, is_causal=True)
    rows = torch.arange(total)
    mask = causal_mask(rows[total - new :], rows)  # (T, S)
    return functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)


def hidden_states(model: Decoder, tokens: Tensor, turn: Turn, cache: Cache | None = None) -> Tensor:
    """tokens (T,) -> what the last layer gives, normalised, (T, d_model)."""
    if tokens.ndim != 1 or not len(tokens):
        raise ValueError(f"tokens must be (T,) with T >= 1, got {list(tokens.shape)}")
    x = model.weights["token_embd.weight"][tokens]  # (T, d_model)
    for layer in range(model.n_layers):
        part = {
            name: model.weights[f"blk.{layer}.{name}.weight"]
            for name in ("attn_norm", "attn_q", "attn_k", "attn_v", "attn_output")
            + ("ffn_norm", "ffn_gate", "ffn_up", "ffn_down")
        }
        x = x + _attend(model, part, x, turn, cache, layer)
        h = rms_norm(x, part["ffn_norm"], model.eps)
        gate = functional.silu(h @ part["ffn_gate"].T)
        x = x + (gate * (h @ part["ffn_up"].T)) @ part["ffn_down"].T
    return rms_norm(x, model.weights["output_norm.weight"], model.eps)


def _attend(model, part, x, turn, cache, layer) -> Tensor:
    h = rms_norm(x, part["attn_norm"], model.eps)
    q, k, v = (
        (h @ part[name].T).unflatten(1, (-1, model.head_dim)).transpose(0, 1)[None]
        for name in ("attn_q", "attn_k", "attn_v")
    )  # (1, H or G, T, D)
    q, k = turn(q, k)
    if cache is not None:
        k, v = cache.grown(layer, k, v)
    y = causal_attention(q, k, v)  # (1, H, T, D)
    return y[0].transpose(0, 1).flatten(1) @ part["attn_output"].T


def logits(model: Decoder, hidden: Tensor) -> Tensor:
    """(T, d_model) -> (T, vocabulary)."""
    return hidden @ model.weights["token_embd.weight"].T
