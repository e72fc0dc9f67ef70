"""The sentences of docs/methods/transformer_xl.md, in the order of the page."""

import math

import pytest
import torch

from posenc_check import oracles
from snippets.attention import attention
from snippets.masks import causal_mask
from snippets.relative_shift import relative_shift
from snippets.shaw import shaw_attention
from snippets.transformer_xl import relative_keys, transformer_xl_attention, transformer_xl_scores
from tests.guard.marks import claim

F64, HEADS, WIDTH = torch.float64, 3, 4
PLACES = torch.arange(40, 47)


def random(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=F64)


def close(a, b, atol=1e-12):
    torch.testing.assert_close(a, torch.as_tensor(b, dtype=F64), rtol=0, atol=atol)


Q, K, V = random(3, 2, HEADS, 7, WIDTH)
U, W = random(2, HEADS, WIDTH, seed=1)
LAGS = random(HEADS * WIDTH, 6, seed=2)


def sinusoids(lag):
    """First all sines, then all cosines."""
    angles = [lag * 10000.0 ** (-2 * i / 6) for i in range(3)]
    return torch.tensor([math.sin(a) for a in angles] + [math.cos(a) for a in angles], dtype=F64)


def relative_key(head, lag):
    return LAGS[head * WIDTH : (head + 1) * WIDTH] @ sinusoids(lag)


def attend(q_places=PLACES, k_places=PLACES, q=Q, k=K, v=V, u=U, w=W, lag_weight=LAGS):
    mask = causal_mask(q_places, k_places)
    return transformer_xl_attention(q, k, v, q_places, k_places, u, w, lag_weight, mask=mask)


@claim(
    "transformer-xl-two-starts",
    "With absolute positions the memory and the new piece would both begin at position 0.",
)
def test_two_pieces_with_one_start():
    from snippets.sinusoidal import sinusoidal_table

    memory, piece = (sinusoidal_table(torch.arange(0, 7), 6) for _ in range(2))
    assert torch.equal(memory, piece)
    # With lags, the memory is told apart: its keys lie seven places further back.
    far, near = (relative_keys(PLACES[:1] - k, LAGS, HEADS) for k in (PLACES[0] - 7, PLACES[0]))
    assert (far - near).abs().max() > 0.1
    close(far[:, 0], torch.stack([relative_key(h, 7) for h in range(HEADS)]))


@claim(
    "transformer-xl-absolute-terms",
    r"\[ \begin{aligned} q_i^\top k_j ={}& (W_q x_i)^\top W_k x_j \\ &+ (W_q x_i)^\top W_k p_j \\ &+ "
    r"(W_q p_i)^\top W_k x_j \\ &+ (W_q p_i)^\top W_k p_j \end{aligned} \]",
)
def test_four_absolute_terms():
    from snippets.sinusoidal import sinusoidal_table

    x, w_q, w_k = random(7, 6), random(4, 6, seed=3), random(4, 6, seed=4)
    p = sinusoidal_table(PLACES, 6).double()
    close(p, oracles.sinusoid_table(PLACES.tolist(), 6), atol=1e-6)
    whole = ((x + p) @ w_q.T) @ ((x + p) @ w_k.T).T
    terms = [(a @ w_q.T) @ (b @ w_k.T).T for a, b in ((x, x), (x, p), (p, x), (p, p))]
    close(whole, sum(terms))
    assert all(term.abs().max() > 0.1 for term in terms)


@claim(
    "transformer-xl-scores",
    r"\[ \begin{aligned} A_{ij} ={}& q_i^\top k_j + q_i^\top W_{k,R} R_{i-j} \\ &+ u^\top k_j + v^\top W_{k,R} "
    r"R_{i-j} \end{aligned} \]",
)
def test_four_relative_terms():
    terms = transformer_xl_scores(Q, K, PLACES, PLACES + 2, U, W, LAGS)
    got = sum(terms)
    for h in range(HEADS):
        for i in range(7):
            for j in range(7):
                r = relative_key(h, i - j - 2)
                for b in range(2):
                    q, k = Q[b, h, i], K[b, h, j]
                    close(got[b, h, i, j], q @ k + q @ r + U[h] @ k + W[h] @ r, atol=1e-10)


@claim("transformer-xl-shift", "Shift all positions, and nothing changes.")
def test_shifts():
    close(attend(PLACES + 900, PLACES + 900), attend())
    assert (attend(2 * PLACES, 2 * PLACES) - attend()).abs().max() > 0.01


@claim(
    "transformer-xl-plain",
    "With a lag_weight of zeros and no biases it is plain attention without positions.",
)
def test_plain_attention():
    got = attend(u=0 * U, w=0 * W, lag_weight=0 * LAGS)
    close(got, attention(Q, K, V, mask=causal_mask(PLACES, PLACES)))
    assert (attend(lag_weight=0 * LAGS) - got).abs().max() > 0.01
    logits = (Q[0, 0, 6] @ K[0, 0].T / math.sqrt(WIDTH)).softmax(0)
    close(got[0, 0, 6], logits @ V[0, 0])


