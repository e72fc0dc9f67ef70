# SPDX-License-Identifier: MIT
"""What is said of a requirement that a piece of a library does not meet."""

import tomllib
from dataclasses import dataclass
from pathlib import Path

KINDS = ("values", "precision", "state", "refusal")


@dataclass(frozen=True)
class Difference:
    """One difference, and all failed requirements that it explains.

    Attributes:
        library: as the package index names it.
        of: a part of the text that says what was called.
        kind: other values; lost digits; state dict, dtype, or memory; or how it refuses.
        says: the difference in one sentence, without judging it.
        source: where the expected value comes from.
        reproduction: name of a script in reproductions/.
        asks: parts of the requirements' names; any, if empty.
        causes: a part of the cause that the report names; any, if empty.
        documented: where the library says that it is so; empty if that was not found.
        beside: seen while the code was read; no contract asks for it.
    """

    library: str
    of: str
    kind: str
    says: str
    source: str
    reproduction: str
    asks: tuple[str, ...] = ()
    causes: str = ""
    documented: str = ""
    beside: bool = False

    def explains(self, record: dict, requirement: dict) -> bool:
        return (
            not self.beside
            and self.library == record["library"]
            and self.of in record["of"]
            and self.causes in requirement.get("cause", "")
            and (not self.asks or any(part in requirement["name"] for part in self.asks))
        )


def listed() -> list[Difference]:
    """All of differences.toml."""
    text = Path(__file__).with_name("differences.toml").read_text(encoding="utf-8")
    entries = tomllib.loads(text)["difference"]
    return [Difference(**entry | {"asks": tuple(entry.get("asks", ()))}) for entry in entries]


def unmet(record: dict) -> list[dict]:
    """Failed requirements; one without a name if the piece could not be checked."""
    failed = [found for found in record["requirements"] if found["status"] == "fail"]
    return [{"name": "cannot be checked"}] if record["unusable"] else failed


def explained(differences: list[Difference], record: dict) -> list[tuple[dict, Difference | None]]:
    """Each unmet requirement with the first difference of the list that explains it."""
    return [
        (found, next((one for one in differences if one.explains(record, found)), None))
        for found in unmet(record)
    ]
