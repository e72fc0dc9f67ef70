"""Every method in one form: how queries and keys are turned, and how they attend.

Both get positions and nothing else, so that one cache serves all methods (tests/decoding.py).
"""

from collections.abc import Callable
from typing import NamedTuple

import torch

from snippets.alibi import alibi_bias, alibi_slopes
from snippets.attention import attention
from snippets.llama3_rope import llama3
from snippets.longrope import longrope
from snippets.partial_rope import partial_inv_freq, proportional_inv_freq
from snippets.rope import apply_rope, rope_inv_freq
from snippets.rope_scaling import linear, ntk_aware
from snippets.shaw import shaw_attention
from snippets.t5_bias import t5_bucket
from snippets.xpos import apply_xpos, xpos_scale
from snippets.yarn import ntk_by_parts, yarn, yarn_paper

HEADS, HEAD_DIM, START = 3, 8, 40


def generic(*shape, seed=0):
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def unturned(x, positions, keys):
    return x


def plain(q, k, v, q_positions, k_positions, mask):
    return attention(q, k, v, mask=mask)


class Method(NamedTuple):
    turn: Callable = unturned
    attend: Callable = plain


def rope(inv_freq, attention_factor=1.0, layout="half") -> Method:
    def turn(x, positions, keys):
        return apply_rope(
            x, positions, inv_freq, layout=layout, attention_factor=attention_factor
        )

    return Method(turn)


def biased(bias) -> Method:
    def attend(q, k, v, q_positions, k_positions, mask):
        return attention(q, k, v, bias=bias(q_positions, k_positions), mask=mask)

    return Method(attend=attend)


def xpos(x, positions, keys):
    # A small scale_base, so that ten tokens show what the paper's 512 shows over hundreds.
    return apply_xpos(
        x, positions, rope_inv_freq(HEAD_DIM), xpos_scale(HEAD_DIM),
        keys=keys, centre=START, scale_base=16.0,
    )  # fmt: skip


def alibi(q_positions, k_positions):
    return alibi_bias(q_positions, k_positions, alibi_slopes(HEADS), dtype=torch.float64)


def t5(q_positions, k_positions):
    gap = k_positions - q_positions[:, None]
    bucket = t5_bucket(gap, bidirectional=False, num_buckets=8, max_distance=16)
    return generic(8, HEADS, seed=7)[bucket].permute(2, 0, 1)


def shaw(q, k, v, q_positions, k_positions, mask):
    tables = generic(7, HEAD_DIM, seed=8), generic(7, HEAD_DIM, seed=9)
    return shaw_attention(q, k, v, q_positions, k_positions, *tables, mask=mask)


SHORT, LONG = (1.0, 1.1, 1.3, 2.0), (2.0, 4.0, 8.0, 16.0)
ROTARY = {
    "half": rope(rope_inv_freq(HEAD_DIM)),
    "interleaved": rope(rope_inv_freq(HEAD_DIM), layout="interleaved"),
    "partial": rope(partial_inv_freq(HEAD_DIM, 0.5)),
    "proportional": rope(proportional_inv_freq(HEAD_DIM, 0.5)),
    "linear": rope(*linear(HEAD_DIM, 4.0)),
    "ntk_aware": rope(*ntk_aware(HEAD_DIM, 4.0)),
    "ntk_by_parts": rope(*ntk_by_parts(HEAD_DIM, 4.0, 64)),
    "yarn_paper": rope(*yarn_paper(HEAD_DIM, 4.0, 64)),
    "yarn": rope(*yarn(HEAD_DIM, 4.0, 64)),
    "llama3": rope(*llama3(HEAD_DIM, trained_length=64)),
    "longrope, one list": rope(*longrope(HEAD_DIM, 50, 50, SHORT, LONG, factor=4.0)),
    "xpos, fixed centre": Method(xpos),
}
BIASES = {"alibi": biased(alibi), "t5": biased(t5), "shaw": Method(attend=shaw)}
METHODS = ROTARY | BIASES
