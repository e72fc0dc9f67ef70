"""The 512 rows of MiniLM's table: what happens at 513 tokens, and with more rows of some kind.

A long text is compared with the mean of the embeddings of its chunks of 510 tokens, which the
trained table can hold. That reference sees short positions only, so it favours rules under which
later parts look like the start. "short" is the cost on text that needed no new row; "shifted"
moves all positions of a short text by the same number.
"""

import torch

from lab.models import minilm
from lab.models.tables import EXTENSIONS, extended
from lab.models.texts import TEXTS as ALL
from lab.models.texts import text

TEXTS, ROWS, CHUNK, SHORT = tuple(ALL), (1024, 2048), 510, (32, 128, 512)
SHIFTS, SHIFTED = (1, 100, 480), 32
SETTING = {"chunk": CHUNK, "short": SHORT, "shifts": SHIFTS, "shifted": SHIFTED}


def units() -> list[dict]:
    found = [{"text": t, "part": "short"} for t in TEXTS]
    found += [{"text": t, "part": "shifted"} for t in TEXTS]
    found += [{"text": t, "part": "long", "rows": r} for t in TEXTS for r in ROWS]
    return [{"text": TEXTS[0], "part": "513 tokens"}, *found]


def measure(unit: dict) -> dict:
    ids = minilm.word_ids(text(unit["text"])[:20_000])
    if unit["part"] == "513 tokens":
        return too_long(ids)
    if unit["part"] == "short":
        return short(ids)
    return shifted(ids) if unit["part"] == "shifted" else long(ids, unit["rows"])


def too_long(ids: list[int]) -> dict:
    """What is raised when the model counts positions itself, and when it is given them."""
    bert, tokens = minilm.model(), minilm.wrapped(ids[:511])[None]
    found = {}
    for name, given in (("by the model", None), ("given", torch.arange(513)[None])):
        kinds = None if given is None else torch.zeros_like(tokens)
        try:
            bert(input_ids=tokens, token_type_ids=kinds, position_ids=given)
            found[name] = "nothing raised"
        except (RuntimeError, IndexError) as error:
            found[name] = type(error).__name__ + ": " + str(error).splitlines()[0]
    return found


def short(ids: list[int]) -> dict:
    """Cosine of each length to the trained table's embedding, with interpolated rows."""
    bert, table, found = minilm.model(), minilm.trained_table(), {}
    for length in SHORT:
        tokens = minilm.wrapped(ids[: length - 2])
        want, cosines = minilm.embedding(bert, tokens), []
        for rows in ROWS:
            with minilm.table_of(bert, extended(table, rows, "interpolated")):
                cosines.append(minilm.rounded(want @ minilm.embedding(bert, tokens)))
        found[str(length)] = cosines
    return found


def shifted(ids: list[int]) -> dict:
    bert, tokens = minilm.model(), minilm.wrapped(ids[: SHIFTED - 2])
    places, want = torch.arange(SHIFTED), minilm.embedding(bert, tokens)
    moved = (minilm.embedding(bert, tokens, places + shift) for shift in SHIFTS)
    return {"cosine": [minilm.rounded(want @ found) for found in moved]}


def long(ids: list[int], rows: int) -> dict:
    """Cosine to the mean of the chunks: as many whole chunks as fit between [CLS] and [SEP]."""
    bert, table = minilm.model(), minilm.trained_table()
    used = ids[: (rows - 2) // CHUNK * CHUNK]
    chunks = [used[at : at + CHUNK] for at in range(0, len(used), CHUNK)]
    mean = torch.stack([minilm.embedding(bert, minilm.wrapped(c)) for c in chunks]).mean(0)
    want, tokens, found = mean / mean.norm(), minilm.wrapped(used), {}
    for rule in EXTENSIONS:
        with minilm.table_of(bert, extended(table, rows, rule)):
            found[rule] = minilm.rounded(want @ minilm.embedding(bert, tokens))
    first = minilm.embedding(bert, minilm.wrapped(chunks[0]))
    return {"tokens": len(tokens), **found, "first chunk alone": minilm.rounded(want @ first)}
