# SPDX-License-Identifier: MIT
"""One call of attention over padded sequences: the input, the padding, and the right answer."""

import torch
from torch import Tensor

from posenc_check import oracles

WORDS = ["q", "k", "v", "key_keep", "key_ones", "pad", "causal"]
MASKS = ("key_keep", "key_ones", "pad")


class Case:
    """One call: q, k, v, and which tokens are real. given: whether this is passed on."""

    def __init__(self, sizes, keep, given: bool = True, seed: int = 0):
        draw = torch.Generator().manual_seed(seed)
        self.q, self.k, self.v = torch.randn(3, *sizes, generator=draw, dtype=torch.float64)
        self.keep, self.given = torch.tensor(keep).bool(), given

    @property
    def values(self) -> dict:
        masks = {"key_keep": self.keep, "key_ones": self.keep.long(), "pad": ~self.keep}
        if not self.given:
            masks = dict.fromkeys(masks)
        return {"q": self.q, "k": self.k, "v": self.v, "causal": True, **masks}

    @property
    def right(self) -> Tensor:
        """Of real tokens; pads see themselves, and are looked at by nobody."""
        n = self.q.shape[2]
        allowed = torch.ones(n, n, dtype=torch.bool).tril() & self.keep[:, None, None]
        allowed = (allowed | torch.eye(n, dtype=torch.bool)).expand(-1, self.q.shape[1], -1, -1)
        return self.real(oracles.attention(self.q, self.k, self.v, mask=allowed))

    def real(self, y: Tensor) -> Tensor:
        """With 0 in the rows of pads."""
        return y.masked_fill(~self.keep[:, None, :, None], 0)
