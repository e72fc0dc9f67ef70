"""Context parallelism in two and four processes, against one process and against the record."""

import json
import time

import pytest
import torch

from lab import context_parallel, record
from lab.merged_attention import merged_attention
from lab.processes import run_processes
from lab.splits import contiguous_rows, zigzag_rows
from posenc_check import oracles
from tests.exact import raises_exactly

RIGHT = ["global positions", "no rank adds the start", "merged by log-sum-exp"]
WRONG = ["rank forgets its offset", "only keys have global positions", "mask from local rows"]
ROWS = [("contiguous", variant) for variant in RIGHT + WRONG]
ROWS += [("zigzag", variant) for variant in RIGHT + WRONG]
ROWS += [("zigzag", "contiguous positions"), ("zigzag", "positions split by PyTorch")]
PASSES = {*RIGHT, "positions split by PyTorch"}


@pytest.fixture(scope="module", params=context_parallel.WORLDS)
def measured(request):
    """The rows of one group of processes, which runs once for all tests of this file."""
    return context_parallel.measure(request.param)


def test_every_split_and_variant_is_measured(measured):
    assert [(row["split"], row["variant"]) for row in measured] == ROWS
    assert len({row["world"] for row in measured}) == 1


def test_right_positions_give_what_one_process_gives(measured):
    right = [row for row in measured if row["variant"] in PASSES]
    assert len(right) == 7
    for row in right:
        # float32: outputs below 4, summed in another order, differ by up to 5e-7.
        assert row["difference"] < 1e-6 and row["verdict"] == "pass", row


def test_each_wrong_count_is_far_off(measured):
    wrong = [row for row in measured if row["variant"] not in PASSES]
    assert len(wrong) == 7
    for row in wrong:
        assert row["difference"] > 1e-2 and row["verdict"] == "caught", row


def test_pytorch_splits_positions_into_the_same_zigzag(measured):
    found = {row["variant"]: row["difference"] for row in measured if row["split"] == "zigzag"}
    # Equal integers make equal rotations and masks: not only close, but the same number.
    assert found["positions split by PyTorch"] == found["global positions"]


def test_the_record_shows_the_same_rows(measured):
    recorded = record.read("context_parallel")["rows"]
    world = measured[0]["world"]
    assert context_parallel.same_rows(measured, [r for r in recorded if r["world"] == world])


def test_the_record_holds_both_worlds_and_says_how_it_was_made():
    found = record.read("context_parallel")
    assert [row["world"] for row in found["rows"]] == [2] * 14 + [4] * 14
    assert found["command"] == "python -m lab.context_parallel --record"
    assert (found["seed"], found["dtype"], found["start"]) == (0, "float32", 100)
    assert found["shape"] == list(context_parallel.SHAPE)


def test_a_row_edited_by_hand_no_longer_fits_the_digest(tmp_path, monkeypatch):
    monkeypatch.setattr(record, "RESULTS", tmp_path)
    record.write("made_up", [{"difference": 0.25}, {"difference": 0.5}], seed=3)
    assert record.read("made_up")["rows"] == [{"difference": 0.25}, {"difference": 0.5}]
    path = tmp_path / "made_up.json"
    path.write_text(path.read_text().replace("0.25", "0.26"))
    with raises_exactly(ValueError, "the rows of lab/results/made_up.json do not fit their digest"):
        record.read("made_up")


def test_a_record_is_written_the_same_way_twice(tmp_path, monkeypatch):
    monkeypatch.setattr(record, "RESULTS", tmp_path)
    found = []
    for _ in range(2):
        record.write("made_up", [{"b": 1e-7, "a": "x"}], seed=3)
        found.append((tmp_path / "made_up.json").read_text())
    assert found[0] == found[1] and found[0].endswith('    {"b": 1e-07, "a": "x"}\n  ]\n}\n')
    assert json.loads(found[0])["seed"] == 3


