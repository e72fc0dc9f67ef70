# SPDX-License-Identifier: MIT
"""litgpt: build_rope_cache and the two functions that apply its tables."""

from collections.abc import Iterator

import torch
from litgpt import Config
from litgpt import model as library

from posenc_check.peers.subject import Subject

HEAD_DIM, LONGEST = 16, 131_072
CACHES = {
    base: library.build_rope_cache(LONGEST, HEAD_DIM, base=base) for base in (10_000, 500_000)
}
PART = library.build_rope_cache(LONGEST, 8)


def rows(tables, batch_positions):
    return [table[batch_positions] for table in tables]  # (B, T, D)


def rope(x, batch_positions):
    return library.apply_rope(x, *rows(CACHES[10_000], batch_positions))


def rope_large_base(x, batch_positions):
    return library.apply_rope(x, *rows(CACHES[500_000], batch_positions))


def rope_part(x, batch_positions):
    """CausalSelfAttention turns the first rope_n_elem coordinates so, and joins the rest."""
    part = library.apply_rope(x[..., :8], *rows(PART, batch_positions))
    return torch.cat((part, x[..., 8:]), dim=-1)


def rope_interleave(x, batch_positions):
    return library.apply_rope_interleave(x, *rows(CACHES[10_000], batch_positions))


def speeds(head_dim, base, extra, condense_ratio=1):
    """(inv_freq, attention_factor): the angle of position 1, its length as a complex number."""
    cos, sin = library.build_rope_cache(
        2, head_dim, base=base, condense_ratio=condense_ratio, extra_config=extra
    )
    one = torch.complex(cos.double(), sin.double())[1, : head_dim // 2]
    return one.angle(), one.abs().mean()


def condensed(head_dim, base, factor):
    return speeds(head_dim, base, None, factor)


def linear(head_dim, base, factor):
    return speeds(head_dim, base, {"factor": factor})


def llama3(head_dim, base, factor, trained_length, low_freq_factor, high_freq_factor):
    extra = {"factor": factor, "original_max_seq_len": trained_length}
    extra |= {"low_freq_factor": low_freq_factor, "high_freq_factor": high_freq_factor}
    return speeds(head_dim, base, extra)


def yarn(
    head_dim, base, factor, trained_length, beta_fast, beta_slow, truncate, mscale, mscale_all_dim
):
    extra = {"factor": factor, "original_max_seq_len": trained_length, "truncate": truncate}
    extra |= {"beta_fast": beta_fast, "beta_slow": beta_slow}
    extra |= {"mscale": mscale, "mscale_all_dim": mscale_all_dim}  # read with .get
    return speeds(head_dim, base, extra)


def softmax_scale(head_dim, factor, mscale_all_dim):
    """Two keys, q k = 1 and 0: the logit of the first weight is what 1 was multiplied by."""
    config = Config(
        n_embd=head_dim,
        n_head=1,
        head_size=head_dim,
        rope_adjustments={"factor": factor, "mscale_all_dim": mscale_all_dim},
    )
    attention = library.CausalSelfAttention(config, 0)
    q, k = torch.zeros(2, 1, 1, 1, head_dim, dtype=torch.float64)
    q[..., 0] = k[..., 0] = 1
    k, v = torch.cat((k, 0 * k), dim=2), torch.cat((0 * k + 1, 0 * k), dim=2)
    weight = attention.scaled_dot_product_attention(q, k, v, torch.ones(1, 2, dtype=torch.bool))
    return torch.logit(weight.flatten()[0])


def mask(q_len, k_len):
    return library.build_mask_cache(k_len)[0, 0, k_len - q_len :]


def subjects() -> Iterator[Subject]:
    name = "litgpt.model."
    keys = {"layout": "half", "head_dim": HEAD_DIM, "max_position": LONGEST}
    text = f"{name}apply_rope with {name}build_rope_cache"
    yield Subject("rope", text, rope, keys)
    yield Subject("rope", text + ", base 500000", rope_large_base, keys | {"base": 5e5})
    yield Subject("rope", text + " on rope_n_elem coordinates", rope_part, keys | {"rotary_dim": 8})
    text = f"{name}apply_rope_interleave with {name}build_rope_cache"
    note = "the docstring says that even and odd coordinates are grouped first"
    yield Subject("rope", text, rope_interleave, keys | {"layout": "interleaved"}, note)
    text = f"{name}build_rope_cache(2, head_dim, base=base, "
    yield Subject("scaling", text + "condense_ratio=factor)", condensed, {"rule": "linear"})
    yield Subject("scaling", text + "extra_config={factor})", linear, {"rule": "linear"})
    of = text + "extra_config={factor, original_max_seq_len, low_freq_factor, high_freq_factor})"
    yield Subject("scaling", of, llama3, {"rule": "llama3"})
    of = text + "extra_config={factor, original_max_seq_len, beta_fast, beta_slow, truncate, ...})"
    yield Subject("scaling", of, yarn, {"rule": "yarn"})
    of = name + "CausalSelfAttention(config, 0).scaled_dot_product_attention on two keys"
    yield Subject("softmax_scale", of, softmax_scale)
    yield Subject("mask", name + "build_mask_cache(k_len), its last q_len rows", mask)
