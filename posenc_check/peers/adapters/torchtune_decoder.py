# SPDX-License-Identifier: MIT
"""torchtune: its attention, decoding with its cache."""

from collections.abc import Iterator

import torch
from torch import nn
from torchtune.modules import MultiHeadAttention, RotaryPositionalEmbeddings

from posenc_check.peers.drawn import drawn
from posenc_check.peers.subject import Subject

WIDTH, HEADS, LONGEST = 8, 2, 256


class Torchtune:
    """MultiHeadAttention with its KVCache; the mask has a column for each place of the cache."""

    projections = {name: nn.Linear(WIDTH, WIDTH) for name in ("q_proj", "k_proj", "v_proj")}
    attention = drawn(
        MultiHeadAttention(
            embed_dim=WIDTH,
            num_heads=HEADS,
            num_kv_heads=HEADS,
            head_dim=WIDTH // HEADS,
            **projections,
            output_proj=nn.Linear(WIDTH, WIDTH),
            pos_embeddings=RotaryPositionalEmbeddings(WIDTH // HEADS, LONGEST),
        )
    )

    def __init__(self):
        self.seen, self.cache = 0, None

    @torch.no_grad()
    def __call__(self, x):
        self.attention.kv_cache = self.cache
        if self.cache is None:
            self.attention.setup_cache(x.shape[0], torch.float64, LONGEST)
            self.cache = self.attention.kv_cache
        input_pos = torch.arange(self.seen, self.seen + x.shape[1])
        self.seen += x.shape[1]
        mask = torch.ones(LONGEST, LONGEST, dtype=torch.bool).tril()[input_pos]
        rows = [part.expand(x.shape[0], *part.shape) for part in (mask, input_pos)]
        return self.attention(x, x, mask=rows[0], input_pos=rows[1])


def subjects() -> Iterator[Subject]:
    of = "torchtune MultiHeadAttention with setup_cache and RotaryPositionalEmbeddings"
    yield Subject("cache", of, lambda: Torchtune())
