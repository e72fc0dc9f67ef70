# SPDX-License-Identifier: MIT
"""torch: what a query behind a cache may see under is_causal=True.

Expected with 5 cached keys and 1 query: all keys, as the query is the last token. torch
documents that the mask is aligned to the upper left corner. Any environment with torch.
"""

import torch
from torch.nn.functional import scaled_dot_product_attention
from torch.nn.attention.bias import causal_lower_right

q, k, v = torch.zeros(1, 1, 4), torch.zeros(1, 5, 4), torch.eye(5)[None]
weights = scaled_dot_product_attention(q, k, v, is_causal=True)[0]
print("called: scaled_dot_product_attention(1 query, 5 keys, is_causal=True)")
print("weights:", [round(w, 3) for w in weights[0].tolist()], "expected: [0.2] * 5")
print("causal_lower_right(1, 5):", causal_lower_right(1, 5)._materialize().tolist())
