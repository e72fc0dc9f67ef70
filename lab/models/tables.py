"""Ways to give a learned table more rows than it was trained with."""

import torch
from torch import Tensor

from snippets.learned import extend_table

SEED = 0


def interpolated(table: Tensor, rows: int) -> Tensor:
    return extend_table(table, rows)


def random(table: Tensor, rows: int) -> Tensor:
    """New rows are drawn with the mean and deviation of each column."""
    generator = torch.Generator().manual_seed(SEED)
    drawn = torch.randn(rows - len(table), table.shape[1], generator=generator).to(table.dtype)
    return torch.cat((table, drawn * table.std(0) + table.mean(0)))


def zeros(table: Tensor, rows: int) -> Tensor:
    return torch.cat((table, table.new_zeros(rows - len(table), table.shape[1])))


def last_repeated(table: Tensor, rows: int) -> Tensor:
    return torch.cat((table, table[-1:].expand(rows - len(table), -1)))


def tiled(table: Tensor, rows: int) -> Tensor:
    """Row j is row j modulo the old number of rows."""
    return table[torch.arange(rows) % len(table)]


EXTENSIONS = {
    "interpolated": interpolated,
    "random": random,
    "zeros": zeros,
    "last repeated": last_repeated,
    "tiled": tiled,
}


def extended(table: Tensor, rows: int, rule: str) -> Tensor:
    """table (old, d_model) -> (rows, d_model), rows >= old."""
    if rule not in EXTENSIONS:
        raise ValueError(f"rule must be one of {tuple(EXTENSIONS)}, got {rule!r}")
    if rows < len(table):
        raise ValueError(f"rows must be at least the old number {len(table)}, got {rows}")
    return EXTENSIONS[rule](table, rows)


def equal_rows(table: Tensor, value: str) -> Tensor:
    """The same row everywhere: "zero", or "constant", the mean of the trained rows."""
    if value == "zero":
        return torch.zeros_like(table)
    if value == "constant":
        return table.mean(0, keepdim=True).expand_as(table).clone()
    raise ValueError(f'value must be "zero" or "constant", got {value!r}')
