# SPDX-License-Identifier: MIT
# Position encoding, executed 0.1.0: snippets/fox.py
"""Forgetting attention: each token decides how much of the past fades.

Source: Lin, Nikishin, He, Courville 2025, Forgetting Transformer
(arXiv:2503.02130): the logit of key j gains the sum of the logarithms of the
forget gates of tokens j + 1 ... i. There are no positions: the order of the
tokens is all it needs. A constant gate gives ALiBi.
Needs only torch; copy this file as it is.

Axes: B batch, H heads, T tokens, Tq and Tk tokens of queries and keys.
"""

import torch
from torch import Tensor, nn


def forget_sums(log_gates: Tensor, start: Tensor | None = None) -> Tensor:
    """Running sum of the logarithms of the gates, from the first token on.

    Args:
        log_gates: (B, H, T), float, 0 or below.
        start: (B, H), the sum of the last token before these, when decoding;
            none before the first token.

    Returns:
        (B, H, T), float64: the bias is a small difference of sums that grow
        with the length. Keep it beside the keys in the cache.

    Raises:
        TypeError: if a tensor is not floating point.
        ValueError: if log_gates is not 3-D or start does not fit.
    """
    if not log_gates.is_floating_point():
        raise TypeError(
            f"log_gates must be floating point, got {log_gates.dtype}"
        )
    if log_gates.ndim != 3:
        raise ValueError(
            f"log_gates must be [B, H, T], got {list(log_gates.shape)}"
        )
    sums = log_gates.double().cumsum(-1)  # (B, H, T)
    if start is None:
        return sums
    if not start.is_floating_point():
        raise TypeError(f"start must be floating point, got {start.dtype}")
    if start.shape != log_gates.shape[:2]:
        raise ValueError(
            f"start must be [B, H] = {list(log_gates.shape[:2])}, "
            f"got {list(start.shape)}"
        )
    return start[..., None] + sums  # (B, H, T)


def fox_bias(
    q_sums: Tensor, k_sums: Tensor, *, dtype: torch.dtype = torch.float32
) -> Tensor:
    """Sum of log gates of the tokens after the key, up to the query.

    It does not mask: for a key after the query it is positive, so causal
    attention has to mask it.

    Args:
        q_sums: (B, H, Tq), from `forget_sums`, of the query tokens.
        k_sums: (B, H, Tk), from `forget_sums`, of the key tokens.
        dtype: dtype of the result.

    Returns:
        (B, H, Tq, Tk), added to the scaled logits before the softmax.

    Raises:
        TypeError: if a tensor is not floating point.
        ValueError: if the shapes do not fit.
    """
    for name, sums in (("q_sums", q_sums), ("k_sums", k_sums)):
        if not sums.is_floating_point():
            raise TypeError(f"{name} must be floating point, got {sums.dtype}")
    if (
        q_sums.ndim != 3
        or k_sums.ndim != 3
        or q_sums.shape[:2] != k_sums.shape[:2]
    ):
        raise ValueError(
            "q_sums and k_sums must be [B, H, Tq] and [B, H, Tk], "
            f"got {list(q_sums.shape)} and {list(k_sums.shape)}"
        )
    difference = q_sums[..., :, None] - k_sums[..., None, :]  # (B, H, Tq, Tk)
    return difference.to(dtype)  # (B, H, Tq, Tk)


class ForgetGate(nn.Module):
    """log sigmoid(w x + b) for each head; the one trained part of the method.

    Args:
        d_model: width of the tokens.
        n_heads: H.

    Raises:
        ValueError: if a number is below 1.
    """

    def __init__(self, d_model: int, n_heads: int):
        super().__init__()
        if d_model < 1 or n_heads < 1:
            raise ValueError(
                "d_model and n_heads must be positive, "
                f"got {d_model} and {n_heads}"
            )
        self.linear = nn.Linear(d_model, n_heads)

    def forward(self, x: Tensor) -> Tensor:
        """The logarithm of each gate, never log(sigmoid), which gives -inf.

        Args:
            x: (B, T, d_model), float.

        Returns:
            (B, H, T), below 0, at least float32.

        Raises:
            ValueError: if the rank or width is wrong.
        """
        d_model = self.linear.in_features
        if x.ndim != 3 or x.shape[2] != d_model:
            raise ValueError(
                f"x must be [B, T, d_model = {d_model}], got {list(x.shape)}"
            )
        logits = self.linear(x).transpose(1, 2)  # (B, H, T)
        wide = torch.promote_types(logits.dtype, torch.float32)
        return nn.functional.logsigmoid(logits.to(wide))  # (B, H, T)
