# SPDX-License-Identifier: MIT
"""equinox: RotaryPositionalEmbedding on one head after the other; it takes no positions.

jax arrays exist only inside the border, gradients are jax's own. jax is left at its default,
without float64, so that a float64 input is computed in float32.
"""

from collections.abc import Iterator

import equinox
import jax
import torch

from posenc_check.peers.subject import Subject

NAMES = {torch.float64: "float32"}  # others have the same name on both sides


def to_jax(x: torch.Tensor):
    name = NAMES.get(x.dtype, str(x.dtype).removeprefix("torch."))
    return jax.numpy.asarray(x.detach().double().numpy()).astype(name)


def to_torch(y, dtype: torch.dtype) -> torch.Tensor:
    return torch.tensor(jax.device_get(y.astype("float32"))).to(dtype)


class Border(torch.autograd.Function):
    """Any function of one jax array, as a torch function."""

    @staticmethod
    def forward(ctx, x, function):
        y, ctx.back = jax.vjp(function, to_jax(x))
        ctx.dtype = y.dtype
        # What jax narrowed by default comes back as it went in.
        return to_torch(y, x.dtype if x.dtype in NAMES else getattr(torch, str(y.dtype)))

    @staticmethod
    def backward(ctx, gradient):
        return to_torch(ctx.back(to_jax(gradient).astype(ctx.dtype))[0], gradient.dtype), None


class Rotation:
    """axes B H T D; vmap takes one head of one sequence at a time."""

    def __init__(self, head_dim, base):
        rope = equinox.nn.RotaryPositionalEmbedding(head_dim, theta=base)
        self.function = jax.vmap(jax.vmap(rope))

    def __call__(self, x):
        return Border.apply(x, self.function)


def subjects() -> Iterator[Subject]:
    options = {"layout": "half", "init": "head_dim, base", "call": "x", "max_position": 4096}
    of = "equinox.nn.RotaryPositionalEmbedding(head_dim, theta=10000) on each head, the first made"
    yield Subject("rope", of, Rotation, options)
    of = "equinox.nn.RotaryPositionalEmbedding(head_dim, theta=500000), after one with theta=10000"
    yield Subject("rope", of, Rotation, options | {"base": 5e5})
    of = "equinox.nn.RotaryPositionalEmbedding(32, theta=500000), the first of this width"
    yield Subject("rope", of, Rotation, options | {"head_dim": 32, "base": 5e5})
