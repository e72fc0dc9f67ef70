"""Both kernels against loops over single pairs, then the module that learns them."""

import pytest
import torch

from posenc_check import score_biases as oracles
from snippets.kerple import Kerple, kerple_bias

Q_POSITIONS, K_POSITIONS = torch.tensor([31, 40, 36, 3]), torch.tensor([30, 31, 90, 37, 9])
R1, R2 = torch.tensor([0.7, 1.9, 0.02]).double(), torch.tensor([1.0, 0.3, 2.0]).double()
both_kinds = pytest.mark.parametrize("kind", ["log", "power"])


@both_kinds
def test_every_bias_is_the_kernel_of_the_distance(kind):
    got = kerple_bias(Q_POSITIONS, K_POSITIONS, R1, R2, kind=kind, dtype=torch.float64)
    lists = [t.tolist() for t in (Q_POSITIONS, K_POSITIONS, R1, R2)]
    want = oracles.kerple(*lists, kind)
    assert got.shape == (3, 4, 5)
    # A float64 logarithm or power each way, of numbers up to 90 ** 2.
    torch.testing.assert_close(got, want, rtol=1e-13, atol=0)


@pytest.mark.parametrize("distance, want", [(1, -0.693147), (10, -2.397895), (100, -4.615121)])
def test_known_logarithms(distance, want):
    one = torch.ones(1)
    q, k = torch.tensor([distance]), torch.tensor([0])
    bias = kerple_bias(q, k, one, one, kind="log", dtype=torch.float64)
    assert bias.item() == pytest.approx(want, abs=5e-7)


def test_known_powers():
    q, k = torch.tensor([16]), torch.tensor([0, 16, 25])
    r1, r2 = torch.tensor([0.5, 1.0, 0.25]), torch.tensor([0.5, 1.0, 2.0])
    bias = kerple_bias(q, k, r1, r2, kind="power")
    assert bias.tolist() == [[[-2, 0, -1.5]], [[-16, 0, -9]], [[-64, 0, -20.25]]]


@both_kinds
def test_a_bias_falls_with_the_distance_and_is_even(kind):
    here = torch.arange(40)
    bias = kerple_bias(here, here, R1, R2, kind=kind)
    assert torch.equal(bias, bias.mT)
    assert (bias[:, 0].diff() < 0).all() and (bias.diagonal(dim1=1, dim2=2) == 0).all()


def test_the_logarithm_flattens_and_the_power_of_two_steepens():
    here = torch.arange(40)
    log = kerple_bias(here[:1], here, R1, R2, kind="log", dtype=torch.float64)[:, 0]
    square = kerple_bias(here[:1], here, R1, R2, kind="power", dtype=torch.float64)[2, 0]
    assert (log.diff().diff() > 0).all() and (square.diff().diff() < 0).all()


@both_kinds
def test_decoding_slices_equal_the_full_pass(kind):
    here = torch.arange(50)
    full = kerple_bias(here, here, R1, R2, kind=kind)
    for i in (0, 1, 49):
        step = kerple_bias(here[i : i + 1], here[: i + 1], R1, R2, kind=kind)
        assert torch.equal(step[:, 0], full[:, i, : i + 1])


@both_kinds
@pytest.mark.parametrize("name", ["float16", "bfloat16", "float32", "float64"])
def test_the_kernel_is_rounded_once(kind, name):
    keys, dtype = torch.arange(200), getattr(torch, name)
    exact = kerple_bias(keys[-1:], keys, R1, R2, kind=kind, dtype=torch.float64)
    got = kerple_bias(keys[-1:], keys, R1, R2, kind=kind, dtype=dtype)
    assert got.dtype == dtype and torch.equal(got, exact.to(dtype))


@both_kinds
def test_the_bias_is_float32_unless_asked(kind):
    assert kerple_bias(Q_POSITIONS, K_POSITIONS, R1, R2, kind=kind).dtype == torch.float32


@pytest.mark.parametrize("name", "uint8 uint16 int8 int16 int32 int64".split())
def test_positions_of_any_integer_dtype_do_not_wrap_around(name):
    q, k = (torch.tensor(p, dtype=getattr(torch, name)) for p in ([5, 127], [0, 127]))
    one = torch.ones(1)
    assert kerple_bias(q, k, one, one, kind="power").tolist() == [[[-5, -122], [-127, 0]]]


