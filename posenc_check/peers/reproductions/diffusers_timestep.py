# SPDX-License-Identifier: MIT
"""diffusers: the second speed of get_timestep_embedding, width 8.

Expected: 10000 ** (-2 / 8) = 0.1 (Vaswani et al. 2017, section 3.5). The docstring says that it
follows Denoising Diffusion Probabilistic Models; downscale_freq_shift=0 gives the paper's.
Run in .venv-peers-torch.
"""

import math

import torch
from diffusers.models.embeddings import get_timestep_embedding

print("called: get_timestep_embedding(tensor([1]), 8); the speed from the sine of pair 1")
for shift in (1, 0):
    row = get_timestep_embedding(torch.tensor([1]), 8, downscale_freq_shift=shift)[0]
    print(f"downscale_freq_shift={shift}: {math.asin(float(row[1])):.6f}")
