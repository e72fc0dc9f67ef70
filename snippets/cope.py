# SPDX-License-Identifier: MIT
# Position encoding, executed 0.1.0: snippets/cope.py
"""CoPE: a position counts what the query finds worth counting.

Source: Golovneva et al. 2024, Contextual Position Encoding
(arXiv:2405.18719): gates sigmoid(q k), summed from the key to the query, and
a learned embedding between two whole positions by interpolation. Only the
inner product with the embedding enters, so it is a bias, but one that has to
be computed from all logits. Needs only torch; copy this file as it is.

Axes: B batch, H heads, Tq and Tk positions of queries and keys, D head_dim,
N embedded positions (npos_max in the paper).
"""

import torch
from torch import Tensor, nn


def cope_positions(gates: Tensor) -> Tensor:
    """p[j] = gates[j] + gates[j + 1] + ... to the last key.

    Args:
        gates: (..., Tk), float, from 0 to 1; 0 for keys after the query. Keys
            stand in the order of their positions.

    Returns:
        (..., Tk), at least float32: bfloat16 has no 257.

    Raises:
        TypeError: if gates are not floating point.
    """
    if not gates.is_floating_point():
        raise TypeError(f"gates must be floating point, got {gates.dtype}")
    gates = gates.to(torch.promote_types(gates.dtype, torch.float32))
    return gates.flip(-1).cumsum(-1).flip(-1)


def cope_bias(
    q: Tensor, logits: Tensor, embedding: Tensor, *, mask: Tensor | None = None
) -> Tensor:
    """q e[p], with p counted by the gates sigmoid(logits).

    Args:
        q: (B, H, Tq, D), float.
        logits: (B, H, Tq, Tk), float, without any bias or mask.
        embedding: (N, D), float; e[0] ... e[N - 1], shared by the heads.
            Positions past N - 1 take e[N - 1].
        mask: bool, True = may attend, broadcastable to (B, H, Tq, Tk). Masked
            keys are not counted. A causal model has to pass its mask.

    Returns:
        (B, H, Tq, Tk) in the dtype of q, but at least float32; add it to the
        logits, then mask and softmax.

    Raises:
        TypeError: if q, logits or embedding are not floating point, or mask
            is not bool.
        ValueError: if ranks or sizes do not fit.
    """
    _check(q, logits, embedding, mask)
    wide = torch.promote_types(q.dtype, torch.float32)
    gates = logits.to(wide).sigmoid()  # (B, H, Tq, Tk)
    if mask is not None:
        gates = gates.masked_fill(~mask, 0.0)  # (B, H, Tq, Tk)
    places = cope_positions(gates).clamp(max=len(embedding) - 1)
    # Each query against each whole position once, then two look-ups a key.
    whole = q.to(wide) @ embedding.to(wide).T  # (B, H, Tq, N)
    low = places.floor()  # (B, H, Tq, Tk)
    share = places - low  # (B, H, Tq, Tk)
    below = whole.gather(-1, low.long())  # (B, H, Tq, Tk)
    above = whole.gather(-1, places.ceil().long())  # (B, H, Tq, Tk)
    return (1 - share) * below + share * above  # (B, H, Tq, Tk)


class CoPE(nn.Module):
    """The embeddings of one layer, shared by its heads; they start at zero.

    Args:
        head_dim: D.
        n_positions: N, embeddings of the positions 0 ... N - 1.

    Raises:
        ValueError: if a number is below 1.
    """

    def __init__(self, head_dim: int, n_positions: int):
        super().__init__()
        if head_dim < 1 or n_positions < 1:
            raise ValueError(
                "head_dim and n_positions must be positive, "
                f"got {head_dim} and {n_positions}"
            )
        self.weight = nn.Parameter(torch.empty(n_positions, head_dim))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set all embeddings to zero: training starts without positions."""
        nn.init.zeros_(self.weight)

    def forward(
        self, q: Tensor, logits: Tensor, *, mask: Tensor | None = None
    ) -> Tensor:
        """`cope_bias` with the learned embeddings.

        Args:
            q: (B, H, Tq, D), float.
            logits: (B, H, Tq, Tk), float.
            mask: as in `cope_bias`.

        Returns:
            (B, H, Tq, Tk), as from `cope_bias`.

        Raises:
            TypeError: as in `cope_bias`.
            ValueError: as in `cope_bias`.
        """
        return cope_bias(q, logits, self.weight, mask=mask)


def _check(q, logits, embedding, mask) -> None:
    for name, tensor in (
        ("q", q), ("logits", logits), ("embedding", embedding)
    ):
        if not tensor.is_floating_point():
            raise TypeError(
                f"{name} must be floating point, got {tensor.dtype}"
            )
    shapes = [list(t.shape) for t in (q, logits, embedding)]
    if (
        [t.ndim for t in (q, logits, embedding)] != [4, 4, 2]
        or q.shape[:3] != logits.shape[:3]
        or q.shape[3] != embedding.shape[1]
    ):
        raise ValueError(
            "q, logits and embedding must be [B, H, Tq, D], [B, H, Tq, Tk] "
            f"and [N, D], got {shapes[0]}, {shapes[1]} and {shapes[2]}"
        )
    if mask is None:
        return
    if mask.dtype != torch.bool:
        raise TypeError(f"mask must be bool, got {mask.dtype}")
    sizes = zip(mask.shape[::-1], logits.shape[::-1])
    if mask.ndim > 4 or not all(size in (1, full) for size, full in sizes):
        raise ValueError(
            f"mask must broadcast to [B, H, Tq, Tk] = {shapes[1]}, "
            f"got {list(mask.shape)}"
        )
