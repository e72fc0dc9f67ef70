"""`pe` is a buffer: it is saved and moved with the module, and never trained."""

import copy
import io
import pickle

import pytest
import torch
from torch import nn

from snippets.sinusoidal import SinusoidalPositionEncoding
from tests.exact import raises_exactly


def module(d_model=6, max_len=9, **options):
    return SinusoidalPositionEncoding(d_model, max_len, dropout=0.0, **options)


@pytest.mark.parametrize("d_model", [5, 6])
def test_pe_is_saved_with_one_row_for_each_position(d_model):
    state = module(d_model).state_dict()
    assert {name: list(t.shape) for name, t in state.items()} == {"pe": [1, 9, d_model]}
    assert state["pe"].dtype == torch.float32


def test_pe_is_float32_whatever_the_default_dtype_is():
    usual = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        pe = module().pe
    finally:
        torch.set_default_dtype(usual)
    assert torch.equal(pe, module().pe)
    assert pe.dtype == torch.float32


def test_pe_is_a_buffer_and_no_parameter():
    m = module()
    assert list(m.parameters()) == []
    assert [name for name, _ in m.named_buffers()] == ["pe"]
    assert m.pe.requires_grad is False


def test_an_optimiser_step_leaves_pe_alone():
    net = nn.Sequential(module(), nn.Linear(6, 1))
    pe, weight = net[0].pe.clone(), net[1].weight.clone()
    optimiser = torch.optim.SGD(net.parameters(), lr=1.0, weight_decay=0.1)
    net(torch.ones(2, 5, 6)).sum().backward()
    optimiser.step()
    assert torch.equal(net[0].pe, pe)
    assert not torch.equal(net[1].weight, weight)


def test_pe_moves_with_the_module():
    net = nn.Sequential(module())
    assert net.to("meta")[0].pe.device.type == "meta"


@pytest.mark.parametrize("name", ["double", "half", "bfloat16"])
def test_pe_takes_the_dtype_of_the_module(name):
    m, exact = module(), module().pe
    m = getattr(m, name)()
    assert m.pe.dtype == {"double": torch.float64, "half": torch.float16}.get(name, torch.bfloat16)
    assert torch.equal(m.pe, exact.to(m.pe.dtype))


def test_half_rounds_pe_for_good():
    m, exact = module(), module().pe
    m.half().float()
    assert m.pe.dtype == torch.float32
    assert 1e-5 < (m.pe - exact).abs().max() < 2.5e-4  # half of the float16 step below 1


@pytest.mark.parametrize("name", ["double", "half", "bfloat16"])
def test_keep_float32_keeps_every_digit_there_and_back(name):
    net, exact = nn.Sequential(module(keep_float32=True), nn.Linear(6, 6)), module().pe
    getattr(net, name)()
    assert net[1].weight.dtype != torch.float32
    assert net[0].pe.dtype == torch.float32
    assert torch.equal(net[0].pe, exact)
    assert torch.equal(net.float()[0].pe, exact)


def test_keep_float32_still_returns_the_dtype_of_the_input():
    m, x = module(keep_float32=True).half(), torch.ones(2, 5, 6, dtype=torch.float16)
    assert torch.equal(m(x), x + module().pe[:, :5].half())
    assert m(x).dtype == torch.float16


def test_keep_float32_follows_the_device():
    m = module(keep_float32=True).to("meta", torch.float16)
    assert m.pe.device.type == "meta"
    assert m.pe.dtype == torch.float32


def test_keep_float32_keeps_pe_a_saved_buffer():
    m = module(keep_float32=True).half()
    assert list(m.state_dict()) == ["pe"]
    assert list(m.parameters()) == []


def test_a_checkpoint_brings_pe_back():
    m, twin, file = module(), module(), io.BytesIO()
    torch.save(m.state_dict(), file)
    file.seek(0)
    twin.pe.zero_()
    twin.load_state_dict(torch.load(file, weights_only=True))
    assert torch.equal(twin.pe, m.pe)


