# SPDX-License-Identifier: MIT
# Position encoding, executed 0.1.0: snippets/sinusoidal.py
"""Sinusoidal position encoding: a clock with several speeds, added to x.

Source: Vaswani et al. 2017, Attention Is All You Need, section 3.5
(arXiv:1706.03762). The class follows Muxuan Liu, Model notes, Chapter 1.
Needs only torch; copy this file as it is.

Axes: B batch, T positions, P = ceil(d_model / 2) pairs.
Pair layout: column 2i is the sine and column 2i + 1 the cosine of pair i.
"""

import torch
from torch import Tensor, nn


def sinusoidal_inv_freq(d_model: int, base: float = 10_000.0) -> Tensor:
    """Radians each pair turns per position: base ** (-2 i / d_model).

    Args:
        d_model: embedding width, odd or even.
        base: sets the range of the speeds, larger than 0.

    Returns:
        (P,) float64, from 1 downwards if base > 1.

    Raises:
        TypeError: if d_model is not an int.
        ValueError: if d_model or base is not positive.
    """
    if not isinstance(d_model, int):
        raise TypeError(f"d_model must be an int, got {d_model!r}")
    if d_model < 1:
        raise ValueError(f"d_model must be positive, got {d_model}")
    if not base > 0:
        raise ValueError(f"base must be positive, got {base}")
    pair = torch.arange((d_model + 1) // 2, dtype=torch.float64)  # (P,)
    return base ** (-2.0 * pair / d_model)


def sinusoidal_table(
    positions: Tensor, d_model: int, base: float = 10_000.0
) -> Tensor:
    """One row per position, to be added to the embeddings.

    Args:
        positions: (T,) or (B, T), not negative; integer, float32 or float64.
        d_model: embedding width, odd or even.
        base: as in `sinusoidal_inv_freq`.

    Returns:
        (T, d_model) or (B, T, d_model) float32 on the device of positions,
        computed in float64, so that the only error is the last rounding.

    Raises:
        TypeError: if positions has another dtype or d_model is no int.
        ValueError: if positions has another rank or a negative value, or
            if d_model or base is not positive.
    """
    if positions.ndim not in (1, 2):
        raise ValueError(
            f"positions must be [T] or [B, T], got {list(positions.shape)}"
        )
    if positions.dtype not in (
        torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64,
        torch.float32, torch.float64,
    ):  # half types cannot count: bfloat16 merges positions 256 and 257
        raise TypeError(
            "positions must be integer, float32 or float64, "
            f"got {positions.dtype}"
        )
    # Values are looked at in eager mode only: export and compile keep working.
    if not (torch.compiler.is_compiling() or positions.is_meta):
        if bool((positions < 0).any()):
            raise ValueError(
                f"positions must not be negative, got {positions.min().item()}"
            )
    inv_freq = sinusoidal_inv_freq(d_model, base).to(positions.device)  # (P,)
    angle = positions.to(torch.float64)[..., None] * inv_freq  # (..., T, P)
    table = angle.new_zeros(*positions.shape, d_model)  # (..., T, d_model)
    table[..., 0::2] = angle.sin()
    # An odd width has one sine more than cosines: the last pair is half.
    table[..., 1::2] = angle.cos()[..., : d_model // 2]
    return table.to(torch.float32)


class SinusoidalPositionEncoding(nn.Module):
    """Add the sinusoidal table to x and apply dropout to the sum.

    The buffer `pe` has shape [1, max_len, d_model], float32, no gradient.

    Args:
        d_model: embedding width, odd or even.
        max_len: rows stored; a limit of this module, not of the formula.
        dropout: probability for the sum, active in training mode only.
        persistent: whether `pe` is part of the state dict.
        keep_float32: keep `pe` in float32 through `.half()`, `.bfloat16()`
            and `.double()`; its rows are still cast to x's dtype when added.

    Raises:
        TypeError: if d_model or max_len is not an int.
        ValueError: if d_model or max_len is below 1.
    """

    def __init__(
        self,
        d_model: int,
        max_len: int = 5000,
        dropout: float = 0.1,
        *,
        persistent: bool = True,
        keep_float32: bool = False,
    ):
        super().__init__()
        for name, value in (("d_model", d_model), ("max_len", max_len)):
            if not isinstance(value, int):
                raise TypeError(f"{name} must be an int, got {value!r}")
        if d_model < 1 or max_len < 1:
            raise ValueError(
                "d_model and max_len must be positive, "
                f"got d_model={d_model}, max_len={max_len}"
            )
        self.keep_float32 = keep_float32
        pe = torch.empty(1, max_len, d_model, dtype=torch.float32)
        self.register_buffer("pe", pe, persistent=persistent)
        self.reset_parameters()
        self.dropout = nn.Dropout(dropout)
        self.register_load_state_dict_pre_hook(_refuse_other_max_len)

    def reset_parameters(self) -> None:
        """Fill `pe` from the formula again, as after `to_empty`."""
        _, max_len, d_model = self.pe.shape
        positions = torch.arange(max_len)
        self.pe.copy_(sinusoidal_table(positions, d_model)[None])

    def forward(self, x: Tensor, *, start: int = 0) -> Tensor:
        """x plus the rows of positions start, start + 1, ...

        Args:
            x: embeddings, [batch, sequence, d_model], any float dtype.
            start: position of the first column of x, 0 or more; in decoding
                the number of tokens that were processed before.

        Returns:
            Tensor like x: same shape, dtype and device.

        Raises:
            TypeError: if x is not floating point or start is not an int.
            ValueError: if x has another rank or width, if start is
                negative, or if a position lies past the table.
        """
        if x.ndim != 3 or x.shape[-1] != self.pe.shape[-1]:
            raise ValueError(
                "Expected [batch, sequence, d_model] with "
                f"d_model={self.pe.shape[-1]}, got {list(x.shape)}"
            )
        if not x.is_floating_point():
            raise TypeError(f"x must be floating point, got {x.dtype}")
        if not isinstance(start, (int, torch.SymInt)):
            raise TypeError(f"start must be an int, got {start!r}")
        if start < 0:
            raise ValueError(f"start must not be negative, got {start}")
        stop = start + x.shape[1]
        if stop > self.pe.shape[1]:
            raise ValueError(
                "Sequence exceeds configured max_len: positions up to "
                f"{stop - 1} asked, {self.pe.shape[1]} rows stored"
            )
        rows = self.pe[:, start:stop].to(x.dtype)  # (1, T, d_model)
        return self.dropout(x + rows)

    def _apply(self, fn, recurse=True):
        # Every .to(), .half() or .cuda() of a module comes through here.
        exact = self.pe
        super()._apply(fn, recurse)
        if self.keep_float32 and self.pe.dtype != torch.float32:
            self.pe = exact.to(self.pe.device, torch.float32)
        return self


def _refuse_other_max_len(module, state_dict, prefix, *_) -> None:
    if "pe" not in module.state_dict():  # persistent=False loads no table
        return
    stored = state_dict.get(prefix + "pe")
    if stored is not None and stored.shape != module.pe.shape:
        raise ValueError(
            f"checkpoint entry {prefix}pe has shape {list(stored.shape)}, this "
            f"module's table has {list(module.pe.shape)}; the table is a "
            f"formula: build the module with persistent=False and delete "
            f"{prefix}pe from the checkpoint"
        )
