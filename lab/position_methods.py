"""Every method as the three places where position can enter a model: all code is a snippet's.

A method may change the embeddings (`embed`), queries and keys (`turn`), or the attention itself
(`attend`). The base class changes none of them. `tests/decoding.py` knows `turn` and `attend` by
the same names, so that its cache can be used with each method.
"""

from torch import Tensor, nn

from snippets.attention import attention
from snippets.learned import LearnedPositionEncoding
from snippets.rope import apply_rope, rope_inv_freq
from snippets.sinusoidal import sinusoidal_table
from snippets.xpos import apply_xpos, xpos_scale


class Positions(nn.Module):
    """No position encoding; order is left to the causal mask."""

    def embed(self, x: Tensor, positions: Tensor) -> Tensor:
        """x of (B, T, d_model), positions (T,)."""
        return x

    def turn(self, x: Tensor, positions: Tensor, *, keys: bool) -> Tensor:
        """Queries, or keys where `keys` is True, (B, H, T, D)."""
        return x

    def attend(self, q, k, v, q_positions, k_positions, mask, *, layer: int = 0) -> Tensor:
        return attention(q, k, v, mask=mask)


class Sinusoidal(Positions):
    def embed(self, x, positions):
        return x + sinusoidal_table(positions, x.shape[-1])


class Learned(Positions):
    """A table of `max_len` rows; rows that no training text reaches stay as they were drawn."""

    def __init__(self, d_model: int, max_len: int):
        super().__init__()
        self.table = LearnedPositionEncoding(d_model, max_len)

    def embed(self, x, positions):
        return x + self.table(positions)


class Stretched(Positions):
    """Some rows of a table in place of a module."""

    def __init__(self, rows: Tensor):
        super().__init__()
        self.register_buffer("rows", rows, persistent=False)

    def embed(self, x, positions):
        return x + self.rows[positions]


class Rope(Positions):
    """RoPE with any frequencies: a scaling rule's (inv_freq, attention_factor) fit here."""

    def __init__(self, inv_freq: Tensor, attention_factor: float = 1.0):
        super().__init__()
        self.attention_factor = attention_factor
        self.register_buffer("inv_freq", inv_freq, persistent=False)

    def turn(self, x, positions, *, keys):
        return apply_rope(
            x, positions, self.inv_freq, attention_factor=self.attention_factor
        )


class XPos(Positions):
    def __init__(self, head_dim: int, scale_base: float):
        super().__init__()
        self.scale_base = scale_base
        self.register_buffer("inv_freq", rope_inv_freq(head_dim), persistent=False)
        self.register_buffer("scale", xpos_scale(head_dim), persistent=False)

    def turn(self, x, positions, *, keys):
        return apply_xpos(
            x, positions, self.inv_freq, self.scale, keys=keys, scale_base=self.scale_base
        )
