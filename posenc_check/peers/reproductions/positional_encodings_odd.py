# SPDX-License-Identifier: MIT
"""positional-encodings: width 5, and the table after module.to(torch.bfloat16).

Expected at width 5: speed 10000 ** (-2 / 5) of pair 1 (Vaswani et al. 2017, section 3.5); the
width is rounded up to 6 before the speeds are made. Run in .venv-peers-torch.
"""

import math

import torch
from positional_encodings.torch_encodings import PositionalEncoding1D

row = PositionalEncoding1D(5)(torch.zeros(1, 2, 5))[0, 1]
print("called: PositionalEncoding1D(5)(zeros); the speed from the sine of row 1, pair 1")
print(f"expected {10_000 ** (-2 / 5):.6f}, got {math.asin(float(row[2])):.6f}")
module = PositionalEncoding1D(8).to(torch.bfloat16)
rows = module(torch.zeros(1, 258, 8))[0, 256:258, 0].tolist()
print("called: PositionalEncoding1D(8).to(torch.bfloat16)(258 rows in float32), column 0")
print(f"expected {math.sin(256):.3f} {math.sin(257):.3f}, got {rows[0]:.3f} {rows[1]:.3f}")
