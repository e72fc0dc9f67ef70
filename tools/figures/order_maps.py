"""Attention weights for two sentences of the same words, without positions and with them."""

import torch

from snippets.attention import attention
from snippets.sinusoidal import sinusoidal_table
from tools.figures.svg import BOLD, C1, C2, GRID, INK, MUTED, SMALL, Drawing

SENTENCES = ("the dog chased the cat", "the cat chased the dog")
QUERY, KEY = "chased", "dog"  # the pair to follow from map to map
D_MODEL, SEED = 8, 2  # a seed with weights that are easy to tell apart
CELL = 25


def data() -> dict:
    """The inputs of one head, and its weights by sentence, as (T, T): a row for each query."""
    generator = torch.Generator().manual_seed(SEED)
    words = ("the", "dog", "chased", "cat")
    vectors = torch.randn(4, D_MODEL, generator=generator, dtype=torch.float64)
    w_q, w_k = torch.randn(2, D_MODEL, D_MODEL, generator=generator, dtype=torch.float64)
    found = {"embeddings": dict(zip(words, vectors, strict=True)), "w_q": w_q / D_MODEL**0.5}
    found["w_k"] = w_k / D_MODEL**0.5
    rows = sinusoidal_table(torch.arange(5), D_MODEL)
    for name, added in (("without", torch.zeros_like(rows)), ("with", rows)):
        found[name] = []
        for sentence in SENTENCES:
            x = torch.stack([found["embeddings"][w] for w in sentence.split()]) + added
            one_hot = torch.eye(5, dtype=torch.float64)  # values that show the weights
            q, k, v = (t[None, None] for t in (x @ found["w_q"], x @ found["w_k"], one_hot))
            found[name].append(attention(q, k, v)[0, 0])
    return found


def draw() -> str:
    d = data()
    darkest = max(weights.max().item() for name in ("without", "with") for weights in d[name])
    picture = Drawing(height=474)
    words = {}
    for name, top in (("without", 0), ("with", 222)):
        picture.text(4, top + 12, f"{name} positions", weight="bold")
        words[name] = []
        for i, sentence in enumerate(SENTENCES):
            weight = heat_map(picture, 54 + 192 * i, top + 50, sentence.split(), d[name][i],
                              darkest, f"{name}/{i}")
            words[name].append(f"{weight:.2f}")
    picture.text(4, 460, "rows: queries, columns: keys", fill=MUTED, size=SMALL)
    key(picture, darkest)
    return picture.finish(
        f"Attention weights of one head for two sentences, {SENTENCES[0]} and {SENTENCES[1]}, as "
        "four maps with a row for each query and a column for each key. Without positions the "
        f"weight of {KEY} for {QUERY} is {words['without'][0]} in both sentences, and the second "
        "map is the first one with rows and columns reordered. With positions the weight is "
        f"{words['with'][0]} in the first sentence and {words['with'][1]} in the second."
    )


def heat_map(picture, left, top, words, weights, darkest, name) -> float:
    """One map; returns the weight of the pair that is framed."""
    side = CELL * len(words)
    for row, word in enumerate(words):
        picture.text(left - 5, top + CELL * (row + 0.5), word, anchor="end", size=SMALL)
        x, y = left + CELL * (row + 0.5), top + side + 5
        picture.text(x, y, word, anchor="end", size=SMALL,
                     transform=f"rotate(-90 {x:g} {y:g})")
        for column in range(len(words)):
            picture.rect(left + CELL * column, top + CELL * row, CELL, CELL, fill=C1,
                         fill_opacity=weights[row, column].item() / darkest, data_map=name)
    picture.rect(left, top, side, side, stroke=GRID)
    row, column = words.index(QUERY), words.index(KEY)
    picture.rect(left + CELL * column, top + CELL * row, CELL, CELL, stroke=C2, stroke_width=BOLD)
    weight = weights[row, column].item()
    picture.text(left, top - 13, f"{QUERY}, {KEY}: {weight:.2f}", fill=C2, size=SMALL)
    return weight


def key(picture, darkest) -> None:
    """What the shades mean, from 0 to the largest weight."""
    left, steps = 260, 10
    for i in range(steps):
        picture.rect(left + 8 * i, 454, 8, 12, fill=C1, fill_opacity=(i + 0.5) / steps)
    picture.rect(left, 454, 8 * steps, 12, stroke=GRID)
    picture.text(left - 6, 460, "0", anchor="end", fill=INK, size=SMALL)
    picture.text(left + 8 * steps + 6, 460, f"{darkest:.2f}", fill=INK, size=SMALL)
