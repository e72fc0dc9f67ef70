"""What holds in every text of the records, with the margin at which it holds."""

import pytest

from lab import record
from lab.models import cache_offset, decoder_faults, decoder_length, encoder_limit

RECORDS = {
    name: record.read(f"models_{name}")["rows"]
    for name in ("encoder_order", "encoder_limit", "cache_offset", "decoder_faults")
    + ("decoder_length",)
}


def row(record_name: str, **wanted) -> dict:
    (found,) = (
        r for r in RECORDS[record_name] if all(r.get(k) == v for k, v in wanted.items())
    )
    return found


def mean(values) -> float:
    return sum(values) / len(values)


def test_equal_rows_take_the_order_away():
    for r in RECORDS["encoder_order"]:
        noise = {"float32": 1e-5, "float64": 1e-13}[r["dtype"]]  # rounding of states up to 6
        assert max(r["permuted_with_positions"]) < noise
        if r["table"] == "as trained":
            assert 0.9 < min(r["cosine"]) and max(r["cosine"]) < 0.999
            assert min(r["permuted_tokens"]) > 5
        else:
            assert min(r["cosine"]) > 1 - 1e-6 and max(r["difference"]) < noise
            assert max(r["permuted_tokens"]) < noise


@pytest.mark.parametrize("text", encoder_limit.TEXTS)
def test_more_rows_than_trained(text):
    for rows, gap in ((1024, 0.2), (2048, 0.3)):
        found = row("encoder_limit", text=text, part="long", rows=rows)
        assert found["last repeated"] + gap < min(found["zeros"], found["random"])
        assert found["zeros"] < min(found["random"], found["interpolated"]) - 0.01
        assert found["tiled"] > found["interpolated"]
    assert max(row("encoder_limit", text=text, part="short")["512"]) < 0.95
    shifted = row("encoder_limit", text=text, part="shifted")["cosine"]
    assert shifted == sorted(shifted, reverse=True) and shifted[0] < 0.96 and shifted[2] < 0.85


@pytest.mark.parametrize("text", cache_offset.TEXTS)
def test_logits_see_a_wrong_count_at_once(text):
    """The best of 64 positions under a wrong count is 300 times the worst under a right one."""
    right = row("cache_offset", text=text, dtype="float32", count="right cache")
    assert max(right["difference"]) < 2e-4 and right["same_first"] == 1.0
    for count in ("cache one too far", "cache one too few"):
        wrong = row("cache_offset", text=text, dtype="float32", count=count)
        assert min(wrong["difference"]) > 0.05 and max(wrong["difference"]) > 1
        assert abs(wrong["loss"] - wrong["loss_one_pass"]) < 0.1 and wrong["kl"] < 0.1


def cost(text: str, fault: str, scores=slice(4, 8)) -> float:
    """Nats over the second half, more than right positions have."""
    found, right = (row("decoder_faults", text=text, fault=f) for f in (fault, "right"))
    return mean(found["loss"][scores]) - mean(right["loss"][scores])


@pytest.mark.parametrize("text", decoder_faults.TEXTS)
def test_what_faults_cost(text):
    assert cost(text, "wrong frequency sign") > 4.5
    for fault in ("only q rotated", "other layout"):
        assert cost(text, fault) > 2.5
    for fault in ("direction flipped", "no RoPE"):
        assert cost(text, fault) > 1.5
    for fault in ("cache restart at 0", "every new token at 0"):
        assert cost(text, fault) > 0.7
    for fault in ("bf16 positions", "bf16 angles"):
        assert cost(text, fault) > 0.4
    assert 0.1 < cost(text, "base 10000") < 0.4
    for fault in ("bf16 inv_freq", "bf16 cos and sin", "cache one too far", "cache one too few"):
        assert abs(cost(text, fault)) < 0.02


@pytest.mark.parametrize("text", decoder_faults.TEXTS)
def test_bf16_positions_cost_nothing_below_256(text):
    assert abs(cost(text, "bf16 positions", slice(0, 2))) < 1e-4
    assert cost(text, "bf16 positions", slice(2, 4)) > 0.1


def wanted(text: str, rule: str, length: int = 12288) -> dict:
    return dict(record_name="decoder_length", text=text, rule=rule, start=0, length=length)


def length_costs(text: str, rule: str) -> list[float]:
    """Of each 512 positions from 8192 on: loss minus that of the same tokens in range."""
    far = row(**wanted(text, rule))["loss"][16:]
    near = row("decoder_length", text=text, rule="plain", start=4096)["loss"][8:]
    return [a - b for a, b in zip(far, near, strict=True)]


def in_range(text: str, rule: str) -> float:
    """What a rule costs before 8192, against plain RoPE."""
    found, plain = (row(**wanted(text, r)) for r in (rule, "plain"))
    return mean(found["loss"][:16]) - mean(plain["loss"][:16])


@pytest.mark.parametrize("text", decoder_length.TEXTS)
def test_beyond_the_trained_length(text):
    plain = length_costs(text, "plain")
    assert abs(mean(plain[:4])) < 0.1 and min(plain[6:]) > 0.4
    for rule in ("NTK", "YaRN", "dynamic NTK"):
        assert mean(length_costs(text, rule)[4:]) < 0.15 < mean(plain[4:]) - 0.15
        assert -0.01 < in_range(text, rule) < 0.06
    assert in_range(text, "PI") > 0.4 and mean(length_costs(text, "PI")) > 0.4


@pytest.mark.parametrize("text", decoder_length.TEXTS)
def test_twice_the_trained_length_under_plain_rope(text):
    long, short = (row(**wanted(text, "plain", length))["loss"] for length in (16384, 12288))
    # A causal model's losses do not change when more tokens follow.
    assert short == pytest.approx(long[:24], abs=1e-3)
    near = row("decoder_length", text=text, rule="plain", start=8192)["loss"]
    costs = [a - b for a, b in zip(long[24:], near[8:], strict=True)]
    assert min(costs) > 0.8 and mean(costs[4:]) > mean(costs[:4])
