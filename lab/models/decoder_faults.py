"""What each classic fault of rotation code costs SmolLM2 on 1024 tokens.

A fault of the cache cannot show before there is a cache: 512 tokens come in a first call with
right positions, the other 512 in calls of 64 that count wrongly. "every new token at 0" is what
decoding token by token does when each call counts from 0.
"""

from functools import lru_cache

import torch
from torch import Tensor

from lab.models import smollm2
from lab.models.decoder import Cache, hidden_states, logits
from lab.models.faults import COUNTS, FAULTS
from lab.models.scores import compared, segment_means

TEXTS, LENGTH, CACHED, CALL, SEGMENT = ("Britannica", "Hamlet", "King Lear"), 1024, 512, 64, 128
SETTING = {"length": LENGTH, "cached": CACHED, "call": CALL, "segment": SEGMENT}
SCORES = ("loss", "accuracy", "kl", "same_first")


def units() -> list[dict]:
    return [{"text": t, "fault": f} for t in TEXTS for f in (*FAULTS, *COUNTS)]


def turn_of(fault: str, positions: Tensor):
    return FAULTS[fault](positions, smollm2.HEAD_DIM, smollm2.BASE)


def one_pass(fault: str, tokens: Tensor) -> Tensor:
    """Logits (T, V) of all tokens in one call."""
    model, positions = smollm2.decoder(), torch.arange(len(tokens))
    return logits(model, hidden_states(model, tokens, turn_of(fault, positions)))


def in_calls(count: str, tokens: Tensor, cached: int, call: int) -> Tensor:
    """Logits (T, V): the first `cached` tokens in one call, the others in calls of `call`.

    The count starts at the end of the first call. "cache restart at 0" counts from 0 once and
    goes on from there; "every new token at 0" never goes on.
    """
    model, cache = smollm2.decoder(), Cache()
    places = torch.cat((torch.arange(cached), COUNTS[count](cached, len(tokens) - cached)))
    parts = [slice(0, cached)]
    parts += [slice(at, at + call) for at in range(cached, len(tokens), call)]
    return torch.cat(
        [
            logits(model, hidden_states(model, tokens[p], turn_of("right", places[p]), cache))
            for p in parts
        ]
    )


@lru_cache(maxsize=1)
def right_logits(text: str) -> Tensor:
    """What every fault of this text is compared with, (T, V)."""
    return one_pass("right", smollm2.tokens(text, LENGTH + 1)[:-1])


@torch.inference_mode()
def measure(unit: dict) -> dict:
    found = smollm2.tokens(unit["text"], LENGTH + 1)
    tokens, following = found[:-1], found[1:]
    if unit["fault"] in FAULTS:
        faulty = one_pass(unit["fault"], tokens)
    else:
        faulty = in_calls(unit["fault"], tokens, CACHED, CALL)
    scores = compared(right_logits(unit["text"]), faulty, following)
    return {name: segment_means(scores[name], SEGMENT) for name in SCORES}
