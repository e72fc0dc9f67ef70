"""The sentences of docs/guides/parallel.md, in the order of the page."""

import pytest
import torch

from lab import record
from lab.merged_attention import merged_attention
from lab.splits import contiguous_rows, zigzag_rows
from posenc_check import oracles
from snippets.alibi import alibi_slopes
from snippets.attention import attention
from snippets.masks import causal_mask
from snippets.rope import apply_rope, rope_inv_freq
from snippets.sinusoidal import sinusoidal_table
from tests.guard.marks import claim

F64, WHOLE = torch.float64, torch.arange(100, 124)
Q, K, V = torch.randn(3, 2, 3, 24, 8, generator=torch.Generator().manual_seed(0), dtype=F64)
SPLITS = {"contiguous": contiguous_rows, "zigzag": zigzag_rows}

every_split = pytest.mark.parametrize("split", SPLITS)
worlds = pytest.mark.parametrize("world", [2, 4])


def turn(x, positions):
    return apply_rope(x, positions, rope_inv_freq(8))


def one_process():
    return attention(turn(Q, WHOLE), turn(K, WHOLE), V, mask=causal_mask(WHOLE, WHOLE))


def one_rank(rows, q_positions, mask_positions=None):
    """The output of a rank that has gathered all keys, turned by their global positions."""
    mask = causal_mask(WHOLE[rows] if mask_positions is None else mask_positions, WHOLE)
    return attention(turn(Q[:, :, rows], q_positions), turn(K, WHOLE), V, mask=mask)


def off(got, rows):
    return (got - one_process()[:, :, rows]).abs().max().item()


def lab_output():
    """What one process gives in the recorded run."""
    from lab.context_parallel import one_process as whole

    return whole()


def recorded():
    """(split, world, variant) -> row of the recorded run; the digest is checked."""
    rows = record.read("context_parallel")["rows"]
    return {(row["split"], row["world"], row["variant"]): row for row in rows}


@claim(
    "parallel-alibi-heads",
    "For ALiBi and T5 bias each rank needs the slopes or columns of its own heads: slopes computed for the "
    "local number of heads are others.",
)
def test_slopes_of_own_heads():
    whole = alibi_slopes(8)
    assert whole.tolist() == [oracles.alibi_slopes(8)[h] for h in range(8)]
    for rank in range(2):
        own = whole[4 * rank : 4 * rank + 4]
        assert not torch.equal(alibi_slopes(4), own)


@claim(
    "parallel-added",
    "A position that is added to the input must be added by the rank's own rows.",
)
@worlds
def test_added_positions(world):
    x = torch.randn(2, 24, 8, generator=torch.Generator().manual_seed(1))
    whole = x + sinusoidal_table(WHOLE, 8)
    torch.testing.assert_close(
        (whole - x).double(), oracles.sinusoid_table(WHOLE.tolist(), 8).expand(2, 24, 8), rtol=0, atol=1e-6
    )
    for rank in range(world):
        rows = contiguous_rows(rank, world, 24)
        assert torch.equal(x[:, rows] + sinusoidal_table(WHOLE[rows], 8), whole[:, rows])
        local = x[:, rows] + sinusoidal_table(WHOLE[: len(rows)], 8)
        assert rank == 0 or (local - whole[:, rows]).abs().max() > 0.1