def test_the_bias_lies_on_the_device_of_the_positions():
    q, k = Q_POSITIONS.to("meta"), K_POSITIONS.to("meta")
    bias = kerple_bias(q, k, R1, R2, kind="log")
    assert (bias.device.type, bias.shape) == ("meta", (3, 4, 5))


@both_kinds
def test_the_gradient_agrees_with_differences(kind):
    r1, r2 = (r.clone().requires_grad_() for r in (R1, R2 * 0.9))
    assert torch.autograd.gradcheck(
        lambda r1, r2: kerple_bias(
            Q_POSITIONS, K_POSITIONS, r1, r2, kind=kind, dtype=torch.float64
        ),
        (r1, r2),
    )


def module(kind, n_heads=3):
    torch.manual_seed(0)
    return Kerple(n_heads, kind=kind)


def numbers(bias):
    """r1 and r2 of each head from the free numbers, softplus and sigmoid written out."""
    raw_r1, raw_r2 = bias.raw_r1.detach().double(), bias.raw_r2.detach().double()
    r2 = 2 / (1 + (-raw_r2).exp()) if bias.kind == "power" else raw_r2.exp().log1p()
    return raw_r1.exp().log1p(), r2


@both_kinds
def test_the_module_gives_the_bias_of_its_two_numbers(kind):
    bias = module(kind).double()
    want = kerple_bias(Q_POSITIONS, K_POSITIONS, *numbers(bias), kind=kind, dtype=torch.float64)
    # A few float64 exponentials and logarithms each way.
    torch.testing.assert_close(bias(Q_POSITIONS, K_POSITIONS), want, rtol=1e-13, atol=0)
    narrow = module(kind)
    assert torch.equal(narrow(Q_POSITIONS, K_POSITIONS), want.detach().float())


@both_kinds
def test_start_values_cover_their_ranges(kind):
    bias = module(kind, 100_000)
    r1, r2 = numbers(bias)
    # A hundred thousand even draws leave no gap of a thousandth at an end (one run in e ** 50
    # would); the inverse is rounded to float32.
    for r, high in ((r1, 2.0), (r2, 1.0)):
        assert 0.01 - 1e-6 <= r.min() < 0.011 and high - 0.001 < r.max() <= high + 1e-6
    first = bias.raw_r1.detach().clone(), bias.raw_r2.detach().clone()
    bias.reset_parameters()
    assert (bias.raw_r1 != first[0]).any() and (bias.raw_r2 != first[1]).any()
    torch.manual_seed(0)
    bias.reset_parameters()
    assert torch.equal(bias.raw_r1, first[0]) and torch.equal(bias.raw_r2, first[1])


@both_kinds
@pytest.mark.parametrize("raw", [-1000.0, -30.0, 0.0, 30.0])
def test_no_step_of_training_can_leave_the_allowed_range(kind, raw):
    bias = module(kind)
    torch.nn.init.constant_(bias.raw_r1, raw)
    torch.nn.init.constant_(bias.raw_r2, raw)
    bias(Q_POSITIONS, K_POSITIONS).sum().backward()
    r1, r2 = numbers(bias.double())
    assert (r1 >= 0).all() and (r2 >= 0).all() and (kind == "log" or (r2 <= 2).all())
    assert all(p.grad.isfinite().all() for p in bias.parameters())


@both_kinds
def test_the_state_is_two_numbers_a_head(kind):
    bias, other = module(kind), Kerple(3, kind=kind)
    shapes = {name: t.shape for name, t in bias.state_dict().items()}
    assert shapes == {"raw_r1": (3,), "raw_r2": (3,)}
    other.load_state_dict(bias.state_dict())
    assert torch.equal(other(Q_POSITIONS, K_POSITIONS), bias(Q_POSITIONS, K_POSITIONS))


@pytest.mark.parametrize("name", ["bfloat16", "float32", "float64"])
def test_the_bias_of_the_module_has_the_dtype_of_its_parameters(name):
    dtype = getattr(torch, name)
    bias = module("log").to(dtype)
    assert bias(Q_POSITIONS, K_POSITIONS).dtype == dtype


@both_kinds
def test_a_module_built_on_meta_is_filled_by_reset_parameters(kind):
    with torch.device("meta"):
        bias = Kerple(3, kind=kind)
    torch.manual_seed(0)
    bias.to_empty(device="cpu").reset_parameters()
    assert torch.equal(bias(Q_POSITIONS, K_POSITIONS), module(kind)(Q_POSITIONS, K_POSITIONS))
