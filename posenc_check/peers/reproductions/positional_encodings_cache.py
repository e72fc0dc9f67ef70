# SPDX-License-Identifier: MIT
"""positional-encodings: the table for float32 after a call of the same shape in bfloat16.

Expected: the dtype and the digits of float32. The last table is kept by its shape alone.
Run in .venv-peers-torch.
"""

import torch
from positional_encodings.torch_encodings import PositionalEncoding1D

x = torch.zeros(1, 4, 8)
fresh, used = PositionalEncoding1D(8), PositionalEncoding1D(8)
used(x.bfloat16())
print("called: PositionalEncoding1D(8)(x.bfloat16()), then (x), both (1, 4, 8); row 1, column 0")
for name, table in (("without the first call", fresh(x)), ("with it", used(x))):
    print(f"{name}: {table.dtype}, {float(table[0, 1, 0]):.6f}")
