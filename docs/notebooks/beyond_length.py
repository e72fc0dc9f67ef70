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
# # Trained short, read long
#
# A method can compute every position, and a model that was trained with it can still be lost
# beyond the lengths it has seen. Here small language models are trained from scratch on short windows, with the methods named below, and then read windows up to eight times as long.
#
# The models are tiny: two layers, four heads, some hundred thousand weights, on the help texts that ship with
# Python. They show patterns, and their numbers belong to them. Each run has five seeds, and a
# sentence about a result stands here only if all five agree.
#
# ## The measure
#
# The same held-out characters are scored at each length, in two ways. *Sliding*: each character has
# nearly the whole window before it. *Plain*: windows lie side by side, so that the first characters
# of each have hardly any context. Losses are in nats: lower is better.

# %%
from statistics import mean

import matplotlib.pyplot as plt

from lab import margins, record
from tools.notebook_figures import (BLUE, BROWN, GREEN, INK, MUTED, ORANGE, VIOLET, WIDE,
                                    show)

lab = record.read("extrapolation")
rows = lab["rows"]
print(f"{lab['command']}, {lab['date']}: torch {lab['torch']}, Python {lab['python']}")
print(f"text: {lab['text']}, sha256 {lab['text_sha256'][:16]}; seeds {lab['seeds']}")
plan = lab["plans"]["fresh"]
print(f"{plan['steps']} steps of {plan['batch']} windows of {plan['length']} characters")

# %% [markdown]
# The next cell only draws.

# %%
LENGTHS = sorted({row["length"] for row in rows})


def losses(method, length, scoring="sliding"):
    return [row[scoring] for row in rows
            if (row["method"], row["length"]) == (method, length)]


def draw(axes, method, colour, style, text, at, scoring="sliding"):
    """The mean of the seeds, a band from the lowest to the highest, and the name at a place."""
    found = [losses(method, length, scoring) for length in LENGTHS]
    axes.fill_between(LENGTHS, [min(f) for f in found], [max(f) for f in found],
                      color=colour, alpha=0.18, linewidth=0)
    axes.plot(LENGTHS, [mean(f) for f in found], style, color=colour, linewidth=1.8, label=text)
    axes.text(*at, text, color=colour)


def frame(axes, top=3.6):
    axes.axvline(64, color=MUTED, linewidth=0.8, linestyle=":")
    axes.set(xscale="log", xticks=LENGTHS, xticklabels=LENGTHS, xlabel="length read",
             ylabel="loss, nats", ylim=(0.9, top))
    axes.minorticks_off()

# %% [markdown]
# ## Tables and the plain rotation
#
# All start near each other at the trained length, and part right behind it.

# %%
figure, axes = plt.subplots()
for method, colour, text, at in (("sinusoidal", ORANGE, "sinusoid", (66, 2.9)),
                                 ("learned", VIOLET, "learned", (300, 2.35)),
                                 ("rope", BLUE, "RoPE", (200, 1.95)),
                                 ("none", MUTED, "no encoding", (300, 1.55))):
    draw(axes, method, colour, "-", text, at)
frame(axes, top=4.3)
show(figure, "Loss against the length read, mean and range of five seeds, logarithmic lengths. "
             "The dotted line is the trained length. The sinusoid and the learned table rise "
             "steeply at once, RoPE after half as much again; no encoding rises slowly.")

# %% [markdown]
# Sixteen characters past the trained length the sinusoid loses 0.35 nats or more, and at 96 more
# than 1.0 nat.<a class="claim" href="../../verified/#beyond-length-sinusoid">✓</a> RoPE at 96 is
# within 0.05 nats of RoPE at 64, and at 128 it has lost 0.25 or
# more.<a class="claim" href="../../verified/#beyond-length-rope">✓</a> A learned table has rows there
# that were never trained: 0.35 nats or more at 80; stretching the trained rows over 128 places
# instead is better by 0.6 or more.<a class="claim" href="../../verified/#beyond-length-learned">✓</a>
#
# Without any encoding the causal mask alone tells some order. At the trained length such a model is
# behind RoPE by 0.3 nats or more, and up to 512 it loses between 0.05 and 0.35 of its own
# loss.<a class="claim" href="../../verified/#beyond-length-none">✓</a>
#
# ## Where in the window
#
# The mean over a window hides where it goes wrong. By position, the sinusoid's wall is at the trained
# length, and RoPE's half as much again behind it.

