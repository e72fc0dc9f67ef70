# SPDX-License-Identifier: MIT
"""x-transformers: ScaledSinusoidalEmbedding for bfloat16, and after module.to(torch.bfloat16).

Expected: a sum in the dtype of x, and rows 256 and 257 that differ. Its one parameter is the
scale that its name speaks of. Run in .venv-peers-torch.
"""

import torch
from x_transformers.x_transformers import ScaledSinusoidalEmbedding

table = ScaledSinusoidalEmbedding(8)
x = torch.zeros(1, 258, 8)
print("called: ScaledSinusoidalEmbedding(8)(x.bfloat16())")
print("x + table:", (x.bfloat16() + table(x.bfloat16())).dtype)
print("parameters:", [name for name, _ in table.named_parameters()])
try:
    rows = table.to(torch.bfloat16)(x)
    print("after the cast, rows 256 and 257 are equal:", torch.equal(rows[256], rows[257]))
except Exception as error:
    print(f"after the cast: {type(error).__name__}: {error}")
