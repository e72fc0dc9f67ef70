"""English text that a package ships: plays, and an article of the Encyclopaedia Britannica.

All of it is old and in the public domain, as the package says of its sources; the package's own
licence is MIT for code and CC BY 2.5 for the rest. A small model may have learnt lines of
Shakespeare by heart, which is why the article is among them. It carries faults of its scan.
"""

import re

from lab.models.files import checked

LICENCE = "texts in the public domain; shakespeare 0.6: MIT, other content CC BY 2.5"
FOLDER = "shksprdata"
# name -> file, sha256, the words at which the reading starts, after the list of persons
TEXTS = {
    "Britannica": (
        "ancillary/britannica-11th.txt",
        "d73c37c56dd1c0e3390b4e4e13043e7498b55c42c1577c55a9ec03fa3038f72a",
        "Shakespeare, William (1564",
    ),
    "Hamlet": (
        "texts/hamlet_gut.txt",
        "bbe5635616c6e0e0bcf01b7b8c324be8b42451c51848f11c283bd2f4442b1e0a",
        "ACT I",
    ),
    "King Lear": (
        "texts/lear_gut.txt",
        "7ac00e23da6e4874b715b3c3c0c1cdc442bc790eb6ac3f39c0610052e5e636fa",
        "ACT I",
    ),
    "The Tempest": (
        "texts/tempest_gut.txt",
        "76b1bfcff40ead1585c280a7f14147c2761c7b9e6d6fb8598e7aae6e99509e26",
        "ACT 1",
    ),
    "Macbeth": (
        "texts/macbeth_gut.txt",
        "54e1d8055ffa2aec7e831ec43044dd646cacdfce5bf333fa81e6af9c0363c3b7",
        "ACT I",
    ),
    "Othello": (
        "texts/othello_gut.txt",
        "12c32a0e148c3a2f4d9bb5710198f18cd04a5f8197f8cbeb25ca482174382d3d",
        "ACT I",
    ),
}


def text(name: str) -> str:
    """The text from its first words on; lines about the scanned pages are left out."""
    path, sha256, first = TEXTS[name]
    found = checked(f"{FOLDER}/{path}", sha256).read_text(encoding="utf-8")
    return cleaned(found[found.index(first) :])


def cleaned(found: str) -> str:
    """Without headings of scanned pages, and with at most one empty line in a row."""
    lines = (line.strip() for line in found.splitlines())
    kept = [line for line in lines if not re.match(r"#|p\.\d+:\d+$", line)]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(kept))


def sources(names) -> list[dict]:
    """What a record says about the texts that it used."""
    return [{"text": name, "file": TEXTS[name][0], "sha256": TEXTS[name][1]} for name in names]