def test_a_table_that_is_not_persistent_is_not_saved():
    m = module(persistent=False)
    assert m.state_dict() == {}
    assert [name for name, _ in m.named_buffers()] == ["pe"]
    assert torch.equal(m.pe, module().pe)


def other_max_len(entry):
    return (
        f"checkpoint entry {entry} has shape [1, 12, 6], this module's table has [1, 9, 6]; "
        "the table is a formula: build the module with persistent=False "
        f"and delete {entry} from the checkpoint"
    )


@pytest.mark.parametrize("strict", [True, False])
def test_a_checkpoint_of_another_max_len_is_refused(strict):
    checkpoint = module(max_len=12).state_dict()
    with raises_exactly(ValueError, other_max_len("pe")):
        module().load_state_dict(checkpoint, strict=strict)


def test_a_module_without_a_stored_table_takes_none_from_a_checkpoint():
    checkpoint, m = module(max_len=12).state_dict(), module(persistent=False)
    before = m.pe.clone()
    with pytest.raises(RuntimeError, match='Unexpected key.*"pe"'):
        m.load_state_dict(checkpoint)
    m.load_state_dict(checkpoint, strict=False)
    assert torch.equal(m.pe, before)


def test_the_refusal_names_the_entry_inside_a_model():
    checkpoint = nn.Sequential(module(max_len=12)).state_dict()
    with raises_exactly(ValueError, other_max_len("0.pe")):
        nn.Sequential(module()).load_state_dict(checkpoint)


def test_a_checkpoint_of_another_max_len_loads_as_the_refusal_says():
    checkpoint = nn.Sequential(module(max_len=12), nn.Linear(6, 2)).state_dict()
    net = nn.Sequential(module(persistent=False), nn.Linear(6, 2))
    del checkpoint["0.pe"]
    net.load_state_dict(checkpoint)
    assert torch.equal(net[1].weight, checkpoint["1.weight"])
    assert torch.equal(net[0].pe, module().pe)


def test_a_checkpoint_without_pe_is_left_to_torch():
    with pytest.raises(RuntimeError, match='Missing key.*"pe"'):
        module().load_state_dict({})


@pytest.mark.parametrize("keep_float32", [True, False])
def test_reset_parameters_fills_an_emptied_table(keep_float32):
    m = module(keep_float32=keep_float32).to("meta").to_empty(device="cpu")
    m.pe.fill_(7.0)
    m.reset_parameters()
    assert torch.equal(m.pe, module().pe)


@pytest.mark.parametrize("clone", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
def test_a_copy_has_a_table_of_its_own_and_the_same_rules(clone):
    m = module(keep_float32=True)
    twin = clone(m)
    m.pe.zero_()
    assert torch.equal(twin.half().pe, module().pe)
    with raises_exactly(ValueError, other_max_len("pe")):
        twin.load_state_dict(module(max_len=12).state_dict())


def test_the_input_keeps_its_exact_gradient():
    m, x = module(), torch.zeros(2, 5, 6, requires_grad=True)
    y = m(x)
    assert y.requires_grad
    (y * m.pe[:, :5]).sum().backward()
    assert torch.equal(x.grad, m.pe[:, :5].expand(2, 5, 6))


def test_a_buffer_does_not_turn_off_autograd():
    m = module()
    m.pe.requires_grad_(True)
    y = m(torch.zeros(2, 5, 6))
    assert y.requires_grad
    y.sum().backward()
    assert m.pe.grad[0, :, 0].tolist() == [2, 2, 2, 2, 2, 0, 0, 0, 0]  # the batch has two


def test_the_output_stays_on_the_device_of_the_input():
    y = module().to("meta")(torch.zeros(2, 5, 6, device="meta"))
    assert y.device.type == "meta"
    assert y.shape == (2, 5, 6)
