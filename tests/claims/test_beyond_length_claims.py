"""The measured sentences of docs/notebooks/beyond_length.py: every seed must agree."""

import inspect
import math

from lab import margins, methods, recall_shares, recall_task, record
from snippets.yarn import yarn
from tests.guard.marks import claim

SEEDS = 5


def gaps(more, less, scoring="sliding") -> list[float]:
    """Loss of one (method, length) minus loss of another, one number a seed."""
    rows = record.read("extrapolation")["rows"]
    found = margins.differences(margins.Margin("", more, less, 0.0, scoring=scoring), rows)
    assert len(found) == SEEDS
    return found


@claim(
    "beyond-length-sinusoid",
    "Sixteen characters past the trained length the sinusoid loses 0.35 nats or more, and at 96 "
    "more than 1.0 nat.",
    measured="lab/results/extrapolation.json",
)
def test_the_sinusoid_fails_at_once():
    assert min(gaps(("sinusoidal", 64 + 16), ("sinusoidal", 64))) >= 0.35
    assert min(gaps(("sinusoidal", 96), ("sinusoidal", 64))) > 1.0


@claim(
    "beyond-length-rope",
    "RoPE at 96 is within 0.05 nats of RoPE at 64, and at 128 it has lost 0.25 or more.",
    measured="lab/results/extrapolation.json",
)
def test_rope_holds_half_a_length():
    assert max(map(abs, gaps(("rope", 96), ("rope", 64)))) <= 0.05
    assert min(gaps(("rope", 128), ("rope", 64))) >= 0.25


@claim(
    "beyond-length-learned",
    "A learned table has rows there that were never trained: 0.35 nats or more at 80; stretching "
    "the trained rows over 128 places instead is better by 0.6 or more.",
    measured="lab/results/extrapolation.json",
)
def test_learned_rows():
    assert min(gaps(("learned", 80), ("learned", 64))) >= 0.35
    assert min(gaps(("learned", 128), ("learned_stretched", 128))) >= 0.6


@claim(
    "beyond-length-none",
    "At the trained length such a model is behind RoPE by 0.3 nats or more, and up to 512 it loses "
    "between 0.05 and 0.35 of its own loss.",
    measured="lab/results/extrapolation.json",
)
def test_no_encoding():
    assert min(gaps(("none", 64), ("rope", 64))) >= 0.3
    assert all(0.05 <= gap <= 0.35 for gap in gaps(("none", 512), ("none", 64)))


@claim(
    "beyond-length-flat",
    "From 64 to 512, ALiBi moves by at most 0.05 nats, KERPLE by at most 0.06; Shaw's vectors lose "
    "at most 0.12 and xPos at most 0.15.",
    measured="lab/results/extrapolation.json",
)
def test_level_methods():
    for method, most in (("alibi", 0.05), ("kerple", 0.06)):
        assert max(map(abs, gaps((method, 512), (method, 64)))) <= most
    assert max(gaps(("shaw", 512), ("shaw", 64))) <= 0.12
    assert max(gaps(("xpos", 512), ("xpos", 64))) <= 0.15


@claim(
    "beyond-length-slow",
    "T5's buckets and FIRE lose 0.08 or more at 256, T5 up to 0.5.",
    measured="lab/results/extrapolation.json",
)
def test_slow_methods():
    assert min(gaps(("t5", 256), ("t5", 64)) + gaps(("fire", 256), ("fire", 64))) >= 0.08
    assert 0.4 < max(gaps(("t5", 256), ("t5", 64))) <= 0.5


@claim(
    "beyond-length-early",
    "With the whole window before each character it does not improve.",
    measured="lab/results/extrapolation.json",
)
def test_early_tokens():
    assert all(0.005 <= gap <= 0.05 for gap in gaps(("alibi", 64), ("alibi", 512), "plain"))
    assert max(gaps(("alibi", 64), ("alibi", 512))) < 0


