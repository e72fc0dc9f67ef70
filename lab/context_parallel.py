"""Context parallelism: each rank holds a part of the sequence and must know which part.

The tokens of one sequence are split over processes (gloo). Each rank rotates its own queries
and keys, gathers the keys and values of all ranks, and attends with its own queries. RoPE and
the causal mask see positions, not rows: right positions give what one process gives, and each
variant that counts from a wrong number does not.

The zigzag order is the one in which `torch.distributed.tensor.experimental.context_parallel` of
torch==2.13.0 splits by default (head-tail load balancing) when the length divides by 2 w; the
variant "positions split by PyTorch" runs that function. It splits the buffers that it is given
and no others: a table of angles that is left out keeps its first rows for every rank.

Run `python -m lab.context_parallel` to compare with the record, `--record` to write it anew.
"""

import argparse
import json
import math
import tempfile
from datetime import timedelta
from pathlib import Path

import torch
import torch.distributed as dist
from torch import Tensor

from lab import record
from lab.merged_attention import merged_attention
from lab.processes import run_processes
from lab.splits import contiguous_rows, split_by_pytorch, zigzag_rows
from snippets.attention import attention
from snippets.masks import causal_mask
from snippets.rope import apply_rope, rope_inv_freq

NAME, SEED, SHAPE, START, WORLDS = "context_parallel", 0, (2, 3, 24, 8), 100, (2, 4)
POSITIONS = torch.arange(START, START + SHAPE[2])
SPLITS = {"contiguous": contiguous_rows, "zigzag": zigzag_rows}
PASS = 1e-6  # float32: outputs below 4, summed in another order, differ by up to 5e-7


def variants(split: str, rank: int, world: int, rows: Tensor) -> dict[str, tuple]:
    """variant -> this rank's positions: of q and of k in RoPE, of q in the mask."""
    true, local = POSITIONS[rows], START + torch.arange(len(rows))
    found = {
        "global positions": (true, true, true),
        "no rank adds the start": (rows, rows, true),
        "merged by log-sum-exp": (true, true, true),
        "rank forgets its offset": (local, local, true),
        "only keys have global positions": (local, true, true),
        "mask from local rows": (true, true, local),
    }
    if split == "zigzag":
        in_order = local + rank * len(rows)
        found["contiguous positions"] = (in_order, in_order, true)
        found["positions split by PyTorch"] = (split_by_pytorch(POSITIONS, world),) * 3
    return found


def gathered(x: Tensor) -> list[Tensor]:
    """The tensors of all ranks, in the order of the ranks."""
    parts = [torch.empty_like(x) for _ in range(dist.get_world_size())]
    dist.all_gather(parts, x.contiguous())
    return parts


def inputs() -> list[Tensor]:
    """q, k and v of the whole sequence, (B, H, T, D) each."""
    generator = torch.Generator().manual_seed(SEED)
    return [torch.randn(SHAPE, generator=generator) for _ in range(3)]


def one_process() -> Tensor:
    (q, k, v), inv_freq = inputs(), rope_inv_freq(SHAPE[3])
    q, k = (apply_rope(x, POSITIONS, inv_freq) for x in (q, k))
    return attention(q, k, v, mask=causal_mask(POSITIONS, POSITIONS))


def one_rank(variant: str, rank: int, rows: Tensor, taken: tuple) -> Tensor:
    """This rank's part of the output, (B, H, T / w, D)."""
    (q, k, v), inv_freq = (x[:, :, rows] for x in inputs()), rope_inv_freq(SHAPE[3])
    q, k = apply_rope(q, taken[0], inv_freq), apply_rope(k, taken[1], inv_freq)
    keys, values, k_positions = gathered(k), gathered(v), gathered(POSITIONS[rows])
    if variant == "mask from local rows":  # the keys too are counted as they arrive
        k_positions = POSITIONS.chunk(len(keys))
    masks = [causal_mask(taken[2], positions) for positions in k_positions]
    if variant == "merged by log-sum-exp":
        return merged_attention(q, keys, values, masks, first=rank)
    keys, values = torch.cat(keys, dim=2), torch.cat(values, dim=2)
    return attention(q, keys, values, mask=torch.cat(masks, dim=1))


def compare(rank: int, world: int, folder: str) -> None:
    """Every split and variant in this group of processes; rank 0 writes the rows."""
    store = dist.FileStore(f"{folder}/store", world)  # a file, so that no port is needed
    patience = timedelta(seconds=30)
    dist.init_process_group("gloo", store=store, rank=rank, world_size=world, timeout=patience)
    found, want = [], one_process()
    for split, rows_of in SPLITS.items():
        rows = rows_of(rank, world, SHAPE[2])
        back = torch.cat(gathered(rows)).argsort()  # from the order of the ranks to the sequence's
        for variant, taken in variants(split, rank, world, rows).items():
            whole = torch.cat(gathered(one_rank(variant, rank, rows, taken)), dim=2)[:, :, back]
            difference = (whole - want).abs().max().item()
            row = {"split": split, "world": world, "variant": variant}
            row["difference"] = float(f"{difference:.3g}")
            row["verdict"] = "pass" if difference < PASS else "caught"
            found.append(row)
    if rank == 0:
        Path(folder, "rows.json").write_text(json.dumps(found), encoding="utf-8")
    dist.destroy_process_group()


def measure(world: int) -> list[dict]:
    with tempfile.TemporaryDirectory() as folder:
        run_processes(compare, world, folder)
        return json.loads(Path(folder, "rows.json").read_text(encoding="utf-8"))


def same_rows(measured: list[dict], recorded: list[dict]) -> bool:
    """Machines round differently: what passes need only pass, the rest agrees to 1 %."""
    names = ("split", "world", "variant", "verdict")
    return len(measured) == len(recorded) and all(
        [a[name] for name in names] == [b[name] for name in names]
        and (a["verdict"] == "pass" or math.isclose(a["difference"], b["difference"], rel_tol=0.01))
        for a, b in zip(measured, recorded)
    )


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Positions under context parallelism.")
    parser.add_argument("--record", action="store_true", help="write the record anew")
    options = parser.parse_args(arguments)
    rows = [row for world in WORLDS for row in measure(world)]
    line = "{split:<12}{world:<11}{variant:<33}{difference:<12}{verdict}".format
    titles = {"world": "processes", "difference": "difference"}
    print(line(**{name: titles.get(name, name) for name in rows[0]}))
    for row in rows:
        print(line(**row))
    if options.record:
        record.write(NAME, rows, seed=SEED, dtype="float32", shape=SHAPE, start=START)
    elif not same_rows(rows, record.read(NAME)["rows"]):
        raise SystemExit(f"The rows differ from lab/results/{NAME}.json.")


if __name__ == "__main__":
    main()
