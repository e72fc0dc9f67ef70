# SPDX-License-Identifier: MIT
"""x-transformers: small decoders, each with another way to know positions."""

from collections.abc import Iterator

import torch
from x_transformers.x_transformers import Decoder

from posenc_check.peers.drawn import drawn
from posenc_check.peers.subject import Subject

WIDTH, HEADS = 8, 2


def decoder_of(**positions):
    """make() of a Decoder, which wants all tokens so far and the number of new ones."""
    sizes = {"dim": WIDTH, "depth": 2, "heads": HEADS, "attn_dim_head": 32}
    decoder = drawn(Decoder(**sizes, **positions))

    def make():
        said = {"x": None, "cache": None}

        @torch.no_grad()
        def step(x):
            said["x"] = x if said["x"] is None else torch.cat((said["x"], x), dim=1)
            given = {"cache": said["cache"], "cache_age": x.shape[1], "return_hiddens": True}
            y, said["cache"] = decoder(said["x"], **given)
            return y[:, -x.shape[1] :]

        return step

    return make


def subjects() -> Iterator[Subject]:
    for positions in (
        {"rotary_pos_emb": True, "rotary_emb_dim": 32},
        {"rotary_pos_emb": True, "rotary_emb_dim": 32, "rotary_xpos": True},
        {"alibi_pos_bias": True},
        {"rel_pos_bias": True},
    ):
        said = ", ".join(f"{key}={value}" for key, value in positions.items())
        of = f"x_transformers Decoder({said})(x, cache=intermediates, cache_age=new tokens)"
        yield Subject("cache", of, decoder_of(**positions))
