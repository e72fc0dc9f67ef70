# SPDX-License-Identifier: MIT
# Position encoding, executed 0.1.0: snippets/kerple.py
"""KERPLE: a learned kernel of the distance, with two numbers for each head.

Source: Chi, Fan, Ramadge, Rudnicky 2022 (arXiv:2205.09921): a logarithmic and
a power kernel with r1, r2 > 0, and r2 <= 2 in the power kernel.
Needs only torch; copy this file as it is.

Axes: H heads, Tq and Tk positions of queries and keys.
"""

import torch
from torch import Tensor, nn

KINDS = ("log", "power")


def kerple_bias(
    q_positions: Tensor,
    k_positions: Tensor,
    r1: Tensor,
    r2: Tensor,
    *,
    kind: str,
    dtype: torch.dtype = torch.float32,
) -> Tensor:
    """-r1 * log(1 + r2 * d) or -r1 * d ** r2, d = |query - key|.

    It is added to the scaled logits before the softmax and does not mask.

    Args:
        q_positions: (Tq,), integer.
        k_positions: (Tk,), integer.
        r1: (H,), positive.
        r2: (H,), positive; at most 2 in the power kernel.
        kind: "log" or "power".
        dtype: dtype of the result.

    Returns:
        (H, Tq, Tk), computed in float64 and then cast.

    Raises:
        TypeError: if positions are not integer, or r1 or r2 not floating point.
        ValueError: if kind is not known, a tensor is not 1-D, r1 and r2 differ
            in length, or a value lies outside its range.
    """
    _check(q_positions, k_positions, r1, r2, kind)
    _check_values(r1, r2, kind)
    return _bias(q_positions, k_positions, r1, r2, kind, dtype)


def _bias(q_positions, k_positions, r1, r2, kind, dtype) -> Tensor:
    # int64 first: the difference of two uint8 numbers would wrap around.
    q_column, k_row = q_positions.long()[:, None], k_positions.long()
    distance = (q_column - k_row).abs().double()  # (Tq, Tk)
    r1, r2 = (
        r.to(distance.device, torch.float64)[:, None, None] for r in (r1, r2)
    )
    if kind == "log":
        kernel = torch.log1p(r2 * distance)  # (H, Tq, Tk)
    else:
        kernel = distance**r2  # (H, Tq, Tk)
    return (-r1 * kernel).to(dtype)  # (H, Tq, Tk)


class Kerple(nn.Module):
    """Trainable kernel, added to the scaled logits before the softmax.

    The authors' code clamps r1 and r2 to at least 0.01, where the gradient
    stops. Here they are positive by form: the softplus of a free number, and
    in the power kernel r2 = 2 * sigmoid of one.

    Args:
        n_heads: H.
        kind: "log" or "power".

    Raises:
        ValueError: if n_heads is below 1 or kind is not known.
    """

    def __init__(self, n_heads: int, *, kind: str):
        super().__init__()
        if n_heads < 1:
            raise ValueError(f"n_heads must be positive, got {n_heads}")
        if kind not in KINDS:
            raise ValueError(f"kind must be one of {KINDS}, got {kind!r}")
        self.kind = kind
        self.raw_r1 = nn.Parameter(torch.empty(n_heads))
        self.raw_r2 = nn.Parameter(torch.empty(n_heads))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw r1 anew between 0.01 and 2, r2 between 0.01 and 1."""
        with torch.no_grad():
            r1 = torch.empty_like(self.raw_r1).uniform_(0.01, 2.0)  # (H,)
            r2 = torch.empty_like(self.raw_r2).uniform_(0.01, 1.0)  # (H,)
            self.raw_r1.copy_(_inverse_softplus(r1))
            power = self.kind == "power"
            raw = torch.logit(r2 / 2) if power else _inverse_softplus(r2)
            self.raw_r2.copy_(raw)

    def forward(self, q_positions: Tensor, k_positions: Tensor) -> Tensor:
        """The bias of each head for each pair of positions.

        Args:
            q_positions: (Tq,), integer.
            k_positions: (Tk,), integer.

        Returns:
            (H, Tq, Tk) in the dtype of the parameters.

        Raises:
            TypeError: if positions are not integer.
            ValueError: if positions are not 1-D.
        """
        # float64 first, so that no rounding reaches a border of the range.
        raw_r1, raw_r2 = self.raw_r1.double(), self.raw_r2.double()
        r1 = nn.functional.softplus(raw_r1)  # (H,)
        power = self.kind == "power"
        r2 = 2 * raw_r2.sigmoid() if power else nn.functional.softplus(raw_r2)
        inputs = (q_positions, k_positions, r1, r2, self.kind)
        _check(*inputs)
        return _bias(*inputs, self.raw_r1.dtype)


def _inverse_softplus(r: Tensor) -> Tensor:
    return r + torch.log(-torch.expm1(-r))


def _check(q_positions, k_positions, r1, r2, kind) -> None:
    if kind not in KINDS:
        raise ValueError(f"kind must be one of {KINDS}, got {kind!r}")
    positions = (("q_positions", q_positions), ("k_positions", k_positions))
    numbers = (("r1", r1), ("r2", r2))
    for name, tensor in positions + numbers:
        if tensor.ndim != 1:
            raise ValueError(f"{name} must be 1-D, got {list(tensor.shape)}")
    for name, tensor in positions:
        if tensor.dtype == torch.bool or (
            tensor.is_floating_point() or tensor.is_complex()
        ):
            raise TypeError(f"{name} must be integer, got {tensor.dtype}")
    for name, tensor in numbers:
        if not tensor.is_floating_point():
            raise TypeError(
                f"{name} must be floating point, got {tensor.dtype}"
            )
    if len(r1) != len(r2):
        raise ValueError(
            f"r1 and r2 must have one length, got {len(r1)} and {len(r2)}"
        )


def _check_values(r1, r2, kind) -> None:
    # Values are looked at in eager mode only: export and compile keep working.
    if torch.compiler.is_compiling() or r1.is_meta or r2.is_meta:
        return
    for name, tensor in (("r1", r1), ("r2", r2)):
        if not bool((tensor > 0).all()):
            raise ValueError(
                f"{name} must be positive, got {tensor.min().item()}"
            )
    if kind == "power" and bool((r2 > 2).any()):
        raise ValueError(
            f"r2 must be at most 2 in the power kernel, got {r2.max().item()}"
        )
