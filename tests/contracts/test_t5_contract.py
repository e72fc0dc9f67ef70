"""check_t5 tells right buckets from wrong ones."""

import math

import pytest
import torch

from posenc_check.contracts import check_t5
from snippets.t5_bias import t5_bucket
from tests.contracts.judged import asked, failed, passed
from tests.exact import raises_exactly

ENCODER_NEAR = "encoder: near gaps have a bucket each, keys after the query the upper half"
DECODER_NEAR = "decoder: near gaps have a bucket each, keys after the query bucket 0"
LOG = "far gaps share buckets on a log scale"
LAST = "gaps past max_distance stay in the last bucket of their side"
SHAPE = "takes gaps of any shape"
WHOLE = "returns whole numbers, to look up rows with"
SWAPPED = "the gap is taken as query - key"
UNCAPPED = "the logarithm is not capped"


def plain(gap, bidirectional, num_buckets=32, max_distance=128, **fault):
    """The rule in few lines, in float64; each keyword is one fault."""
    side, upper = num_buckets, 0
    if bidirectional:
        side //= 1 if fault.get("whole_side") else 2
        later = gap >= 0 if fault.get("zero_later") else gap > 0
        upper = torch.zeros_like(gap) if fault.get("one_side") else later * (num_buckets // 2)
        distance = gap.abs()
    else:
        side //= 2 if fault.get("halved") else 1
        distance = gap.abs() if fault.get("folded") else (-gap).clamp(min=0)
    near = side // fault.get("near", 2)
    ratio = distance.clamp(min=1).double() / near
    base = fault.get("base") or max_distance * fault.get("largest", 1) / near
    far = ratio.log() / math.log(base) * (side - near) + fault.get("nudge", 1e-9)
    far = near + fault.get("round", torch.floor)(far)
    if fault.get("cap", 1) is not None:
        far = far.clamp(max=side - fault.get("cap", 1))
    inside = distance <= near if fault.get("edge") else distance < near
    bucket = upper + torch.where(inside, distance, far)
    return bucket if fault.get("raw") else bucket.long()


def faulty(**fault):
    return lambda gap, bidirectional: plain(gap, bidirectional, **fault)


def swapped(relative_position, bidirectional=True, num_buckets=32, max_distance=128):
    n, ret = -relative_position, 0
    n = -n  # a second turn that the code this came from did not have
    if bidirectional:
        num_buckets //= 2
        ret = (n < 0).long() * num_buckets
        n = n.abs()
    else:
        n = n.clamp(min=0)
    exact = num_buckets // 2
    steps = (n.clamp(min=1).float() / exact).log() / math.log(max_distance / exact)
    large = exact + (steps * (num_buckets - exact)).long()
    large = large.clamp(max=num_buckets - 1)
    return ret + torch.where(n < exact, n, large)


def flat(gap, bidirectional):
    return plain(gap.flatten(), bidirectional)


WRONG = {
    "RB05 query - key": (
        lambda gap, bidirectional: plain(-gap, bidirectional), ENCODER_NEAR, SWAPPED
    ),
    "RB05 the sign dropped in a rewrite": (swapped, ENCODER_NEAR, SWAPPED),
    "RB06 no cap": (faulty(cap=None), f"encoder: {LAST}", UNCAPPED),
    "RB06 no cap, decoder": (faulty(cap=None), f"decoder: {LAST}", UNCAPPED),
    "RB06 cap too high": (faulty(cap=0), f"encoder: {LAST}", "the cap is one bucket too high"),
    "cap too low": (faulty(cap=2), f"encoder: {LAST}", "the cap is one bucket too low"),
    "sides share": (faulty(one_side=True), ENCODER_NEAR, "the sides share buckets"),
    "gap 0 is later": (faulty(zero_later=True), ENCODER_NEAR, "gap 0 counts as a key after"),
    "not halved": (faulty(whole_side=True), f"encoder: {LOG}", "the buckets are not halved"),
    "the other way round": (
        lambda gap, bidirectional: plain(gap, not bidirectional), ENCODER_NEAR, "bidirectional is"
    ),
    "decoder folds": (faulty(folded=True), DECODER_NEAR, "a decoder folds keys after the query"),
    "decoder halves": (faulty(halved=True), DECODER_NEAR, "a decoder halves its buckets"),
    "a quarter is near": (faulty(near=4), f"encoder: {LOG}", "a quarter of a side's buckets"),
    "nearest": (faulty(round=torch.round), f"encoder: {LOG}", "the logarithm is rounded to the"),
    "up": (faulty(round=torch.ceil, nudge=-1e-9), f"encoder: {LOG}", "the logarithm is rounded up"),
    "not rounded": (faulty(round=lambda x: x, raw=True), f"encoder: {LOG}", "the logarithm is not"),
    "short at powers": (faulty(nudge=-1e-9), f"encoder: {LOG}", "at an exact power"),
    "twice as far": (faulty(largest=2), f"encoder: {LOG}", "max_distance is doubled"),
    "half as far": (faulty(largest=0.5), f"encoder: {LOG}", "max_distance is halved"),
    "base 2": (faulty(base=2.0), f"decoder: {LOG}", "the logarithm has base 2"),
    "the wrong base": (faulty(base=128.0), f"encoder: {LOG}", "the logarithm is divided by"),
    "flat": (flat, f"encoder: {SHAPE}", ""),
    "held in 8 bits": (
        lambda gap, bidirectional: plain(gap.to(torch.int8).long(), bidirectional),
        f"encoder: {LAST}",
        "",
    ),
    "int16": (
        lambda gap, bidirectional: plain(gap, bidirectional).short(), WHOLE, "a lookup needs an"
    ),
    "floats": (faulty(raw=True), WHOLE, "a lookup needs an integer type"),
    "flat, decoder": (flat, f"decoder: {SHAPE}", ""),
    "decoder past the end": (
        lambda gap, bidirectional: plain(gap, bidirectional, largest=2 - bidirectional),
        f"decoder: {LOG}",
        "max_distance is doubled",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_form_fails_and_its_cause_is_told(name):
    bucket, requirement, cause = WRONG[name]
    failed(check_t5(bucket), requirement, cause)


def test_each_requirement_is_failed_by_a_wrong_form():
    found = set()
    for bucket, requirement, cause in WRONG.values():
        found |= failed(check_t5(bucket), requirement, cause)
    assert found == passed(check_t5(t5_bucket))


@pytest.mark.parametrize("sizes", [(32, 128), (16, 64), (64, 256), (8, 16), (12, 50)])
def test_our_own_buckets_are_right(sizes):
    report = check_t5(t5_bucket, num_buckets=sizes[0], max_distance=sizes[1])
    assert len(asked(report)) == 9, str(report)


@pytest.mark.parametrize(
    "bucket",
    [
        plain,
        lambda relative_position, causal: plain(relative_position, not causal),
        lambda rel_pos, bidirectional, num_buckets, max_distance: t5_bucket(
            rel_pos,
            bidirectional=bidirectional,
            num_buckets=num_buckets,
            max_distance=max_distance,
        ).int(),
        lambda gap, bidirectional: plain(gap, bidirectional).tolist(),
        faulty(edge=True),  # the first far bucket begins there anyway
    ],
)
def test_right_forms_pass(bucket):
    assert len(asked(check_t5(bucket))) == 9


@pytest.mark.parametrize("side", ["encoder", "decoder"])
def test_a_bucket_for_one_side_is_asked_for_this_side(side):
    report = check_t5(lambda gap: plain(gap, side == "encoder"), side=side)
    passed(report)
    assert all(name.startswith(side) for name in asked(report) - {WHOLE})
    other = "decoder" if side == "encoder" else "encoder"
    assert not check_t5(lambda gap: plain(gap, side == "encoder"), side=other).passed


def crash(gap, bidirectional):
    raise IndexError("row 3")


@pytest.mark.parametrize(
    "bucket, text",
    [
        (crash, "crash(gap, bidirectional) raised IndexError: row 3"),
        (
            lambda gap: plain(gap, True),
            "<lambda>(gap) is not told whether it is bidirectional: say it with side (encoder or "
            "decoder)",
        ),
        (
            lambda gap, bidirectional: plain(gap, bidirectional)[:2],
            "must return a bucket for each gap, here (15,), got a tensor of shape (2,)",
        ),
        (
            lambda gap, bidirectional: gap * math.nan,
            "returned NaN at gap -7, expected 7",
        ),
        (
            lambda gap, bidirectional: plain(gap.abs_(), bidirectional),
            "<lambda>(gap, bidirectional) changes its argument gap in place",
        ),
        (
            lambda gap, bidirectional: "near",
            "must return a bucket for each gap, got str",
        ),
        (
            lambda gap, mode: gap,
            "cannot tell what <lambda> takes as mode; say all of its arguments in order with call "
            "(--call), in these words, or as name=5: bidirectional, causal, gap, max_distance, "
            "num_buckets",
        ),
    ],
)
def test_what_cannot_be_used_is_told_word_for_word(bucket, text):
    report = check_t5(bucket)
    assert report.unusable == text and report.exit_code == 2


@pytest.mark.parametrize(
    "options, text",
    [
        ({"side": "left"}, "side must be both, encoder, or decoder, got 'left'"),
        ({"num_buckets": 6}, "num_buckets must be a multiple of 4, from 8 on, got 6"),
        ({"max_distance": 16}, "max_distance must exceed 16, got 16"),
    ],
)
def test_a_wrong_option_is_refused(options, text):
    with raises_exactly(ValueError, text):
        check_t5(t5_bucket, **options)