@claim(
    "beyond-length-pi",
    "PI without training is worse than doing nothing at 96, by 0.15 nats or more, and better at "
    "256, by 0.2 or more.",
    measured="lab/results/extrapolation.json",
)
def test_interpolation_alone():
    assert min(gaps(("pi", 96), ("rope", 96))) >= 0.15
    assert min(gaps(("rope", 256), ("pi", 256))) >= 0.2


@claim(
    "beyond-length-ntk",
    "NTK is within 0.08 of the trained loss at 128 and has lost 0.5 or more at 256.",
    measured="lab/results/extrapolation.json",
)
def test_ntk():
    assert max(map(abs, gaps(("ntk", 128), ("rope", 64)))) <= 0.08
    assert min(gaps(("ntk", 256), ("rope", 64))) >= 0.5


@claim(
    "beyond-length-yarn",
    "YaRN is within 0.03 of NTK at 128, and at 256 better by 0.3 or more, and better than doing "
    "nothing by 0.9 or more; at 512 it has lost 0.2 or more itself.",
    measured="lab/results/extrapolation.json",
)
def test_yarn():
    assert max(map(abs, gaps(("ntk", 128), ("yarn", 128)))) <= 0.03
    assert min(gaps(("ntk", 256), ("yarn", 256))) >= 0.3
    assert min(gaps(("rope", 256), ("yarn", 256))) >= 0.9
    assert min(gaps(("yarn", 512), ("yarn", 64))) >= 0.2


@claim(
    "beyond-length-tuned",
    "Tuned, PI at 256 is better than untuned by 0.4 nats or more, still behind YaRN tuned alike by "
    "0.1 or more, and pays 0.1 or more at 64.",
    measured="lab/results/extrapolation.json",
)
def test_tuned_interpolation():
    assert min(gaps(("pi", 256), ("pi_tuned", 256))) >= 0.4
    assert min(gaps(("pi_tuned", 256), ("yarn_tuned", 256))) >= 0.1
    assert min(gaps(("pi_tuned", 64), ("rope", 64))) >= 0.1


@claim(
    "beyond-length-second-wall",
    "Tuned for 256, YaRN loses 0.6 or more at 512: the tuned length is a wall like the first one. "
    "Behind it the order turns round: there YaRN is worse than NTK tuned alike by 0.2 or more, and "
    "than tuning directly by 0.4 or more.",
    measured="lab/results/extrapolation.json",
)
def test_the_tuned_length_is_a_wall():
    assert min(gaps(("yarn_tuned", 512), ("yarn_tuned", 256))) >= 0.6
    assert min(gaps(("yarn_tuned", 512), ("ntk_tuned", 512))) >= 0.2
    assert min(gaps(("yarn_tuned", 512), ("rope_tuned", 512))) >= 0.4


@claim(
    "beyond-length-random",
    "Random positions cost 0.03 nats or more at 64 and are better by 0.8 or more at 256.",
    measured="lab/results/extrapolation.json",
)
def test_random_positions():
    assert min(gaps(("rope_randomized", 64), ("rope", 64))) >= 0.03
    assert min(gaps(("rope", 256), ("rope_randomized", 256))) >= 0.8


@claim(
    "beyond-length-drope",
    "It is behind a model that never had RoPE and was trained as long by 0.03 or more: here, "
    "dropping gains nothing.",
    measured="lab/results/extrapolation.json",
)
def test_dropped():
    assert min(gaps(("drope", 64), ("none_longer", 64))) >= 0.03


@claim(
    "beyond-length-dropped-back",
    "Taking RoPE out costs 1.0 nat or more at once; trained on, the model gains 0.6 or more of it "
    "back and moves by at most 0.2 up to 512.",
    measured="lab/results/extrapolation.json",
)
def test_trained_on():
    assert min(gaps(("rope_dropped", 64), ("rope", 64))) >= 1.0
    assert min(gaps(("rope_dropped", 64), ("drope", 64))) >= 0.6
    assert max(map(abs, gaps(("drope", 512), ("drope", 64)))) <= 0.2