# %%
figure, axes = plt.subplots()
for method, colour, text, at in (("sinusoidal", ORANGE, "sinusoid", (140, 3.4)),
                                 ("rope", BLUE, "RoPE", (160, 2.3)),
                                 ("alibi", GREEN, "ALiBi", (200, 1.35))):
    found = [row["by_position"] for row in rows
             if (row["method"], row["length"]) == (method, 256)]
    # Four bins of eight positions together have the same targets: windows move by 32.
    bins = [mean(column) for column in zip(*found, strict=True)]
    smooth = [mean(bins[i:i + 4]) for i in range(0, len(bins), 4)]
    axes.plot([8 * i + 16 for i in range(0, len(bins), 4)], smooth, "o-",
              color=colour, linewidth=1.8, markersize=3, label=text)
    axes.text(*at, text, color=colour)
axes.axvline(64, color=MUTED, linewidth=0.8, linestyle=":")
axes.set(xlabel="position in a window of 256", ylabel="loss, nats", ylim=(0.9, 3.9))
show(figure, "Loss by position in windows of 256 characters, means of 32. Behind the dotted line, the "
             "trained length, the sinusoid's loss jumps up; RoPE's climbs later; ALiBi's stays.")

# %% [markdown]
# ## Penalties and other biases
#
# A method that only weakens far tokens has nothing new to read at a far position. Four settings are cut to
# the short window: Shaw's vectors reach 16 places, T5 has 16 buckets up to a distance of 64, and FIRE's
# threshold and the scale by which xPos fades are 32, half the trained length.<a class="claim" href="../../verified/#beyond-length-settings">✓</a>

# %%
figure, (rising, level) = plt.subplots(2, 1, figsize=(WIDE, 5.6), sharex=True)
for axes, top, curves in (
        (rising, 2.0, (("t5", ORANGE, "-", "T5", (330, 1.75)),
                       ("fire", VIOLET, "--", "FIRE", (400, 1.18)))),
        (level, 1.3, (("alibi", BLUE, "-", "ALiBi", (66, 1.225)),
                      ("xpos", BROWN, ":", "xPos", (330, 1.175)),
                      ("kerple", GREEN, "--", "KERPLE", (66, 1.12)),
                      ("shaw", INK, "-.", "Shaw", (140, 1.03))))):
    for method, colour, style, text, at in curves:
        draw(axes, method, colour, style, text, at)
    frame(axes, top)
level.set_ylim(1.0)
rising.set_xlabel("")
show(figure, "Loss against the length read, in two panels of other scales. Above, T5's buckets and FIRE rise "
             "slowly, T5 with a wide range over seeds. Below, ALiBi, KERPLE, xPos, and Shaw's clipped "
             "vectors stay nearly level.")

# %% [markdown]
# From 64 to 512, ALiBi moves by at most 0.05 nats, KERPLE by at most 0.06; Shaw's vectors lose at
# most 0.12 and xPos at most
# 0.15.<a class="claim" href="../../verified/#beyond-length-flat">✓</a> T5's buckets and FIRE lose
# 0.08 or more at 256, T5 up to
# 0.5.<a class="claim" href="../../verified/#beyond-length-slow">✓</a>
#
# Level is not the same as reading far. ALiBi's loss improves with the length only if windows are
# scored side by side, where fewer characters stand at the start of a window. With the whole window
# before each character it does not improve.<a class="claim" href="../../verified/#beyond-length-early">✓</a> The ALiBi paper discusses
# this early-token effect.
#
# ## RoPE with other speeds
#
# PI, NTK-aware scaling, and YaRN change the speeds of the same trained model; the factor is the length
# over the trained one. YaRN's upper bound is 8 turns here: under the paper's 32 no pair would be
# kept, since the fastest makes 10.2 turns in 64 characters.<a class="claim" href="../../verified/#beyond-length-bound">✓</a>

