"""Loss of SmolLM2 beyond the 8192 tokens that it was trained on, under each rule.

The same tokens are also scored inside the trained range: a window of 8192 tokens that starts
later in the text. Loss minus that loss is what the length costs, whatever the text.
Positions are those of the query; segments are means over 512 of them.
"""

import torch

from lab.models import smollm2, turns
from lab.models.decoder import hidden_states, logits
from lab.models.scores import segment_means, token_losses

TEXTS, SEGMENT, LENGTH, LONGEST = ("Britannica", "Hamlet"), 512, 12288, 16384
TRAINED = smollm2.TRAINED_LENGTH
SETTING = {"segment": SEGMENT, "trained_length": TRAINED, "factor": turns.FACTOR}
RULES = ("plain", "NTK", "YaRN", "PI", "dynamic NTK")


def units() -> list[dict]:
    """A window of each text starts at `start` and holds `length` tokens."""
    found = []
    for text in TEXTS:
        found += [{"text": text, "rule": "plain", "start": LENGTH - TRAINED, "length": TRAINED}]
        found += [{"text": text, "rule": r, "start": 0, "length": LENGTH} for r in RULES]
    for text in TEXTS:
        found += [{"text": text, "rule": "plain", "start": LONGEST - TRAINED, "length": TRAINED}]
        found += [{"text": text, "rule": "plain", "start": 0, "length": LONGEST}]
    return found


@torch.inference_mode()
def measure(unit: dict) -> dict:
    model, start, length = smollm2.decoder(), unit["start"], unit["length"]
    tokens = smollm2.tokens(unit["text"], LONGEST + 1)[start : start + length + 1]
    inv_freq, factor = turns.speeds(
        unit["rule"], smollm2.HEAD_DIM, smollm2.BASE, length, TRAINED
    )
    turn = turns.turn_by(inv_freq, factor, turns.first(length))
    hidden = hidden_states(model, tokens[:-1], turn)
    losses = token_losses(hidden, tokens[1:], lambda rows: logits(model, rows))
    return {"loss": segment_means(losses, SEGMENT)}
