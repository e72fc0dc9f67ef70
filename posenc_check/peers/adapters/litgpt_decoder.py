# SPDX-License-Identifier: MIT
"""litgpt: its attention, decoding with its cache."""

from collections.abc import Iterator

import litgpt
import torch
from litgpt.model import CausalSelfAttention, build_mask_cache, build_rope_cache

from posenc_check.peers.drawn import drawn
from posenc_check.peers.subject import Subject

WIDTH, HEADS, LONGEST = 8, 2, 256


class Litgpt:
    """CausalSelfAttention with its KVCache; cos, sin, and mask are picked as GPT picks them."""

    config = litgpt.Config(
        n_embd=WIDTH, n_head=HEADS, n_layer=1, rotary_percentage=1.0, block_size=LONGEST
    )
    attention = drawn(CausalSelfAttention(config, 0))
    cos, sin = (t.double() for t in build_rope_cache(LONGEST, config.rope_n_elem))
    mask = build_mask_cache(LONGEST)

    def __init__(self):
        self.seen, self.cache = 0, None

    @torch.no_grad()
    def __call__(self, x):
        if self.cache is None:
            self.cache = self.attention.build_kv_cache(
                x.shape[0], LONGEST, self.cos.shape[-1], dtype=torch.float64
            )
        input_pos = torch.arange(self.seen, self.seen + x.shape[1])
        self.seen += x.shape[1]
        rows = [table[None, input_pos] for table in (self.cos, self.sin)]
        self.attention.kv_cache = self.cache
        return self.attention(x, *rows, self.mask[:, :, input_pos], input_pos)


def subjects() -> Iterator[Subject]:
    of = "litgpt.model.CausalSelfAttention with KVCache, build_rope_cache, build_mask_cache"
    yield Subject("cache", of, lambda: Litgpt())
