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
# # The clock of sine waves
#
# One hand on a dial forgets how often it went round. Several hands, each slower than the one
# before, name a position together. We add them one by one, and check every step.

# %%
import math

import matplotlib.pyplot as plt
import torch

from snippets.sinusoidal import sinusoidal_inv_freq, sinusoidal_table
from tools.notebook_figures import BLUE, MUTED, ORANGE, WIDE, show

# %% [markdown]
# The next cell only draws; skip it on a first reading. A hand is drawn with sine to the right and
# cosine upwards, as on a clock.

# %%
def draw_hand(axes, sine, cosine, color=BLUE, style="-"):
    rim = plt.Circle((0, 0), 1, fill=False, color=MUTED, linewidth=0.8)
    axes.add_patch(rim)
    axes.plot([0, sine], [0, cosine], style, color=color, linewidth=2.2)
    axes.plot(sine, cosine, "o", color=color, markersize=5)
    axes.set(xlim=(-1.2, 1.2), ylim=(-1.2, 1.2), aspect="equal")
    axes.axis("off")


def where(hands, positions):
    """The same in words, for those who do not see the dials."""
    readings = (f"at {p} sine {hands[p, 0]:.2f}, cosine {hands[p, 1]:.2f}" for p in positions)
    return "The hand points to: " + "; ".join(readings) + "."


# %% [markdown]
# ## One hand
#
# Let a hand turn by the same angle at every step. Position times speed is its angle, and the pair
# of sine and cosine says where it points: two numbers between minus one and one, however far we
# walk.

# %%
speed = 2 * math.pi / 8  # radians per position: eight steps make a turn
angle = torch.arange(12, dtype=torch.float64) * speed  # (T,)
hand = torch.stack((angle.sin(), angle.cos()), dim=-1)  # (T, 2)

assert torch.allclose(hand.norm(dim=-1), torch.ones_like(angle))
assert torch.allclose(hand[1], hand[9])  # one turn later: the same reading

# %%
figure, dials = plt.subplots(1, 4, figsize=(WIDE, 1.6))
for axes, position in zip(dials, (0, 1, 8, 9), strict=True):
    draw_hand(axes, *hand[position].tolist())
    axes.set_title(position)
show(figure, "Four dials, for the positions 0, 1, 8 and 9. "
             "The hands at 8 and 9 point where those at 0 and 1 do.", where(hand, (0, 1, 8, 9)))

# %% [markdown]
# After a full turn the readings repeat. A slower hand repeats later, but it moves so little that
# neighbours look alike. One hand is good for neighbours or for far places, not for both. Several
# hands share the work.
#
# ## Several hands
#
# The sinusoidal table has one hand for each pair of columns. Each is slower than the one before it,
# always by the same factor.

# %%
d_model = 8  # four hands
speeds = sinusoidal_inv_freq(d_model)  # (P,)
table = sinusoidal_table(torch.arange(1000), d_model).double()  # (T, d_model)

factor = 10000 ** (-2 / d_model)
assert torch.allclose(speeds[1:], factor * speeds[:-1])
print("radians per position:", [round(s, 6) for s in speeds.tolist()])

# %%
figure, rows = plt.subplots(4, 1, figsize=(WIDE, 3.8), sharex=True)
for pair, axes in enumerate(rows):
    axes.plot(table[:300, 2 * pair], color=BLUE, linewidth=1.4, label=f"sine of pair {pair}")
    axes.set_ylabel(f"pair {pair}", rotation=0, ha="right", va="center")
    axes.set(ylim=(-1.15, 1.15), yticks=[-1, 1], xlim=(0, 299))
rows[-1].set_xlabel("position")
show(figure, "The sine of four hands against the position, up to 299. "
             "The first swings often, the second a few times, the third "
             "less than once, and the last hardly rises.")

# %% [markdown]
# ## Reading them together
#
# Now a riddle. Somebody hands us one row of the table, and we can read each hand only roughly, to a
# tenth of a radian. Which position was it? We strike out every position that does not fit.

# %%
secret = 437
fits = torch.ones(1000, dtype=torch.bool)
left = []
for pair in range(4):
    hands = table[:, 2 * pair : 2 * pair + 2]  # (T, 2)
    apart = torch.acos((hands @ hands[secret]).clamp(-1, 1))  # (T,)
    fits = fits & (apart < 0.1)
    left.append(fits.nonzero().flatten().tolist())

print("positions left after each hand:", [len(some) for some in left])
assert secret in left[-1]
assert len(left[0]) > len(left[1]) > len(left[2])

# %%
figure, axes = plt.subplots(figsize=(WIDE, 2.2))
for row, some in enumerate(left):
    axes.plot(some, [row] * len(some), "|", color=BLUE, markersize=14)
axes.axvline(secret, color=ORANGE, linewidth=0.8, linestyle=":")
axes.set(yticks=range(4), yticklabels=["pair 0", "and 1", "and 2", "and 3"],
         xlabel="position", xlim=(0, 999), ylim=(3.5, -0.5))
show(figure, f"Marks at the positions that fit. Pair 0 leaves {len(left[0])}, "
             f"spread over all; pairs 0 and 1 leave {len(left[1])}, far apart; "
             f"all four leave {len(left[3])}, at position {secret}.",
     "; ".join(f"after pair {i}: {len(some)} positions from {some[0]} to {some[-1]}"
               for i, some in enumerate(left)) + ".")

