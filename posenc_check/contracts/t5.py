# SPDX-License-Identifier: MIT
"""t5: does a bucket function put each gap where T5's checkpoints have it?"""

from typing import Literal

import torch

from posenc_check import oracles
from posenc_check.contracts.answers import read, whole
from posenc_check.examination import describe
from posenc_check.factory import Factory
from posenc_check.report import Report
from posenc_check.subject import Unusable
from posenc_check.wrong_forms.t5 import Form, causes

PAGE = "docs/methods/t5_bias.md"
WORDS = ["gap", "bidirectional", "causal", "num_buckets", "max_distance"]
DEFAULT = "gap, bidirectional"


def check_t5(
    bucket,
    *,
    num_buckets: int = 32,
    max_distance: int = 128,
    side: Literal["both", "encoder", "decoder"] = "both",
    call: str | None = None,
    init: str | None = None,
) -> Report:
    """Check the buckets of T5's relative bias.

    Args:
        bucket: takes gaps, key position minus query position, and whether both sides count;
            gives back the bucket of each gap.
        num_buckets: buckets in all.
        max_distance: from here on every distance falls into the last bucket.
        side: encoder (bidirectional), decoder (causal), or both of them.
        call: what bucket takes, in order: gap, bidirectional or causal, num_buckets,
            max_distance.
        init: what its class takes, if it is one.

    Returns:
        The report.

    Raises:
        ValueError: if an option is out of its range.
    """
    if side not in ("both", "encoder", "decoder"):
        raise ValueError(f"side must be both, encoder, or decoder, got {side!r}")
    if num_buckets < 8 or num_buckets % 4:
        raise ValueError(f"num_buckets must be a multiple of 4, from 8 on, got {num_buckets}")
    if max_distance <= num_buckets // 2:
        raise ValueError(f"max_distance must exceed {num_buckets // 2}, got {max_distance}")
    options = {"num_buckets": num_buckets, "max_distance": max_distance, "side": side}
    with Factory.examine("t5", bucket, WORDS, DEFAULT, call, init, options) as (exam, new):
        subject = new({})
        if side == "both" and not subject.takes("bidirectional", "causal"):
            text = f"{subject.name} is not told whether it is bidirectional: say it with side"
            raise Unusable(f"{text} (encoder or decoder)")
        for name in ("encoder", "decoder"):
            if side in ("both", name):
                asked = Asked(exam, subject, num_buckets, max_distance, name)
                asked.all()
        whole(exam, subject, asked.values | {"gap": torch.arange(-3, 4)}, page=PAGE)
    return exam.report


class Asked:
    """The subject under examination, as an encoder's or a decoder's."""

    def __init__(self, exam, subject, num_buckets: int, max_distance: int, name: str):
        self.exam, self.subject, self.name = exam, subject, name
        both = name == "encoder"
        self.form = Form(both, num_buckets, max_distance)
        self.near = num_buckets // (4 if both else 2)
        self.values = {"bidirectional": both, "causal": not both}
        self.values |= {"num_buckets": num_buckets, "max_distance": max_distance}

    def all(self) -> None:
        near, last = self.near, self.form.max_distance
        later = "the upper half" if self.form.bidirectional else "bucket 0"
        name = f"near gaps have a bucket each, keys after the query {later}"
        self.asks(name, list(range(1 - near, near)))
        far = list(range(near, last))
        self.asks("far gaps share buckets on a log scale", [-g for g in far[::-1]] + far)
        beyond = [last, last + 1, 2 * last, 10 * last, 1000 * last]
        name = "gaps past max_distance stay in the last bucket of their side"
        self.asks(name, [-g for g in beyond] + beyond)
        self.asks("takes gaps of any shape", list(range(-10, 2)), (3, 4))

    def asks(self, name: str, gaps: list[int], shape: tuple[int, ...] = ()) -> None:
        both, n, largest = self.form.bidirectional, self.form.num_buckets, self.form.max_distance
        right = [oracles.t5_bucket(gap, both, n, largest) for gap in gaps]
        shape = shape or (len(gaps),)

        def answer():
            given = self.values | {"gap": torch.tensor(gaps).reshape(shape)}
            got = read(self.subject(given), "a bucket for each gap")
            if got.shape != shape:
                text = f"must return a bucket for each gap, here {shape}, got {describe(got)}"
                raise Unusable(text)
            return got.flatten()

        self.exam.values(
            f"{self.name}: {name}",
            answer,
            torch.tensor(right, dtype=torch.float64),
            page=PAGE,
            tolerance=0.0,
            where=lambda index: f"gap {gaps[index[0]]}",
            causes=causes(gaps, self.form),
        )
