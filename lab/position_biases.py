"""The methods that enter at the attention: a bias of the logits, or vectors for each gap."""

import torch
from torch import Tensor, nn

from lab.position_methods import Positions
from snippets.alibi import alibi_bias, alibi_slopes
from snippets.attention import attention
from snippets.shaw import shaw_bucket
from snippets.shaw_bucketed import shaw_attention_bucketed


class Bias(Positions):
    """bias(q_positions, k_positions), of (H, Tq, Tk), added in every layer: one for all layers.

    T5 divides its logits by no sqrt(D). Here all methods do, so that they differ in nothing else.
    """

    def __init__(self, bias: nn.Module):
        super().__init__()
        self.bias = bias

    def attend(self, q, k, v, q_positions, k_positions, mask, *, layer=0):
        bias = self.bias(q_positions, k_positions).to(q.dtype)  # (H, Tq, Tk)
        return attention(q, k, v, bias=bias, mask=mask)


class Alibi(nn.Module):
    """ALiBi's fixed bias as a module, for `Bias`."""

    def __init__(self, n_heads: int):
        super().__init__()
        self.register_buffer("slopes", alibi_slopes(n_heads), persistent=False)

    def forward(self, q_positions: Tensor, k_positions: Tensor) -> Tensor:
        return alibi_bias(q_positions, k_positions, self.slopes)


class Shaw(Positions):
    """Relative vectors in keys and values, tables of their own in each layer."""

    def __init__(self, head_dim: int, n_layers: int, reach: int, std: float = 0.02):
        super().__init__()
        self.reach = reach
        shape = (n_layers, 2 * reach + 1, head_dim)
        self.key_tables = nn.Parameter(torch.randn(shape) * std)
        self.value_tables = nn.Parameter(torch.randn(shape) * std)

    def attend(self, q, k, v, q_positions, k_positions, mask, *, layer=0):
        bucket = shaw_bucket(q_positions, k_positions, self.reach)  # (Tq, Tk)
        tables = self.key_tables[layer].to(q.dtype), self.value_tables[layer].to(q.dtype)
        return shaw_attention_bucketed(q, k, v, bucket, *tables, mask=mask)
