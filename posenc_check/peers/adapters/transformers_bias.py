# SPDX-License-Identifier: MIT
"""transformers: buckets, slopes, biases, and clipped distances of some of its models."""

from collections.abc import Iterator
from types import SimpleNamespace

import torch
from torch import nn
from transformers.models.bloom import modeling_bloom as bloom
from transformers.models.falcon import modeling_falcon as falcon
from transformers.models.longt5 import modeling_longt5 as longt5
from transformers.models.mpt import modeling_mpt as mpt
from transformers.models.t5 import modeling_t5 as t5
from transformers.models.wav2vec2_bert import modeling_wav2vec2_bert as wav2vec2_bert

from posenc_check.peers.subject import Subject


def bucket(gap, bidirectional):
    return t5.T5Attention._relative_position_bucket(gap, bidirectional=bidirectional)


def long_bucket(gap, bidirectional):
    return longt5.LongT5Attention._relative_position_bucket(gap, bidirectional=bidirectional)


def bloom_slopes(n_heads):
    return bloom._get_alibi_slopes(n_heads, torch.device("cpu"))


def bloom_bias(n_heads, q_len, k_len):
    return bloom.build_alibi_tensor(torch.ones(1, k_len, dtype=torch.int64), n_heads, torch.float32)


def falcon_slopes(n_heads):
    return falcon_bias(n_heads, 2, 2)[:, 0, 1]  # the bias of position 1


def falcon_bias(n_heads, q_len, k_len):
    mask = torch.ones(1, k_len, dtype=torch.int64)
    return falcon.build_alibi_tensor(mask, n_heads, torch.float32)


def mpt_slopes(n_heads):
    return -mpt.build_mpt_alibi_tensor(n_heads, 2)[:, 0, 0]  # keys at -1 and 0


def mpt_bias(n_heads, q_len, k_len):
    return mpt.build_mpt_alibi_tensor(n_heads, k_len)


def shaw(q_len, k_len, reach):
    """Row i of the table holds i, and queries are 1: the scores are the rows that were taken."""
    table = nn.Embedding(2 * reach + 1, 1)
    table.weight.data.copy_(torch.arange(2 * reach + 1)[:, None])
    reaches = {"left_max_position_embeddings": reach, "right_max_position_embeddings": reach}
    module = SimpleNamespace(distance_embedding=table, scaling=1.0, **reaches)
    q, k = torch.ones(1, 1, q_len, 1), torch.ones(1, 1, k_len, 1)
    of = wav2vec2_bert._apply_relative_key_position_encoding
    return of(module, q, k)[1][0, 0].detach().long()


def subjects() -> Iterator[Subject]:
    of = "transformers.models."
    text = of + "t5: T5Attention._relative_position_bucket(gap, bidirectional)"
    yield Subject("t5", text, bucket)
    text = of + "longt5: LongT5Attention._relative_position_bucket(gap, bidirectional)"
    yield Subject("t5", text, long_bucket)
    text = of + "bloom: _get_alibi_slopes(n_heads, device)"
    yield Subject("alibi_slopes", text, bloom_slopes)
    text = of + "bloom: build_alibi_tensor(ones, n_heads, float32)"
    yield Subject("alibi", text, bloom_bias)
    text = of + "falcon: build_alibi_tensor(ones, n_heads, float32)"
    yield Subject("alibi_slopes", text + ", position 1", falcon_slopes)
    yield Subject("alibi", text, falcon_bias)
    text = of + "mpt: build_mpt_alibi_tensor(n_heads, k_len)"
    yield Subject("alibi_slopes", text + ", position -1", mpt_slopes)
    yield Subject("alibi", text, mpt_bias)
    text = of + "wav2vec2_bert: _apply_relative_key_position_encoding, rows of a numbered table"
    yield Subject("shaw", text, shaw)
