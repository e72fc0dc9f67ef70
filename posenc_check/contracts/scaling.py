# SPDX-License-Identifier: MIT
"""scaling: does a rule for longer texts give each pair its speed, and the attention factor?"""

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Literal

import torch
from torch import Tensor

from posenc_check.contracts.scaling_case import SPEEDS, WORDS, Setting, attention_factor
from posenc_check.examination import Examination
from posenc_check.factory import Factory
from posenc_check.report import Report
from posenc_check.subject import Subject, Unusable
from posenc_check.wrong_forms.scaling import causes, factor_causes

PAGES = {
    "plain": "docs/methods/rope.md",
    "linear": "docs/methods/rope_scaling.md",
    "ntk_aware": "docs/methods/rope_scaling.md",
    "dynamic_ntk": "docs/methods/rope_scaling.md",
    "ntk_by_parts": "docs/methods/yarn.md",
    "yarn": "docs/methods/yarn.md",
    "llama3": "docs/methods/llama3_rope.md",
    "longrope": "docs/methods/longrope.md",
    "proportional": "docs/methods/partial_rope.md",
}
# Speeds in float32 from a power and a ramp: 8e-7 at worst in the libraries compared.
RELATIVE = 1e-5
SCALED = ("linear", "ntk_aware", "dynamic_ntk", "ntk_by_parts", "yarn", "llama3")


def check_scaling(
    speeds,
    *,
    rule: Literal[
        "plain", "linear", "ntk_aware", "dynamic_ntk", "ntk_by_parts", "yarn", "llama3",
        "longrope", "proportional",
    ],
    head_dim: int = 128,
    base: float = 10_000.0,
    factor: float = 4.0,
    trained_length: int = 4096,
    call: str | None = None,
) -> Report:
    """Check a rule that gives the speeds of RoPE.

    Args:
        speeds: takes the numbers of the rule; gives inv_freq, or (inv_freq, attention_factor).
        rule: yarn is the ramp of the released code, ntk_by_parts that of the paper.
        head_dim: coordinates that turn.
        base: base of the frequencies.
        factor: how many times longer the texts are.
        trained_length: the trained length.
        call: what speeds takes, in order: head_dim, base, factor, trained_length, and others.

    Returns:
        The report.

    Raises:
        ValueError: if an option is out of its range.
    """
    if rule not in SPEEDS:
        raise ValueError(f"rule must be one of {', '.join(SPEEDS)}, got {rule!r}")
    if head_dim < 6 or head_dim % 2:
        raise ValueError(f"head_dim must be even and at least 6, got {head_dim}")
    if not 1 < base < math.inf or not 1 < factor < math.inf or trained_length < 256:
        raise ValueError(
            "base and factor must be finite and larger than 1, trained_length at least 256, "
            f"got {base:g}, {factor:g}, {trained_length}"
        )
    said = Setting(rule, head_dim, base, factor, trained_length)
    options = {"rule": rule, "head_dim": head_dim, "base": f"{base:g}"}
    if rule != "plain":
        options |= {"factor": f"{factor:g}", "trained_length": trained_length}
    examined = Factory.examine("scaling", speeds, WORDS, "head_dim, base", call, None, options)
    with examined as (exam, new):
        subject = new({})
        for name, setting in questions(said, subject):
            ask_speeds(exam, name, subject, setting)
        _attention_factors(exam, subject, said)
    return exam.report


