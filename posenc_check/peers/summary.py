# SPDX-License-Identifier: MIT
"""What was found in the libraries, read from the kept reports.

    python -m posenc_check.peers.summary              # contract by contract
    python -m posenc_check.peers.summary litgpt       # every call of one library

The sentences about differences stand in differences.toml.
"""

import sys
import textwrap

from posenc_check.peers.difference import Difference, explained, listed, unmet
from posenc_check.peers.results_file import digest, load

GROUPS = ("transformers", "torch", "jax")
WIDTH = 78


def kept() -> tuple[list[dict], dict[str, str]]:
    """All reports, and the version of each library; a report edited by hand is an error."""
    found, versions = [], {}
    for group in GROUPS:
        file = load(f"libraries_{group}")
        if digest(file["records"]) != file["digest"]:
            raise ValueError(f"the records of libraries_{group}.json do not fit their digest")
        found += file["records"]
        versions |= file["versions"]
    return found, versions


def state(record: dict) -> str:
    """"holds", "differs", or "by choice": all of its differences are documented by the library."""
    found = explained(listed(), record)
    if not found:
        return "holds"
    return "by choice" if all(one and one.documented for _, one in found) else "differs"


def overview() -> str:
    """Of each library, the contracts by their worst state, with the share of calls that differ."""
    found, versions = kept()
    lines = []
    for library in dict.fromkeys(record["library"] for record in found):
        mine = [record for record in found if record["library"] == library]
        lines.append(f"{library} {versions[library]}: {len(mine)} calls checked")
        told: dict[str, list[str]] = {"holds": [], "differs": [], "by choice": []}
        for contract in dict.fromkeys(record["contract"] for record in mine):
            states = [state(record) for record in mine if record["contract"] == contract]
            word = next(word for word in ("differs", "by choice", "holds") if word in states)
            share = "" if word == "holds" else f" ({states.count(word)} of {len(states)})"
            told[word].append(contract + share)
        for word, names in told.items():
            if names:
                lines += _listed(word, ", ".join(names))
    return "\n".join(lines)


def calls(library: str) -> str:
    """Every call of one library with its state and the requirements that fail."""
    found, versions = kept()
    mine = [record for record in found if record["library"] == library]
    if not mine:
        known = ", ".join(dict.fromkeys(record["library"] for record in found))
        raise ValueError(f"library must be one of {known}, got {library!r}")
    lines = [f"{library} {versions[library]}"]
    for record in mine:
        lines += _listed(state(record), f"{record['contract']}: {record['of']}")
        for name in [*(found["name"] for found in unmet(record)), record["unusable"]]:
            lines += textwrap.wrap(name, WIDTH, initial_indent=" " * 14, subsequent_indent=" " * 16)
    return "\n".join(lines)


def differences(library: str) -> str:
    """Each difference of one library: a sentence, its source, the first value, a script."""
    found, versions = kept()
    mine = [record for record in found if record["library"] == library]
    lines = [f"{library} {versions[library]}"]
    for one in (entry for entry in listed() if entry.library == library):
        cases = [
            (record, failed)
            for record in mine
            for failed, reason in explained(listed(), record)
            if reason == one
        ]
        lines += _listed(one.kind, one.says)
        lines += [line for text in _facts(one, cases) for line in _listed("", text)]
    return "\n".join(lines)


def _facts(one: Difference, cases: list[tuple[dict, dict]]) -> list[str]:
    facts = []
    if cases:
        record, first = cases[0]
        facts.append(f"called: {record['of']}")
        if "expected" in first:
            values = f"expected {first['expected']}, got {first['got']}"
            facts.append(f"at {first['where']}: {values}")
        else:
            facts.append(f"got: {first.get('reason') or record['unusable']}")
        facts.append(f"requirements not met: {len(cases)}")
    facts.append(f"expected by: {one.source}")
    if one.documented:
        facts.append(f"documented: {one.documented}")
    return [*facts, f"script: {one.reproduction}.py"]


def _listed(word: str, text: str) -> list[str]:
    """A word in a column, and text behind it over several lines."""
    start = f"  {word:<11} "
    keep = {"break_long_words": False, "break_on_hyphens": False}
    return textwrap.wrap(text, WIDTH, initial_indent=start, subsequent_indent=" " * 14, **keep)


def main(arguments: list[str]) -> int:
    try:
        print(calls(arguments[0]) if arguments else overview())
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
