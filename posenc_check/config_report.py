# SPDX-License-Identifier: MIT
"""The numbers of a config as a page of text, at most 80 columns wide."""

import re
import textwrap

from posenc_check.config_numbers import count

WIDTH = 80


def report(name: str, ropes: list[dict]) -> str:
    """A part for each type of layer, then every problem."""
    lines = [name]
    for rope in ropes:
        lines += ["", rope["layer_type"], *_part(rope)] if rope["layer_type"] else _part(rope)
    problems = [text for rope in ropes for text in rope["problems"]]
    lines += ["", f"{len(problems)} problem{'' if len(problems) == 1 else 's'} found"]
    for text in problems:
        lines += _item(text)
    return "\n".join(lines) + "\n"


def _item(text: str, start="  - ") -> list[str]:
    """A sentence over several lines; 131 072 is not broken."""
    text = re.sub(r"(?<=\d) (?=\d)", "\N{NO-BREAK SPACE}", text)
    lines = textwrap.wrap(text, WIDTH, initial_indent=start, subsequent_indent="    ")
    return [line.replace("\N{NO-BREAK SPACE}", " ") for line in lines]


def _part(rope: dict) -> list[str]:
    if "pairs" not in rope:
        return ["", "  not computed: see the problems"]
    facts = {
        "rope_type": _rule(rope),
        "rotated": f"{rope['rotated']} of {rope['head_dim']} coordinates of a head",
        "base": count(rope["base"]),
        **_lengths(rope),
    }
    lines = ["", *(f"  {key:<17} {value}" for key, value in facts.items()), ""]
    lines += [*_table(rope["bands"]), ""]
    if rope["never_turn"] is not None:
        lines.append(
            f"  {rope['never_turn']} of {rope['pairs']} pairs complete no turn in "
            f"{count(rope['trained_length'])} tokens at plain speed"
        )
    lines.append(_attention(rope["attention_factor"], rope["logits_times"]))
    for note in rope["notes"]:
        lines += _item(note, "  Note: ")
    return lines


def _rule(rope: dict) -> str:
    factor = rope["factor"]
    return rope["rope_type"] + (f", factor {factor:g}" if factor is not None else "")


def _lengths(rope: dict) -> dict[str, str]:
    """A maximum is not called trained: it may be a length that scaling was made for."""
    trained, key = rope["trained_length"], rope["trained_length_from"]
    longest = rope["max_position_embeddings"]
    if key != "original_max_position_embeddings":
        return {"maximum length": "not given" if longest is None else count(longest)}
    facts = {"trained length": f"{count(trained)} ({key})"}
    if longest not in (None, trained):
        facts["maximum length"] = count(longest)
    return facts


def _table(bands: list[dict]) -> list[str]:
    rows = [("band", "pairs", "plain wavelength in tokens", "slow-down")]
    for row in bands:
        slow = row["slow_down"]
        rows.append(
            (
                row["band"],
                _range(*(str(pair) for pair in row["pairs"])),
                _range(*(count(length) for length in row["wavelengths"])),
                "does not turn" if slow is None else _range(*(f"{value:.4g}" for value in slow)),
            )
        )
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    padded = [[cell.ljust(width) for cell, width in zip(row, widths)] for row in rows]
    return ["  " + "   ".join(row).rstrip() for row in padded]


def _range(first: str, last: str) -> str:
    return first if first == last else f"{first} to {last}"


def _attention(factor: float, logits: float) -> str:
    if factor == 1:
        return "  attention factor 1: logits as without scaling"
    return f"  attention factor {factor:.5g} on queries and keys: logits times {logits:.5g}"
