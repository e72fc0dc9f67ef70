# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Two real models, asked about their positions
#
# What the pages say of position codes can be asked of models that people use: MiniLM, a sentence
# encoder with a learned table, and SmolLM2, a Llama-style decoder with RoPE. Both install
# as packages and are small enough for a CPU. Everything below was measured with float32 unless
# another type is named, on texts in the public domain; the models may have seen them in training.

# %%
from statistics import mean

import matplotlib.pyplot as plt

from lab import record
from lab.models.faults import COUNTS
from tools.notebook_figures import BLUE, GREEN, MUTED, ORANGE, VIOLET, show

lab = {name: record.read(f"models_{name}") for name in (
    "encoder_order", "encoder_limit", "decoder_check", "decoder_faults", "decoder_words",
    "decoder_length", "decoder_context", "decoder_gap")}
order = lab["encoder_order"]
for name, version in order["versions"].items():
    print(f"{name} {version}")
print("torch", order["torch"], "- measured on", order["date"])

# %% [markdown]
# ## The dog and the cat
#
# Ten pairs of sentences have the same words in another order. The encoder embeds both sentences of
# each pair three times: with its table as trained, with a table of zeros, and with one row of the
# table at every place.

# %%
for row in order["rows"]:
    if row["dtype"] == "float32":
        low, high = min(row["cosine"]), max(row["cosine"])
        print(f"{row['table']:<11} cosine of a pair {low:.6f} to {high:.6f}, "
              f"largest difference {max(row['difference']):.1e}")
print(order["pairs"][0], f"{order['rows'][0]['cosine'][0]:.4f}")

# %% [markdown]
# As trained the pairs differ, by little: their cosines lie between 0.92 and
# 0.999.<a class="claim" href="../../verified/#real-models-as-trained">✓</a> With equal rows, zero or
# not, the two embeddings of each pair are the same up to 0.000001, and in float64 up to its
# rounding.<a class="claim" href="../../verified/#real-models-equal-rows">✓</a> What counts is
# that the rows are equal, not that they are zero.
#
# The same holds through all layers: permute the tokens of a text and put the outputs back in order. As trained an
# output moves by more than 5; permute the position numbers along, and nothing moves by more than
# 0.00001.<a class="claim" href="../../verified/#real-models-permuted">✓</a>
#
# ## Where the table ends
#
# A text of one token more than the table has rows raises an error about sizes, inside the
# model.<a class="claim" href="../../verified/#real-models-limit">✓</a> A table can be made longer. We
# embed long documents with a longer table, and compare with the mean of their chunks, each of which
# fits the table as it was.

# %%
WAYS = ("tiled", "interpolated", "random", "zeros", "last repeated")
limit = lab["encoder_limit"]["rows"]
longer = [row for row in limit if row["part"] == "long"]
print(f"{'new rows':<16}{'1024 rows':>24}{'2048 rows':>24}")
for way in WAYS:
    cells = []
    for n in (1024, 2048):
        found = [row[way] for row in longer if row["rows"] == n]
        cells.append(f"{mean(found):.3f} ({min(found):.2f} to {max(found):.2f})")
    print(f"{way:<16}" + "".join(f"{cell:>24}" for cell in cells))

# %% [markdown]
# Repeating the last row is the worst way in every text, with cosines below 0.66; interpolating stays
# above 0.94.<a class="claim" href="../../verified/#real-models-extended">✓</a> Tiling comes out first,
# and the measure favours it: it compares with chunks, and tiling gives each chunk its old rows.
#
# Nothing is free. A table stretched to 1024 rows changes short texts as well: their embeddings have a
# cosine of 0.90 to 0.95 with those of the table as trained, and of 0.80 to 0.91 if it is stretched to
# 2048.<a class="claim" href="../../verified/#real-models-short">✓</a> And a learned table is not about
# differences: the same short text one place further on has a cosine of 0.91 to 0.95 with itself, and 480
# places further 0.66 to 0.81.<a class="claim" href="../../verified/#real-models-shifted">✓</a>
#
# Nor were all rows trained alike. MiniLM was made by fine-tuning an earlier model, says its card, on
# [texts of at most 128 tokens, and it cuts a text at 256](https://huggingface.co/sentence-transformers/all-MiniLM-L6-v2).
# The rows behind come from the earlier model. The chunks above fill the whole table, and so do the
# copies in a tiled one; the far shift reads its last rows alone. Some of what these numbers show may be
# those rows, and not that there are more of them.
#
# ## What each fault costs a decoder
#
# SmolLM2 reads each text with one fault in its rotation, in the forward pass that we wrote for it. Without a fault that pass gives the logits of transformers' Llama with the same
# weights.

