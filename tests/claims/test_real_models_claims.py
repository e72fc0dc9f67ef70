"""The measured sentences of docs/notebooks/real_models.py: every text and pair must agree."""

import math
from statistics import mean

from lab import record
from tests.guard.marks import claim


def rows(name: str, **fixed) -> list[dict]:
    kept = record.read(f"models_{name}")["rows"]
    found = [row for row in kept if all(row.get(key) == value for key, value in fixed.items())]
    assert found, fixed
    return found


@claim(
    "real-models-as-trained",
    "As trained the pairs differ, by little: their cosines lie between 0.92 and 0.999.",
    measured="lab/results/models_encoder_order.json",
)
def test_pairs_as_trained():
    for row in rows("encoder_order", table="as trained"):
        assert len(row["cosine"]) == 10
        assert 0.92 < min(row["cosine"]) and max(row["cosine"]) < 0.999


@claim(
    "real-models-equal-rows",
    "With equal rows, zero or not, the two embeddings of each pair are the same up to 0.000001, and "
    "in float64 up to its rounding.",
    measured="lab/results/models_encoder_order.json",
)
def test_equal_rows():
    for table in ("zero", "constant"):
        for dtype, most in (("float32", 0.000001), ("float64", 1e-15)):
            (row,) = rows("encoder_order", table=table, dtype=dtype)
            assert max(row["difference"]) < most
    assert all(min(row["difference"]) > 0.005 for row in rows("encoder_order", table="as trained"))


@claim(
    "real-models-permuted",
    "As trained an output moves by more than 5; permute the position numbers along, and nothing "
    "moves by more than 0.00001.",
    measured="lab/results/models_encoder_order.json",
)
def test_permutations():
    for row in rows("encoder_order", table="as trained"):
        assert min(row["permuted_tokens"]) > 5
        assert max(row["permuted_with_positions"]) < 0.00001
    for table in ("zero", "constant"):
        assert all(max(row["permuted_tokens"]) < 1e-5 for row in rows("encoder_order", table=table))


@claim(
    "real-models-limit",
    "A text of one token more than the table has rows raises an error about sizes, inside the model.",
    measured="lab/results/models_encoder_limit.json",
)
def test_the_limit():
    (row,) = rows("encoder_limit", part="513 tokens")
    assert row["by the model"].startswith("RuntimeError: The expanded size of the tensor (513)")


@claim(
    "real-models-extended",
    "Repeating the last row is the worst way in every text, with cosines below 0.66; interpolating "
    "stays above 0.94.",
    measured="lab/results/models_encoder_limit.json",
)
def test_extended_tables():
    found = rows("encoder_limit", part="long")
    assert len(found) == 12
    for row in found:
        ways = ("tiled", "interpolated", "random", "zeros", "last repeated")
        assert min(row[way] for way in ways) == row["last repeated"] < 0.66
        assert row["interpolated"] > 0.94


@claim(
    "real-models-short",
    "A table stretched to 1024 rows changes short texts as well: their embeddings have a cosine of "
    "0.90 to 0.95 with those of the table as trained, and of 0.80 to 0.91 if it is stretched to 2048.",
    measured="lab/results/models_encoder_limit.json",
)
def test_short_texts_pay():
    for row in rows("encoder_limit", part="short"):
        for length in ("32", "128", "512"):
            to_1024, to_2048 = row[length]
            assert 0.90 < to_1024 < 0.95 and 0.80 < to_2048 < 0.91
    assert record.read("models_encoder_limit")["short"] == [32, 128, 512]
    # In the order of the rows that the tables were stretched to.
    assert sorted({row["rows"] for row in rows("encoder_limit", part="long")}) == [1024, 2048]


