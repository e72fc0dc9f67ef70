"""Our own code in the form in which each contract calls it: (subject, options) of every contract."""

import torch

from posenc_check.rope_config import rope_from_config
from snippets.alibi import alibi_bias, alibi_slopes
from snippets.attention import attention
from snippets.learned import LearnedPositionEncoding, resize_grid
from snippets.llama3_rope import llama3
from snippets.longrope import longrope
from snippets.masks import causal_mask
from snippets.partial_rope import proportional_inv_freq
from snippets.rope import apply_rope, half_from_interleaved, interleaved_from_half, rope_inv_freq
from snippets.rope_2d import patch_positions
from snippets.rope_scaling import dynamic_ntk, linear, ntk_aware
from snippets.shaw import shaw_bucket
from snippets.sinusoidal import SinusoidalPositionEncoding, sinusoidal_table
from snippets.t5_bias import t5_bucket
from snippets.yarn import ntk_by_parts, yarn, yarn_mscale
from tests.contracts.cached import Step


def half(x, positions):
    return apply_rope(x, positions, rope_inv_freq(16))


def interleaved(x, positions):
    return apply_rope(x, positions, rope_inv_freq(16), layout="interleaved")


def partial(x, positions):
    return apply_rope(x, positions, rope_inv_freq(8))


def by_length(x, positions):
    inv_freq, _ = dynamic_ntk(16, int(positions.max()) + 1, 16, 2.0)
    return apply_rope(x, positions, inv_freq)


def by_list(x, positions, short_factor, long_factor):
    length = int(positions.max()) + 1
    inv_freq, _ = longrope(16, length, 16, short_factor, long_factor, factor=2.0)
    return apply_rope(x, positions, inv_freq)


def reader(head_dim, base, block):
    sizes = {"head_dim": head_dim, "rope_theta": base, "max_position_embeddings": 16_384}
    return rope_from_config(sizes | {"rope_scaling": block})


def softmax_scale(head_dim, factor, mscale_all_dim):
    return yarn_mscale(factor, mscale_all_dim) ** 2 / head_dim**0.5


def table(length, d_model, base=10_000.0):
    return sinusoidal_table(torch.arange(length), d_model, base)


def bias(n_heads, q_len, k_len):
    keys = torch.arange(k_len)
    return alibi_bias(keys[k_len - q_len :], keys, alibi_slopes(n_heads))


def rows(q_len, k_len, reach):
    keys = torch.arange(k_len)
    return shaw_bucket(keys[k_len - q_len :], keys, reach)


def mask(q_len, k_len):
    keys = torch.arange(k_len)
    return causal_mask(keys[k_len - q_len :], keys)


def padded_attention(q, k, v, key_keep=None):
    """Causal; a pad sees itself, so that no row of the softmax is empty."""
    here = torch.arange(q.shape[2])
    seen = causal_mask(here, here)
    if key_keep is not None:
        seen = seen & key_keep[:, None, None] | torch.eye(len(here), dtype=torch.bool)
    return attention(q, k, v, mask=seen)


def padded_positions(mask):
    return (mask.long().cumsum(1) - 1).clamp(min=0)


def packed_positions(lengths):
    return torch.cat([torch.arange(length) for length in lengths])


NOT_STORED = {"layout": "interleaved", "init": "d_model, max_len, persistent=False"}
LLAMA = {"rule": "llama3", "base": 5e5, "factor": 8.0, "trained_length": 8192}
OURS = {
    "rope": [
        (half, {"layout": "half", "export": True}),
        (interleaved, {"layout": "interleaved", "export": True}),
        (partial, {"layout": "half", "rotary_dim": 8}),
    ],
    "scaling": [
        (rope_inv_freq, {"rule": "plain"}),
        (linear, {"rule": "linear"}),
        (ntk_aware, {"rule": "ntk_aware"}),
        (dynamic_ntk, {"rule": "dynamic_ntk"}),
        (ntk_by_parts, {"rule": "ntk_by_parts"}),
        (yarn, {"rule": "yarn"}),
        (llama3, LLAMA),
        (longrope, {"rule": "longrope"}),
        (proportional_inv_freq, {"rule": "proportional"}),
    ],
    "length_rule": [(by_length, {"rule": "dynamic_ntk"}), (by_list, {"rule": "longrope"})],
    "parameters": [(reader, {})],
    "softmax_scale": [(softmax_scale, {})],
    "sinusoidal": [
        (table, {"layout": "interleaved"}),
        (SinusoidalPositionEncoding, NOT_STORED),
    ],
    "learned": [(LearnedPositionEncoding, {"call": "positions"})],
    "resize": [(resize_grid, {})],
    "grid": [(patch_positions, {})],
    "layout_weights": [
        (half_from_interleaved, {"to": "half"}),
        (interleaved_from_half, {"to": "interleaved"}),
    ],
    "positions": [(padded_positions, {})],
    "packed": [(packed_positions, {})],
    "alibi_slopes": [(alibi_slopes, {})],
    "alibi": [(bias, {})],
    "t5": [(t5_bucket, {})],
    "shaw": [(rows, {})],
    "mask": [(mask, {})],
    "masked_attention": [(padded_attention, {})],
    "cache": [(Step, {})],
}
