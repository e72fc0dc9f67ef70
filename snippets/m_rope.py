# SPDX-License-Identifier: MIT
# Position encoding, executed 0.1.0: snippets/m_rope.py
"""M-RoPE: text, images and video in one sequence; pairs shared by 3 axes.

Source: Wang et al. 2024, Qwen2-VL, section 2.1 (arXiv:2409.12191); the
interleaved order is that of the Qwen3-VL models.
Needs only torch; copy this file as it is.

Axes: B batch, H heads, T tokens, D head_dim, P = D // 2 pairs; axis numbers
0 time, 1 height, 2 width. Pair layout "half": coordinate j turns with j + P.
"""

import operator
from collections.abc import Sequence

import torch
from torch import Tensor

ORDERS = ("blocks", "interleaved")


def m_rope_axes(sections: Sequence[int], order: str = "blocks") -> Tensor:
    """Which of the three axes each pair turns with.

    Args:
        sections: number of pairs for time, height and width.
        order: "blocks" for one block an axis (Qwen2-VL), "interleaved" for
            time, height, width in turn, time where the others have run out
            (Qwen3-VL).

    Returns:
        (P,) int64, P = sum(sections), entries 0, 1 or 2.

    Raises:
        ValueError: if sections are not three counts, one of them is negative,
            their sum is below 1, height or width has more pairs than the
            interleaved order holds, or order is unknown.
    """
    if len(sections) != 3 or min(sections) < 0 or sum(sections) < 1:
        raise ValueError(
            "sections must be 3 counts with a positive sum, "
            f"got {list(sections)}"
        )
    if order == "blocks":
        blocks = [[axis] * n for axis, n in enumerate(sections)]
        return torch.tensor(sum(blocks, []))  # (P,)
    if order != "interleaved":
        raise ValueError(f"order must be one of {ORDERS}, got {order!r}")
    n_pairs = sum(sections)
    axes = torch.zeros(n_pairs, dtype=torch.int64)  # (P,)
    for axis in (1, 2):
        pairs = range(axis, 3 * sections[axis], 3)
        if pairs and pairs[-1] >= n_pairs:
            raise ValueError(
                f"sections must fit into {n_pairs} pairs in turn, "
                f"got {list(sections)}"
            )
        axes[list(pairs)] = axis
    return axes


def m_rope_positions(
    parts: Sequence[int | tuple[int, int, int]], start: int = 0
) -> tuple[Tensor, int]:
    """Positions on the three axes, and the position of the next text token.

    Args:
        parts: the sequence in order: a count of text tokens, or the grid
            (frames, rows, columns) of an image or a video.
        start: position of the first token.

    Returns:
        (3, T) int64, and one more than the largest of all of them.

    Raises:
        TypeError: if a count is not an integer.
        ValueError: if a count is below 1, or parts is empty.
    """
    if not parts:
        raise ValueError(f"parts must not be empty, got {list(parts)}")
    blocks = []
    for part in parts:
        try:  # not isinstance: numpy and torch have integers of their own
            counts, is_text = (operator.index(part),), True
        except TypeError:
            counts, is_text = tuple(map(operator.index, part)), False
        if len(counts) != (1 if is_text else 3) or min(counts) < 1:
            raise ValueError(
                "parts must be a count or (frames, rows, columns), "
                f"all positive, got {part}"
            )
        if is_text:
            block = torch.arange(*counts).expand(3, -1)  # (3, ...)
        else:
            steps = (torch.arange(n) for n in counts)
            block = torch.cartesian_prod(*steps).T  # (3, ...)
        blocks.append(start + block)
        # The largest of all axes, so that no later token lands on a patch.
        start += max(counts)
    return torch.cat(blocks, dim=-1), start


def apply_m_rope(
    x: Tensor, positions: Tensor, inv_freq: Tensor, axes: Tensor
) -> Tensor:
    """Turn each pair of x by its speed times the position on its own axis.

    Args:
        x: queries or keys, (B, H, T, D), any float dtype.
        positions: (3, T), or (3, B, T) with positions for each sequence;
            integer, float32 or float64.
        inv_freq: radians per position, (P,), float32 or float64, P = D // 2.
        axes: (P,) int64 from `m_rope_axes`.

    Returns:
        Tensor like x, angles in float64.

    Raises:
        TypeError: if x, positions, inv_freq or axes has another dtype.
        ValueError: if a rank or a size is wrong.
    """
    _check(x, positions, inv_freq, axes)
    work = torch.promote_types(x.dtype, torch.float32)
    axes = axes.to(positions.device)
    own = positions.to(torch.float64)[axes]  # (P, ..., T)
    if positions.ndim == 3:
        own = own[:, :, None]  # (P, B, 1, T)
    own = own.movedim(0, -1)  # (..., T, P)
    angle = own * inv_freq.to(positions.device, torch.float64)  # (..., T, P)
    cos = angle.cos().to(x.device, work)  # (..., T, P)
    sin = angle.sin().to(x.device, work)  # (..., T, P)
    a, b = x.to(work).chunk(2, dim=-1)  # 2 x (B, H, T, P)
    turned = (a * cos - b * sin, b * cos + a * sin)
    return torch.cat(turned, dim=-1).to(x.dtype)  # (B, H, T, D)


def _check(x, positions, inv_freq, axes) -> None:
    if x.ndim != 4 or x.shape[3] % 2:
        raise ValueError(
            f"x must be [B, H, T, D] with D even, got {list(x.shape)}"
        )
    if not x.is_floating_point():
        raise TypeError(f"x must be floating point, got {x.dtype}")
    if positions.dtype not in (
        torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64,
        torch.float32, torch.float64,
    ):
        raise TypeError(
            "positions must be integer, float32 or float64, "
            f"got {positions.dtype}"
        )
    b, t, n_pairs = x.shape[0], x.shape[2], x.shape[3] // 2
    if list(positions.shape) not in ([3, t], [3, b, t]):
        raise ValueError(
            f"positions must be [3, T] or [3, B, T] with T={t}, B={b}, "
            f"got {list(positions.shape)}"
        )
    if inv_freq.dtype not in (torch.float32, torch.float64):
        raise TypeError(
            f"inv_freq must be float32 or float64, got {inv_freq.dtype}"
        )
    if list(inv_freq.shape) != [n_pairs]:
        raise ValueError(
            f"inv_freq must be [P] with P={n_pairs}, "
            f"got {list(inv_freq.shape)}"
        )
    if axes.dtype != torch.int64:
        raise TypeError(f"axes must be int64, got {axes.dtype}")
    if list(axes.shape) != [n_pairs]:
        raise ValueError(
            f"axes must be [P] with P={n_pairs}, got {list(axes.shape)}"
        )
