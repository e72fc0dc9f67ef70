"""Which rows of a sequence each process holds, counted over the whole sequence.

"contiguous": rank r holds the r-th part. "zigzag": the sequence is cut into 2 w chunks and rank
r holds chunks r and 2 w - 1 - r, so that under a causal mask every rank has equally many scores.
"""

import torch
from torch import Tensor


def contiguous_rows(rank: int, world: int, length: int) -> Tensor:
    """One part for each rank, (length / world,)."""
    return _chunks(length, world)[rank]


def zigzag_rows(rank: int, world: int, length: int) -> Tensor:
    """One early and one late chunk for each rank, (length / world,)."""
    chunks = _chunks(length, 2 * world)
    return torch.cat((chunks[rank], chunks[2 * world - 1 - rank]))


def split_by_pytorch(positions: Tensor, world: int) -> Tensor:
    """What this rank keeps of the positions when PyTorch's context parallelism splits them."""
    # Imported here because it is slow to load, and only the processes need it.
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor.experimental import context_parallel

    kept = positions.clone()
    mesh = init_device_mesh("cpu", (world,))
    with context_parallel(mesh, buffers=[kept], buffer_seq_dims=[0]):
        return kept.clone()  # inside the block `kept` has the rows of this rank, after it all


def _chunks(length: int, n_chunks: int) -> Tensor:
    if length % n_chunks:
        raise ValueError(f"length must be divisible by {n_chunks}, got {length}")
    return torch.arange(length).unflatten(0, (n_chunks, -1))
