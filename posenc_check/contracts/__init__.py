# SPDX-License-Identifier: MIT
"""The contracts by name: what any implementation of a method must satisfy."""

from posenc_check.contracts.alibi import check_alibi
from posenc_check.contracts.alibi_slopes import check_alibi_slopes
from posenc_check.contracts.cache import check_cache
from posenc_check.contracts.grid import check_grid
from posenc_check.contracts.layout_weights import check_layout_weights
from posenc_check.contracts.learned import check_learned
from posenc_check.contracts.length_rule import check_length_rule
from posenc_check.contracts.mask import check_mask
from posenc_check.contracts.masked_attention import check_masked_attention
from posenc_check.contracts.packed import check_packed
from posenc_check.contracts.parameters import check_parameters
from posenc_check.contracts.positions import check_positions
from posenc_check.contracts.resize import check_resize
from posenc_check.contracts.rope import check_rope
from posenc_check.contracts.scaling import check_scaling
from posenc_check.contracts.shaw import check_shaw
from posenc_check.contracts.sinusoidal import check_sinusoidal
from posenc_check.contracts.softmax_scale import check_softmax_scale
from posenc_check.contracts.t5 import check_t5

CONTRACTS = {
    "rope": check_rope,
    "scaling": check_scaling,
    "sinusoidal": check_sinusoidal,
    "resize": check_resize,
    "positions": check_positions,
    "packed": check_packed,
    "learned": check_learned,
    "layout_weights": check_layout_weights,
    "grid": check_grid,
    "softmax_scale": check_softmax_scale,
    "length_rule": check_length_rule,
    "parameters": check_parameters,
    "alibi": check_alibi,
    "alibi_slopes": check_alibi_slopes,
    "t5": check_t5,
    "shaw": check_shaw,
    "mask": check_mask,
    "masked_attention": check_masked_attention,
    "cache": check_cache,
}
