# SPDX-License-Identifier: MIT
# Position encoding, executed 0.1.0: snippets/t5_bias.py
"""T5's relative bias: a learned number for each head and each bucket of gaps.

Source: Raffel et al. 2020, section 2.1 (arXiv:1910.10683). The exact bucket
rule stands in the authors' code, not in the paper.
Needs only torch; copy this file as it is.

Axes: H heads, Tq and Tk positions of queries and keys. The gap is key
position minus query position.
"""

import math

import torch
from torch import Tensor, nn


def t5_bucket(
    gap: Tensor,
    *,
    bidirectional: bool,
    num_buckets: int = 32,
    max_distance: int = 128,
) -> Tensor:
    """Bucket of each gap: one each when near, shared on a log scale when far.

    Args:
        gap: key position minus query position, any shape, integer.
        bidirectional: True splits the buckets between keys before and after
            the query; False puts all keys after the query into bucket 0.
        num_buckets: buckets in all, even, 4 or more.
        max_distance: from here on every distance falls into the last bucket.

    Returns:
        int64, shape of gap, from 0 to num_buckets - 1.

    Raises:
        TypeError: if gap is not integer.
        ValueError: if num_buckets is odd or below 4, or max_distance does not
            exceed the number of near buckets.
    """
    if gap.dtype == torch.bool or gap.is_floating_point() or gap.is_complex():
        raise TypeError(f"gap must be integer, got {gap.dtype}")
    if num_buckets < 4 or num_buckets % 2:
        raise ValueError(
            f"num_buckets must be even and at least 4, got {num_buckets}"
        )
    side = num_buckets // 2 if bidirectional else num_buckets
    near = side // 2
    if max_distance <= near:
        raise ValueError(
            f"max_distance must exceed {near}, got {max_distance}"
        )
    gap = gap.long()
    if bidirectional:
        after, distance = (gap > 0).long() * side, gap.abs()
    else:
        after, distance = torch.zeros_like(gap), (-gap).clamp(min=0)
    ratio = distance.clamp(min=near).double() / near
    far = ratio.log() / math.log(max_distance / near) * (side - near)
    # At an exact power the quotient of logarithms may fall a rounding short.
    far = near + (far + 1e-9).long().clamp(max=side - near - 1)
    return after + torch.where(distance < near, distance, far)


class T5Bias(nn.Module):
    """Trainable bias, added to the logits before the softmax.

    T5 shares one table among all layers of a stack and does not divide the
    logits by sqrt(D).

    Args:
        n_heads: H.
        bidirectional: True in an encoder, False in a causal decoder.
        num_buckets: as in `t5_bucket`.
        max_distance: as in `t5_bucket`.

    Raises:
        ValueError: if n_heads is below 1; others as in `t5_bucket`.
    """

    def __init__(
        self,
        n_heads: int,
        *,
        bidirectional: bool,
        num_buckets: int = 32,
        max_distance: int = 128,
    ):
        super().__init__()
        if n_heads < 1:
            raise ValueError(f"n_heads must be positive, got {n_heads}")
        self.rule = {
            "bidirectional": bidirectional,
            "num_buckets": num_buckets,
            "max_distance": max_distance,
        }
        t5_bucket(torch.zeros(1, dtype=torch.int64), **self.rule)
        self.weight = nn.Parameter(torch.empty(num_buckets, n_heads))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the biases anew."""
        nn.init.normal_(self.weight)

    def forward(self, q_positions: Tensor, k_positions: Tensor) -> Tensor:
        """The bias of each head for each pair of positions.

        Args:
            q_positions: (Tq,), integer.
            k_positions: (Tk,), integer.

        Returns:
            (H, Tq, Tk) in the dtype of the table.

        Raises:
            TypeError: if positions are not integer.
            ValueError: if positions are not 1-D.
        """
        if q_positions.ndim != 1 or k_positions.ndim != 1:
            raise ValueError(
                "q_positions and k_positions must be [T], got "
                f"{list(q_positions.shape)} and {list(k_positions.shape)}"
            )
        for name, positions in (
            ("q_positions", q_positions), ("k_positions", k_positions)
        ):
            if positions.dtype == torch.bool or (
                positions.is_floating_point() or positions.is_complex()
            ):
                raise TypeError(
                    f"{name} must be integer, got {positions.dtype}"
                )
        # int64 first: the difference of two uint8 numbers would wrap around.
        q_column, k_row = q_positions.long()[:, None], k_positions.long()
        gap = k_row - q_column  # (Tq, Tk)
        bucket = t5_bucket(gap, **self.rule)  # (Tq, Tk)
        return self.weight[bucket].permute(2, 0, 1)  # (H, Tq, Tk)
