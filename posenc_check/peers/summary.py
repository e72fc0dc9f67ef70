# SPDX-License-Identifier: MIT
"""What was found in the libraries, read from the kept reports.

    python -m posenc_check.peers.summary              # contract by contract
    python -m posenc_check.peers.summary litgpt       # every call of one library
"""

import sys
import textwrap

from posenc_check.peers.results_file import digest, load
from posenc_check.report import Report, Requirement

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
    """"holds", "differs", or "by choice": a difference that the library documents."""
    failed = any(one["status"] == "fail" for one in record["requirements"])
    if not failed and not record["unusable"]:
        return "holds"
    return "by choice" if record["note"] else "differs"


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
        failed = [one["name"] for one in record["requirements"] if one["status"] == "fail"]
        for name in [*failed, record["unusable"]]:
            lines += textwrap.wrap(name, WIDTH, initial_indent=" " * 14, subsequent_indent=" " * 16)
    return "\n".join(lines)


def finding(library: str, contract: str, part: str) -> str:
    """The failures of the one call whose description holds `part`, as the check prints them."""
    found, versions = kept()
    fitting = [
        record
        for record in found
        if (record["library"], record["contract"]) == (library, contract) and part in record["of"]
    ]
    if len(fitting) != 1:
        raise ValueError(f"part must fit one call, got {part!r}, which fits {len(fitting)}")
    record = fitting[0]
    kept_ones = [Requirement(**{"page": "", **one}) for one in record["requirements"]]
    failed = [one for one in kept_ones if one.status == "fail"]
    report = Report(contract, record["of"], "", {}, failed, record["unusable"])
    head = textwrap.fill(f"{library} {versions[library]}: {record['of']}", WIDTH)
    asked = sum(one.status != "skip" for one in kept_ones)
    lines = str(report).splitlines()[:-1]
    body = [line for line in lines[lines.index("") + 1 :] if line.strip() not in ("", "see")]
    return "\n".join([head, *body, f"{len(failed)} of {asked} requirements failed"])


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
