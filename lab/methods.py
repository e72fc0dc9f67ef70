"""What is trained for the extrapolation experiment, and how each trained model is read.

A training starts from fresh weights, or goes on from another one with a new method. A reading
evaluates a training: as it was trained, or with another rule for its positions.
"""

from collections.abc import Callable
from typing import NamedTuple

from lab.position_biases import Alibi, Bias, Shaw
from lab.position_methods import Learned, Positions, Rope, Sinusoidal, Stretched, XPos
from lab.training import Placing, consecutive, randomized
from snippets.fire import Fire
from snippets.kerple import Kerple
from snippets.learned import extend_table
from snippets.rope import rope_inv_freq
from snippets.rope_scaling import linear, ntk_aware
from snippets.t5_bias import T5Bias
from snippets.yarn import yarn

TRAINED_LENGTH, LONGEST, TUNED_LENGTH = 64, 512, 256
ANYWHERE = randomized(2 * LONGEST)
# No pair turns 32 times within 64 tokens, YaRN's bound for those that are kept: 8 here.
YARN = {"trained_length": TRAINED_LENGTH, "beta_fast": 8.0}

Make = Callable[[int, int, int], Positions]  # d_model, n_heads, n_layers in, a method out


class Training(NamedTuple):
    make: Make
    stage: str = "fresh"  # which plan of the experiment
    placing: Placing = consecutive
    goes_on_from: str | None = None


class Reading(NamedTuple):
    training: str
    at: Callable[[Positions, int], Positions] | None = None  # trained method, length: method read


def none(d_model, n_heads, n_layers):
    return Positions()


def sinusoidal(d_model, n_heads, n_layers):
    return Sinusoidal()


def learned(d_model, n_heads, n_layers):
    return Learned(d_model, LONGEST)


def rope(d_model, n_heads, n_layers):
    return Rope(rope_inv_freq(d_model // n_heads))


def tuned_with(rule, **known) -> Make:
    """RoPE under a scaling rule for the length of the fine-tuning, at every length."""

    def make(d_model, n_heads, n_layers):
        return Rope(*rule(d_model // n_heads, TUNED_LENGTH / TRAINED_LENGTH, **known))

    return make


def xpos(d_model, n_heads, n_layers):
    # The paper's 512 is half its trained length.
    return XPos(d_model // n_heads, scale_base=TRAINED_LENGTH / 2)


def shaw(d_model, n_heads, n_layers):
    return Shaw(d_model // n_heads, n_layers, reach=16)


def t5(d_model, n_heads, n_layers):
    # A quarter of T5's buckets and distance would be 8 and 32; 16 and 64 cover the window.
    return Bias(T5Bias(n_heads, bidirectional=False, num_buckets=16, max_distance=64))


def alibi(d_model, n_heads, n_layers):
    return Bias(Alibi(n_heads))


def kerple(d_model, n_heads, n_layers):
    return Bias(Kerple(n_heads, kind="log"))


def fire(d_model, n_heads, n_layers):
    return Bias(Fire(n_heads, threshold=TRAINED_LENGTH / 2))


TRAININGS = {
    "none": Training(none),
    "sinusoidal": Training(sinusoidal),
    "learned": Training(learned),
    "shaw": Training(shaw),
    "t5": Training(t5),
    "alibi": Training(alibi),
    "kerple": Training(kerple),
    "fire": Training(fire),
    "xpos": Training(xpos),
    "rope": Training(rope),
    "sinusoidal_randomized": Training(sinusoidal, placing=ANYWHERE),
    "rope_randomized": Training(rope, placing=ANYWHERE),
    "rope_tuned": Training(rope, "tuned", goes_on_from="rope"),
    "pi_tuned": Training(tuned_with(linear), "tuned", goes_on_from="rope"),
    "ntk_tuned": Training(tuned_with(ntk_aware), "tuned", goes_on_from="rope"),
    "yarn_tuned": Training(tuned_with(yarn, **YARN), "tuned", goes_on_from="rope"),
    "drope": Training(none, "recalibrated", goes_on_from="rope"),
    "none_longer": Training(none, "recalibrated", goes_on_from="none"),
}


def scaled(rule, **known) -> Callable[[Positions, int], Positions]:
    """A rule for the length at hand: factor = length / trained length, the whole text anew."""

    def at(trained, length):
        factor = max(1.0, length / TRAINED_LENGTH)
        return Rope(*rule(2 * len(trained.inv_freq), factor, **known))

    return at


def stretched(trained, length):
    rows = trained.table.weight.detach()[:TRAINED_LENGTH]
    return Stretched(extend_table(rows, max(length, TRAINED_LENGTH)))


READINGS = {name: Reading(name) for name in TRAININGS} | {
    "learned_stretched": Reading("learned", stretched),
    "pi": Reading("rope", scaled(linear)),
    "ntk": Reading("rope", scaled(ntk_aware)),
    "yarn": Reading("rope", scaled(yarn, **YARN)),
    "rope_dropped": Reading("rope", lambda trained, length: Positions()),
}
