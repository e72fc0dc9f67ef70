# SPDX-License-Identifier: MIT
"""What a contract found: one entry a requirement, as text for a person and as a dict for a program."""

import textwrap
from dataclasses import asdict, dataclass, field

FINE, FAILED, UNUSABLE = 0, 1, 2
WIDTH = 80


@dataclass(frozen=True)
class Requirement:
    """One thing that the contract asks, and what came of it.

    status is "pass", "fail", or "skip"; where, expected, and got tell the first difference.
    """

    name: str
    status: str
    page: str
    where: str = ""
    expected: str = ""
    got: str = ""
    cause: str = ""
    reason: str = ""  # why it was skipped, or a failure that is no difference of values


@dataclass
class Report:
    """What a contract found about one subject."""

    contract: str
    subject: str
    called_as: str
    options: dict
    requirements: list[Requirement] = field(default_factory=list)
    unusable: str = ""  # why nothing can be said; empty if something can
    hint: str = ""  # how to say what the subject takes, if that was guessed
    traceback: str = ""  # of the subject's own exception

    @property
    def failures(self) -> list[Requirement]:
        return [found for found in self.requirements if found.status == "fail"]

    @property
    def passed(self) -> bool:
        return not self.unusable and not self.failures

    @property
    def exit_code(self) -> int:
        return UNUSABLE if self.unusable else FAILED if self.failures else FINE

    def raise_for_failures(self) -> None:
        """AssertionError with the whole report, unless everything passed."""
        if not self.passed:
            raise AssertionError(f"\n{self}")

    def first_failure(self) -> str:
        """The first thing that is wrong, as its lines of the report; "" if nothing is."""
        if self.unusable:
            return "\n".join(_wrapped(f"cannot be checked: {self.unusable}", ""))
        lines = [line for found in self.failures[:1] for line in _entry(found, False)]
        return textwrap.dedent("\n".join(lines))

    def as_dict(self) -> dict:
        return {"passed": self.passed, **asdict(self)}

    def __str__(self) -> str:
        options = "".join(f", {name} {value}" for name, value in self.options.items())
        lines = _wrapped(f"{self.contract}: {self.called_as or self.subject}{options}", "")
        lines += [""] if self.requirements else []
        told = set()
        for found in self.requirements:
            lines += _entry(found, found.cause in told)
            told |= {found.cause} - {""}
        lines.append("")
        if self.unusable:
            lines += _wrapped(f"cannot be checked: {self.unusable}", "")
            lines += _wrapped(self.hint, "") if self.traceback else []
        else:
            asked = [found for found in self.requirements if found.status != "skip"]
            lines.append(f"{len(self.failures)} of {len(asked)} requirements failed")
        return "\n".join(lines)


def _entry(found: Requirement, told: bool) -> list[str]:
    """The lines of one requirement; a cause that was told already is not told again."""
    word = {"pass": "ok", "fail": "FAIL", "skip": "-"}[found.status]
    lines = [f"  {word:<5} {found.name}"]
    if found.status == "skip":
        lines[0] += f" (not asked: {found.reason})"
        return _wrapped(lines[0].strip(), "  ", "        ")
    if found.status == "fail":
        if found.expected:
            shown = f"at {found.where}: expected {found.expected}, got {found.got}"
            lines += _wrapped(shown, "        ")
        if found.reason:
            lines += _wrapped(found.reason, "        ")
        if told:
            lines.append("        likely cause: the same as above")
        elif found.cause:
            lines += _wrapped(f"likely cause: {found.cause}", "        ")
        if not told:
            lines.append(f"        see {found.page}")
    return lines


def _wrapped(text: str, first: str, later: str | None = None) -> list[str]:
    later = first if later is None else later
    keep = {"break_long_words": False, "break_on_hyphens": False}
    return textwrap.wrap(text, WIDTH, initial_indent=first, subsequent_indent=later, **keep)
