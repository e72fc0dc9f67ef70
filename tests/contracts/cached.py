"""One layer of causal attention with a cache and RoPE, right or with one fault."""

import torch

from snippets.attention import attention
from snippets.masks import causal_mask
from snippets.rope import apply_rope, rope_inv_freq

SPEEDS = rope_inv_freq(4)


class Step:
    """x (B, T, 8) -> (B, T, 8): two heads of width 4. Faults override one method each."""

    def __init__(self):
        self.weight = torch.randn(3, 8, 8, dtype=torch.float64) / 2
        self.keys = self.values = torch.empty(0)
        self.cached = 0  # tokens
        self.calls = 0

    def __call__(self, x):
        n = x.shape[1]
        q, k, v = (self.heads(x @ weight) for weight in self.weight)
        k = self.turn(k, self.key_positions(n))
        self.keys = self.join(self.old_keys(), k)
        self.values = self.join(self.values, v)
        q = self.turn(q, self.query_positions(n))
        mask = self.mask(n, self.keys.shape[2])
        y = self.attend(q, self.keys, self.values, mask)
        self.advance(n)
        return y.transpose(1, 2).flatten(2)

    def heads(self, x):
        return x.unflatten(2, (2, 4)).transpose(1, 2)  # (B, H, T, D)

    def turn(self, x, positions):
        return apply_rope(x, positions, SPEEDS)

    def old_keys(self):
        return self.keys

    def join(self, old, new):
        return torch.cat((old, new), dim=2) if old.numel() else new

    def attend(self, q, k, v, mask):
        return attention(q, k, v, mask=mask)

    def key_positions(self, n):
        return self.positions(n)

    def query_positions(self, n):
        return self.positions(n)

    def positions(self, n):
        return torch.arange(self.cached, self.cached + n)

    def mask(self, n, total):
        keys = torch.arange(total)
        return causal_mask(keys[total - n :], keys)

    def advance(self, n):
        self.cached += n
        self.calls += 1
