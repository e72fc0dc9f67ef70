# SPDX-License-Identifier: MIT
"""A subject that is a class is built anew whenever a contract asks; a function is what it is."""

import copy
import functools
import inspect
from collections.abc import Sequence
from contextlib import contextmanager

import torch
from torch import nn

from posenc_check.binding import Binding, name_of
from posenc_check.examination import Examination
from posenc_check.subject import Subject, Unusable, guarded

JUNK = 7.0
# What loaders call, or authors name, to make constants again.
HOOKS = ("reset_parameters", "reset_buffers", "init_buffers", "rope_init")


class Factory:
    """`factory(values)` gives a Subject to call: a new instance of a class, or a copy of a module."""

    def __init__(
        self, exam, target, words: Sequence[str], default: str, call, init, init_words=()
    ):
        self.exam, self.target = exam, target
        self.words, self.default, self.call, self.said = words, default, call, init
        self.is_class = inspect.isclass(target)
        self.is_module = isinstance(target, nn.Module) or self.is_class
        self.init_words = init_words

    @functools.cached_property
    def init(self) -> Binding:
        """What the class takes."""
        return Binding(self.target, self.said, self.init_words, "", option="init")

    def __call__(self, values: dict) -> Subject:
        return self.bound(self.instance(values))

    def instance(self, values: dict):
        """What is called: a module is put into eval mode, so that dropout does nothing."""
        if not self.is_class:
            made = self.target
            if self.is_module:
                made = guarded(copy.deepcopy, f"copying {name_of(made)}", (made,), {})
        else:
            args, kwargs = self.init.arguments(values)
            made = guarded(self.target, str(self.init), args, kwargs)
        return made.eval() if isinstance(made, nn.Module) else made

    def refilled(self, values: dict) -> tuple[nn.Module | None, str]:
        """A module that was built without memory and filled later, or None and why it is not asked.

        What no checkpoint holds must be made again, by a hook or where it is used.
        """
        if self.instance(values).state_dict():
            return None, "a checkpoint fills it"

        def build():
            with torch.device("meta"):
                return self.instance(values)

        try:
            module = guarded(build, "its class on the meta device", (), {})
        except Unusable as error:
            return None, f"it cannot be built there: {error}"
        module = guarded(module.to_empty, "module.to_empty", (), {"device": "cpu"})
        for buffer in module.buffers():
            buffer.fill_(JUNK)  # empty memory holds anything
        for hook in HOOKS:
            if hasattr(module, hook):
                guarded(getattr(module, hook), hook, (), {})
        return module, ""

    def bound(self, instance) -> Subject:
        target = instance.forward if isinstance(instance, nn.Module) else instance
        subject = Subject(instance, Binding(target, self.call, self.words, self.default))
        if self.is_class:
            arguments = str(subject.binding).partition("(")[2]
            subject.name = f"{self.init}({arguments}"
        elif self.is_module:
            arguments = str(subject.binding).partition("(")[2]
            subject.name = f"{name_of(instance)}({arguments}"
        return self.exam.called(subject)

    @staticmethod
    @contextmanager
    def examine(
        contract: str, target, words, default: str, call, init, options: dict,
        init_words=(),
    ):
        """(examination, factory); what makes the subject unusable ends the block quietly."""
        exam = Examination(contract, name_of(target), **options)
        with exam:
            yield exam, Factory(exam, target, words, default, call, init, init_words)
