# SPDX-License-Identifier: MIT
"""One piece of a library, and the contract that it is held against."""

from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Subject:
    """What is checked.

    Attributes:
        contract: name in posenc_check.contracts.CONTRACTS.
        of: what was called, so that a reader can repeat it.
        subject: the callable or class that the contract gets.
        options: what the contract gets beside it, by keyword.
        note: a choice that the library documents, and where; empty if there is none.
    """

    contract: str
    of: str
    subject: Callable
    options: dict = field(default_factory=dict)
    note: str = ""
