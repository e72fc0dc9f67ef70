"""The distance against quotients of logarithms, the network against single units, the state."""

import pytest
import torch

from posenc_check import score_biases as oracles
from snippets.fire import Fire, fire_distance

Q_POSITIONS, K_POSITIONS = torch.tensor([31, 400, 36, 7]), torch.tensor([30, 31, 0, 37, 4])
C, THRESHOLD = torch.tensor([0.1, 35.5], dtype=torch.float64)


def module(**options):
    torch.manual_seed(0)
    return Fire(3, **({"hidden": 6, "threshold": 35.5} | options))


def test_every_distance_is_a_quotient_of_logarithms():
    got = fire_distance(Q_POSITIONS, K_POSITIONS, C, THRESHOLD)
    assert got.shape == (4, 5) and got.dtype == torch.float64
    for i, q in enumerate(Q_POSITIONS.tolist()):
        for j, k in enumerate(K_POSITIONS.tolist()):
            want = oracles.fire_distance(q, k, 0.1, 35.5) if k <= q else 0.0
            # Two float64 logarithms and a division each way.
            assert got[i, j].item() == pytest.approx(want, rel=1e-13)


def test_float32_numbers_are_widened_before_the_logarithm():
    narrow = C.float(), torch.tensor(35.3)
    want = fire_distance(Q_POSITIONS, K_POSITIONS, *(number.double() for number in narrow))
    assert torch.equal(fire_distance(Q_POSITIONS, K_POSITIONS, *narrow), want)


def test_the_module_rounds_the_distance_alone_to_float32():
    bias, here = Fire(1, hidden=1, threshold=35.3), torch.arange(100)
    for p in bias.network.parameters():
        torch.nn.init.constant_(p, p.ndim == 2)  # passes the distance on
    want = fire_distance(here, here, bias.c, torch.tensor(35.3, dtype=torch.float64))
    assert torch.equal(bias(here, here)[0], want.float())


def test_known_distances():
    q, k = torch.tensor([1000]), torch.tensor([1000, 999, 990, 900, 0, 1001, 3000])
    got = fire_distance(q, k, C, torch.tensor(512.0))[0].tolist()
    assert got == pytest.approx([0, 0.020652, 0.150190, 0.519574, 1, 0, 0], abs=5e-7)
    assert got[4] == 1.0


def test_every_bias_is_the_network_at_its_distance():
    bias = module().double()
    got = bias(Q_POSITIONS, K_POSITIONS)
    first, second = ([p.tolist() for p in layer.parameters()] for layer in bias.network[::2])
    lists = Q_POSITIONS.tolist(), K_POSITIONS.tolist()
    want = oracles.fire(*lists, bias.c.item(), 35.5, first, second)
    seen = K_POSITIONS <= Q_POSITIONS[:, None]
    assert got.shape == (3, 4, 5)
    # float64 sums of six products of numbers below 1.
    torch.testing.assert_close(got.masked_fill(~seen, 0), want, rtol=0, atol=1e-14)


def test_a_key_after_the_query_has_the_bias_of_the_query_itself():
    bias = module()(Q_POSITIONS[:1], torch.tensor([31, 32, 500]))
    assert torch.equal(bias, bias[:, :, :1].expand(3, 1, 3))


def test_up_to_the_threshold_only_the_gap_counts_and_past_it_the_position_too():
    here = torch.arange(30)
    near = fire_distance(here, here, C, torch.tensor(64.0))
    assert torch.equal(fire_distance(here + 30, here + 30, C, torch.tensor(64.0)), near)
    far = fire_distance(here + 36, here + 36, C, torch.tensor(64.0))
    assert torch.equal(far[:29], near[:29]) and (far[29] < near[29])[:29].all()  # 64, then 65
    past = fire_distance(here[1:] + 100, here + 100, C, torch.tensor(64.0))
    assert (past < near[1:]).eq(here < here[1:, None]).all()


def test_distances_fill_the_unit_interval_at_every_length():
    for length in (40, 400, 4000):
        here = torch.arange(length)
        row = fire_distance(here[-1:], here, C, THRESHOLD)[0]
        assert row[0] == 1 and row[-1] == 0 and (row.diff() < 0).all()


def test_decoding_slices_equal_the_full_pass():
    bias, here = module().double(), torch.arange(50)
    full = bias(here, here)
    for i in (0, 1, 49):
        step = bias(here[i : i + 1], here[: i + 1])
        # The same float64 network, in products of another size.
        torch.testing.assert_close(step[:, 0], full[:, i, : i + 1], rtol=0, atol=1e-14)


