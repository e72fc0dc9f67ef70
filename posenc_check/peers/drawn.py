# SPDX-License-Identifier: MIT
"""Random weights for a module that is asked about positions."""

import torch
from torch import nn


def drawn(module: nn.Module) -> nn.Module:
    """The module in float64 with wide weights: with the usual small ones order hardly counts."""
    torch.manual_seed(0)
    for weight in module.parameters():
        nn.init.normal_(weight, std=0.5)
    return module.double().eval()
