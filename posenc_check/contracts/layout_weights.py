# SPDX-License-Identifier: MIT
"""layout_weights: does a converter put the rows of q and k into the order of the other layout?"""

from typing import Literal

import torch

from posenc_check.contracts.layout_weights_case import Asked
from posenc_check.factory import Factory
from posenc_check.report import Report
from posenc_check.subject import Unusable
from posenc_check.wrong_forms.layout_weights import Form

PAGE = "docs/methods/rope.md"
PARTIAL = "docs/methods/partial_rope.md"
WORDS = "weight n_heads head_dim rotary_dim n_rows d_model".split()
F64 = torch.float64


def check_layout_weights(
    reorder,
    *,
    to: Literal["half", "interleaved"],
    n_heads: int = 2,
    head_dim: int = 6,
    rotary_dim: int | None = None,
    bias: bool = False,
    call: str | None = None,
    init: str | None = None,
) -> Report:
    """Check a function that reorders the rows of a q or k projection.

    Args:
        reorder: takes a weight (n_heads * head_dim, d_model) and n_heads; gives its rows reordered.
        to: the pair layout that the new order is for; the old one is for the other.
        n_heads: heads of the first weight; later ones have more.
        head_dim: rows of each head, at least 6: with 4 both directions are the same.
        rotary_dim: rows of a head that turn, the first ones; all if left out.
        bias: also ask that a bias (n_heads * head_dim,) is taken.
        call: what it takes, in order: weight, n_heads, head_dim, rotary_dim, n_rows, d_model.
        init: what its class takes: n_heads, head_dim, rotary_dim.

    Returns:
        The report.

    Raises:
        ValueError: if an option is out of its range.
    """
    rotary_dim = head_dim if rotary_dim is None else rotary_dim
    _check(to, n_heads, head_dim, rotary_dim)
    options = {"to": to, "n_heads": n_heads, "head_dim": head_dim}
    if rotary_dim != head_dim:
        options["rotary_dim"] = rotary_dim
    with Factory.examine(
        "layout_weights", reorder, WORDS, "weight, n_heads", call, init, options,
        ("n_heads", "head_dim", "rotary_dim"),
    ) as (exam, new):
        form = Form(to, n_heads, head_dim, rotary_dim)
        asked = Asked(exam, new, n_heads)
        page = PARTIAL if rotary_dim != head_dim else PAGE
        # A square weight first: rows and columns taken for each other do not crash.
        asked.right("puts the rows of each head in order", form, form.n_rows, page)
        more = Form(to, 2 * n_heads, head_dim, rotary_dim)
        asked.right("takes another number of heads, as keys have", more, 5, page)
        one = Form(to, 1, head_dim, rotary_dim)
        asked.right("takes a single head", one, 3, page)
        _bits(asked, form)
        if bias:
            asked.right("takes a bias", form, 0, page)
    return exam.report


def _check(to, n_heads, head_dim, rotary_dim) -> None:
    if to not in ("half", "interleaved"):
        raise ValueError(f"to must be half or interleaved, got {to!r}")
    if n_heads < 2:
        raise ValueError(f"n_heads must be at least 2, got {n_heads}")
    if head_dim < 6 or head_dim % 2:
        raise ValueError(f"head_dim must be even and at least 6, got {head_dim}")
    if not 6 <= rotary_dim <= head_dim or rotary_dim % 2:
        raise ValueError(f"rotary_dim must be even, from 6 to head_dim, got {rotary_dim}")


def _bits(asked: Asked, form: Form) -> None:
    def problem() -> str:
        for dtype in (torch.bfloat16, torch.float16, F64):
            draw = torch.Generator().manual_seed(0)
            weight = torch.randn(form.n_rows, 7, generator=draw, dtype=F64).to(dtype)
            try:
                y = asked.answer(form, weight)
            except Unusable as error:
                return f"{dtype}: {error}"
            if y.dtype != dtype:
                return f"{dtype} became {y.dtype}"
            if not torch.equal(y.sort(0).values, weight.sort(0).values):
                return f"{dtype}: some numbers are not those of the weight"
        return ""

    cause = "the weight is cast on its way"
    asked.exam.holds("keeps every number and its dtype", problem, page=PAGE, cause=cause)