# %%
faults = lab["decoder_faults"]["rows"]
texts = list(dict.fromkeys(row["text"] for row in faults))
right = {row["text"]: row["loss"] for row in faults if row["fault"] == "right"}
cost = {}
for row in faults:
    # The first half is cached before a fault of the cache begins: it is left out of the mean.
    seen = slice(4, 8) if row["fault"] in COUNTS else slice(0, 8)
    lost_here = mean(row["loss"][seen]) - mean(right[row["text"]][seen])
    cost.setdefault(row["fault"], []).append(lost_here)
agree = lab["decoder_check"]["rows"]
print(f"largest difference to transformers: {max(row.get('difference', 0) for row in agree):.1e}")
print(f"nats lost on {len(texts)} texts, mean (lowest to highest)")
for fault, found in cost.items():
    print(f"{fault:<22}{mean(found):>7.3f}  ({min(found):.3f} to {max(found):.3f})")

# %% [markdown]
# The wrong sign of the frequencies, rotated queries alone, the other layout, the other direction, and
# no rotation each cost 1.7 nats or more in every
# text.<a class="claim" href="../../verified/#real-models-loud">✓</a> A base of 10000 in place of the
# trained 100000 costs 0.15 to 0.22 nats, which is 16 to 25 percent more
# perplexity.<a class="claim" href="../../verified/#real-models-base">✓</a> The text that it writes, below,
# is fluent, so a wrong base is easy to miss. A cache that is one place off costs less than 0.01 nats
# over the 512 tokens behind the cached
# ones.<a class="claim" href="../../verified/#real-models-off-by-one">✓</a> Over the first few of them it is
# more: [what perplexity cannot see](../../guides/perplexity/) looks there.
#
# A rounded position is right as long as the type can count to it. By blocks of the text:

# %%
figure, axes = plt.subplots()
at = [128 * i + 64 for i in range(8)]
for fault, colour, style, text, place in (
        ("bf16 positions", ORANGE, "-", "bf16 positions", (420, 0.9)),
        ("bf16 angles", VIOLET, "--", "bf16 angles", (640, 0.57)),
        ("base 10000", GREEN, ":", "another base", (640, 0.29)),
        ("bf16 inv_freq", BLUE, "-", "bf16 inv_freq", (640, 0.06))):
    found = [[now - before for now, before in zip(row["loss"], right[row["text"]], strict=True)]
             for row in faults if row["fault"] == fault]
    axes.plot(at, [mean(column) for column in zip(*found, strict=True)], style, marker="o",
              markersize=3, color=colour, linewidth=1.8, label=text)
    axes.text(*place, text, color=colour)
axes.axvline(256, color=MUTED, linewidth=0.8, linestyle=":")
axes.set(xlabel="position in the text", ylabel="nats lost", ylim=(-0.05, 1.05))
show(figure, "Nats lost in each block of 128 positions, mean of the texts. Rounded positions and "
             "rounded angles cost next to nothing up to the dotted line at 256, and then more and "
             "more; another base costs some from the first block on; rounded frequencies cost "
             "nothing to be seen.")

# %% [markdown]
# Positions in bfloat16 cost nothing in the first 256 tokens and 0.6 nats or more in the second half of
# the text.<a class="claim" href="../../verified/#real-models-bfloat16-positions">✓</a> Frequencies alone, or sines and cosines alone, in bfloat16 cost less than
# 0.01.<a class="claim" href="../../verified/#real-models-bfloat16">✓</a> Rounded
# frequencies are multiplied by the position, so that this holds for short texts only.
#
# How it looks, the first characters of forty greedy tokens after a text about a poet's life:

# %%
for row in lab["decoder_words"]["rows"]:
    print(f"{row['fault']:<22}{row['continuation'][:52]!r}")

# %% [markdown]
# Large faults are loud. The small ones, rounded numbers and a cache that is one place off, give
# fluent text; [what perplexity cannot see](../../guides/perplexity/) is about those.
#
# ## Beyond the trained length
#
# The same tokens are read once within the trained length and once behind a longer text, with plain
# RoPE and with each rule for twice the length.

# %%
length = lab["decoder_length"]["rows"]
RULES = list(dict.fromkeys(row["rule"] for row in length))
BLOCK = 512


def lost(text, rule):
    """Loss of each block behind the trained length, minus that of the same tokens within it."""
    far, near = (
        next(r for r in length
             if (r["text"], r["rule"], r["start"], r["length"]) == (text, *window))
        for window in ((rule, 0, 12288), ("plain", 4096, 8192)))
    first = 8192 // BLOCK
    return [a - b for a, b in zip(far["loss"][first:], near["loss"][first - 8:], strict=True)]


