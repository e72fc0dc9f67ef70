"""Does SmolLM2 use tokens whose positions are far away? A gap in the positions, under each rule.

1024 tokens come first, and 1024 more whose positions start `gap` later than they would. The
tokens are the same for every gap, so that a loss that rises with the gap is one of positions.
Without the first 1024 tokens (no gap to speak of) the others show what no context gives.
"""

import torch

from lab.models import smollm2, turns
from lab.models.decoder import hidden_states, logits
from lab.models.scores import segment_means, token_losses

TEXTS, HALF = ("Britannica", "Hamlet", "King Lear"), 1024
TRAINED = smollm2.TRAINED_LENGTH
# Up to the last position of the trained range, and of the range of the rules, twice as long.
GAPS = (0, 2048, 4096, TRAINED - 2 * HALF, 8192, 10240, 2 * TRAINED - 2 * HALF)
ALONE = "without the first half"
SETTING = {"half": HALF, "trained_length": TRAINED, "factor": turns.FACTOR}


def units() -> list[dict]:
    found = []
    for text in TEXTS:
        found += [{"text": text, "rule": ALONE, "gap": 0}]
        found += [{"text": text, "rule": rule, "gap": gap} for rule in turns.RULES for gap in GAPS]
    return found


@torch.inference_mode()
def measure(unit: dict) -> dict:
    found = smollm2.tokens(unit["text"], 2 * HALF + 1)
    positions, alone = turns.first(2 * HALF), unit["rule"] == ALONE
    positions[HALF:] += unit["gap"]
    inv_freq, factor = turns.speeds(
        "plain" if alone else unit["rule"],
        smollm2.HEAD_DIM, smollm2.BASE, int(positions[-1]) + 1, TRAINED,
    )  # fmt: skip
    first = HALF if alone else 0
    turn = turns.turn_by(inv_freq, factor, positions[first:])
    hidden = hidden_states(smollm2.decoder(), found[first:-1], turn)[-HALF:]
    losses = token_losses(hidden, found[-HALF:], lambda rows: logits(smollm2.decoder(), rows))
    return {"loss": segment_means(losses, HALF)[0]}
