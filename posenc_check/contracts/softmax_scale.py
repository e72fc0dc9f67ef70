# SPDX-License-Identifier: MIT
"""softmax_scale: does YaRN's all-dim scale reach the scores of DeepSeek's attention, squared?"""

import math

import torch

from posenc_check import scaling
from posenc_check.causes import Cause
from posenc_check.factory import Factory
from posenc_check.report import Report
from posenc_check.subject import Unusable

PAGE = "docs/methods/yarn.md"
WORDS = ("head_dim", "factor", "mscale_all_dim")


def check_softmax_scale(scale, *, call: str | None = None) -> Report:
    """Check what the scores are multiplied by before softmax: (0.1 m ln s + 1)^2 / sqrt(D).

    Args:
        scale: takes head_dim, factor, mscale_all_dim; gives a number.
        call: what scale takes, in order: head_dim, factor, mscale_all_dim.

    Returns:
        The report.
    """
    examined = Factory.examine(
        "softmax_scale", scale, WORDS, "head_dim, factor, mscale_all_dim", call, None, {}
    )
    with examined as (exam, new):
        subject = new({})
        for name, setting in (
            ("gives the squared scale over the root of the width", (192, 40.0, 1.0)),
            ("follows head_dim", (64, 40.0, 1.0)),
            ("follows factor", (192, 8.0, 1.0)),
            ("follows mscale_all_dim", (192, 40.0, 0.5)),
            ("gives the plain scale at factor 1", (192, 1.0, 1.0)),
        ):
            root, m = math.sqrt(setting[0]), scaling.yarn_mscale(*setting[1:])
            exam.values(
                name,
                lambda: _number(subject(dict(zip(WORDS, setting)))),
                torch.tensor([m * m / root], dtype=torch.float64),
                page=PAGE,
                tolerance=1e-7,  # a float32 of this size
                where=lambda index: "head_dim {}, factor {:g}, mscale_all_dim {:g}".format(*setting),
                causes=[
                    _cause("the scale is not squared", m / root),
                    _cause("the scale is left out: 1 / sqrt(D) alone", 1 / root),
                    _cause("the root of the width is left out", m * m),
                    _cause("the scale divides the scores", 1 / (m * m * root)),
                ],
            )
    return exam.report


def _number(answer) -> torch.Tensor:
    try:
        return torch.tensor([float(answer)], dtype=torch.float64)
    except (TypeError, ValueError, RuntimeError) as error:
        raise Unusable(f"must return a number, got {type(answer).__name__}") from error


def _cause(text: str, value: float) -> Cause:
    return Cause(text, lambda: torch.tensor([value], dtype=torch.float64))
