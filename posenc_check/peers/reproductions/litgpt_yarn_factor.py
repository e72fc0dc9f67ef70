# SPDX-License-Identifier: MIT
"""litgpt: the length of cos and sin under YaRN when the config gives no mscale.

Expected: Peng et al. 2024, section 3.4, and the released code: 0.1 ln(factor) + 1.
Run in .venv-peers-torch.
"""

import math

from litgpt.model import build_rope_cache

EXTRA = {"factor": 40.0, "original_max_seq_len": 4096, "beta_fast": 32, "beta_slow": 1}
cos, sin = build_rope_cache(2, 128, extra_config=EXTRA)
print(f"called: build_rope_cache(2, 128, extra_config={EXTRA})")
print(f"expected: {0.1 * math.log(40.0) + 1:.6f}, got: {math.hypot(cos[1, 0], sin[1, 0]):.6f}")
