# SPDX-License-Identifier: MIT
"""litgpt: where apply_rope_interleave puts the two coordinates of a pair.

A pair that comes in side by side comes back half a head apart; its docstring says so.
Expected, if the layout were kept: Su et al. 2021, equation 15. Run in .venv-peers-torch.
"""

import torch
from litgpt.model import apply_rope_interleave

x = torch.tensor([[[[1.0, 2.0, 3.0, 4.0]]]])
cos, sin = torch.ones(1, 1, 4), torch.zeros(1, 1, 4)  # position 0: nothing turns
print("called: apply_rope_interleave(x, cos, sin) at position 0")
print("layout kept:", x.flatten().tolist())
print("got:", apply_rope_interleave(x, cos, sin).flatten().tolist())