for text in dict.fromkeys(row["text"] for row in length):
    print(text)
    for rule in RULES:
        gaps = lost(text, rule)
        print(f"  {rule:<12} 8192 to 10240: {mean(gaps[:4]):+.3f}   10240 to 12288: {mean(gaps[4:]):+.3f}")

# %% [markdown]
# From 10240 tokens on plain RoPE has lost 0.4 nats or more on both
# texts.<a class="claim" href="../../verified/#real-models-plain">✓</a> NTK, dynamic NTK, and YaRN
# stay within 0.1 without any training; PI loses 0.8 or
# more.<a class="claim" href="../../verified/#real-models-beyond">✓</a> Nor is it better inside the trained
# length: there PI costs 0.8 or more, and the other three less than
# 0.04.<a class="claim" href="../../verified/#real-models-inside">✓</a>
#
# The small models of [trained short, read long](../beyond_length/) show the same order of the rules at
# twice the length.
#
# ## Are far tokens used?
#
# A loss that stays level can come from near tokens alone. So the same last tokens of a text are scored
# after more and after fewer tokens, all within the trained length.

# %%
context = lab["decoder_context"]["rows"]
sizes = sorted({row["length"] for row in context})
print(f"{'tokens read':<12}" + "".join(f"{size:>9}" for size in sizes))
for text in dict.fromkeys(row["text"] for row in context):
    found = {row["length"]: row["loss"] for row in context if row["text"] == text}
    print(f"{text:<12}" + "".join(f"{found[size]:>9.3f}" for size in sizes))

# %% [markdown]
# From 512 to 1024 tokens the loss falls by 0.13 nats or more on each text; from there to 8192 it moves by
# less than 0.1, on one text upwards.<a class="claim" href="../../verified/#real-models-context">✓</a> So most
# of what this model takes from a long text stands near.
#
# The other test moves tokens away without changing them. A text is cut in half, and the
# positions of the second half are counted from further and further on. What the first half gives is the
# loss of the second half alone minus its loss after the first.

# %%
gap = lab["decoder_gap"]["rows"]
GAPS = sorted({row["gap"] for row in gap if row["gap"] is not None})


def given(rule, size):
    """Nats that the first half saves the second, one number a text."""
    own = [row for row in gap if row["rule"] == rule]
    at = {(row["text"], row["gap"]): row["loss"] for row in own}
    return [at[text, None] - at[text, size] for text, one in at if one == size]


figure, axes = plt.subplots()
for rule, colour, style, place in (("plain", ORANGE, "-", (9600, -0.5)),
                                   ("NTK", GREEN, "--", (3300, 0.13)),
                                   ("YaRN", BLUE, "-", (11500, 0.05)),
                                   ("PI", VIOLET, ":", (700, -0.1))):
    found = [given(rule, size) for size in GAPS]
    axes.fill_between(GAPS, [min(f) for f in found], [max(f) for f in found],
                      color=colour, alpha=0.18, linewidth=0)
    axes.plot(GAPS, [mean(f) for f in found], style, color=colour, linewidth=1.8, label=rule)
    axes.text(*place, rule, color=colour)
axes.axhline(0, color=MUTED, linewidth=0.8)
axes.axvline(lab["decoder_gap"]["trained_length"] - 2 * lab["decoder_gap"]["half"],
             color=MUTED, linewidth=0.8, linestyle=":")
axes.set(xlabel="gap between the halves", ylabel="nats given", ylim=(-0.8, 0.3),
         xticks=(0, 4096, 8192, 12288))
show(figure, "What the first half gives the second, mean and range of the texts. The dotted line "
             "is the end of the trained range. Under plain RoPE it falls to nothing at that line and far "
             "below behind it; under NTK, YaRN, and PI it falls slowly through zero.")

# %% [markdown]
# Side by side, with plain RoPE, the first half saves the second 0.13 nats or more on each text; with a gap of
# 4096 it saves 0.06 or less; and at 6144, where the trained range ends, the second half is read better
# alone.<a class="claim" href="../../verified/#real-models-gap-plain">✓</a> At 10240 plain RoPE loses 0.7 or
# more, and the rules for longer texts lose 0.15 or less; but none of them saves anything
# either.<a class="claim" href="../../verified/#real-models-gap-rules">✓</a> They keep far tokens from doing harm.
# That is not the same as using them.
#
# A hole in the positions is not what training showed. In a long text there are tokens at every distance, so
# the test says what these distances carry by themselves, not what a long text would give.
#
# ## Limits
#
# Two small models. MiniLM's swaps move embeddings little because its training did not ask for more.
# For SmolLM2 longer context brings little on these texts even within the trained length, so that a level
# loss is no proof of use.