# %% [markdown]
# The fast hand tells neighbours apart, and fits again and again. Each slower hand keeps a region
# and strikes out the rest. The slowest hand strikes out nothing here: it is needed on a longer table,
# where the third hand repeats. No single hand knows the position; together they do.
#
# ## A step is the same turn everywhere
#
# To move ahead by some gap $k$, hand $i$ turns by $k\,\omega_i$, where $\omega_i$ is its speed. The
# position we start from does not appear. So one rotation, built from the gap alone, carries every
# row to the row $k$ places later.

# %%
k = 7
cos, sin = (k * speeds).cos(), (k * speeds).sin()  # (P,)
sines, cosines = table[:, 0::2], table[:, 1::2]  # (T, P)
ahead = (sines * cos + cosines * sin, cosines * cos - sines * sin)
moved = torch.stack(ahead, dim=-1).flatten(-2)  # (T, d_model)

assert torch.allclose(moved[:-k], table[k:], atol=1e-6)  # from every start

# %%
figure, dials = plt.subplots(1, 3, figsize=(WIDE, 1.9))
for axes, start in zip(dials, (3, 40, 500), strict=True):
    draw_hand(axes, *table[start, 2:4].tolist(), color=MUTED, style="--")
    draw_hand(axes, *table[start + k, 2:4].tolist())
    axes.set_title(f"{start} to {start + k}")
show(figure, f"The hand of pair 1 before, dashed, and {k} positions later, for "
             "three starts. It points elsewhere each time, but the angle of "
             "the step is the same.", where(table[:, 2:4], (3, 3 + k, 40, 40 + k, 500, 500 + k)))

# %% [markdown]
# A fixed linear map can therefore look a fixed number of places ahead. [RoPE](../../methods/rope/)
# takes this turn and applies it to queries and keys.
#
# ## What the minus sign does
#
# The exponent of each speed has a minus sign, so later hands are slower. Forget the sign, and they
# are faster. That sounds harmless. But we look at the hands at whole positions only, and a hand
# that goes nearly all the way round between two looks seems to creep backwards.

# %%
positions = torch.arange(21, dtype=torch.float64)
slow = 0.3
fast = 2 * math.pi - slow

assert torch.allclose((positions * fast).cos(), (positions * slow).cos())
assert torch.allclose((positions * fast).sin(), -(positions * slow).sin())

# %%
between = torch.linspace(0, 20, 2001, dtype=torch.float64)
figure, axes = plt.subplots()
axes.plot(between, (between * fast).cos(), color=MUTED, linewidth=0.7)
axes.plot(between, (between * slow).cos(), "--", color=BLUE, linewidth=1.6, label="slow hand")
axes.plot(positions, (positions * fast).cos(), "o", color=ORANGE, label="fast hand as read")
axes.set(xlabel="position", ylabel="cosine", yticks=[-1, 0, 1], xticks=range(0, 21, 5))
show(figure, "Grey: the fast hand at every moment. Dots: what we read at "
             "whole positions. Dashed: the slow hand that gives the same readings.")

# %% [markdown]
# This is aliasing: whole turns between two looks leave no trace. With the plus sign most hands go
# round many times between two positions, and what remains is as good as random. In the snippet,
# there is no switch for the sign; one divided by the base gives the same speeds as a plus sign.

# %%
minus = sinusoidal_inv_freq(64)  # (P,)
plus = sinusoidal_inv_freq(64, base=1 / 10000)  # (P,)
assert torch.allclose(plus, 1 / minus)

too_fast = (plus > 2 * math.pi).sum().item()
print(f"more than a turn in one step: {too_fast} of {len(plus)} hands")
assert (minus <= 1).all()

# %% [markdown]
# ## What similarity looks like
#
# Multiply two rows coordinate by coordinate and add up: each hand contributes the cosine of the
# angle between its two readings. That angle depends on the gap alone. With slow hands in the clock,
# near positions look alike, and the likeness fades with the gap. With the wrong sign it is gone
# after one step.

# %%
gaps = torch.arange(-40, 41, dtype=torch.float64)
right = (gaps[:, None] * minus).cos().mean(-1)  # (81,)
wrong = (gaps[:, None] * plus).cos().mean(-1)  # (81,)

two = sinusoidal_table(torch.tensor([50, 55]), 64).double()
assert math.isclose(two[0] @ two[1] / 32, right[gaps == 5], abs_tol=1e-6)
assert torch.equal(right, right.flip(0))  # a gap has no direction here
assert right[gaps == 1] > 0.9 and wrong[gaps == 1] < 0.2

# %%
figure, axes = plt.subplots(figsize=(WIDE, 2.8))
axes.axhline(0, color=MUTED, linewidth=0.8)
axes.plot(gaps, right, color=BLUE, linewidth=2, label="minus")
axes.plot(gaps, wrong, "--", color=ORANGE, linewidth=1.2, label="plus")
axes.text(14, 0.75, "minus", color=BLUE)
axes.text(14, 0.32, "plus", color=ORANGE)
axes.set(xlabel="gap between two positions", ylabel="similarity")
show(figure, "Similarity against the gap. With the minus sign a peak at gap "
             "zero that fades on both sides; with the plus sign one spike, "
             "and noise around zero.")

# %% [markdown]
# The curve is the same on both sides: by itself, this similarity does not tell *before* from
# *after*. And it describes the bare rows. Inside a model they are added to token vectors and pass
# through trained projections, where nothing forces the pattern to stay. The clock gives an address
# that can be read; reading it is up to the model.
#
# The formula, the class and their tests are on the [sinusoidal page](../../methods/sinusoidal/).