@claim(
    "real-models-shifted",
    "And a learned table is not about differences: the same short text one place further on has a "
    "cosine of 0.91 to 0.95 with itself, and 480 places further 0.66 to 0.81.",
    measured="lab/results/models_encoder_limit.json",
)
def test_shifts():
    assert record.read("models_encoder_limit")["shifts"] == [1, 100, 480]
    for row in rows("encoder_limit", part="shifted"):
        one, _, far = row["cosine"]
        assert 0.91 < one < 0.95 and 0.66 < far < 0.81


def costs(fault: str, part=slice(None)) -> list[float]:
    """Nats lost to a fault, one number a text."""
    right = {row["text"]: row["loss"] for row in rows("decoder_faults", fault="right")}
    found = rows("decoder_faults", fault=fault)
    assert len(found) == len(right) == 3
    return [mean(row["loss"][part]) - mean(right[row["text"]][part]) for row in found]


@claim(
    "real-models-loud",
    "The wrong sign of the frequencies, rotated queries alone, the other layout, the other "
    "direction, and no rotation each cost 1.7 nats or more in every text.",
    measured="lab/results/models_decoder_faults.json",
)
def test_loud_faults():
    for fault in (
        "wrong frequency sign", "only q rotated", "other layout", "direction flipped", "no RoPE"
    ):
        assert min(costs(fault)) >= 1.7, fault


@claim(
    "real-models-base",
    "A base of 10000 in place of the trained 100000 costs 0.15 to 0.22 nats, which is 16 to 25 "
    "percent more perplexity.",
    measured="lab/results/models_decoder_faults.json",
)
def test_another_base():
    for cost in costs("base 10000"):
        assert 0.15 <= cost <= 0.22
        assert 16 <= 100 * (math.exp(cost) - 1) <= 25
    from lab.models.smollm2 import BASE

    assert BASE == 100000