@pytest.mark.parametrize(
    "change",
    [{"difference": 0.52}, {"verdict": "pass"}, {"variant": "other"}, {"world": 4}, {"split": "x"}],
    ids=lambda change: next(iter(change)),
)
def test_another_row_is_not_the_same(change):
    row = {"split": "zigzag", "world": 2, "variant": "v", "difference": 0.5, "verdict": "caught"}
    assert context_parallel.same_rows([row], [row | {"difference": 0.503}])
    assert not context_parallel.same_rows([row], [row | change])
    assert not context_parallel.same_rows([row], [row, row])


def test_the_command_prints_a_table_and_fails_on_another_record(capsys, monkeypatch):
    recorded = record.read("context_parallel")["rows"]
    rows = {2: recorded[:14], 4: recorded[14:]}
    monkeypatch.setattr(context_parallel, "measure", rows.get)
    context_parallel.main([])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["split", "processes", "variant", "difference", "verdict"]
    assert len(lines) == 29
    rows[4] = [*recorded[14:-1], recorded[-1] | {"verdict": "caught"}]
    with pytest.raises(SystemExit, match=r"\AThe rows differ from lab/results/context_parallel"):
        context_parallel.main([])


def test_the_zigzag_gives_each_rank_an_early_and_a_late_chunk():
    assert [zigzag_rows(rank, 2, 12).tolist() for rank in range(2)] == [
        [0, 1, 2, 9, 10, 11],
        [3, 4, 5, 6, 7, 8],
    ]
    assert [zigzag_rows(rank, 4, 16).tolist() for rank in range(4)] == [
        [0, 1, 14, 15],
        [2, 3, 12, 13],
        [4, 5, 10, 11],
        [6, 7, 8, 9],
    ]


def test_the_contiguous_split_gives_each_rank_its_part():
    assert [contiguous_rows(rank, 3, 6).tolist() for rank in range(3)] == [[0, 1], [2, 3], [4, 5]]


def test_only_the_zigzag_balances_the_work_under_a_causal_mask():
    # Row t has t + 1 scores; together 24 * 25 / 2 = 300.
    zigzag = [int((zigzag_rows(rank, 4, 24) + 1).sum()) for rank in range(4)]
    contiguous = [int((contiguous_rows(rank, 4, 24) + 1).sum()) for rank in range(4)]
    assert zigzag == [75, 75, 75, 75]
    assert contiguous == [21, 57, 93, 129]


@pytest.mark.parametrize("rows_of, n_chunks", [(contiguous_rows, 4), (zigzag_rows, 8)])
def test_a_length_that_does_not_divide_is_refused(rows_of, n_chunks):
    with raises_exactly(ValueError, f"length must be divisible by {n_chunks}, got 26"):
        rows_of(1, 4, 26)


def test_chunks_merged_one_by_one_are_attention_over_all_keys():
    generator = torch.Generator().manual_seed(1)
    q, k, v = (torch.randn(2, 3, t, 4, generator=generator).double() for t in (5, 9, 9))
    q, k = q * 30, k * 30
    mask = torch.arange(9) <= torch.arange(5)[:, None]  # no query may see the last chunk
    chunks = [x.split((3, 2, 4), dim=-2) for x in (k, v)] + [mask.split((3, 2, 4), dim=-1)]
    want = oracles.attention(q / 1000, k, v, mask=mask.expand(2, 3, 5, 9))
    got = merged_attention(q / 1000, *chunks, first=0)
    torch.testing.assert_close(got, want, rtol=0, atol=1e-12)  # float64, few terms
    # exp overflows from 710 on: only differences to the running maximum may be taken.
    assert (q @ k.mT / 2).max() > 710
    assert merged_attention(q, *chunks, first=0).isfinite().all()


def late(rank, n_processes):
    time.sleep(rank * 60)


def broken(rank, n_processes):
    assert rank == 0, "rank 1 is broken"
    time.sleep(60)


def test_processes_that_hang_end_with_an_error():
    start = time.monotonic()
    with raises_exactly(TimeoutError, "2 processes did not all end within 4.0 s"):
        run_processes(late, 2, seconds=4.0)
    assert time.monotonic() - start < 30


def test_an_error_in_one_process_ends_the_others():
    with pytest.raises(torch.multiprocessing.ProcessRaisedException, match="rank 1 is broken"):
        run_processes(broken, 2)
