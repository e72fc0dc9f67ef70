"""Are two rows of results the same, on a machine that rounds differently?"""

import math

NOISE, FLOOR, NOISE_FACTOR = 1e-3, 1e-7, 100
RELATIVE, ABSOLUTE = 0.005, 1e-3
COUNTED, FEW = ("accuracy", "same_first"), 0.025  # three tokens of a segment of 128
WORDS = ("tokens", "continuation")


def same(a, b) -> bool:
    """Numbers agree to 0.5 % or 0.001; two below 0.001 are rounding, and agree in size.

    Lists and dictionaries are compared by entry, shares of tokens by tokens, the rest exactly.
    """
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(
            _few_apart(a[key], b[key]) if key in COUNTED else same(a[key], b[key]) for key in a
        )
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, float) or isinstance(b, float):
        if max(abs(a), abs(b)) < NOISE:
            return same_size(a, b, NOISE_FACTOR)
        return math.isclose(a, b, rel_tol=RELATIVE, abs_tol=ABSOLUTE)
    return a == b


def same_size(a: float, b: float, factor: float) -> bool:
    """Exact agreement gives 0 on one machine and a last bit on another: from FLOOR on only."""
    small, large = sorted((abs(a) + FLOOR, abs(b) + FLOOR))
    return large < factor * small


def _few_apart(a, b) -> bool:
    """One share of tokens, or a list of them."""
    a, b = ([x] if isinstance(x, float) else x for x in (a, b))
    return len(a) == len(b) and all(abs(x - y) < FEW for x, y in zip(a, b, strict=True))


def differing(measured: list[dict], recorded: list[dict]) -> list[str]:
    """One line for each row that is not as recorded.

    Two kinds are shown in the record and not compared: greedy words, which part at a near tie,
    and numbers of products in bfloat16, which are as large as the kernel of the machine makes them.
    """
    if len(measured) != len(recorded):
        return [f"{len(measured)} rows now, {len(recorded)} in the record"]
    pairs = [(judged(a), judged(b)) for a, b in zip(measured, recorded, strict=True)]
    return [f"now {a}\n  recorded {b}" for a, b in pairs if not same(a, b)]


def judged(row: dict) -> dict:
    """The part of a row that is compared: all of it, or what names the row."""
    left_out = WORDS if "continuation" in row else ()
    if row.get("dtype") == "bfloat16":
        left_out = [key for key, value in row.items() if not isinstance(value, str)]
    return {key: value for key, value in row.items() if key not in left_out}