@pytest.mark.parametrize("name", ["uint8", "uint16", "int8"])
def test_narrow_positions_do_not_wrap_around(name):
    q, k = (torch.tensor(p, dtype=getattr(torch, name)) for p in ([0, 127], [127, 5]))
    assert torch.equal(
        fire_distance(q, k, C, THRESHOLD), fire_distance(q.long(), k.long(), C, THRESHOLD)
    )


def test_the_bias_lies_on_the_device_of_the_positions():
    q, k = Q_POSITIONS.to("meta"), K_POSITIONS.to("meta")
    bias = fire_distance(q, k, C, THRESHOLD)
    assert (bias.device.type, bias.shape) == ("meta", (4, 5))


def test_the_state_is_two_numbers_and_the_network():
    shapes = {name: tuple(t.shape) for name, t in module().state_dict().items()}
    assert shapes == {
        "c": (), "multiple": (),
        "network.0.weight": (6, 1), "network.0.bias": (6,),
        "network.2.weight": (3, 6), "network.2.bias": (3,),
    }  # fmt: skip
    default = Fire(5)
    assert default.network[0].weight.shape == (32, 1) and default.start == (0.1, 512.0)
    assert default.c.item() == pytest.approx(0.1) and default.multiple.item() == 1.0


def test_a_loaded_state_gives_the_same_bias():
    bias, other = module(), Fire(3, hidden=6, threshold=35.5)
    other.load_state_dict(bias.state_dict())
    assert torch.equal(other(Q_POSITIONS, K_POSITIONS), bias(Q_POSITIONS, K_POSITIONS))


def test_reset_sets_the_numbers_back_and_draws_the_network_anew():
    bias = module(c=0.25)
    first = [p.detach().clone() for p in bias.network.parameters()]
    torch.nn.init.constant_(bias.c, 9.0)
    torch.nn.init.constant_(bias.multiple, 9.0)
    bias.reset_parameters()
    assert (bias.c.item(), bias.multiple.item()) == (0.25, 1.0)
    assert all((p != old).all() for p, old in zip(bias.network.parameters(), first, strict=True))
    drawn = []
    for _ in range(2):
        torch.manual_seed(0)
        bias.reset_parameters()
        drawn.append([p.detach().clone() for p in bias.network.parameters()])
    assert all(map(torch.equal, *drawn))


def test_negative_numbers_act_like_positive_ones():
    bias = module()
    want = bias(Q_POSITIONS, K_POSITIONS)
    with torch.no_grad():
        bias.c.neg_(), bias.multiple.neg_()
    assert torch.equal(bias(Q_POSITIONS, K_POSITIONS), want)


def test_a_multiple_of_two_doubles_the_threshold():
    bias, other = module(threshold=20.0), module(threshold=40.0)
    torch.nn.init.constant_(bias.multiple, 2.0)
    assert torch.equal(bias(Q_POSITIONS, K_POSITIONS), other(Q_POSITIONS, K_POSITIONS))


def test_the_gradient_of_c_and_threshold_agrees_with_differences():
    numbers = C.clone().requires_grad_(), THRESHOLD.clone().requires_grad_()
    assert torch.autograd.gradcheck(
        lambda c, t: fire_distance(Q_POSITIONS, K_POSITIONS, c, t), numbers
    )


def test_every_parameter_learns():
    bias = module()
    bias(Q_POSITIONS, K_POSITIONS).square().sum().backward()
    assert all(p.grad.isfinite().all() and p.grad.any() for p in bias.parameters())


@pytest.mark.parametrize("name", ["bfloat16", "float32", "float64"])
def test_the_bias_has_the_dtype_of_the_parameters(name):
    dtype = getattr(torch, name)
    assert module().to(dtype)(Q_POSITIONS, K_POSITIONS).dtype == dtype


def test_autocast_reaches_the_network_but_not_the_distance():
    with torch.autocast("cpu", dtype=torch.bfloat16):
        got = fire_distance(Q_POSITIONS, K_POSITIONS, C, THRESHOLD)
        assert module()(Q_POSITIONS, K_POSITIONS).dtype == torch.bfloat16
    assert torch.equal(got, fire_distance(Q_POSITIONS, K_POSITIONS, C, THRESHOLD))


def test_a_module_built_on_meta_is_filled_by_reset_parameters():
    with torch.device("meta"):
        bias = Fire(3, hidden=6, c=0.25, threshold=35.5)
    bias.to_empty(device="cpu").reset_parameters()
    assert (bias.c.item(), bias.multiple.item()) == (0.25, 1.0)
    assert all(p.isfinite().all() and p.any() for p in bias.parameters())
