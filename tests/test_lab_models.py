"""The pure parts of lab/models on small random tensors: each against slow float64 oracles."""

import math
from itertools import pairwise

import pytest
import torch

from lab.models import decoder, faults, scores, turns
from posenc_check import oracles

T, HEADS, GROUPS, D, WIDTH, BASE, EPS = 7, 4, 2, 6, 10, 100.0, 1e-5
SPEEDS = [oracles.rope_speed(pair, D, BASE) for pair in range(D // 2)]
PLACES = torch.arange(T)
# Sums of tens of float64 products below 10, taken in another order.
EXACT = {"rtol": 1e-10, "atol": 1e-11}


def small_model() -> decoder.Decoder:
    """Two layers, nine tokens, weights of the size that keeps activations near 1."""
    generator = torch.Generator().manual_seed(0)
    shapes = {"token_embd": (9, WIDTH), "output_norm": (WIDTH,)}
    for layer in range(2):
        part = {"attn_norm": (WIDTH,), "attn_q": (HEADS * D, WIDTH), "attn_k": (GROUPS * D, WIDTH)}
        part |= {"attn_v": (GROUPS * D, WIDTH), "attn_output": (WIDTH, HEADS * D)}
        part |= {"ffn_norm": (WIDTH,), "ffn_gate": (12, WIDTH), "ffn_up": (12, WIDTH)}
        part |= {"ffn_down": (WIDTH, 12)}
        shapes |= {f"blk.{layer}.{name}": shape for name, shape in part.items()}
    weights = {
        f"{name}.weight": torch.randn(shape, generator=generator, dtype=torch.float64) / 2
        for name, shape in shapes.items()
    }
    return decoder.Decoder(weights, 2, HEADS, GROUPS, EPS)


MODEL, TOKENS = small_model(), torch.tensor([3, 1, 4, 1, 5, 0, 2])


def norm(x, weight):
    mean = sum(float(v) ** 2 for v in x) / len(x)
    return torch.tensor([float(v) / math.sqrt(mean + EPS) * float(w) for v, w in zip(x, weight)])


def slow_states(tokens, q_places, k_places) -> torch.Tensor:
    """The decoder one token and one head at a time, with rotations by complex numbers."""
    w = {name.removesuffix(".weight"): x for name, x in MODEL.weights.items()}
    x = [w["token_embd"][t] for t in tokens.tolist()]
    for layer in ("blk.0.", "blk.1."):
        h = [norm(row, w[layer + "attn_norm"]) for row in x]
        q, k, v = (
            torch.stack([w[layer + name] @ row for row in h]).unflatten(1, (-1, D)).transpose(0, 1)
            for name in ("attn_q", "attn_k", "attn_v")
        )  # (H or G, T, D)
        q = oracles.rope(q[None], q_places.tolist(), SPEEDS, "half")
        k = oracles.rope(k[None], k_places.tolist(), SPEEDS, "half")
        served = [head * GROUPS // HEADS for head in range(HEADS)]
        mask = torch.ones(len(x), len(x)).tril().bool().expand(1, HEADS, -1, -1)
        y = oracles.attention(q, k[:, served], v[None, served], mask=mask)[0]
        x = [row + w[layer + "attn_output"] @ y[:, t].flatten() for t, row in enumerate(x)]
        for t, row in enumerate(x):
            g = norm(row, w[layer + "ffn_norm"])
            gate = [float(z) / (1 + math.exp(-float(z))) for z in w[layer + "ffn_gate"] @ g]
            inner = torch.tensor(gate) * (w[layer + "ffn_up"] @ g)
            x[t] = row + w[layer + "ffn_down"] @ inner
    return torch.stack([norm(row, w["output_norm"]) for row in x])


@pytest.fixture(autouse=True)
def oracles_in_float64():
    kept = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(kept)


def test_one_pass_equals_the_slow_decoder():
    found = decoder.hidden_states(MODEL, TOKENS, turns.plain(D, BASE, PLACES))
    torch.testing.assert_close(found, slow_states(TOKENS, PLACES, PLACES), **EXACT)


def test_only_q_rotated_leaves_the_keys_at_position_0():
    turn = faults.FAULTS["only q rotated"](PLACES, D, BASE)
    found = decoder.hidden_states(MODEL, TOKENS, turn)
    want = slow_states(TOKENS, PLACES, torch.zeros(T, dtype=torch.int64))
    torch.testing.assert_close(found, want, **EXACT)


@pytest.mark.parametrize("parts", [[0, 3, 4, 5, 6, 7], [0, 4, 7], [0, 1, 7]])
@pytest.mark.parametrize("count", faults.COUNTS)
def test_calls_with_a_cache_equal_one_pass_at_the_same_positions(parts, count):
    cached = parts[1]
    places = torch.cat((PLACES[:cached], faults.COUNTS[count](cached, T - cached)))
    cache, rows = decoder.Cache(), []
    for a, b in pairwise(parts):
        turn = turns.plain(D, BASE, places[a:b])
        rows.append(decoder.hidden_states(MODEL, TOKENS[a:b], turn, cache))
    torch.testing.assert_close(torch.cat(rows), slow_states(TOKENS, places, places), **EXACT)


def test_counts_of_a_second_call():
    found = {name: count(5, 3).tolist() for name, count in faults.COUNTS.items()}
    assert found["right cache"] == [5, 6, 7]
    assert found["cache restart at 0"] == [0, 1, 2]
    assert found["every new token at 0"] == [0, 0, 0]
    assert found["cache one too far"] == [6, 7, 8]
    assert found["cache one too few"] == [4, 5, 6]


def test_logits_are_products_with_the_table_of_tokens():
    hidden, table = torch.randn(3, WIDTH), MODEL.weights["token_embd.weight"]
    found = decoder.logits(MODEL, hidden)
    want = [[sum(a * b for a, b in zip(h, row)) for row in table] for h in hidden]
    torch.testing.assert_close(found, torch.tensor(want), **EXACT)


def test_segments_of_losses_against_sums_of_logarithms():
    generator = torch.Generator().manual_seed(1)
    hidden = torch.randn(1200, 5, generator=generator)  # more than one chunk of positions
    following = torch.randint(5, (1200,), generator=generator)
    losses = scores.token_losses(hidden, following, lambda rows: 3 * rows)
    want = []
    for row, token in zip(hidden.tolist(), following.tolist()):
        want.append(math.log(sum(math.exp(3 * z) for z in row)) - 3 * row[token])
    torch.testing.assert_close(losses, torch.tensor(want), **EXACT)
    means = scores.segment_means(losses, 300)
    exact = [sum(want[at : at + 300]) / 300 for at in range(0, 1200, 300)]
    assert means == pytest.approx(exact, rel=1e-5)  # six digits are kept


def test_compared_against_sums_over_the_vocabulary():
    right, other = torch.randn(2, 4, 5).float()
    following = torch.tensor([0, 4, 2, 1])
    found = scores.compared(right, other, following)
    for t in range(4):
        p, q = ([math.exp(z) for z in x[t].tolist()] for x in (right, other))
        p, q = [z / sum(p) for z in p], [z / sum(q) for z in q]
        kl = sum(a * math.log(a / b) for a, b in zip(p, q))
        best, first = q.index(max(q)), p.index(max(p))
        # float32 logarithms of shares above 0.001
        assert found["kl"][t].item() == pytest.approx(kl, abs=1e-5)
        assert found["loss"][t].item() == pytest.approx(-math.log(q[following[t]]), abs=1e-5)
        assert found["accuracy"][t] == (best == following[t])
        assert found["same_first"][t] == (best == first)
        assert found["difference"][t] == max(abs(a - b) for a, b in zip(right[t], other[t]))
