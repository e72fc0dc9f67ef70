"""Does SmolLM2 use tokens that stand far away? A gap in the positions, under each rule.

1024 tokens come first, then 1024 more whose positions start `gap` later than they would. The
tokens are the same for every gap, so a loss that rises with it comes from positions alone. Gap
None: the second half without the first, which is what no far token gives.
"""

import torch

from lab.models import smollm2, turns
from lab.models.decoder import hidden_states, logits
from lab.models.scores import segment_means, token_losses

TEXTS, HALF = ("Britannica", "Hamlet", "King Lear"), 1024
TRAINED = smollm2.TRAINED_LENGTH
# Up to the end of the trained range, and to the end of the range of the rules, twice as long.
GAPS = (0, 2048, 4096, TRAINED - 2 * HALF, 8192, 10240, 2 * TRAINED - 2 * HALF)
SETTING = {"half": HALF, "trained_length": TRAINED, "factor": turns.FACTOR}


def units() -> list[dict]:
    return [
        {"text": text, "rule": rule, "gap": gap}
        for text in TEXTS for rule in turns.RULES for gap in (None, *GAPS)
    ]  # fmt: skip


def places(gap: int | None) -> torch.Tensor:
    """Positions of all tokens, or of the second half alone, (T,)."""
    if gap is None:
        return turns.first(HALF)
    return torch.cat((turns.first(HALF), turns.first(HALF) + HALF + gap))


@torch.inference_mode()
def measure(unit: dict) -> dict:
    positions = places(unit["gap"])
    found = smollm2.tokens(unit["text"], 2 * HALF + 1)[-len(positions) - 1 :]
    length = int(positions[-1]) + 1
    speeds = turns.speeds(unit["rule"], smollm2.HEAD_DIM, smollm2.BASE, length, TRAINED)
    hidden = hidden_states(smollm2.decoder(), found[:-1], turns.turn_by(*speeds, positions))
    losses = token_losses(
        hidden[-HALF:], found[-HALF:], lambda rows: logits(smollm2.decoder(), rows)
    )
    return {"loss": segment_means(losses, HALF)[0]}
