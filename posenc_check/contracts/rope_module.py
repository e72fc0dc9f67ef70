# SPDX-License-Identifier: MIT
"""What a rotation must satisfy beside its values when it is a module: constants that last."""

from dataclasses import replace

import torch
from torch import nn

from posenc_check.contracts.rope_case import Case
from posenc_check.subject import Unusable, guarded

STATE = "docs/methods/sinusoidal.md"
PRECISION = "docs/guides/precision.md"
PAGE = "docs/methods/rope.md"
COMPLEX = "pairs are multiplied as complex numbers, which many compilers do not take"


def module_requirements(asked, new, init: dict, export: bool) -> None:
    """The requirements that need a module or a class of one; new makes it from init."""
    exam = asked.exam
    if export:
        name = "exports without complex numbers"
        exam.holds(name, lambda: _complex_nodes(asked), page=PAGE, cause=COMPLEX)
    if not isinstance(new.instance(init), nn.Module) or asked.angles_given:
        return
    asks = [_state, _cast, *([_refilled, _bases, _growth] if new.is_class else [])]
    for ask in asks:
        try:
            ask(asked, new, init)
        except Unusable as error:
            # It refuses another base or length, or cannot be cast: the other answers stand.
            exam.skip(ask.__doc__.splitlines()[0], str(error), page=STATE)


def _state(asked, new, init) -> None:
    """Its state dict."""

    def problem() -> str:
        names = ", ".join(new.instance(init).state_dict())
        return f"the state dict holds {names}" if names else ""

    cause = (
        "a constant that can be computed is stored (persistent=False leaves it out): strict "
        "loading fails when it comes or goes"
    )
    name = "keeps no computed constant in its state dict"
    asked.exam.holds(name, problem, page=STATE, cause=cause)


def _far_case(asked) -> Case:
    last = min(asked.max_position, 4096)
    places = [last - 2, last - 1] if asked.any or asked.start else list(range(min(last, 600)))
    return Case(asked.said, (1, 2), places, seed=11)


def _cast(asked, new, init) -> None:
    """After a cast.

    Buffers that are cast with the weights lose their digits; tables made later lose them too.
    """
    module = guarded(new.instance(init).to, "module.to(bfloat16)", (torch.bfloat16,), {})
    name = "is right after module.to(bfloat16)"
    asked.turns(name, _far_case(asked), page=PRECISION, subject=new.bound(module))


def _refilled(asked, new, init) -> None:
    """After to_empty.

    Built without memory and filled later: what no checkpoint holds must be made again.
    """
    name = "is right after to_empty"
    module, reason = new.refilled(init)
    if module is None:
        return asked.exam.skip(name, reason, page=STATE)
    case = Case(asked.said, (2, 3), asked.positions([1, 2, 3]), seed=12)
    otherwise = (
        "a buffer or table that is in no checkpoint stays as uninitialised memory; make it again "
        "in reset_parameters, or where it is used"
    )
    asked.turns(name, case, page=STATE, subject=new.bound(module), otherwise=otherwise)


def _bases(asked, new, init) -> None:
    """Two instances of other bases, which share no table by mistake."""
    name = "has its own base beside another instance"
    if not new.init.takes("base"):
        return asked.exam.skip(name, "its class takes no base", page=PAGE)
    modules = []
    for base in (asked.said.base, 50 * asked.said.base):
        said = replace(asked.said, base=base)
        case = Case(said, (2, 3), asked.positions([1, 2, 3, 4]), seed=13)
        modules.append((case, new(init | {"base": base})))
        modules[-1][1](case.values(torch.float32, asked.two))
    (case, module), (other, second) = modules
    asked.turns(name, other, subject=second)
    asked.turns("keeps its base when another instance is made", case, subject=module)


def _growth(asked, new, init) -> None:
    """Past its table, where a module refuses, or is as exact as before."""
    name = "past max_len: refuses with a ValueError, or is right"
    if not new.init.takes("max_len") or not (asked.any or asked.start):
        return asked.exam.skip(name, "it has no max_len, or takes no positions", page=STATE)
    made = new.instance(init | {"max_len": 16})
    module = new.bound(guarded(made.to, "module.to(bfloat16)", (torch.bfloat16,), {}))
    case = Case(asked.said, (1, 2), [1000, 1001], seed=14)
    try:
        module(case.values(torch.float32, asked.two))
    except Unusable as error:
        kind = str(error).partition("raised ")[2].partition(":")[0]
        right = kind == "ValueError"
        cause = "the length is not checked before the table is read"
        asked.exam.holds(name, lambda: "" if right else str(error), page=STATE, cause=cause)
        return
    asked.turns(name, case, page=PRECISION, subject=module)


class _Exported(nn.Module):
    """A call of the subject as a module of x alone; torch.export takes modules."""

    def __init__(self, subject, values: dict):
        super().__init__()
        self.binding, self.values, self.target = subject.binding, values, subject.target

    def forward(self, x):
        args, kwargs = self.binding.arguments(self.values | {"x": x})
        return self.target(*args, **kwargs)


def _complex_nodes(asked) -> str:
    case = Case(asked.said, (2, 3), asked.positions([1, 2, 3, 4]), seed=15)
    values = case.values(torch.float32)
    module = _Exported(asked.subject, values)
    exported = guarded(torch.export.export, "torch.export", (module, (values["x"],)), {})
    for node in exported.graph.nodes:
        value = node.meta.get("val")
        if isinstance(value, torch.Tensor) and value.is_complex():
            return f"{node} of the exported graph is complex"
    return ""
