"""Every bias of the scores in one form, bias(q_positions, k_positions), for three heads."""

import torch

from snippets.alibi import alibi_bias, alibi_slopes
from snippets.fire import Fire
from snippets.fox import forget_sums, fox_bias
from snippets.kerple import kerple_bias
from snippets.sandwich import sandwich_bias
from snippets.t5_bias import T5Bias

HEADS = 3


def generic(*shape, seed=0):
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def alibi(q_positions, k_positions):
    return alibi_bias(q_positions, k_positions, alibi_slopes(HEADS), dtype=torch.float64)


def t5(q_positions, k_positions):
    torch.manual_seed(0)
    bias = T5Bias(HEADS, bidirectional=False, num_buckets=8, max_distance=16).double()
    return bias(q_positions, k_positions).detach()


def kerple(kind):
    r1, r2 = torch.tensor([[0.3, 1.0, 2.0], [1.5, 0.5, 0.1]])

    def bias(q_positions, k_positions):
        return kerple_bias(q_positions, k_positions, r1, r2, kind=kind, dtype=torch.float64)

    return bias


def fire(q_positions, k_positions):
    torch.manual_seed(0)
    bias = Fire(HEADS, threshold=41.0).double()
    torch.nn.init.normal_(bias.network[2].weight)  # as large as the logits, as after training
    return bias(q_positions, k_positions).detach()


def sandwich(q_positions, k_positions):
    scales = torch.tensor([0.1, 0.5, 1.0])
    return sandwich_bias(q_positions, k_positions, scales, width=10, dtype=torch.float64)


def log_gates(length, batch=2):
    """Those of the tokens at positions 0 ... length - 1."""
    return torch.nn.functional.logsigmoid(generic(batch, HEADS, length, seed=5))


def fox(q_positions, k_positions):
    sums = forget_sums(log_gates(64))
    return fox_bias(sums[..., q_positions], sums[..., k_positions], dtype=torch.float64)


BIASES = {
    "alibi": alibi,
    "t5": t5,
    "kerple log": kerple("log"),
    "kerple power": kerple("power"),
    "fire": fire,
    "sandwich": sandwich,
    "fox": fox,
}