@claim(
    "transformer-xl-is-shaw",
    r"With zero vectors \(u\) and \(v\) two terms are left: content, and a relative key vector that is computed "
    "instead of looked up and is not clipped.",
)
def test_shaw_with_computed_vectors():
    for head in range(HEADS):
        # A table of key vectors that reaches every gap: row j - i + 6 holds lag i - j.
        table = torch.stack([relative_key(head, -gap) for gap in range(-6, 7)])
        one = [x[:, head : head + 1] for x in (Q, K, V)]
        shaw = shaw_attention(*one, PLACES, PLACES, table, 0 * table, mask=causal_mask(PLACES, PLACES))
        close(attend(u=0 * U, w=0 * W)[:, head : head + 1], shaw)


@claim(
    "transformer-xl-garbage",
    "On and below the diagonal every entry is the lag of its key. Above it stand entries of other rows and the "
    "zeros of the padding: garbage, which a causal mask has to hide.",
)
def test_garbage_above_the_diagonal():
    lags = torch.arange(6, -1, -1).expand(7, 7)  # lags 6 ... 0 in each row
    shifted = relative_shift(lags)
    gap = torch.arange(7)[:, None] - torch.arange(7)
    assert torch.equal(shifted[gap >= 0], gap[gap >= 0])
    above = shifted[gap < 0]
    assert (above == 0).any() and (above > 0).any() and (above >= 0).all()


@claim(
    "transformer-xl-two-sided",
    "With a row of all lags down to the negative ones the whole square is right, and no mask is needed.",
)
def test_all_lags():
    lags = torch.arange(6, -7, -1).expand(7, 13)
    assert torch.equal(relative_shift(lags, 7), torch.arange(7)[:, None] - torch.arange(7))


@claim("transformer-xl-shift-equal", "Shifted or looked up, the scores are the same.")
def test_shift_or_look_up():
    row = relative_keys(torch.arange(6, -7, -1), LAGS, HEADS)  # (H, 13, D)
    by_shift = relative_shift(Q @ row.mT, 7)
    close(by_shift, transformer_xl_scores(Q, K, PLACES, PLACES, U, W, LAGS)[1])


@claim(
    "transformer-xl-memory",
    "Count the new piece from 0 and its keys from the memory's start, and all lags to the memory are wrong.",
)
def test_memory():
    piece = slice(4, 7)
    want = attend()[:, :, piece]
    close(attend(PLACES[piece], PLACES, q=Q[:, :, piece]), want)
    mask = causal_mask(PLACES[piece], PLACES)
    wrong = transformer_xl_attention(Q[:, :, piece], K, V, torch.arange(3), torch.arange(7), U, W, LAGS, mask=mask)
    assert (wrong - want).abs().max() > 0.01


@claim(
    "transformer-xl-order",
    "Weights trained with one do not fit the other.",
)
def test_order_of_the_sinusoids():
    lag = torch.tensor([5])
    got = relative_keys(lag, LAGS, HEADS)[:, 0]
    close(got, torch.stack([relative_key(h, 5) for h in range(HEADS)]))
    mixed = oracles.sinusoid_table([5], 6)[0]
    other = torch.stack([LAGS[h * WIDTH : (h + 1) * WIDTH] @ mixed for h in range(HEADS)])
    assert (got - other).abs().max() > 0.1


@claim(
    "transformer-xl-sign", "It is query minus key. With the other sign sines change theirs."
)
def test_sign_of_the_lag():
    sines = torch.cat((torch.eye(3, dtype=F64), torch.zeros(3, 3, dtype=F64)), 1)  # (3, 6)
    for lag in (1, 4):
        ahead, behind = (relative_keys(torch.tensor([x]), sines, 1)[0, 0] for x in (-lag, lag))
        close(ahead, -behind)
        close(behind, sinusoids(lag)[:3])
    a = transformer_xl_scores(Q, K, PLACES, PLACES, U, W, LAGS)[1]
    close(a[0, 0, 6, 2], Q[0, 0, 6] @ relative_key(0, 4))


@claim(
    "transformer-xl-memory-of-forms",
    r"The form with vectors for all pairs holds \((H, T, T, D)\) numbers; the shift does without.",
)
@pytest.mark.parametrize("length", [7, 20])
def test_numbers_held(length):
    from torch.utils._python_dispatch import TorchDispatchMode

    class Largest(TorchDispatchMode):
        numel = 0

        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            result = function(*args, **(kwargs or {}))
            if isinstance(result, torch.Tensor):
                self.numel = max(self.numel, result.numel())
            return result

    places, q = torch.arange(length), random(1, HEADS, length, WIDTH)
    with Largest() as looked_up:
        transformer_xl_scores(q, q, places, places, U, W, LAGS)
    with Largest() as shifted:
        row = relative_keys(torch.arange(length - 1, -length, -1), LAGS, HEADS)
        got = relative_shift(q @ row.mT, length)
    close(got, transformer_xl_scores(q, q, places, places, U, W, LAGS)[1])
    assert looked_up.numel >= HEADS * length * length * WIDTH
    assert shifted.numel <= HEADS * length * 2 * length
