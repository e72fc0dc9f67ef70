# SPDX-License-Identifier: MIT
"""parameters: does a reader of a config's scaling block mean what the block says?"""

from dataclasses import dataclass, replace

import torch

from posenc_check.contracts.scaling import ask_factor, ask_speeds, split
from posenc_check.contracts.scaling_case import Setting
from posenc_check.examination import Examination
from posenc_check.factory import Factory
from posenc_check.report import Report
from posenc_check.subject import Unusable

PAGE = "docs/check/config.md"
WORDS = ("head_dim", "base", "block")


@dataclass(frozen=True)
class Block:
    """A block as it stands in a config, and the setting that it means."""

    text: dict | None
    means: Setting


def check_parameters(
    read,
    *,
    head_dim: int = 64,
    base: float = 10_000.0,
    call: str | None = None,
) -> Report:
    """Check a reader of scaling blocks.

    Args:
        read: takes head_dim, base, and the block; gives inv_freq, or (inv_freq, attention_factor).
        head_dim: coordinates that turn.
        base: base of the frequencies.
        call: what read takes, in order: head_dim, base, block.

    Returns:
        The report.

    Raises:
        ValueError: if an option is out of its range.
    """
    if head_dim < 6 or head_dim % 2 or not base > 1:
        raise ValueError(
            "head_dim must be even and at least 6 and base larger than 1, "
            f"got {head_dim} and {base:g}"
        )
    options = {"head_dim": head_dim, "base": f"{base:g}"}
    default = "head_dim, base, block"
    with Factory.examine("parameters", read, WORDS, default, call, None, options) as (exam, new):
        subject = new({})
        for name, block in blocks(head_dim, base):
            values = {"head_dim": head_dim, "base": base, "block": block.text}
            ask_speeds(exam, name, subject, block.means, values)
        _factors(exam, subject, head_dim, base)
        _unknown(exam, subject, head_dim, base)
    return exam.report


def blocks(head_dim: int, base: float):
    """Blocks of every rule that needs no length, each with what it means."""
    plain = Setting("plain", head_dim, base, 1.0, 4096)
    yield "reads no block as plain RoPE", Block(None, plain)
    yield "reads an empty block as plain RoPE", Block({}, plain)
    yield "reads rope_type default as plain RoPE", Block({"rope_type": "default"}, plain)
    linear = replace(plain, rule="linear", factor=4.0)
    yield "reads rope_type linear", Block({"rope_type": "linear", "factor": 4.0}, linear)
    yield "reads the old key type", Block({"type": "linear", "factor": 4.0}, linear)
    yarn = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 4096}
    means = replace(plain, rule="yarn", factor=4.0)
    yield "reads rope_type yarn", Block(yarn, means)
    bounds = {"beta_fast": 16.0, "beta_slow": 2.0}
    yield "reads beta_fast and beta_slow", Block(yarn | bounds, replace(means, **bounds))
    text = yarn | {"truncate": False}
    yield "reads truncate", Block(text, replace(means, truncate=False))
    llama = {
        "rope_type": "llama3",
        "factor": 8.0,
        "low_freq_factor": 1.0,
        "high_freq_factor": 4.0,
        "original_max_position_embeddings": 8192,
    }
    means = replace(plain, rule="llama3", factor=8.0, trained_length=8192)
    yield "reads rope_type llama3", Block(llama, means)


def _factors(exam: Examination, subject, head_dim: int, base: float) -> None:
    block = {"rope_type": "yarn", "factor": 16.0, "original_max_position_embeddings": 4096}
    means = Setting("yarn", head_dim, base, 16.0, 4096)
    values = {"head_dim": head_dim, "base": base}
    name = "gives yarn's attention factor"
    if split(subject(values | {"block": block}))[1] is None:
        return exam.skip(name, "only inv_freq is returned", page=PAGE)
    given = {"attention_factor": 1.2}
    scales = {"mscale": 1.0, "mscale_all_dim": 0.5}
    for name, more in (
        (name, {}),
        ("takes a given attention factor as it is", given),
        ("divides the factor of mscale by that of mscale_all_dim", scales),
    ):
        asked = values | {"block": block | more}
        ask_factor(exam, name, subject, replace(means, **more), asked)


def _unknown(exam: Examination, subject, head_dim: int, base: float) -> None:
    def problem() -> str:
        block = {"rope_type": "no-such-type", "factor": 4.0}
        try:
            answer = subject({"head_dim": head_dim, "base": base, "block": block})
        except Unusable:
            return ""  # whatever it raises, it was not passed over
        speeds = split(answer)[0]
        plain = torch.tensor([base ** (-2 * i / head_dim) for i in range(head_dim // 2)])
        same = speeds.shape == plain.shape and torch.allclose(speeds, plain.double(), rtol=1e-5)
        return "rope_type no-such-type gives " + ("plain RoPE" if same else "some speeds")

    exam.holds(
        "refuses an unknown rope_type",
        problem,
        page=PAGE,
        cause="an unknown type is taken for none: the model runs unscaled",
    )
