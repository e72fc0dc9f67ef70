# SPDX-License-Identifier: MIT
"""What a sinusoidal module must satisfy as a module: a computed table is no trained one."""

from dataclasses import replace

import torch

from posenc_check.contracts.sinusoidal_case import Case
from posenc_check.subject import Unusable, guarded

PAGE = "docs/methods/sinusoidal.md"
PRECISION = "docs/guides/precision.md"
SHORT, LONG = 16, 32


def state_requirements(asked) -> None:
    """For modules; the last two need the class of one."""
    _trains_nothing(asked)
    _cast(asked)
    _other_length(asked)
    _refilled(asked)


def _trains_nothing(asked) -> None:
    def problem() -> str:
        module = asked.new.instance(asked.said.init)
        trained = [name for name, p in module.named_parameters() if p.requires_grad]
        return f"{', '.join(trained)} will be trained" if trained else ""

    cause = "the table is a parameter; a buffer follows the module and is not trained"
    asked.exam.holds("trains nothing", problem, page=PAGE, cause=cause)


def _cast(asked) -> None:
    """Rows may be rounded with the module; speeds and angles may not."""
    made = asked.new.instance(asked.said.init)
    module = guarded(made.to, "module.to(bfloat16)", (torch.bfloat16,), {})
    case = Case(asked.said, range(min(asked.said.max_len, 600)), 1, seed=20)
    name = "is right after module.to(bfloat16)"
    asked.right(name, case, torch.bfloat16, PRECISION, subject=asked.new.bound(module))


def _other_length(asked) -> None:
    name = "loads a checkpoint of another max_len"
    if not (asked.new.is_class and asked.new.init.takes("max_len")):
        return asked.exam.skip(name, "it takes no max_len", page=PAGE)
    short = asked.new.instance(replace(asked.said, max_len=SHORT).init)
    module = asked.new.instance(replace(asked.said, max_len=LONG).init)
    try:
        guarded(module.load_state_dict, "load_state_dict", (short.state_dict(),), {})
    except Unusable as error:
        text = " ".join(str(error).split())
        cause = "a table that can be computed is stored in the state dict, with its length"
        asked.exam.holds(name, lambda: text, page=PAGE, cause=cause)
        return
    case = Case(asked.said, range(LONG), 1, seed=21)
    asked.right(name, case, subject=asked.new.bound(module))


def _refilled(asked) -> None:
    """Built without memory and filled later: what no checkpoint holds must be made again."""
    name, init = "is right after to_empty", asked.said.init
    if not asked.new.is_class:
        return asked.exam.skip(name, "a class is needed", page=PAGE)
    module, reason = asked.new.refilled(init)
    if module is None:
        return asked.exam.skip(name, reason, page=PAGE)
    asked.right(name, Case(asked.said, range(6), 2, seed=22), subject=asked.new.bound(module))


def past_max_len(asked) -> None:
    """Past its table a module refuses, or is as exact as before."""
    name = "past max_len: refuses with a ValueError, or is right"
    if not (asked.new.is_class and asked.new.init.takes("max_len")):
        return asked.exam.skip(name, "it takes no max_len", page=PAGE)
    subject = asked.subject(max_len=SHORT)
    cause = "the length is not checked before the table is read"
    cases = [Case(asked.said, range(SHORT + 1), 2, seed=23)]
    if subject.takes("start"):
        cases.append(Case(asked.said, range(SHORT - 1, SHORT + 1), 2, seed=24))
    for case in cases:
        try:
            case.answer(subject)
        except Unusable as error:
            text = str(error)
            if "raised ValueError" not in text:
                return asked.exam.holds(name, lambda text=text: text, page=PAGE, cause=cause)
            continue
        return asked.right(name, case, subject=subject)
    asked.exam.holds(name, lambda: "", page=PAGE)