@claim("parallel-fair", "Every rank then has the same number of pairs under a causal mask.")
@pytest.mark.parametrize("world, length", [(2, 8), (4, 24), (3, 18)])
def test_equal_work(world, length):
    def pairs(rows):
        return causal_mask(rows, torch.arange(length)).sum().item()

    zigzag = [zigzag_rows(rank, world, length) for rank in range(world)]
    assert sorted(torch.cat(zigzag).tolist()) == [*range(length)]
    assert {pairs(rows) for rows in zigzag} == {length * (length + 1) // 2 / world}
    chunk = length // (2 * world)
    for rank, rows in enumerate(zigzag):
        early, late = rank * chunk, (2 * world - 1 - rank) * chunk
        assert rows.tolist() == [*range(early, early + chunk), *range(late, late + chunk)]
    contiguous = [pairs(contiguous_rows(rank, world, length)) for rank in range(world)]
    assert contiguous[-1] > 2 * contiguous[0]


@claim(
    "parallel-pytorch",
    r"This is also how context_parallel of torch==2.13.0 splits the buffers that it is given, in its default "
    r"setting and when the length divides by \(2w\).",
    measured="lab/results/context_parallel.json",
)
@worlds
def test_recorded_split_of_pytorch(world):
    run = record.read("context_parallel")
    assert run["torch"] == "2.13.0" and run["shape"][2] % (2 * world) == 0
    row = recorded()["zigzag", world, "positions split by PyTorch"]
    assert row["difference"] < 1e-6  # its positions give each rank the right rotation


@claim(
    "parallel-rank-0",
    "Rank 0 of a contiguous split is the one rank on which local positions are right. A test on rank 0, or on "
    "one process, cannot see the fault.",
)
@worlds
def test_local_positions_on_each_rank(world):
    for split, rows_of in SPLITS.items():
        for rank in range(world):
            rows = rows_of(rank, world, 24)
            error = off(one_rank(rows, WHOLE[: len(rows)]), rows)
            assert error < 1e-12 if (split, rank) == ("contiguous", 0) else error > 0.1
            assert off(one_rank(rows, WHOLE[rows]), rows) < 1e-12


@claim(
    "parallel-measured",
    "With global positions the outputs agree with one process to less than 0.000001; a rank that forgets its "
    "offset is off by more than 0.7, where outputs are below 4.",
    measured="lab/results/context_parallel.json",
)
@worlds
@every_split
def test_recorded_differences(split, world):
    rows = recorded()
    assert rows[split, world, "global positions"]["difference"] < 0.000001
    assert rows[split, world, "rank forgets its offset"]["difference"] > 0.7
    assert lab_output().abs().max() < 4
    for rank in range(world):
        mine = SPLITS[split](rank, world, 24)
        assert off(one_rank(mine, WHOLE[mine]), mine) < 1e-12


@claim(
    "parallel-common-start",
    "If no rank adds the common start, nothing is lost: RoPE sees gaps, and all positions are shifted alike.",
    measured="lab/results/context_parallel.json",
)
@worlds
@every_split
def test_no_rank_adds_the_start(split, world):
    assert recorded()[split, world, "no rank adds the start"]["difference"] < 1e-6
    for rank in range(world):
        rows = SPLITS[split](rank, world, 24)
        mask = causal_mask(WHOLE[rows], WHOLE)
        got = attention(turn(Q[:, :, rows], rows), turn(K, torch.arange(24)), V, mask=mask)
        assert off(got, rows) < 1e-12


@claim(
    "parallel-contiguous-under-zigzag",
    'And positions that are right for a contiguous split are wrong under zigzag, although each rank adds "its '
    'offset".',
    measured="lab/results/context_parallel.json",
)
@worlds
def test_contiguous_positions_under_zigzag(world):
    assert recorded()["zigzag", world, "contiguous positions"]["difference"] > 0.7
    for rank in range(world):
        rows, wrong = (rows_of(rank, world, 24) for rows_of in (zigzag_rows, contiguous_rows))
        assert off(one_rank(rows, WHOLE[wrong]), rows) > 0.1


@claim(
    "parallel-ring",
    "The result is that of the whole softmax.",
    measured="lab/results/context_parallel.json",
)
@worlds
def test_a_ring(world):
    assert recorded()["zigzag", world, "merged by log-sum-exp"]["difference"] < 1e-6
    for rank in range(world):
        rows = contiguous_rows(rank, world, 24)
        places = WHOLE.chunk(world)
        masks = [causal_mask(WHOLE[rows], p) for p in places]
        got = merged_attention(turn(Q[:, :, rows], WHOLE[rows]), turn(K, WHOLE).chunk(world, 2),
                               V.chunk(world, 2), masks, first=rank)
        assert off(got, rows) < 1e-12


@claim(
    "parallel-mask",
    "Check the mask with the rotation: the right angles under a mask of local rows are still wrong.",
    measured="lab/results/context_parallel.json",
)
@worlds
@every_split
def test_a_mask_of_local_rows(split, world):
    assert recorded()[split, world, "mask from local rows"]["difference"] > 0.7
    rows = SPLITS[split](world - 1, world, 24)
    assert off(one_rank(rows, WHOLE[rows], WHOLE[: len(rows)]), rows) > 0.1
