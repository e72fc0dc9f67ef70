"""The parts of lab/models that need no model: turns, faults, tables, files and texts."""

import hashlib
import math

import pytest
import torch

from lab.models import compare, decoder, decoder_gap, faults, files, scores, tables, texts, turns
from posenc_check import oracles
from tests.exact import raises_exactly

D, BASE, TRAINED, LENGTH = 8, 100_000.0, 512, 768
GENERATOR = torch.Generator().manual_seed(0)
Q, K = torch.randn(2, 1, 2, 300, D, generator=GENERATOR, dtype=torch.float64)
PLACES = torch.arange(300)
PLAIN = [oracles.rope_speed(pair, D, BASE) for pair in range(D // 2)]


def turned(fault: str, positions=PLACES):
    return faults.FAULTS[fault](positions, D, BASE)(Q, K)


def by_oracle(x, positions, speeds, layout="half"):
    return oracles.rope(x, positions, speeds, layout)


@pytest.mark.parametrize(
    "fault, positions, speeds, layout",
    [
        ("right", PLACES.tolist(), PLAIN, "half"),
        ("wrong frequency sign", PLACES.tolist(), [1 / w for w in PLAIN], "half"),
        ("other layout", PLACES.tolist(), PLAIN, "interleaved"),
        ("direction flipped", [-p for p in PLACES.tolist()], PLAIN, "half"),
        ("no RoPE", [0] * 300, PLAIN, "half"),
        ("base 10000", PLACES.tolist(), [oracles.rope_speed(i, D) for i in range(4)], "half"),
    ],
)
def test_a_fault_is_what_its_name_says(fault, positions, speeds, layout):
    for found, x in zip(turned(fault), (Q, K), strict=True):
        # float64; the largest angle is 3e7 under the wrong sign, and loses 4e-9 of itself.
        want = by_oracle(x, positions, speeds, layout)
        torch.testing.assert_close(found, want, rtol=0, atol=1e-7)


def test_only_q_rotated():
    q, k = turned("only q rotated")
    assert torch.equal(k, K) and torch.equal(q, turned("right")[0])


def test_what_each_rounding_to_bfloat16_merges():
    assert torch.equal(turned("bf16 positions")[0][:, :, :257], turned("right")[0][:, :, :257])
    moved = by_oracle(Q, [256 if p == 257 else p for p in PLACES.tolist()], PLAIN)
    found = turned("bf16 positions")[0][0, 0, 257]  # 257 is read as 256
    torch.testing.assert_close(found, moved[0, 0, 257], rtol=0, atol=1e-12)
    distance = {
        name: (turned(name)[0] - turned("right")[0]).abs().max().item()
        for name in ("bf16 angles", "bf16 inv_freq", "bf16 cos and sin")
    }
    # Cosines are off by 2^-9 and coordinates are below 4.5; angles near 256 are off by 1/2.
    assert 0 < distance["bf16 cos and sin"] < 2 * 4.5 / 512
    assert distance["bf16 angles"] > 0.5 and distance["bf16 inv_freq"] > 0.02


def test_rules_for_longer_context():
    found = {rule: turns.speeds(rule, D, BASE, LENGTH, TRAINED) for rule in turns.RULES}
    pairs = range(D // 2)
    ntk = [oracles.ntk_speed(pair, D, 2.0, BASE) for pair in pairs]
    dynamic = [oracles.ntk_speed(pair, D, LENGTH / TRAINED, BASE) for pair in pairs]
    assert found["plain"][0].tolist() == pytest.approx(PLAIN, rel=1e-12)
    assert found["PI"][0].tolist() == pytest.approx([w / 2 for w in PLAIN], rel=1e-12)
    assert found["NTK"][0].tolist() == pytest.approx(ntk, rel=1e-12)
    assert found["dynamic NTK"][0].tolist() == pytest.approx(dynamic, rel=1e-12)
    assert found["YaRN"][1] == pytest.approx(0.1 * math.log(2) + 1, rel=1e-12)
    assert {rule for rule in found if found[rule][1] == 1.0} == set(turns.RULES) - {"YaRN"}
    kept = [y / w for w, y in zip(PLAIN, found["YaRN"][0].tolist())]
    assert kept == sorted(kept, reverse=True) and kept[-1] == pytest.approx(0.5, rel=1e-12)
    with raises_exactly(ValueError, f"rule must be one of {turns.RULES}, got 'none'"):
        turns.speeds("none", D, BASE, LENGTH, TRAINED)


@pytest.mark.parametrize("rule", tables.EXTENSIONS)
def test_every_extension_row_by_row(rule):
    table = torch.randn(4, 3, generator=GENERATOR, dtype=torch.float64)
    found = tables.extended(table, 10, rule)
    assert found.shape == (10, 3)
    if rule == "interpolated":
        want = [oracles.stretched_row(table, row, 10) for row in range(10)]
        torch.testing.assert_close(found, torch.stack(want), rtol=1e-12, atol=1e-12)
        return
    assert torch.equal(found[:4], table)
    for row in range(4, 10):
        want = {"zeros": torch.zeros(3), "last repeated": table[3], "tiled": table[row % 4]}
        assert rule == "random" or torch.equal(found[row], want[rule].to(found))


def test_random_rows_have_the_mean_and_deviation_of_their_column():
    table = torch.randn(500, 2, generator=GENERATOR) * torch.tensor([0.1, 3]) + 5
    drawn = tables.extended(table, 4500, "random")[500:]
    # 4000 rows: the mean is off by about 1/63 of the deviation, the deviation by 1/90 of it.
    assert ((drawn.mean(0) - table.mean(0)).abs() < table.std(0) / 12).all()
    assert (drawn.std(0) / table.std(0) - 1).abs().max() < 0.06
    assert torch.equal(drawn, tables.extended(table, 4500, "random")[500:])


def test_equal_rows_and_bad_names():
    table = torch.arange(6.0).reshape(3, 2)
    assert tables.equal_rows(table, "zero").tolist() == [[0, 0]] * 3
    assert tables.equal_rows(table, "constant").tolist() == [[2, 3]] * 3
    with raises_exactly(ValueError, "value must be \"zero\" or \"constant\", got 'one'"):
        tables.equal_rows(table, "one")
    names = tuple(tables.EXTENSIONS)
    with raises_exactly(ValueError, f"rule must be one of {names}, got 'cubic'"):
        tables.extended(table, 4, "cubic")
    with raises_exactly(ValueError, "rows must be at least the old number 3, got 2"):
        tables.extended(table, 2, "zeros")


def test_bad_arguments_of_decoder_and_scores():
    with raises_exactly(ValueError, "tokens must be (T,) with T >= 1, got [0]"):
        decoder.hidden_states(None, PLACES[:0], lambda q, k: (q, k))
    text = "following must have one token for each of 3 rows, got 2"
    with raises_exactly(ValueError, text):
        scores.token_losses(torch.zeros(3, 2), torch.tensor([0, 1]), lambda rows: rows)
    with raises_exactly(ValueError, "segment must divide the 7 positions, got 3"):
        scores.segment_means(torch.zeros(7), 3)


def test_another_file_is_refused():
    mark = hashlib.sha256(b"weights").hexdigest()
    files.check_bytes("a/b", b"weights", mark)
    other = hashlib.sha256(b"other").hexdigest()
    with raises_exactly(ValueError, f"the sha256 of a/b must be {mark}, got {other}"):
        files.check_bytes("a/b", b"other", mark)
    text = "no_such_package/b needs the package no_such_package: run `make models`"
    with raises_exactly(ValueError, text):
        files.checked("no_such_package/b", mark)


def test_headings_of_scanned_pages_are_left_out():
    page = "one\n\n### END: A.tif ###\n\n#### Source: b\n p.772:0\n\ntwo. \n"
    assert texts.cleaned(page) == "one\n\ntwo."


def test_a_gap_moves_the_second_half_only():
    half = list(range(1024))
    assert decoder_gap.places(None).tolist() == half
    assert decoder_gap.places(0).tolist() == list(range(2048))
    assert decoder_gap.places(4096).tolist() == half + [p + 5120 for p in half]
    # The last gap but three, and the last, end where the trained range and twice that end.
    assert [decoder_gap.places(decoder_gap.GAPS[i])[-1] for i in (3, -1)] == [8191, 16383]