@claim(
    "beyond-length-direct",
    "Tuning plain RoPE directly does as well as PI at 256, within 0.15 nats, and better by 0.1 or "
    "more at 64 and by 0.3 or more at 512.",
    measured="lab/results/extrapolation.json",
)
def test_tuned_directly():
    assert max(map(abs, gaps(("rope_tuned", 256), ("pi_tuned", 256)))) <= 0.15
    assert min(gaps(("pi_tuned", 64), ("rope_tuned", 64))) >= 0.1
    assert min(gaps(("pi_tuned", 512), ("rope_tuned", 512))) >= 0.3


@claim(
    "beyond-length-settings",
    "Four settings are cut to the short window: Shaw's vectors reach 16 places, T5 has 16 buckets "
    "up to a distance of 64, and FIRE's threshold and the scale by which xPos fades are 32, half "
    "the trained length.",
)
def test_settings_of_the_short_window():
    made = {name: methods.TRAININGS[name].make(64, 4, 2) for name in ("shaw", "t5", "fire", "xpos")}
    assert made["shaw"].reach == 16
    t5 = made["t5"].bias.rule
    assert (t5["num_buckets"], t5["max_distance"]) == (16, 64)
    assert made["fire"].bias.start[1] == made["xpos"].scale_base == 32
    assert methods.TRAINED_LENGTH / 2 == 32


@claim(
    "beyond-length-bound",
    "YaRN's upper bound is 8 turns here: under the paper's 32 no pair would be kept, since the "
    "fastest makes 10.2 turns in 64 characters.",
)
def test_the_bound_of_yarn():
    fastest = max(methods.rope(64, 4, 2).inv_freq.tolist()) * 64 / (2 * math.pi)
    assert (methods.YARN["trained_length"], round(fastest, 1)) == (64, 10.2)
    assert methods.YARN["beta_fast"] == 8
    assert inspect.signature(yarn).parameters["beta_fast"].default == 32 > fastest


def shares(method: str, length: int, beyond: int = 0) -> list[float]:
    """Right answers about distances above `beyond`, one share a seed."""
    found = recall_shares.shares(record.read("recall")["rows"], method, length, beyond)
    assert len(found) == SEEDS
    return found


@claim(
    "beyond-length-found",
    "ALiBi and Shaw's vectors find values at eight times the trained length: 0.75 or more of the "
    "answers about distances beyond 64 are right in every seed.",
    measured="lab/results/recall.json",
)
def test_far_values_are_found():
    for method in ("alibi", "shaw"):
        assert min(shares(method, 8 * 64, 64)) >= 0.75


@claim(
    "beyond-length-lost",
    "RoPE learns the task, 0.9 or more, and at 512 answers 0.15 or less of the far questions, where "
    "guessing one of 16 values gives 0.0625.",
    measured="lab/results/recall.json",
)
def test_far_values_are_lost():
    assert min(shares("rope", 64)) >= 0.9
    assert max(shares("rope", 512, 64)) <= 0.15
    assert recall_task.N_VALUES == 16 and 1 / 16 == 0.0625


@claim(
    "beyond-length-seeds",
    "T5's buckets learn it in four of the five seeds and hardly in the fifth.",
    measured="lab/results/recall.json",
)
def test_one_seed_is_not_enough():
    worst, *others = sorted(shares("t5", 64))
    assert worst < 0.4 and len(others) == 4 and min(others) > 0.9


@claim(
    "beyond-length-level-but-blind",
    "One method is a warning, xPos: its loss above is nearly level, it learns the task as well, and "
    "beyond distances of 128 it answers 0.15 or less.",
    measured="lab/results/recall.json",
)
def test_level_but_blind():
    assert max(gaps(("xpos", 512), ("xpos", 64))) <= 0.15
    assert min(shares("xpos", 64)) >= 0.9
    assert max(shares("xpos", 512, 128)) <= 0.15