# %%
figure, axes = plt.subplots()
for method, colour, style, text, at in (("rope", MUTED, "-", "as trained", (98, 2.4)),
                                        ("pi", ORANGE, "-", "PI", (83, 1.75)),
                                        ("ntk", VIOLET, "--", "NTK", (380, 2.0)),
                                        ("yarn", BLUE, "-", "YaRN", (290, 1.05))):
    draw(axes, method, colour, style, text, at)
frame(axes)
show(figure, "Loss against the length read, without any further training. PI rises at once and "
             "then slowly; NTK stays level to twice the length and then rises; YaRN rises least.")

# %% [markdown]
# PI without training is worse than doing nothing at 96, by 0.15 nats or more, and better at 256, by
# 0.2 or more.<a class="claim" href="../../verified/#beyond-length-pi">✓</a> NTK is within 0.08 of the
# trained loss at 128 and has lost 0.5 or more at
# 256.<a class="claim" href="../../verified/#beyond-length-ntk">✓</a> YaRN is within 0.03 of NTK at 128, and
# at 256 better by 0.3 or more, and better than doing nothing by 0.9 or more; at 512 it has lost 0.2 or more
# itself.<a class="claim" href="../../verified/#beyond-length-yarn">✓</a>
#
# The PI paper proposes it with a short fine-tuning, and that is the fair test: one hundred steps at
# four times the trained length, as many characters a step as before.

# %%
print(f"{'loss at':<12}" + "".join(f"{length:>23}" for length in (64, 256, 512)))
for method in ("rope", "rope_tuned", "pi_tuned", "ntk_tuned", "yarn_tuned"):
    cells = []
    for length in (64, 256, 512):
        found = losses(method, length)
        cells.append(f"{mean(found):.2f} ({min(found):.2f} to {max(found):.2f})")
    print(f"{method:<12}" + "".join(f"{cell:>23}" for cell in cells))

# %% [markdown]
# Tuned, PI at 256 is better than untuned by 0.4 nats or more, still behind YaRN tuned alike by 0.1
# or more, and pays 0.1 or more at
# 64.<a class="claim" href="../../verified/#beyond-length-tuned">✓</a> Tuning plain RoPE directly does as
# well as PI at 256, within 0.15 nats, and better by 0.1 or more at 64 and by 0.3 or more at
# 512.<a class="claim" href="../../verified/#beyond-length-direct">✓</a>
# Tuned for 256, YaRN loses 0.6 or
# more at 512: the tuned length is a wall like the first
# one. Behind it the order turns round: there YaRN is worse than NTK tuned alike by 0.2 or more, and than
# tuning directly by 0.4 or more.<a class="claim" href="../../verified/#beyond-length-second-wall">✓</a>
#
# ## Two more ways out
#
# *Random positions*: in training each window gets sorted positions drawn from a longer range
# (Ruoss et al. 2023). *DroPE*: train with RoPE, then take it out and train a little on without.

# %%
figure, axes = plt.subplots()
for method, colour, style, text, at in (
        ("rope", MUTED, "-", "RoPE", (140, 2.7)),
        ("rope_randomized", BLUE, "-", "RoPE, random positions", (150, 1.08)),
        ("drope", ORANGE, "--", "dropped", (66, 1.83)),
        ("none_longer", VIOLET, ":", "none", (66, 1.32))):
    draw(axes, method, colour, style, text, at)
