"""What the rows of the extrapolation experiment show, each as a margin that every seed must keep.

A margin is loss of one (method, length) minus loss of another, in nats, on the same targets.
"""

from statistics import mean
from typing import NamedTuple

Place = tuple[str, int]  # method and length


class Margin(NamedTuple):
    text: str
    more: Place
    less: Place
    least: float  # of the difference, in every seed
    most: float = float("inf")
    scoring: str = "sliding"


MARGINS = [
    Margin("sinusoid fails within 16", ("sinusoidal", 80), ("sinusoidal", 64), 0.35),
    Margin("sinusoid at 1.5 lengths", ("sinusoidal", 96), ("sinusoidal", 64), 1.0),
    Margin("plain scoring hides it", ("sinusoidal", 80), ("sinusoidal", 64), 0.0, 0.4, "plain"),
    Margin("untrained rows fail", ("learned", 80), ("learned", 64), 0.35),
    Margin("stretched rows do better", ("learned", 128), ("learned_stretched", 128), 0.6),
    Margin("RoPE holds to 1.5 lengths", ("rope", 96), ("rope", 64), -0.05, 0.05),
    Margin("RoPE fails at 2 lengths", ("rope", 128), ("rope", 64), 0.25),
    Margin("RoPE at 4 lengths", ("rope", 256), ("rope", 64), 1.0),
    Margin("PI alone is worse at 1.5", ("pi", 96), ("rope", 96), 0.15),
    Margin("PI alone is better at 4", ("rope", 256), ("pi", 256), 0.2),
    Margin("NTK holds to 2 lengths", ("ntk", 128), ("ntk", 64), -0.05, 0.08),
    Margin("NTK fails at 4 lengths", ("ntk", 256), ("ntk", 64), 0.5),
    Margin("YaRN at 4 against nothing", ("rope", 256), ("yarn", 256), 0.9),
    Margin("YaRN at 4 against NTK", ("ntk", 256), ("yarn", 256), 0.3),
    Margin("YaRN is not flat", ("yarn", 512), ("yarn", 64), 0.2),
    Margin("a short tuning repairs PI", ("pi", 256), ("pi_tuned", 256), 0.4),
    Margin("PI tuned stays behind YaRN tuned", ("pi_tuned", 256), ("yarn_tuned", 256), 0.1),
    Margin("YaRN tuned over tuning alone", ("rope_tuned", 256), ("yarn_tuned", 256), 0.03),
    Margin("PI tuned costs at 64", ("pi_tuned", 64), ("rope", 64), 0.1),
    Margin("YaRN tuned costs little", ("yarn_tuned", 64), ("rope", 64), -0.05, 0.06),
    Margin("tuned at 256 fails at 512", ("yarn_tuned", 512), ("yarn_tuned", 256), 0.6),
    Margin("behind its length YaRN is worse than NTK", ("yarn_tuned", 512), ("ntk_tuned", 512), 0.2),
    Margin("and worse than tuning alone", ("yarn_tuned", 512), ("rope_tuned", 512), 0.4),
    Margin("tuning alone is better than PI at 64", ("pi_tuned", 64), ("rope_tuned", 64), 0.1),
    Margin("and at 512", ("pi_tuned", 512), ("rope_tuned", 512), 0.3),
    Margin("NTK is as good as YaRN at 2", ("yarn", 128), ("ntk", 128), -0.03, 0.03),
    Margin("ALiBi is flat", ("alibi", 512), ("alibi", 64), -0.05, 0.05),
    Margin("ALiBi gains in plain scoring", ("alibi", 64), ("alibi", 512), 0.005, 0.05, "plain"),
    Margin("and not with full contexts", ("alibi", 64), ("alibi", 512), -0.05, 0.005),
    Margin("KERPLE is flat", ("kerple", 512), ("kerple", 64), -0.08, 0.08),
    Margin("Shaw is nearly flat", ("shaw", 512), ("shaw", 64), -0.05, 0.12),
    Margin("xPos is nearly flat", ("xpos", 512), ("xpos", 64), -0.05, 0.15),
    Margin("T5 fails slowly", ("t5", 256), ("t5", 64), 0.04, 0.7),
    Margin("FIRE fails slowly", ("fire", 256), ("fire", 64), 0.08, 0.4),
    Margin("no encoding is weak", ("none", 64), ("rope", 64), 0.3),
    Margin("no encoding fails slowly", ("none", 512), ("none", 64), 0.05, 0.35),
    Margin("dropping alone fails", ("rope_dropped", 64), ("rope", 64), 1.0),
    Margin("recalibration repairs it", ("rope_dropped", 64), ("drope", 64), 0.6),
    Margin("DroPE is nearly flat", ("drope", 512), ("drope", 64), -0.05, 0.2),
    Margin("DroPE is no better than none here", ("drope", 64), ("none_longer", 64), 0.03),
    Margin("random places help RoPE at 4", ("rope", 256), ("rope_randomized", 256), 0.8),
    Margin("random places cost at 64", ("rope_randomized", 64), ("rope", 64), 0.03),
    Margin("and the sinusoid at 4", ("sinusoidal", 256), ("sinusoidal_randomized", 256), 0.8),
]


def losses(rows: list[dict], scoring: str) -> dict[tuple[str, int], dict[int, float]]:
    """(method, length) -> seed -> loss."""
    found: dict[tuple[str, int], dict[int, float]] = {}
    for row in rows:
        found.setdefault((row["method"], row["length"]), {})[row["seed"]] = row[scoring]
    return found


def differences(margin: Margin, rows: list[dict]) -> list[float]:
    """The difference in each seed; empty where the rows do not have both places."""
    found = losses(rows, margin.scoring)
    more, less = found.get(margin.more, {}), found.get(margin.less, {})
    return [more[seed] - less[seed] for seed in more if seed in less]


def broken(rows: list[dict]) -> list[str]:
    """A line for each margin that a seed does not keep."""
    lines = []
    for margin in MARGINS:
        for difference in differences(margin, rows):
            if not margin.least <= difference <= margin.most:
                lines.append(f"{margin.text}: {difference:.3f}")
    return lines


def table(rows: list[dict], scoring: str) -> str:
    """Mean and range over seeds, one line a method."""
    found = losses(rows, scoring)
    lengths = sorted({length for _, length in found})
    methods = dict.fromkeys(method for method, _ in found)
    lines = [f"{scoring:<23}" + "".join(f"{length:<23}" for length in lengths)]
    for method in methods:
        line = f"{method:<23}"
        for length in lengths:
            values = list(found[method, length].values())
            shown = f"{mean(values):.3f} ({min(values):.2f} to {max(values):.2f})"
            line += f"{shown:<23}"
        lines.append(line.rstrip())
    return "\n".join(lines)


def check_text(recorded: dict, sha256: str) -> None:
    """Losses on different texts are not comparable."""
    if recorded["text_sha256"] != sha256:
        raise ValueError(
            f"the record was made on text {recorded['text_sha256'][:12]} (Python "
            f"{recorded['python']}), this Python's text is {sha256[:12]}: do not compare them"
        )