def questions(said: Setting, subject: Subject) -> Iterator[tuple[str, Setting]]:
    """The settings asked for: first as said, then each number changed that the subject takes."""
    lengths = {"dynamic_ntk": (2, 4, 0.5), "longrope": (1, 2)}.get(said.rule, ())
    first = said
    if lengths:
        first = replace(said, length=round(lengths[0] * said.trained_length))
    yield f"gives each pair the speed of {said.rule}", first
    for times in lengths[1:]:
        if subject.takes("length"):
            length = round(times * said.trained_length)
            yield f"gives the speeds at {times:g} times the trained length", replace(said, length=length)
    if "factor" in _used(said) and subject.takes("factor"):
        yield "follows factor", replace(first, factor=1.5 * said.factor)
        if said.rule in SCALED:
            yield "gives plain speeds at factor 1", replace(first, factor=1.0)
    changes = {
        "base": 50 * said.base,
        "trained_length": 3 * said.trained_length,
        "beta_fast": 16.0,
        "beta_slow": 2.0,
        "low_freq_factor": 2.0,
        "high_freq_factor": 8.0,
        "truncate": False,
        "share": 0.5,
    }
    for word, value in changes.items():
        if word in _used(said) and subject.takes(word):
            yield f"follows {word}", replace(first, **{word: value})
    if subject.takes("head_dim"):
        yield "takes another width", replace(first, head_dim=said.head_dim // 2 + said.head_dim // 2 % 2)


def _used(said: Setting) -> set[str]:
    """The words that the rule depends on."""
    used = {"base"}
    if said.rule in (*SCALED, "longrope"):
        used.add("factor")
    if said.rule in ("ntk_by_parts", "yarn", "llama3", "dynamic_ntk"):
        used.add("trained_length")
    if said.rule in ("ntk_by_parts", "yarn"):
        used |= {"beta_fast", "beta_slow"}
    if said.rule == "yarn":
        used.add("truncate")
    if said.rule == "llama3":
        used |= {"low_freq_factor", "high_freq_factor"}
    if said.rule == "proportional":
        used.add("share")
    return used - ({"factor"} if said.rule == "longrope" else set())


def ask_speeds(exam: Examination, name: str, subject: Subject, s: Setting, values=None) -> bool:
    expected = torch.tensor(SPEEDS[s.rule](s), dtype=torch.float64)
    return exam.values(
        name,
        lambda: split(subject(values or s.values()))[0],
        expected,
        page=PAGES[s.rule],
        tolerance=RELATIVE * expected,
        where=lambda index: f"pair {index[0]}",
        causes=causes(s),
    )


def split(answer) -> tuple[Tensor, float | None]:
    """inv_freq as a tensor, and the attention factor if one came with it."""
    factor = None
    if isinstance(answer, tuple):
        if len(answer) != 2:
            raise Unusable(f"must return inv_freq or (inv_freq, attention_factor), got {len(answer)} values")
        answer, factor = answer
    try:
        if torch.is_complex(torch.as_tensor(answer)):
            raise TypeError("complex numbers")
        return torch.as_tensor(answer).double(), None if factor is None else float(factor)
    except (TypeError, ValueError, RuntimeError) as error:
        raise Unusable(f"must return numbers, got {type(answer).__name__}") from error


def _attention_factors(exam: Examination, subject: Subject, said: Setting) -> None:
    page = PAGES[said.rule]
    name = "gives the attention factor"
    length = said.trained_length * 2 if said.rule in ("dynamic_ntk", "longrope") else None
    first = replace(said, length=length)
    if split(subject(first.values()))[1] is None:
        return exam.skip(name, "only inv_freq is returned", page=page)
    asked = [(name, first)]
    if said.rule in ("yarn", "longrope") and subject.takes("factor"):
        asked.append(("gives the attention factor of another factor", replace(first, factor=32.0)))
    if said.rule in ("yarn", "longrope") and subject.takes("attention_factor"):
        asked.append(("takes a given attention factor as it is", replace(first, attention_factor=1.2)))
    if said.rule == "yarn" and subject.takes("mscale", "mscale_all_dim"):
        both = replace(first, mscale=1.0, mscale_all_dim=0.5)
        asked.append(("divides the factor of mscale by that of mscale_all_dim", both))
    for name, setting in asked:
        ask_factor(exam, name, subject, setting)


def ask_factor(exam: Examination, name: str, subject: Subject, s: Setting, values=None) -> bool:
    right = attention_factor(s)

    def got() -> Tensor:
        factor = split(subject(values or s.values()))[1]
        return torch.tensor([1.0 if factor is None else factor], dtype=torch.float64)

    return exam.values(
        name,
        got,
        torch.tensor([right], dtype=torch.float64),
        page=PAGES[s.rule],
        tolerance=1e-6,  # a logarithm in float32
        where=lambda index: f"factor {s.factor:g}",
        causes=factor_causes(s, right),
    )
