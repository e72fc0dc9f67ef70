# SPDX-License-Identifier: MIT
"""Reads single values of one block and writes down what is wrong with them."""

from dataclasses import dataclass, field

from posenc_check.rope_config_blocks import Block

# Outside of this nothing is meant, and arithmetic overflows; not-a-number is outside too.
LARGE = 1e12


@dataclass
class Rope:
    """One block after the checks; what it says is complete if nothing is refused."""

    layer_type: str | None
    rule: str = ""
    head_dim: int = 0  # the part of a head that the rule is told about
    whole_head: int = 0  # with the part that DeepSeek keeps free of rotation
    width: int = 0  # coordinates that turn
    share: float = 1.0
    base: float = 0.0
    trained_length: int | None = None
    trained_key: str = ""  # which key said so
    max_length: int | None = None
    said: dict = field(default_factory=dict)
    layout: list[str] = field(default_factory=list)  # notes on what turns
    refused: list[str] = field(default_factory=list)
    doubtful: list[str] = field(default_factory=list)

    @property
    def problems(self) -> list[str]:
        return self.refused + self.doubtful


class Values:
    """`refused` are the faults that leave no clear result, one sentence each."""

    def __init__(self, block: Block):
        self.block = block
        self.refused: list[str] = []

    def refuse(self, text: str) -> None:
        """Write a fault down, once; several rules read the same key."""
        if text not in self.refused:
            self.refused.append(text)

    def given(self, key: str) -> bool:
        return bool(self.block.places(key))

    def value(self, key: str):
        """What the config says, or None; places that disagree are a fault."""
        places = self.block.places(key)
        said = list(places.values())
        if any(value != said[0] for value in said[1:]):
            listed = " and ".join(f"{short(value)} {place}" for place, value in places.items())
            self.refuse(f"{key} must have one value, got {listed}")
        return said[0] if said else None

    def need(self, key: str, rule: str) -> bool:
        if not self.given(key):
            self.refuse(f"{key} is missing, rope_type {rule} needs it")
        return self.given(key)

    def number(self, key: str, *, least: float | None = None) -> float | None:
        """A number of at least `least`, or above 0; None if left out or wrong."""
        value = self.value(key)
        if value is None:
            return None
        if not _is_number(value):
            return self._wrong(key, "a number", value)
        if least is not None and value < least:
            return self._wrong(key, f"at least {least:g}", value)
        if least is None and value <= 0:
            return self._wrong(key, "positive", value)
        return self._usual(key, value)

    def whole(self, key: str) -> int | None:
        value = self.value(key)
        if value is None:
            return None
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            return self._wrong(key, "a positive whole number", value)
        return self._usual(key, value)

    def flag(self, key: str) -> bool | None:
        value = self.value(key)
        if value is not None and not isinstance(value, bool):
            return self._wrong(key, "true or false", value)
        return value

    def numbers(self, key: str, count: int) -> list[float] | None:
        """A list with a positive number for each of `count` pairs; 0 is a count not known."""
        value = self.value(key)
        if value is None:
            return None
        if not isinstance(value, list):
            return self._wrong(key, "a list of numbers", value)
        for item in value:
            if not _is_number(item) or not 1 / LARGE <= item <= LARGE:
                return self._wrong(key, "a list of positive numbers", item)
        if count and len(value) != count:
            self.refuse(
                f"{key} must have one number for each of {count} pairs, got {len(value)}"
            )
            return None
        return value

    def _usual(self, key: str, value):
        if not 1 / LARGE <= value <= LARGE:
            return self._wrong(key, f"between {1 / LARGE:g} and {LARGE:g}", value)
        return value

    def _wrong(self, key: str, rule: str, value) -> None:
        self.refuse(f"{key} must be {rule}, got {short(value)}")


def short(value) -> str:
    """A value for a message; long lists and numbers are cut."""
    text = repr(value)
    return text if len(text) <= 30 else text[:27] + "..."


def _is_number(value) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