@claim(
    "real-models-off-by-one",
    "A cache that is one place off costs less than 0.01 nats over the 512 tokens behind the cached "
    "ones.",
    measured="lab/results/models_decoder_faults.json",
)
def test_off_by_one():
    kept = record.read("models_decoder_faults")
    assert (kept["cached"], kept["length"] - kept["cached"]) == (512, 512)
    for fault in ("cache one too far", "cache one too few"):
        behind = slice(kept["cached"] // kept["segment"], None)
        assert max(map(abs, costs(fault, behind))) < 0.01


@claim(
    "real-models-bfloat16",
    "Frequencies alone, or sines and cosines alone, in bfloat16 cost less than 0.01.",
    measured="lab/results/models_decoder_faults.json",
)
def test_rounded_tables():
    for fault in ("bf16 inv_freq", "bf16 cos and sin"):
        assert max(map(abs, costs(fault))) < 0.01


@claim(
    "real-models-bfloat16-positions",
    "Positions in bfloat16 cost nothing in the first 256 tokens and 0.6 nats or more in the second "
    "half of the text.",
    measured="lab/results/models_decoder_faults.json",
)
def test_rounded_positions():
    blocks = len(rows("decoder_faults", fault="right")[0]["loss"])
    assert 1024 // blocks * 2 == 256
    assert max(map(abs, costs("bf16 positions", slice(2)))) == 0
    assert min(costs("bf16 positions", slice(blocks // 2, None))) >= 0.6


def lost(text: str, rule: str) -> list[float]:
    """Of each segment behind the trained length: loss minus that of the same tokens within it."""
    (far,) = rows("decoder_length", text=text, rule=rule, start=0, length=12288)
    (near,) = rows("decoder_length", text=text, rule="plain", start=4096)
    assert len(far["loss"]) == 24 and len(near["loss"]) == 16
    return [a - b for a, b in zip(far["loss"][16:], near["loss"][8:], strict=True)]


TEXTS, OTHERS = ("Britannica", "Hamlet"), ("NTK", "dynamic NTK", "YaRN")


@claim(
    "real-models-beyond",
    "NTK, dynamic NTK, and YaRN stay within 0.1 without any training; PI loses 0.8 or more.",
    measured="lab/results/models_decoder_length.json",
)
def test_rules_beyond_the_trained_length():
    for text in TEXTS:
        for rule in OTHERS:
            gaps = lost(text, rule)
            assert max(abs(mean(gaps[:4])), abs(mean(gaps[4:]))) < 0.1
        assert min(mean(lost(text, "PI")[:4]), mean(lost(text, "PI")[4:])) >= 0.8


@claim(
    "real-models-plain",
    "From 10240 tokens on plain RoPE has lost 0.4 nats or more on both texts.",
    measured="lab/results/models_decoder_length.json",
)
def test_plain_rope_beyond_the_trained_length():
    assert 8192 + 4 * 512 == 10240
    assert all(mean(lost(text, "plain")[4:]) >= 0.4 for text in TEXTS)


@claim(
    "real-models-inside",
    "Nor is it better inside the trained length: there PI costs 0.8 or more, and the other three "
    "less than 0.04.",
    measured="lab/results/models_decoder_length.json",
)
def test_rules_inside_the_trained_length():
    for text in TEXTS:
        (plain,) = rows("decoder_length", text=text, rule="plain", start=0, length=12288)
        for rule in (*OTHERS, "PI"):
            (other,) = rows("decoder_length", text=text, rule=rule, start=0, length=12288)
            cost = mean(other["loss"][:16]) - mean(plain["loss"][:16])
            assert cost >= 0.8 if rule == "PI" else cost < 0.04


def context(text: str) -> dict[int, float]:
    """Loss of the same last tokens by the number of tokens read."""
    return {row["length"]: row["loss"] for row in rows("decoder_context", text=text)}


THREE = (*TEXTS, "King Lear")


@claim(
    "real-models-context",
    "From 512 to 1024 tokens the loss falls by 0.13 nats or more on each text; from there to 8192 "
    "it moves by less than 0.1, on one text upwards.",
    measured="lab/results/models_decoder_context.json",
)
def test_what_more_context_is_worth():
    falls = [context(text)[512] - context(text)[1024] for text in THREE]
    moves = [context(text)[8192] - context(text)[1024] for text in THREE]
    assert min(falls) >= 0.13 and max(map(abs, moves)) < 0.1
    assert sum(move > 0 for move in moves) == 1


def saved(rule: str, gap: int) -> list[float]:
    """Nats that the first half saves the second, one number a text."""
    found = []
    for text in THREE:
        (alone,) = rows("decoder_gap", text=text, rule=rule, gap=None)
        (behind,) = rows("decoder_gap", text=text, rule=rule, gap=gap)
        found.append(alone["loss"] - behind["loss"])
    return found


@claim(
    "real-models-gap-plain",
    "Side by side, with plain RoPE, the first half saves the second 0.13 nats or more on each text; "
    "with a gap of 4096 it saves 0.06 or less; and at 6144, where the trained range ends, the second "
    "half is read better alone.",
    measured="lab/results/models_decoder_gap.json",
)
def test_a_gap_within_the_trained_range():
    assert min(saved("plain", 0)) >= 0.13
    assert 0 < min(saved("plain", 4096)) and max(saved("plain", 4096)) <= 0.06
    assert max(saved("plain", 6144)) < 0
    kept = record.read("models_decoder_gap")
    assert 6144 + 2 * kept["half"] == kept["trained_length"]


@claim(
    "real-models-gap-rules",
    "At 10240 plain RoPE loses 0.7 or more, and the rules for longer texts lose 0.15 or less; but "
    "none of them saves anything either.",
    measured="lab/results/models_decoder_gap.json",
)
def test_a_gap_beyond_the_trained_range():
    assert max(saved("plain", 10240)) <= -0.7
    for rule in ("NTK", "YaRN", "PI", "dynamic NTK"):
        assert -0.15 <= min(saved(rule, 10240)) and max(saved(rule, 10240)) < 0
