"""Does MiniLM tell "the dog chased the cat" from "the cat chased the dog", and by what?

Every pair holds the same tokens in another order. With equal rows in the table, whatever the row,
the order is gone: the two embeddings agree to rounding, and the states of permuted tokens are the
permuted states.
"""

import torch

from lab.models import minilm
from lab.models.tables import equal_rows
from lab.models.texts import text

PAIRS = (
    ("The dog chased the cat.", "The cat chased the dog."),
    ("The man bit the snake.", "The snake bit the man."),
    ("Alice paid Bob.", "Bob paid Alice."),
    ("Paris is larger than London.", "London is larger than Paris."),
    ("Not all birds can fly.", "All birds can not fly."),
    ("Only she said that he left.", "She said that only he left."),
    ("He is tired, not ill.", "He is ill, not tired."),
    ("I eat so that I can work.", "I work so that I can eat."),
    ("The train from Rome to Milan is late.", "The train from Milan to Rome is late."),
    ("The nurse thanked the doctor after lunch.", "The doctor thanked the nurse after lunch."),
)
TABLES, DTYPES, TEXTS, LENGTH, SEED = (
    ("as trained", "zero", "constant"),
    ("float32", "float64"),
    ("Britannica", "Hamlet", "King Lear", "The Tempest"),
    128,
    0,
)
SETTING = {"pairs": PAIRS, "length": LENGTH, "seed": SEED}


def units() -> list[dict]:
    return [{"table": t, "dtype": d} for t in TABLES for d in DTYPES]


def measure(unit: dict) -> dict:
    bert, rows = minilm.model(unit["dtype"]), minilm.trained_table(unit["dtype"])
    if unit["table"] != "as trained":
        rows = equal_rows(rows, unit["table"])
    with minilm.table_of(bert, rows):
        pairs = [_pair(bert, *pair) for pair in PAIRS]
        permuted = [_permuted(bert, name) for name in TEXTS]
    return {
        "cosine": [pair[0] for pair in pairs],
        "difference": [pair[1] for pair in pairs],
        "permuted_tokens": [found[0] for found in permuted],
        "permuted_with_positions": [found[1] for found in permuted],
    }


def _pair(bert, one: str, other: str) -> tuple[float, float]:
    """Cosine and largest difference of the two embeddings."""
    ids = [minilm.word_ids(sentence) for sentence in (one, other)]
    if sorted(ids[0]) != sorted(ids[1]) or ids[0] == ids[1]:
        raise ValueError(f"a pair must hold the same tokens in another order, got {one} / {other}")
    a, b = (minilm.embedding(bert, minilm.wrapped(found)) for found in ids)
    return minilm.rounded(a @ b), minilm.rounded((a - b).abs().max())


def _permuted(bert, name: str) -> tuple[float, float]:
    """Largest difference of states: tokens permuted alone, and together with positions."""
    tokens = minilm.wrapped(minilm.word_ids(text(name)[:2000])[: LENGTH - 2])
    order = torch.randperm(LENGTH, generator=torch.Generator().manual_seed(SEED))
    want = minilm.token_states(bert, tokens)[order]
    alone = minilm.token_states(bert, tokens[order])
    together = minilm.token_states(bert, tokens[order], order)
    return tuple(minilm.rounded((found - want).abs().max()) for found in (alone, together))
