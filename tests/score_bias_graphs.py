"""Calls of the biases of the scores for tests/test_export_compile.py, as functions of a length."""

import torch

from snippets.cope import CoPE, cope_bias, cope_positions
from snippets.fire import Fire, fire_distance
from snippets.fox import ForgetGate, forget_sums, fox_bias
from snippets.kerple import Kerple, kerple_bias
from snippets.sandwich import sandwich_bias
from snippets.toeplitz_bias import consecutive_gaps, toeplitz_attention, toeplitz_view
from tests.rope_cases import generic


def steps(t):
    return torch.arange(t) + 2, torch.arange(t + 2)


def numbers():
    return torch.tensor([0.3, 1.0, 1.5])


def learned_cope():
    layer = CoPE(8, 4)
    torch.nn.init.normal_(layer.weight, generator=torch.Generator().manual_seed(0))
    return layer.eval()


def query_and_logits(t):
    return generic(2, 3, t, 8), generic(2, 3, t, t + 2)


def causal(q, logits):
    mask = torch.ones(logits.shape[2:], dtype=torch.bool).tril(2)
    return cope_bias(q, logits, torch.ones(4, 8), mask=mask)


SCORE_BIAS_CASES = {
    "kerple_bias log": (
        lambda q, k: kerple_bias(q, k, numbers(), numbers(), kind="log"), steps
    ),
    "kerple_bias power": (
        lambda q, k: kerple_bias(q, k, numbers(), numbers(), kind="power"), steps
    ),
    "kerple log": (Kerple(3, kind="log").eval(), steps),
    "kerple power": (Kerple(3, kind="power").eval(), steps),
    "fire_distance": (
        lambda q, k: fire_distance(q, k, torch.tensor(0.1), torch.tensor(6.0)), steps
    ),
    "fire": (Fire(3, threshold=6.0).eval(), steps),
    "cope_positions": (lambda x: cope_positions(x.sigmoid()), lambda t: (generic(3, t),)),
    "cope": (learned_cope(), query_and_logits),
    "cope with mask": (causal, query_and_logits),
    "forget_sums": (forget_sums, lambda t: (-generic(2, 3, t).abs(),)),
    "forget_sums from a start": (
        forget_sums, lambda t: (-generic(2, 3, t).abs(), generic(2, 3).double())
    ),
    "fox_bias": (fox_bias, lambda t: (generic(2, 3, t), generic(2, 3, t + 2))),
    "forget gate": (ForgetGate(8, 3).eval(), lambda t: (generic(2, t, 8),)),
    "sandwich": (lambda q, k: sandwich_bias(q, k, numbers(), width=10), steps),
    "consecutive_gaps": (consecutive_gaps, steps),
    "toeplitz_view": (lambda x: toeplitz_view(x, 3), lambda t: (generic(3, t),)),
    "toeplitz_attention": (
        toeplitz_attention,
        lambda t: (*(generic(2, 3, n, 8) for n in (t, t + 2, t + 2)), generic(3, 2 * t + 1)),
    ),
}  # fmt: skip
