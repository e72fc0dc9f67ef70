# SPDX-License-Identifier: MIT
"""The contracts by name: what any implementation of a method must satisfy."""

from posenc_check.contracts.length_rule import check_length_rule
from posenc_check.contracts.parameters import check_parameters
from posenc_check.contracts.rope import check_rope
from posenc_check.contracts.scaling import check_scaling

CONTRACTS = {
    "rope": check_rope,
    "scaling": check_scaling,
    "length_rule": check_length_rule,
    "parameters": check_parameters,
}