frame(axes)
show(figure, "Loss against the length read. With random positions RoPE rises slowly. A model "
             "without its RoPE, trained on, lies above and stays nearly level, as does a model that "
             "never had one and was trained as long.")

# %% [markdown]
# Random positions cost 0.03 nats or more at 64 and are better by 0.8 or more at
# 256.<a class="claim" href="../../verified/#beyond-length-random">✓</a> Taking RoPE out costs 1.0 nat or
# more at once; trained on, the model gains 0.6 or more of it back and moves by at most 0.2 up to
# 512.<a class="claim" href="../../verified/#beyond-length-dropped-back">✓</a> It is behind a model that never had RoPE and was trained as long by 0.03 or more: here, dropping
# gains nothing.<a class="claim" href="../../verified/#beyond-length-drope">✓</a>
#
# ## Does it find far tokens?
#
# A level loss can come from near characters alone. So the same small models are trained on a task that
# cannot be solved without far tokens: a row of keys with values, and then a key that was seen, asked
# for its value. Rows of the trained length first, then longer ones.

# %%
from lab import recall_shares
from lab.recall_task import N_VALUES

answers = record.read("recall")
share = recall_shares.shares
found = answers["rows"]
print(f"right answers, mean (lowest to highest) of {len(answers['seeds'])} seeds; "
      f"guessing gives {1 / N_VALUES:.2f}")
print(f"{'':<16}{'64':>20}{'256':>20}{'512, beyond 64':>20}")
for method in dict.fromkeys(row["method"] for row in found):
    cells = []
    for length, beyond in ((64, 0), (256, 0), (512, 64)):
        some = share(found, method, length, beyond)
        cells.append(f"{mean(some):.2f} ({min(some):.2f} to {max(some):.2f})")
    print(f"{method:<16}" + "".join(f"{cell:>20}" for cell in cells))

# %% [markdown]
# ALiBi and Shaw's vectors find values at eight times the trained length: 0.75 or more of the answers
# about distances beyond 64 are right in every
# seed.<a class="claim" href="../../verified/#beyond-length-found">✓</a> RoPE learns the task, 0.9 or more, and
# at 512 answers 0.15 or less of the far questions, where guessing one of 16 values gives
# 0.0625.<a class="claim" href="../../verified/#beyond-length-lost">✓</a> T5's buckets learn it in four of
# the five seeds and hardly in the fifth.<a class="claim" href="../../verified/#beyond-length-seeds">✓</a>
# One method is a warning, xPos: its loss
# above is nearly level, it learns the task as well, and beyond distances of 128 it answers 0.15 or
# less.<a class="claim" href="../../verified/#beyond-length-level-but-blind">✓</a> Its scale is the small one
# named above, so its far scores have faded: this says
# nothing of xPos with a larger one. A loss that stays level
# says nothing about far tokens.
#
# ## What agrees with the papers, and what does not
#
# | Paper | There | Here |
# | --- | --- | --- |
# | ALiBi (Press et al. 2022) | loss holds beyond the trained length; much of the gain is the early-token effect | the same, in all seeds |
# | PI (Chen et al. 2023) | needs a fine-tuning, and is ahead of tuning directly | the first is the same; tuning directly does as well here at the tuned length, and better at the others |
# | YaRN (Peng et al. 2024) | ahead of PI and NTK | the same at four times the length, tuned and untuned; at twice the length NTK is as good, and beyond the length of the tuning YaRN is behind |
# | NoPE (Kazemnejad et al. 2023) | no encoding generalises best to longer algorithmic tasks | another task: here weak at the trained length, and rising slowly |
# | DroPE | dropping RoPE extends the context of large models | not seen at this size |
#
# ## What this does not show
#
# Which method is best: the models are too small, T5's buckets and no encoding are trained too short,
# and the text is one. The recall task is a toy, and each of its models is trained for it alone. A large model learns things that two layers cannot.
