# SPDX-License-Identifier: MIT
"""transformers: the biases of Falcon's build_alibi_tensor in float32.

Expected: slope * position (Press, Smith, Lewis 2022) in the dtype that is asked for.
The product is computed in bfloat16. Run in .venv-peers.
"""

import torch
from transformers.models.bloom.modeling_bloom import build_alibi_tensor as bloom
from transformers.models.falcon.modeling_falcon import build_alibi_tensor as falcon

mask = torch.ones(1, 400, dtype=torch.int64)
print("called: build_alibi_tensor(ones(1, 400), 2, torch.float32), head 0, positions 396 to 399")
print("Bloom:", bloom(mask, 2, torch.float32)[0, 0, -4:].tolist())
print("Falcon:", falcon(mask, 2, torch.float32)[0, 0, -4:].tolist())
