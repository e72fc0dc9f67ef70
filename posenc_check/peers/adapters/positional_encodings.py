# SPDX-License-Identifier: MIT
"""positional-encodings: its one-dimensional table, added by its Summer."""

from collections.abc import Iterator

from positional_encodings.torch_encodings import PositionalEncoding1D, Summer
from torch import nn

from posenc_check.peers.subject import Subject


class Sinusoids(nn.Module):
    def __init__(self, d_model):
        super().__init__()
        self.summer = Summer(PositionalEncoding1D(d_model))

    def forward(self, x):
        return self.summer(x)


def subjects() -> Iterator[Subject]:
    of = "positional_encodings.torch_encodings: Summer(PositionalEncoding1D(d_model))(x)"
    yield Subject("sinusoidal", of, Sinusoids, {"layout": "interleaved"})
