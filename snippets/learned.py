# SPDX-License-Identifier: MIT
# Position encoding, executed 0.1.0: snippets/learned.py
"""Learned position table: one trainable row for each position.

Source: Gehring et al. 2017, section 3.1 (arXiv:1705.03122); resizing a grid
of rows as in Dosovitskiy et al. 2021, section 3.2 (arXiv:2010.11929).
Needs only torch; copy this file as it is.

Axes: B batch, T positions.
"""

import torch
from torch import Tensor, nn


class LearnedPositionEncoding(nn.Module):
    """Look up the row of each position; the caller adds it to the embeddings.

    Args:
        d_model: embedding width.
        max_len: rows of the table, the configured range.
        std: standard deviation of the initial rows.

    Raises:
        TypeError: if d_model or max_len is not an int.
        ValueError: if d_model or max_len is below 1, or std is negative.
    """

    def __init__(self, d_model: int, max_len: int, *, std: float = 0.02):
        super().__init__()
        for name, value in (("d_model", d_model), ("max_len", max_len)):
            if not isinstance(value, int):
                raise TypeError(f"{name} must be an int, got {value!r}")
            if value < 1:
                raise ValueError(f"{name} must be positive, got {value}")
        if not std >= 0:
            raise ValueError(f"std must not be negative, got {std}")
        self.std = std
        self.weight = nn.Parameter(torch.empty(max_len, d_model))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw all rows anew."""
        nn.init.normal_(self.weight, std=self.std)

    def forward(self, positions: Tensor) -> Tensor:
        """The rows of the table at these positions.

        Args:
            positions: (T,) or (B, T), int32 or int64, from 0 to max_len - 1.

        Returns:
            (T, d_model) or (B, T, d_model) in the dtype of the table.

        Raises:
            TypeError: if positions has another dtype.
            ValueError: if positions has another rank or leaves the range.
        """
        if positions.dtype not in (torch.int32, torch.int64):
            raise TypeError(
                f"positions must be int32 or int64, got {positions.dtype}"
            )
        if positions.ndim not in (1, 2):
            raise ValueError(
                f"positions must be [T] or [B, T], got {list(positions.shape)}"
            )
        max_len = self.weight.shape[0]
        # Values are read in eager mode only: export and compile keep working.
        if not (torch.compiler.is_compiling() or positions.is_meta):
            outside = positions[(positions < 0) | (positions >= max_len)]
            if outside.numel():
                raise ValueError(
                    f"positions must be from 0 to {max_len - 1}, "
                    f"got {outside[0].item()}"
                )
        return self.weight[positions]  # (..., T, d_model)


def extend_table(weight: Tensor, max_len: int) -> Tensor:
    """Stretch a table to more rows by linear interpolation.

    New position j reads the old table at j * old / new, so position 0 keeps
    its row; places past the last old row repeat it. This fills the rows with
    something smooth; it does not train them.

    Args:
        weight: (old, d_model), float.
        max_len: rows of the new table, at least as many as before.

    Returns:
        (max_len, d_model), like weight.

    Raises:
        ValueError: if weight is not 2-D or max_len is below its rows.
    """
    if weight.ndim != 2:
        raise ValueError(
            f"weight must be [old, d_model], got {list(weight.shape)}"
        )
    old = weight.shape[0]
    if max_len < old:
        raise ValueError(f"max_len must be at least {old}, got {max_len}")
    # Divided last and in float64: where j * old / new is whole, it is exact.
    at = torch.arange(max_len, dtype=torch.float64, device=weight.device)
    at = at * old / max_len  # (max_len,)
    low = at.floor().long()
    high = (low + 1).clamp(max=old - 1)
    share = (at - low).to(weight.dtype)[:, None]  # (max_len, 1)
    return weight[low] * (1 - share) + weight[high] * share


def resize_grid(
    weight: Tensor, old: tuple[int, int], new: tuple[int, int]
) -> Tensor:
    """Resample the rows of an image grid, row-major, to another grid.

    Pixels are areas, not points: the corners of the two grids' *areas* are
    matched (align_corners=False), with bicubic weights.

    Args:
        weight: (height * width, d_model), float.
        old: height and width that the rows were trained for.
        new: height and width that are wanted.

    Returns:
        (new height * new width, d_model), like weight.

    Raises:
        ValueError: if weight does not fit old, or a size is not positive.
    """
    if weight.ndim != 2 or weight.shape[0] != old[0] * old[1]:
        raise ValueError(
            f"weight must be [{old[0]} * {old[1]}, d_model], "
            f"got {list(weight.shape)}"
        )
    if min(*old, *new) < 1:
        raise ValueError(f"old and new must be positive, got {old} and {new}")
    grid = weight.T.unflatten(1, old)[None]  # (1, d_model, height, width)
    resized = nn.functional.interpolate(
        grid, size=new, mode="bicubic", align_corners=False
    )
    return resized[0].flatten(1).T
