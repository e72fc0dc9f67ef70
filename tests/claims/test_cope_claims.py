"""The sentences of docs/methods/cope.md, in the order of the page."""

import math

import pytest
import torch

from snippets.cope import CoPE, cope_bias, cope_positions
from snippets.masks import causal_mask
from tests.guard.marks import claim

F64 = torch.float64


def random(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=F64)


def close(a, b, atol=1e-12):
    torch.testing.assert_close(a, torch.as_tensor(b, dtype=F64), rtol=0, atol=atol)


Q, K = random(2, 2, 3, 7, 4)
LOGITS, EMBEDDING = Q @ K.mT, random(9, 4, seed=1)
PAST = causal_mask(torch.arange(7), torch.arange(7))


def position(b, h, i, j):
    gates = [1 / (1 + math.exp(-LOGITS[b, h, i, t].item())) for t in range(j, i + 1)]
    return math.fsum(gates)


@claim(
    "cope-positions",
    r"\[ \begin{aligned} g_{ij} &= \operatorname{sigmoid}(q_i^\top k_j) \\ p_{ij} &= \sum_{t=j}^{i} g_{it} "
    r"\end{aligned} \]",
)
def test_positions():
    got = cope_positions(LOGITS.sigmoid().masked_fill(~PAST, 0))
    for b, h, i, j in ((0, 0, 6, 0), (1, 2, 5, 3), (1, 1, 4, 4)):
        close(got[b, h, i, j], position(b, h, i, j))


@claim(
    "cope-bias",
    r"\[ \begin{aligned} s &= p_{ij} - \lfloor p_{ij} \rfloor \\ b_{ij} &= q_i^\top \bigl((1 - s)\, e_{\lfloor p "
    r"\rfloor} + s\, e_{\lceil p \rceil}\bigr) \end{aligned} \]",
)
def test_bias():
    got = cope_bias(Q, LOGITS, EMBEDDING, mask=PAST)
    for b in range(2):
        for h in range(3):
            for i in range(7):
                for j in range(i + 1):
                    p = position(b, h, i, j)
                    s = p - math.floor(p)
                    vector = (1 - s) * EMBEDDING[math.floor(p)] + s * EMBEDDING[math.ceil(p)]
                    close(got[b, h, i, j], Q[b, h, i] @ vector, atol=1e-10)


@claim("cope-numbers", "Gates of 0.2, 0.9, 0.5 and 1 give positions 2.6, 2.4, 1.5 and 1.")
def test_numbers():
    close(cope_positions(torch.tensor([0.2, 0.9, 0.5, 1], dtype=F64)), [2.6, 2.4, 1.5, 1])


@claim("cope-counts-tokens", "If all gates are 1, the position is the distance plus one.")
def test_all_gates_open():
    got = cope_positions(PAST.double())
    gap = torch.arange(7)[:, None] - torch.arange(7)
    close(got[PAST], (gap + 1)[PAST].double())


@claim("cope-limit", "Positions beyond the last embedding share it.")
def test_beyond_the_embeddings():
    wide = torch.full((1, 1, 1, 40), 30.0, dtype=F64)  # all gates open
    got = cope_bias(Q[:1, :1, :1], wide, EMBEDDING)[0, 0, 0]
    close(got[:32], (Q[0, 0, 0] @ EMBEDDING[-1]).expand(32))
    assert (got[-8:].diff().abs() > 1e-6).all()


@claim(
    "cope-mask",
    "Keys after the query must not count. Without the mask every position is too large, by what lies ahead.",
)
def test_gates_ahead():
    gates = LOGITS.sigmoid()
    right, wrong = cope_positions(gates.masked_fill(~PAST, 0)), cope_positions(gates)
    ahead = gates.masked_fill(PAST, 0).sum(-1, keepdim=True)
    close((wrong - right)[..., PAST], ahead.expand_as(gates)[..., PAST])
    masked, open_ = (cope_bias(Q, LOGITS, EMBEDDING, mask=m) for m in (PAST, None))
    assert (masked - open_)[..., PAST].abs().max() > 0.1
    close(masked[..., 6, :], open_[..., 6, :])  # nothing lies ahead of the last query


@claim(
    "cope-direction",
    "The sum runs from the key to the query. From the first key to this one is another count.",
)
def test_direction():
    gates = torch.tensor([0.2, 0.9, 0.5, 1.0], dtype=F64)
    got = cope_positions(gates)
    assert (got.diff() < 0).all()  # the nearest key has the smallest position
    assert (gates.cumsum(0) - got).abs().max() > 1


@claim(
    "cope-which-logits",
    "Gates of undivided logits are other gates.",
)
def test_divided_and_undivided_logits():
    whole, divided = (cope_bias(Q, LOGITS / by, EMBEDDING, mask=PAST) for by in (1, math.sqrt(4)))
    assert (whole - divided)[..., PAST].abs().max() > 0.1


@claim(
    "cope-memory",
    r"Memory is several times that of the logits: gates, positions, two indices and two look-ups are each "
    r"\((B, H, T, T)\).",
)
@pytest.mark.parametrize("length", [7, 21])
def test_memory(length):
    from torch.utils._python_dispatch import TorchDispatchMode

    class Sizes(TorchDispatchMode):
        whole = 0

        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            result = function(*args, **(kwargs or {}))
            if isinstance(result, torch.Tensor) and result.shape == (2, 3, length, length):
                self.whole += 1
            return result

    q = random(2, 3, length, 4)
    logits, mask = q @ q.mT, causal_mask(*(torch.arange(length),) * 2)
    with Sizes() as sizes:
        bias = cope_bias(q, logits, EMBEDDING, mask=mask)
    assert bias.shape == (2, 3, length, length) and sizes.whole >= 17  # results of that size


@claim("cope-shared", "Heads share the embeddings, though not the gates.")
def test_heads():
    layer = CoPE(head_dim=4, n_positions=9).double()
    assert layer.weight.shape == (9, 4)
    torch.nn.init.normal_(layer.weight)
    q = Q[:, :1].expand(2, 3, 7, 4)  # the same queries in all heads
    got = layer(q, LOGITS, mask=PAST)
    assert (got[:, 0] - got[:, 1])[..., PAST].abs().max() > 0.1  # other gates
    same = layer(q, LOGITS[:, :1].expand(2, 3, 7, 7), mask=PAST)
    close(same[:, 0], same[:, 1])
