"""What more context is worth to SmolLM2: the loss of the same tokens after more tokens or fewer.

The last 512 of the first 8192 tokens of a text are scored with everything before them, and with
only the nearest tokens before them. All lengths lie within the trained range.
"""

import torch

from lab.models import smollm2, turns
from lab.models.decoder import hidden_states, logits
from lab.models.scores import segment_means, token_losses

TEXTS, SCORED = ("Britannica", "Hamlet", "King Lear"), 512
TRAINED = smollm2.TRAINED_LENGTH
LENGTHS = (512, 1024, 2048, 4096, TRAINED)  # the scored tokens included
SETTING = {"scored": SCORED, "trained_length": TRAINED}


def units() -> list[dict]:
    return [{"text": text, "length": length} for text in TEXTS for length in LENGTHS]


@torch.inference_mode()
def measure(unit: dict) -> dict:
    found = smollm2.tokens(unit["text"], TRAINED + 1)[-unit["length"] - 1 :]
    turn = turns.plain(smollm2.HEAD_DIM, smollm2.BASE, turns.first(unit["length"]))
    hidden = hidden_states(smollm2.decoder(), found[:-1], turn)[-SCORED:]
    losses = token_losses(hidden, found[-SCORED:], lambda rows: logits(smollm2.decoder(), rows))
    return {"loss": segment_means(losses, SCORED)[0]}
