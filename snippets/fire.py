# SPDX-License-Identifier: MIT
# Position encoding, executed 0.1.0: snippets/fire.py
"""FIRE: a small network reads the distance as a share of the query's position.

Source: Li et al. 2023, Functional Interpolation for Relative Positions
(arXiv:2310.04418): f(psi(i - j) / psi(max(L, i))), psi(x) = log(c x + 1), with
learned c, L and network f. For causal attention.
Needs only torch; copy this file as it is.

Axes: H heads, Tq and Tk positions of queries and keys, F hidden units.
"""

import torch
from torch import Tensor, nn


def fire_distance(
    q_positions: Tensor, k_positions: Tensor, c: Tensor, threshold: Tensor
) -> Tensor:
    """psi(i - j) / psi(max(threshold, i)), psi(x) = log(c x + 1).

    It depends on the gap alone up to the threshold, and past it on the
    query's own position too: there, shifting all positions changes it.

    Args:
        q_positions: (Tq,), integer, from 0.
        k_positions: (Tk,), integer, from 0. Keys after the query get 0, as
            the query itself does: mask them.
        c: scalar tensor, positive, per position.
        threshold: scalar tensor, positive, in positions; the L of the paper.

    Returns:
        (Tq, Tk), float64, from 0 to 1.

    Raises:
        TypeError: if positions are not integer.
        ValueError: if positions are not 1-D, or c or threshold is not a
            scalar, or not positive.
    """
    _check(q_positions, k_positions, c, threshold)
    c, threshold = c.double(), threshold.double()
    # int64 first: the difference of two uint8 numbers would wrap around.
    q_column, k_row = q_positions.long()[:, None], k_positions.long()
    distance = (q_column - k_row).clamp(min=0)  # (Tq, Tk)
    longest = torch.maximum(threshold, q_column.double())  # (Tq, 1)
    return torch.log1p(c * distance) / torch.log1p(c * longest)  # (Tq, Tk)


class Fire(nn.Module):
    """Trainable bias, added to the scaled logits before the softmax.

    c and the threshold stay positive as absolute values; the threshold is
    learned as a multiple of its start, which is a better size for a step.

    Args:
        n_heads: H.
        hidden: F, units of the network between distance and heads.
        c: start value, per position.
        threshold: start value in positions.

    Raises:
        ValueError: if a number is not positive.
    """

    def __init__(
        self,
        n_heads: int,
        *,
        hidden: int = 32,
        c: float = 0.1,
        threshold: float = 512.0,
    ):
        super().__init__()
        for name, value in (
            ("n_heads", n_heads),
            ("hidden", hidden),
            ("c", c),
            ("threshold", threshold),
        ):
            if not value > 0:
                raise ValueError(f"{name} must be positive, got {value}")
        self.start = (float(c), float(threshold))
        self.c = nn.Parameter(torch.empty(()))
        self.multiple = nn.Parameter(torch.empty(()))
        self.network = nn.Sequential(
            nn.Linear(1, hidden), nn.ReLU(), nn.Linear(hidden, n_heads)
        )
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set c and the threshold to their start, draw the network anew."""
        nn.init.constant_(self.c, self.start[0])
        nn.init.ones_(self.multiple)
        self.network[0].reset_parameters()
        self.network[2].reset_parameters()

    def forward(self, q_positions: Tensor, k_positions: Tensor) -> Tensor:
        """The bias of each head for each pair of positions.

        Args:
            q_positions: (Tq,), integer, from 0.
            k_positions: (Tk,), integer, from 0.

        Returns:
            (H, Tq, Tk) in the dtype of the parameters; keys after the query
            hold the value of distance 0 and have to be masked. Autocast runs
            the network, and so the result, in its own dtype.

        Raises:
            TypeError: if positions are not integer.
            ValueError: if positions are not 1-D.
        """
        c = self.c.double().abs()
        threshold = self.multiple.double().abs() * self.start[1]
        distance = fire_distance(q_positions, k_positions, c, threshold)
        distance = distance.to(self.c.dtype)[..., None]  # (Tq, Tk, 1)
        hidden = self.network[:2](distance)  # (Tq, Tk, F)
        return self.network[2](hidden).permute(2, 0, 1)  # (H, Tq, Tk)


def _check(q_positions, k_positions, c, threshold) -> None:
    for name, tensor in (
        ("q_positions", q_positions), ("k_positions", k_positions)
    ):
        if tensor.ndim != 1:
            raise ValueError(f"{name} must be 1-D, got {list(tensor.shape)}")
        if tensor.dtype == torch.bool or (
            tensor.is_floating_point() or tensor.is_complex()
        ):
            raise TypeError(f"{name} must be integer, got {tensor.dtype}")
    for name, tensor in (("c", c), ("threshold", threshold)):
        if tensor.ndim != 0:
            raise ValueError(
                f"{name} must be a scalar tensor, got {list(tensor.shape)}"
            )
        # Values are looked at in eager mode only, for export and compile.
        if not (torch.compiler.is_compiling() or tensor.is_meta):
            if not bool(tensor > 0):
                raise ValueError(
                    f"{name} must be positive, got {tensor.item()}"
                )
