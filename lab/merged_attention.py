"""Attention over one chunk of keys after another: the sums of each are merged by their size."""

import math

import torch
from torch import Tensor


def merged_attention(q: Tensor, keys, values, masks, first: int) -> Tensor:
    """What attention over all keys at once gives, as a ring of processes computes it.

    keys, values and masks are lists with one entry for each chunk. Every query must be allowed
    a key of the chunk `first`: then the running maximum is finite from the first step on.
    """
    top, norm, total = torch.tensor(-math.inf), 0.0, 0.0
    for step in range(len(keys)):
        k, v, mask = keys[first - step], values[first - step], masks[first - step]
        logits = q @ k.mT / math.sqrt(q.shape[-1])  # (B, H, Tq, Tk)
        logits = logits.masked_fill(~mask, -math.inf)
        new_top = torch.maximum(top, logits.amax(-1, keepdim=True))  # (B, H, Tq, 1)
        weights, shrink = (logits - new_top).exp(), (top - new_top).exp()
        norm = norm * shrink + weights.sum(-1, keepdim=True)
        total, top = total * shrink + weights @ v, new_top
    return total / norm  # (B, H, Tq, D)
