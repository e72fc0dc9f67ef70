# SPDX-License-Identifier: MIT
"""litgpt: which pairs its YaRN divides by the factor.

Expected: Peng et al. 2024, section 3.2: fast pairs keep their speed, slow ones are divided.
Run in .venv-peers-torch.
"""

import torch
from litgpt.model import build_rope_cache

FACTOR, HEAD_DIM, BASE = 40.0, 128, 10_000
EXTRA = {"factor": FACTOR, "original_max_seq_len": 4096, "beta_fast": 32, "beta_slow": 1}


def slow_down(extra):
    """Plain speed over scaled speed of the first and the last pair, from the angle at 1."""
    cos, sin = build_rope_cache(2, HEAD_DIM, base=BASE, extra_config=extra)
    angle = torch.atan2(sin[1, : HEAD_DIM // 2].double(), cos[1, : HEAD_DIM // 2].double())
    plain = BASE ** (-torch.arange(0, HEAD_DIM, 2).double() / HEAD_DIM)
    return [round(float(ratio), 3) for ratio in (plain / angle)[[0, -1]]]


print(f"called: build_rope_cache(2, {HEAD_DIM}, base={BASE}, extra_config={EXTRA})")
print("speed divided by, first and last pair: expected [1.0, 40.0], got", slow_down(EXTRA))
