"""The text that the small language models read: CPython's own help topics.

`pydoc_data.topics` comes with every Python and needs no download. Its topics share sections, a
fifth of its characters stand there twice: each paragraph is kept once, so that no held-out
paragraph was seen in training. Another Python release has another text; the digest says which
one a result was made on.
"""

import hashlib
from typing import NamedTuple

import torch
from pydoc_data import topics
from torch import Tensor

NAME = "pydoc_data.topics, each paragraph once"
HELD_OUT = 20_000  # characters at the end


class Text(NamedTuple):
    sha256: str  # of the text before it is split
    symbols: str  # a token is an index into them
    train: Tensor  # (characters,), int64
    held_out: Tensor  # (HELD_OUT,), int64


def each_paragraph_once(texts: list[str]) -> str:
    """All paragraphs in their order, without those that came before."""
    paragraphs = "\n\n".join(texts).split("\n\n")
    return "\n\n".join(dict.fromkeys(paragraphs))


def as_tokens(characters: str, held_out: int) -> Text:
    """One token a character; the last `held_out` are kept apart."""
    if not 0 < held_out < len(characters):
        raise ValueError(
            f"held_out must be from 1 to {len(characters) - 1}, got {held_out}"
        )
    symbols = "".join(sorted(set(characters)))
    number = {symbol: i for i, symbol in enumerate(symbols)}
    tokens = torch.tensor([number[character] for character in characters])
    sha256 = hashlib.sha256(characters.encode()).hexdigest()
    return Text(sha256, symbols, tokens[:-held_out], tokens[-held_out:])


def load() -> Text:
    texts = [topics.topics[name] for name in sorted(topics.topics)]
    return as_tokens(each_paragraph_once(texts), HELD_OUT)
