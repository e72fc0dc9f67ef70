"""A block of prose as text, with the kind of every character: words, code, TeX or link.

Closes: comparing sentences after some cleaning that could clean the difference away. Only white
space is normalised. Marks and footnote references stand in the text as one character each.
"""

from dataclasses import dataclass, field

from bs4 import Tag

MARK, REF = "\ue000", "\ue001"  # private-use characters: no page contains them
TEXT, CODE, TEX, LINK = "tcml"


@dataclass
class Mark:
    href: str
    position: int  # of its MARK character in the text of the block

    @property
    def claim_id(self) -> str:
        return self.href.partition("#")[2]


@dataclass(eq=False)
class Block:
    tag: str
    place: str
    element: Tag | None = None
    footnote: bool = False
    text: str = ""
    kinds: str = ""  # as long as the text
    marks: list[Mark] = field(default_factory=list)
    formulas: list[tuple[int, str]] = field(default_factory=list)  # position behind it, TeX
    odd_ticks: list[str] = field(default_factory=list)  # check marks and ledger links without class

    def add(self, text: str, kind: str = TEXT) -> None:
        """Append, with every run of white space as one space and none at the start."""
        for char in text:
            if char.isspace():
                if not self.text or self.text[-1] == " ":
                    continue
                char = " "
            self.text += char
            self.kinds += kind

    def add_inline(self, child: Tag) -> bool:
        """Take `child` as one piece if it is a mark, a reference, code, TeX or a link."""
        names = set(child.get("class") or ())
        if child.name == "a" and "claim" in names:
            self.add(MARK)
            self.marks.append(Mark(child.get("href") or "", len(self.text) - 1))
        elif child.name == "sup" and child.find("a", class_="footnote-ref"):
            self.add(REF)
        elif "arithmatex" in names:
            self.add(child.get_text(), TEX)
            if child.name == "div":
                tex = " ".join(child.get_text().split())
                self.formulas.append((len(self.text), tex))
        elif child.name in ("code", "kbd", "samp"):
            self.add(child.get_text(), CODE)
        elif child.name == "a":
            self.add_link(child, names)
        elif child.name == "br":
            self.add(" ")
        else:
            return False
        return True

    def add_link(self, child: Tag, names: set[str]) -> None:
        target = (child.get("href") or "").partition("#")
        to_row = target[0].rstrip("/").endswith(("verified", "verified.md")) and target[2]
        if "✓" in child.get_text() and ("mark-example" not in names or to_row):
            self.odd_ticks.append(child.get("href") or "")
        self.add(child.get_text(), LINK)

    def start_of(self, mark: Mark, sentence: str) -> int | None:
        """Where `sentence`, which ends at the mark, begins; None if the text there is another."""
        kept = [i for i in range(mark.position) if self.text[i] != REF]
        before = "".join(self.text[i] for i in kept).rstrip()
        if not sentence or not before.endswith(sentence):
            return None
        return kept[len(before) - len(sentence)]

    def plain(self, start: int = 0, end: int | None = None) -> str:
        """The text as a reader would quote it."""
        return self.text[start:end].replace(MARK, "✓").replace(REF, "").strip()
