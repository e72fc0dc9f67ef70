"""How SmolLM2 goes on, 40 tokens with the likeliest one each time, under each fault.

The prompt is read in one call, then tokens come one by one with a cache, as in serving.
"""

import torch

from lab.models import smollm2
from lab.models.decoder import Cache, hidden_states, logits
from lab.models.decoder_faults import turn_of
from lab.models.faults import COUNTS, FAULTS

TEXTS, PROMPT, NEW = ("Britannica",), 128, 40
SETTING = {"prompt": PROMPT, "new": NEW}


def units() -> list[dict]:
    return [{"text": t, "fault": f} for t in TEXTS for f in (*FAULTS, *COUNTS)]


@torch.inference_mode()
def measure(unit: dict) -> dict:
    """A fault of the count keeps right turns; another one has right positions."""
    fault, model, cache = unit["fault"], smollm2.decoder(), Cache()
    turned, count = (fault, "right cache") if fault in FAULTS else ("right", fault)
    places = torch.cat((torch.arange(PROMPT), COUNTS[count](PROMPT, NEW)))
    fed, at, words = smollm2.tokens(unit["text"], PROMPT), 0, []
    for _ in range(NEW):
        turn = turn_of(turned, places[at : at + len(fed)])
        hidden = hidden_states(model, fed, turn, cache)
        at += len(fed)
        fed = logits(model, hidden[-1:]).argmax(-1)  # (1,)
        words.append(fed.item())
    return {"tokens": words, "continuation": smollm2.shown(words)}
