"""The learned table: lookup, training, refusals."""

import math

import pytest
import torch

from snippets.learned import LearnedPositionEncoding
from tests.exact import raises_exactly

POSITIONS = torch.tensor([7, 0, 3, 3, 8])
OWN_POSITIONS = torch.tensor([[7, 0, 3, 3, 8], [1, 2, 4, 8, 0]])


def module(d_model=6, max_len=9, **options):
    torch.manual_seed(0)
    return LearnedPositionEncoding(d_model, max_len, **options)


@pytest.mark.parametrize("name", ["int32", "int64"])
@pytest.mark.parametrize("positions", [POSITIONS, OWN_POSITIONS], ids=["one", "own"])
def test_every_position_gets_its_row(positions, name):
    encode = module()
    got, rows = encode(positions.to(getattr(torch, name))), encode.weight.tolist()
    assert got.shape == (*positions.shape, 6)
    want = [rows[p] for p in positions.flatten().tolist()]
    assert got.flatten(0, -2).tolist() == want


@pytest.mark.parametrize("d_model, max_len", [(1, 1), (1, 4), (7, 1)])
def test_the_smallest_sizes(d_model, max_len):
    encode = module(d_model, max_len)
    assert torch.equal(encode(torch.arange(max_len)), encode.weight)


def test_no_positions_give_no_rows():
    assert module()(torch.zeros(0, dtype=torch.int64)).shape == (0, 6)
    assert module()(torch.zeros(2, 0, dtype=torch.int64)).shape == (2, 0, 6)


def test_decoding_one_token_at_a_time_equals_the_full_pass():
    encode = module()
    steps = [encode(torch.tensor([p])) for p in range(9)]
    assert torch.equal(torch.cat(steps), encode(torch.arange(9)))


@pytest.mark.parametrize("options, std", [({}, 0.02), ({"std": 0.5}, 0.5)])
def test_rows_are_drawn_with_the_standard_deviation(options, std):
    rows = module(100, 200, **options).weight.detach()
    # 20000 numbers know their deviation to half a percent.
    assert rows.std().item() == pytest.approx(std, rel=0.03)
    assert abs(rows.mean().item()) < 0.03 * std


def test_a_deviation_of_zero_gives_zeros():
    assert not module(std=0).weight.any()


def test_reset_draws_all_rows_anew():
    encode = module(std=0.5)
    first = encode.weight.detach().clone()
    encode.reset_parameters()
    assert (encode.weight != first).all() and encode.weight.std() > 0.3
    torch.manual_seed(0)
    encode.reset_parameters()
    assert torch.equal(encode.weight, first)


def test_a_module_built_on_meta_is_filled_by_reset_parameters():
    with torch.device("meta"):
        encode = module()
    assert encode.weight.device.type == "meta"
    encode.to_empty(device="cpu")
    torch.manual_seed(0)
    encode.reset_parameters()
    assert torch.equal(encode.weight, module().weight)


def test_the_state_is_the_table_alone():
    encode, other = module(), LearnedPositionEncoding(6, 9)
    assert {name: t.shape for name, t in encode.state_dict().items()} == {"weight": (9, 6)}
    assert isinstance(encode.weight, torch.nn.Parameter) and encode.weight.requires_grad
    other.load_state_dict(encode.state_dict())
    assert torch.equal(other(POSITIONS), encode(POSITIONS))


def test_a_row_used_twice_gets_both_gradients():
    encode = module()
    encode(POSITIONS).sum().backward()
    assert encode.weight.grad[:, 0].tolist() == [1, 0, 0, 2, 0, 0, 0, 1, 1]


@pytest.mark.parametrize("name", ["float16", "bfloat16", "float32", "float64"])
def test_rows_have_the_dtype_of_the_table(name):
    dtype = getattr(torch, name)
    assert module().to(dtype)(POSITIONS).dtype == dtype


def test_meta_positions_are_not_looked_at():
    rows = module().to("meta")(torch.zeros(2, 5, dtype=torch.int64, device="meta"))
    assert (rows.device.type, rows.shape) == ("meta", (2, 5, 6))


def test_positions_are_not_looked_at_while_compiling(monkeypatch):
    encode = module()
    monkeypatch.setattr(torch.compiler, "is_compiling", lambda: True)
    assert torch.equal(encode(torch.tensor([-1])), encode.weight[8:])


@pytest.mark.parametrize("name", ["d_model", "max_len"])
@pytest.mark.parametrize("value", [4.0, "4", None])
def test_a_size_that_is_no_int_is_refused(name, value):
    with raises_exactly(TypeError, f"{name} must be an int, got {value!r}"):
        module(**{name: value})


@pytest.mark.parametrize("name", ["d_model", "max_len"])
@pytest.mark.parametrize("value", [0, -3])
def test_a_size_below_one_is_refused(name, value):
    with raises_exactly(ValueError, f"{name} must be positive, got {value}"):
        module(**{name: value})


@pytest.mark.parametrize("value", [-0.1, math.nan])
def test_a_negative_deviation_is_refused(value):
    with raises_exactly(ValueError, f"std must not be negative, got {value}"):
        module(std=value)


def test_the_deviation_is_given_by_name():
    with pytest.raises(TypeError, match="positional argument"):
        LearnedPositionEncoding(6, 9, 0.5)


@pytest.mark.parametrize("name", "bool uint8 int16 float32 float64 complex64".split())
def test_positions_of_another_dtype_are_refused(name):
    # A table indexed by bool or uint8 would be masked, not looked up.
    with raises_exactly(TypeError, f"positions must be int32 or int64, got torch.{name}"):
        module()(torch.zeros(5, dtype=getattr(torch, name)))


@pytest.mark.parametrize("shape", [[], [2, 3, 4]])
def test_positions_of_another_rank_are_refused(shape):
    with raises_exactly(ValueError, f"positions must be [T] or [B, T], got {shape}"):
        module()(torch.zeros(shape, dtype=torch.int64))


@pytest.mark.parametrize(
    "positions, first", [([8, 9], 9), ([-1, 3], -1), ([-9, 3], -9), ([[3, 2], [50, -4]], 50)]
)
def test_a_position_outside_the_table_is_refused(positions, first):
    with raises_exactly(ValueError, f"positions must be from 0 to 8, got {first}"):
        module()(torch.tensor(positions))
