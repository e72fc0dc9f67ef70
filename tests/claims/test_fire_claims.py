"""The sentences of docs/methods/fire.md, in the order of the page."""

import math

import pytest
import torch

from snippets.fire import Fire, fire_distance
from tests.guard.marks import claim

F64 = torch.float64
C, LENGTH = torch.tensor(0.1, dtype=F64), torch.tensor(512.0, dtype=F64)


def close(a, b, atol=1e-12):
    torch.testing.assert_close(a, torch.as_tensor(b, dtype=F64), rtol=0, atol=atol)


def share(i, j, c=0.1, length=512.0):
    return math.log(c * (i - j) + 1) / math.log(c * max(length, i) + 1)


def layer(**options):
    torch.manual_seed(0)
    return Fire(3, hidden=5, **options).double()


@claim(
    "fire-bias",
    r"\[ \begin{aligned} \psi(x) &= \ln(c\,x + 1) \\ b_{ij} &= f\!\left(\frac{\psi(i - j)}{\psi(\max(L, i))}"
    r"\right) \end{aligned} \]",
)
@pytest.mark.parametrize("c, threshold", [(0.1, 512.0), (2.0, 30.0)])
def test_bias(c, threshold):
    fire = layer(c=c, threshold=threshold)
    q_places, k_places = torch.arange(95, 100), torch.arange(0, 95, 7)
    got = fire(q_places, k_places).detach()
    first, second = fire.network[0], fire.network[2]
    for i, q in enumerate(q_places.tolist()):
        for j, k in enumerate(k_places.tolist()):
            x = share(q, k, c, threshold)
            hidden = (first.weight[:, 0] * x + first.bias).clamp(min=0)
            # The parameters are float32 numbers: 0.1 is not 0.1 there.
            close(got[:, i, j], (second.weight @ hidden + second.bias).detach(), atol=1e-8)


@claim(
    "fire-numbers",
    r"With \(c = 0.1\), \(L = 512\) and a query at 1000, distances 1, 10, 100 and 1000 are shares 0.0207, 0.1502, "
    "0.5196 and 1.",
)
def test_numbers():
    keys = 1000 - torch.tensor([1, 10, 100, 1000])
    got = fire_distance(torch.tensor([1000]), keys, torch.tensor(0.1), torch.tensor(512.0))[0]
    assert [round(x, 4) for x in got.tolist()] == [0.0207, 0.1502, 0.5196, 1]


@claim("fire-range", "The share never leaves the range from 0 to 1.")
@pytest.mark.parametrize("last", [10, 511, 5000, 1_000_000])
def test_range(last):
    keys = torch.linspace(0, last, 50).long()
    got = fire_distance(torch.tensor([last]), keys, C, LENGTH)
    assert got.min() == 0 and got.max() <= 1
    assert (got.max() == 1) is (last >= 512) or math.isclose(got.max(), share(last, 0))


@claim(
    "fire-not-relative",
    "Below the threshold the bias depends on the gap alone. Beyond it, shifting all positions changes it: the "
    "same gap is a smaller share.",
)
def test_shifts():
    def at(place):
        return fire_distance(torch.tensor([place]), torch.tensor([place - 50]), C, LENGTH).item()

    assert at(100) == at(400) == at(512)
    assert at(512) > at(600) > at(5000) > 0


@claim(
    "fire-needs-mask",
    "Here keys after the query get the share of distance 0, the nearest there is.",
)
def test_keys_after_the_query():
    got = fire_distance(torch.tensor([700]), torch.tensor([699, 700, 701, 900]), C, LENGTH)[0]
    assert got[1] == got[2] == got[3] == 0 and got[0] > 0


@claim(
    "fire-rows",
    "A bias kept from an earlier query does not fit a later one beyond the threshold: the row of each query is "
    "its own.",
)
def test_rows():
    fire = layer(threshold=30.0)
    far, near = (fire(torch.arange(p, p + 5), torch.arange(p - 4, p + 1)).detach() for p in (90, 10))
    assert (near[:, 1:, 1:] - near[:, :-1, :-1]).abs().max() < 1e-12  # shifted copies, below it
    assert (far[:, 1:, 1:] - far[:, :-1, :-1]).abs().max() > 1e-5  # not beyond


@claim("fire-cost", r"The network runs for each pair of positions, whatever the batch: \(T^2\) times.")
@pytest.mark.parametrize("length", [7, 20])
def test_runs_of_the_network(length):
    fire, seen = layer(), []
    fire.network[0].register_forward_hook(lambda module, inputs, output: seen.append(inputs[0].numel()))
    assert fire(torch.arange(length), torch.arange(length)).shape == (3, length, length)
    assert seen == [length**2]
