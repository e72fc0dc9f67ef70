# SPDX-License-Identifier: MIT
"""transformers: sinusoidal and learned tables, each added to x as the model adds it."""

from collections.abc import Iterator

import torch
import transformers
from torch import nn
from transformers.models.bart import modeling_bart as bart
from transformers.models.bert import modeling_bert as bert
from transformers.models.m2m_100 import modeling_m2m_100 as m2m_100
from transformers.models.marian import modeling_marian as marian
from transformers.models.musicgen import modeling_musicgen as musicgen
from transformers.models.opt import modeling_opt as opt
from transformers.models.pegasus_x import modeling_pegasus_x as pegasus_x
from transformers.models.speecht5 import modeling_speecht5 as speecht5
from transformers.models.whisper import modeling_whisper as whisper

from posenc_check.peers.subject import Subject

PAD = 1


def marian_table(length, d_model):
    return marian.MarianSinusoidalPositionalEmbedding(length, d_model).create_weight()


def whisper_table(length, d_model):
    return whisper.sinusoids(length, d_model)


def m2m_100_table(length, d_model):
    return m2m_100.M2M100SinusoidalPositionalEmbedding.get_embedding(length, d_model)


def speecht5_table(length, d_model):
    return speecht5.SpeechT5SinusoidalPositionalEmbedding.get_embedding(length, d_model)


def musicgen_table(length, d_model):
    return musicgen.MusicgenSinusoidalPositionalEmbedding.get_embedding(length, d_model)


class Marian(nn.Module):
    def __init__(self, d_model, max_len):
        super().__init__()
        self.table = marian.MarianSinusoidalPositionalEmbedding(max_len, d_model)
        self.table.weight.data.copy_(self.table.create_weight())

    def forward(self, x, start):
        return x + self.table(x.shape[:2], start)


class M2M100(nn.Module):
    """Positions are counted from the padding index + 1, as in fairseq."""

    def __init__(self, d_model, max_len):
        super().__init__()
        self.table = m2m_100.M2M100SinusoidalPositionalEmbedding(max_len, d_model, PAD)

    def reset_parameters(self):
        """What from_pretrained does for a table that no checkpoint holds."""
        m2m_100.M2M100PreTrainedModel(transformers.M2M100Config())._init_weights(self.table)

    def forward(self, x, start):
        return x + self.table(inputs_embeds=x, cache_length=start)


class PegasusX(nn.Module):
    def __init__(self, d_model):
        super().__init__()
        self.table = pegasus_x.PegasusXSinusoidalPositionalEmbedding(d_model)

    def forward(self, x, start):
        return x + self.table(x, start)


class Bart(nn.Module):
    """The class holds two rows more than it is asked for, and begins with the third."""

    def __init__(self, d_model, max_len):
        super().__init__()
        self.table = bart.BartLearnedPositionalEmbedding(max_len, d_model)

    def forward(self, x, start):
        return x + self.table(x, start)


class Opt(nn.Module):
    """As BART's, but positions come from a mask."""

    def __init__(self, d_model, max_len):
        super().__init__()
        self.table = opt.OPTLearnedPositionalEmbedding(max_len, d_model)

    def forward(self, x, start):
        mask = torch.ones(x.shape[0], start + x.shape[1], dtype=torch.int64)
        return x + self.table(mask, start)


class Bert(nn.Module):
    """The position rows alone: word and type embeddings are 0, and the norm is taken off."""

    def __init__(self, d_model, max_len):
        super().__init__()
        keys = {"hidden_size": d_model, "max_position_embeddings": max_len, "vocab_size": 3}
        said = transformers.BertConfig(**keys, num_attention_heads=1, hidden_dropout_prob=0.0)
        self.embeddings = bert.BertEmbeddings(said)
        nn.init.zeros_(self.embeddings.token_type_embeddings.weight)
        self.embeddings.LayerNorm = nn.Identity()

    def forward(self, x, start):
        return self.embeddings(inputs_embeds=x, cache_length=start)


def subjects() -> Iterator[Subject]:
    of, half = "transformers.models.", {"layout": "half"}
    text = of + "marian: MarianSinusoidalPositionalEmbedding(length, d_model).create_weight()"
    yield Subject("sinusoidal", text, marian_table, half)
    text = of + "marian: x + MarianSinusoidalPositionalEmbedding(max_len, d_model)(x.shape, start)"
    yield Subject("sinusoidal", text, Marian, half)
    text = of + "whisper: sinusoids(length, d_model)"
    yield Subject("sinusoidal", text, whisper_table, half)
    note = "the docstring: as in tensor2tensor, slightly other than section 3.5 of the paper"
    text = of + "m2m_100: M2M100SinusoidalPositionalEmbedding.get_embedding(length, d_model)"
    yield Subject("sinusoidal", text, m2m_100_table, half, note)
    text = of + "m2m_100: x + M2M100SinusoidalPositionalEmbedding(max_len, d_model, 1)(start)"
    yield Subject("sinusoidal", text, M2M100, half, note)
    text = of + "speecht5: SpeechT5SinusoidalPositionalEmbedding.get_embedding(length, d_model)"
    yield Subject("sinusoidal", text, speecht5_table, half, note)
    text = of + "musicgen: MusicgenSinusoidalPositionalEmbedding.get_embedding(length, d_model)"
    yield Subject("sinusoidal", text, musicgen_table, half, note)
    text = of + "pegasus_x: x + PegasusXSinusoidalPositionalEmbedding(d_model)(x, start)"
    yield Subject("sinusoidal", text, PegasusX, half)
    note = "a comment in the class: two rows in front, for a padding index"
    text = of + "bart: x + BartLearnedPositionalEmbedding(max_len, d_model)(x, start)"
    yield Subject("learned", text, Bart, {}, note)
    text = of + "opt: x + OPTLearnedPositionalEmbedding(max_len, d_model)(ones, start)"
    yield Subject("learned", text, Opt, {}, note)
    text = of + "bert: BertEmbeddings(config)(inputs_embeds=x, cache_length=start) without its norm"
    yield Subject("learned", text, Bert)
