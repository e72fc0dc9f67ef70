# SPDX-License-Identifier: MIT
"""x-transformers: how AbsolutePositionalEmbedding refuses positions that it does not have.

Expected: a ValueError that names the length of the table. Run in .venv-peers-torch.
"""

import torch
from x_transformers.x_transformers import AbsolutePositionalEmbedding

table = AbsolutePositionalEmbedding(4, 8)
for tokens, start in ((9, 0), (1, 8), (1, -1)):
    print(f"called: AbsolutePositionalEmbedding(4, 8)({tokens} tokens, offset={start})")
    try:
        table(torch.zeros(1, tokens, 4), offset=start)
    except Exception as error:
        print(f"got {type(error).__name__}: {error}")
