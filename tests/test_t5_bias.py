"""The bias against single lookups, then the state, the gradient and the dtype of the module."""

import pytest
import torch

from posenc_check import oracles
from snippets.t5_bias import T5Bias, t5_bucket

Q_POSITIONS, K_POSITIONS = torch.tensor([31, 400, 36, 0]), torch.tensor([30, 31, 90, 37, 9])

both_modes = pytest.mark.parametrize("bidirectional", [False, True])


def module(bidirectional=True, **options):
    torch.manual_seed(0)
    return T5Bias(3, bidirectional=bidirectional, **options)


@both_modes
@pytest.mark.parametrize("rule", [{}, {"num_buckets": 8, "max_distance": 27}])
def test_every_bias_is_looked_up_for_its_head_and_gap(rule, bidirectional):
    bias = module(bidirectional, **rule)
    got, table = bias(Q_POSITIONS, K_POSITIONS), bias.weight.tolist()
    for h in range(3):
        for i, q in enumerate(Q_POSITIONS.tolist()):
            for j, k in enumerate(K_POSITIONS.tolist()):
                bucket = oracles.t5_bucket(k - q, bidirectional, **rule)
                assert got[h, i, j].item() == table[bucket][h]
    assert got.shape == (3, 4, 5)


@both_modes
def test_the_defaults_of_the_module_are_those_of_the_rule(bidirectional):
    bias, here = module(bidirectional), torch.arange(200)
    got = bias(here, here)[1]
    rows = bias.weight[t5_bucket(here - here[:, None], bidirectional=bidirectional)]
    assert torch.equal(got, rows[..., 1])


def test_one_head_is_taken():
    assert T5Bias(1, bidirectional=True)(Q_POSITIONS, K_POSITIONS).shape == (1, 4, 5)


@both_modes
def test_decoding_slices_equal_the_full_pass(bidirectional):
    bias, here = module(bidirectional), torch.arange(50)
    full = bias(here, here)
    for i in (0, 1, 49):
        assert torch.equal(bias(here[i : i + 1], here[: i + 1])[:, 0], full[:, i, : i + 1])


@pytest.mark.parametrize("name", ["uint8", "uint16", "int8"])
def test_narrow_positions_do_not_wrap_around(name):
    q, k = (torch.tensor(p, dtype=getattr(torch, name)) for p in ([0, 127], [127, 5]))
    bias = module()
    assert torch.equal(bias(q, k), bias(q.long(), k.long()))


def test_the_state_is_the_table_alone():
    bias, other = module(num_buckets=8), T5Bias(3, bidirectional=True, num_buckets=8)
    assert {name: t.shape for name, t in bias.state_dict().items()} == {"weight": (8, 3)}
    assert isinstance(bias.weight, torch.nn.Parameter) and bias.weight.requires_grad
    other.load_state_dict(bias.state_dict())
    assert torch.equal(other(Q_POSITIONS, K_POSITIONS), bias(Q_POSITIONS, K_POSITIONS))
    assert T5Bias(5, bidirectional=True).weight.shape == (32, 5)


def test_the_gradient_counts_how_often_a_bucket_occurs():
    bias, here = module(False, num_buckets=4, max_distance=8), torch.arange(5)
    bias(here, here).sum().backward()
    # 10 gaps after the query and 5 of zero; 4 of -1; -2 and -3 share a bucket, -4 has the last.
    assert bias.weight.grad.tolist() == [[15.0] * 3, [4.0] * 3, [5.0] * 3, [1.0] * 3]


def test_reset_draws_all_biases_anew():
    bias = module(num_buckets=200, max_distance=500)
    first = bias.weight.detach().clone()
    bias.reset_parameters()
    assert (bias.weight != first).all()
    torch.manual_seed(0)
    bias.reset_parameters()
    assert torch.equal(bias.weight, first)
    assert first.std().item() == pytest.approx(1, abs=0.15)  # 600 numbers: five deviations


@pytest.mark.parametrize("name", ["bfloat16", "float32", "float64"])
def test_the_bias_has_the_dtype_of_the_table(name):
    dtype = getattr(torch, name)
    assert module().to(dtype)(Q_POSITIONS, K_POSITIONS).dtype == dtype
