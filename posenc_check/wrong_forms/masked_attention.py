# SPDX-License-Identifier: MIT
"""Causal attention over padded rows as people have got it wrong."""

import math
from collections.abc import Callable, Iterator

import torch
from torch import Tensor


def attend(q: Tensor, k: Tensor, v: Tensor, logits: Callable[[Tensor], Tensor], scale=None):
    """(B, H, T, D); `logits` masks them. NaN where a row has no key."""
    scale = 1 / math.sqrt(q.shape[-1]) if scale is None else scale
    return logits(q @ k.transpose(-1, -2) * scale).softmax(-1) @ v


def masked(allowed: Tensor) -> Callable[[Tensor], Tensor]:
    return lambda logits: logits.masked_fill(~allowed, -math.inf)


def forms(q, k, v, keep) -> Iterator[tuple[str, Callable[[], Tensor]]]:
    """keep (B, T) bool; q, k, v (B, H, T, D)."""
    n = q.shape[2]
    causal = torch.ones(n, n, dtype=torch.bool).tril()
    keys = keep[:, None, None, :]
    batch = q.shape[0]
    allowed = [
        ("it is not causal: every query sees every real key", keys),
        ("padded keys are seen: key_keep is ignored, or hides queries, not keys", causal),
        ("neither the causal part nor key_keep is applied", torch.ones_like(causal)),
        (
            "key_keep is inverted: here True is a real key, as in scaled_dot_product_attention; "
            "the key_padding_mask of nn.MultiheadAttention is the opposite",
            causal & ~keys,
        ),
        ("the two masks are joined by or: a key is seen if either allows it", causal | keys),
        ("the causal mask is turned round: keys after the query are seen", causal.T & keys),
        ("a query does not see its own key", causal.tril(-1) & keys),
        ("a query sees one key too many: the next one", _next(causal) & keys),
        ("every sequence of the batch has the padding of the first one", causal & keys[:1]),
    ]
    if batch == n:
        allowed.append(("key_keep (B, T) lies over (Tq, Tk): it lacks axes", causal & keep))
    if batch == q.shape[1]:
        text = "key_keep belongs to the heads, not to the sequences: it lacks an axis"
        allowed.append((text, causal & keep[None, :, None, :]))
    for text, each in allowed:
        # A row without any key is NaN, or sees its own.
        for seen in (each, each | torch.eye(n, dtype=torch.bool)):
            yield text, lambda seen=seen: attend(q, k, v, masked(seen))
    right = causal & keys
    yield (
        "masked logits are set to 0, not to -inf: they still get a weight",
        lambda: attend(q, k, v, lambda logits: logits * right),
    )
    yield (
        "the weights are masked after the softmax: they do not add up to 1",
        lambda: (attend(q, k, torch.eye(n, dtype=q.dtype), lambda x: x) * right) @ v,
    )
    yield (
        "padded keys are masked after the softmax: the weights do not add up to 1",
        lambda: (attend(q, k, torch.eye(n, dtype=q.dtype), masked(causal)) * keys) @ v,
    )
    yield (
        "key_keep is added to the logits as 0 and 1",
        lambda: attend(q, k, v, lambda x: masked(causal)(x + keys.to(x.dtype))),
    )
    yield (
        "the mask is added to the logits as 0 and 1",
        lambda: attend(q, k, v, lambda x: x + right.to(x.dtype)),
    )
    yield "the logits are not divided by sqrt(D)", lambda: attend(q, k, v, masked(right), 1.0)
    yield (
        "the logits are divided by D, not by sqrt(D)",
        lambda: attend(q, k, v, masked(right), 1 / q.shape[-1]),
    )
    yield (
        "the softmax runs over the queries, not over the keys",
        lambda: masked(right)(q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])).softmax(-2) @ v,
    )


def _next(causal: Tensor) -> Tensor:
    return torch.ones_like(causal).tril(1)
