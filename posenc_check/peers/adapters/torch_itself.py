# SPDX-License-Identifier: MIT
"""torch: the causal masks that it makes, and its attention with one of them."""

from collections.abc import Iterator

import torch
from torch.nn import functional
from torch.nn.attention.bias import causal_lower_right, causal_upper_left

from posenc_check.peers.subject import Subject


def lower_right(q_len, k_len):
    return causal_lower_right(q_len, k_len)._materialize()


def upper_left(q_len, k_len):
    return causal_upper_left(q_len, k_len)._materialize()


def is_causal(q_len, k_len):
    """What each query may see, read off by one-hot values: every key with a weight above 0."""
    q, k = torch.zeros(1, q_len, 4), torch.zeros(1, k_len, 4)
    weights = functional.scaled_dot_product_attention(q, k, torch.eye(k_len)[None], is_causal=True)
    return weights[0] > 0


def subjects() -> Iterator[Subject]:
    of = "torch.nn.attention.bias."
    yield Subject("mask", of + "causal_lower_right(q_len, k_len)", lower_right)
    note = "the docstring: aligned to the upper left corner, lower_right is for cached keys"
    yield Subject("mask", of + "causal_upper_left(q_len, k_len)", upper_left, {}, note)
    text = "torch.nn.functional.scaled_dot_product_attention(is_causal=True)"
    note = "the documentation: the mask is aligned to the upper left corner if sizes differ"
    yield Subject("mask", text, is_causal, {}, note)
