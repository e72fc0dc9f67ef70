"""What perplexity cannot see: a cache whose new tokens count one too far, or one too few.

512 tokens are cached with right positions, the next 64 come one by one. Their perplexity hardly
tells a right count from a wrong one; the largest difference of logits to one pass does at once.
In bfloat16 a right cache differs from one pass too, by the rounding of the products.
"""

import torch

from lab.models import smollm2
from lab.models.decoder import Cache, hidden_states, logits
from lab.models.decoder_faults import turn_of
from lab.models.faults import COUNTS
from lab.models.scores import compared

TEXTS, CACHED, NEW = ("Britannica", "Hamlet", "King Lear", "The Tempest"), 512, 64
SETTING = {"cached": CACHED, "new": NEW}


def units() -> list[dict]:
    found = [{"text": t, "dtype": "float32", "count": c} for t in TEXTS for c in COUNTS]
    kinds = ("right cache", "cache one too far", "cache one too few")
    return found + [{"text": t, "dtype": "bfloat16", "count": c} for t in TEXTS for c in kinds]


@torch.inference_mode()
def measure(unit: dict) -> dict:
    model, cache = smollm2.decoder().to(getattr(torch, unit["dtype"])), Cache()
    found = smollm2.tokens(unit["text"], CACHED + NEW + 1)
    tokens, following = found[:-1], found[CACHED + 1 :]
    every = torch.arange(len(tokens))
    whole = logits(model, hidden_states(model, tokens, turn_of("right", every))[CACHED:])
    places = torch.cat((every[:CACHED], COUNTS[unit["count"]](CACHED, NEW)))
    rows = []
    for part in (slice(0, CACHED), *(slice(at, at + 1) for at in range(CACHED, len(tokens)))):
        hidden = hidden_states(model, tokens[part], turn_of("right", places[part]), cache)
        rows.append(hidden)
    scores = compared(whole, logits(model, torch.cat(rows[1:])), following)
    one_pass = compared(whole, whole, following)
    return {
        "loss_one_pass": _short(one_pass["loss"].mean()),
        "loss": _short(scores["loss"].mean()),
        "kl": _short(scores["kl"].mean()),
        "same_first": _short(scores["same_first"].mean()),
        "difference": [_short(value) for value in scores["difference"]],
    }


def _short(value: torch.Tensor) -> float:
    return float(f"{value.item():.6g}")
