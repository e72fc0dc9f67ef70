"""The sentences of docs/methods/kerple.md, in the order of the page."""

import math

import pytest
import torch

from snippets.alibi import alibi_bias
from snippets.attention import attention
from snippets.kerple import Kerple, kerple_bias
from snippets.toeplitz_bias import consecutive_gaps, toeplitz_view
from tests.guard.marks import claim

F64 = torch.float64
Q_PLACES, K_PLACES = torch.arange(45, 50), torch.arange(40, 50)
R1, R2 = torch.tensor([0.5, 2.0, 0.1], dtype=F64), torch.tensor([1.5, 0.3, 1.0], dtype=F64)


def bias(kind, r1=R1, r2=R2, q_places=Q_PLACES, k_places=K_PLACES):
    return kerple_bias(q_places, k_places, r1, r2, kind=kind, dtype=F64)


def close(a, b, atol=1e-12):
    torch.testing.assert_close(a, torch.as_tensor(b, dtype=F64), rtol=0, atol=atol)


@claim(
    "kerple-kernels",
    r"\[ \begin{aligned} b_{ij}^{\log} &= -r_1 \ln\bigl(1 + r_2\,|i - j|\bigr) \\ b_{ij}^{\text{power}} &= "
    r"-r_1\,|i - j|^{r_2} \end{aligned} \]",
)
@pytest.mark.parametrize("kind", ["log", "power"])
def test_kernels(kind):
    got = bias(kind)
    for h, (r1, r2) in enumerate(zip(R1.tolist(), R2.tolist())):
        for i, q in enumerate(Q_PLACES.tolist()):
            for j, k in enumerate(K_PLACES.tolist()):
                d = abs(q - k)
                close(got[h, i, j], -r1 * (math.log(1 + r2 * d) if kind == "log" else d**r2))


@claim("kerple-is-alibi", r"The power kernel with \(r_2 = 1\) is ALiBi with slope \(r_1\).")
def test_power_of_one():
    ones = torch.ones(3, dtype=F64)
    close(bias("power", r2=ones), alibi_bias(Q_PLACES, K_PLACES, R1, dtype=F64))
    close(bias("power", r2=ones)[0, 0, 0], -0.5 * 5)


@claim(
    "kerple-numbers",
    r"The logarithmic kernel falls ever more slowly: with \(r_1 = r_2 = 1\) it is -0.69 at distance 1, -2.40 at "
    "10 and -4.62 at 100.",
)
def test_numbers():
    one, places = torch.ones(1, dtype=F64), torch.arange(0, 202)
    row = bias("log", one, one, torch.tensor([0]), places)[0, 0]
    assert [round(row[d].item(), 2) for d in (1, 10, 100)] == [-0.69, -2.40, -4.62]
    steps = -row.diff()
    assert (steps > 0).all() and (steps.diff() < 0).all()


@claim(
    "kerple-weight",
    r"After the softmax it is a power of the distance: a key at distance \(d\) is weighted by "
    r"\((1 + r_2 d)^{-r_1}\).",
)
def test_weights():
    q = torch.zeros(1, 3, 5, 8, dtype=F64)
    one_hot = torch.eye(10, dtype=F64).expand(1, 3, 10, 10)
    weights = attention(q, torch.zeros(1, 3, 10, 8, dtype=F64), one_hot, bias=bias("log"))[0]
    d = (Q_PLACES[:, None] - K_PLACES).abs()
    power = (1 + R2[:, None, None] * d) ** -R1[:, None, None]
    close(weights, power / power.sum(-1, keepdim=True))


@claim(
    "kerple-stays-positive",
    "Kerple makes both positive by their form, so that no step can leave the range.",
)
@pytest.mark.parametrize("kind", ["log", "power"])
def test_after_large_steps(kind):
    layer = Kerple(3, kind=kind)
    for sign in (1, -1):
        with torch.no_grad():
            for raw in (layer.raw_r1, layer.raw_r2):
                raw.add_(sign * 12)
        row = layer(torch.tensor([0]), torch.tensor([1, 2, 4])).double()[:, 0]
        assert (row < 0).all() and row.isfinite().all()  # r1 is positive
        if kind == "power":  # doubling the distance multiplies by 2 ** r2, r2 from 0 to 2
            growth = row[:, 1:] / row[:, :-1]
            assert ((growth >= 1) & (growth <= 4 + 1e-6)).all()
        else:
            assert (row.diff(dim=-1) <= 0).all()


@claim(
    "kerple-no-direction", "In an encoder left and right look alike."
)
@pytest.mark.parametrize("kind", ["log", "power"])
def test_left_and_right(kind):
    centre, sides = torch.tensor([45]), torch.tensor([42, 48])
    got = bias(kind, q_places=centre, k_places=sides)
    assert torch.equal(got[..., 0], got[..., 1]) and (got < 0).all()


@claim(
    "kerple-toeplitz",
    "Both forms depend on the gap alone, so the zero-copy form holds for them.",
)
@pytest.mark.parametrize("kind", ["log", "power"])
def test_zero_copy(kind):
    gaps = consecutive_gaps(Q_PLACES, K_PLACES)
    table = bias(kind, q_places=torch.zeros_like(gaps[:1]), k_places=gaps)[:, 0]
    close(toeplitz_view(table, 5).flip(1), bias(kind))


@claim(
    "kerple-monotone",
    "Far keys always lose against near ones of the same content.",
)
@pytest.mark.parametrize("kind", ["log", "power"])
def test_far_keys_lose(kind):
    row = bias(kind, q_places=torch.tensor([0]), k_places=torch.arange(300))[:, 0]
    assert (row.diff(dim=-1) < 0).all()
