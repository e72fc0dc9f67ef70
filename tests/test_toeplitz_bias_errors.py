"""What consecutive_gaps, toeplitz_view and toeplitz_attention refuse, word for word."""

import pytest
import torch

from snippets.toeplitz_bias import consecutive_gaps, toeplitz_attention, toeplitz_view
from tests.exact import raises_exactly

POSITIONS = {"q_positions": torch.arange(4) + 3, "k_positions": torch.arange(7)}
each = pytest.mark.parametrize("argument", POSITIONS)


@each
@pytest.mark.parametrize("shape", [[], [0], [2, 4]])
def test_positions_of_another_rank_and_no_positions_are_refused(argument, shape):
    bad = torch.zeros(shape, dtype=torch.int64)
    with raises_exactly(ValueError, f"{argument} must be 1-D and not empty, got {shape}"):
        consecutive_gaps(**(POSITIONS | {argument: bad}))


@each
@pytest.mark.parametrize("name", "bool float32 float64 complex64".split())
def test_positions_that_are_not_integer_are_refused(argument, name):
    bad = POSITIONS[argument].to(getattr(torch, name))
    with raises_exactly(TypeError, f"{argument} must be integer, got torch.{name}"):
        consecutive_gaps(**(POSITIONS | {argument: bad}))


@each
@pytest.mark.parametrize(
    "values", [[3, 4, 6], [3, 3, 4], [5, 4, 3], [0, 1, 2, 0, 1]],
    ids=["gap", "repeated", "falling", "packed"],
)  # fmt: skip
def test_positions_that_are_not_consecutive_are_refused(argument, values):
    with raises_exactly(ValueError, f"{argument} must be consecutive"):
        consecutive_gaps(**(POSITIONS | {argument: torch.tensor(values)}))


@each
@pytest.mark.parametrize("values, name", [([254, 255, 0], "uint8"), ([127, -128], "int8")])
def test_positions_that_wrapped_around_are_refused(argument, values, name):
    bad = torch.tensor(values, dtype=getattr(torch, name))
    with raises_exactly(ValueError, f"{argument} must be consecutive"):
        consecutive_gaps(**(POSITIONS | {argument: bad}))


@pytest.mark.parametrize("name", "uint8 uint16 int8 int32".split())
def test_narrow_positions_do_not_wrap_around(name):
    q, k = (torch.tensor(p, dtype=getattr(torch, name)) for p in ([126, 127], [0, 1]))
    assert consecutive_gaps(q, k).tolist() == [-127, -126, -125]


@pytest.mark.parametrize("value", [4.0, "4", None])
def test_a_number_of_queries_that_is_no_int_is_refused(value):
    with raises_exactly(TypeError, f"n_queries must be an int, got {value!r}"):
        toeplitz_view(torch.zeros(3, 10), value)


@pytest.mark.parametrize("shape, t_q", [([10], 4), ([1, 3, 10], 4), ([3, 10], 0), ([3, 10], 11)])
def test_a_table_that_does_not_fit_is_refused(shape, t_q):
    text = f"table must be [H, Tq + Tk - 1] with Tq from 1 on, got {shape} and Tq = {t_q}"
    with raises_exactly(ValueError, text):
        toeplitz_view(torch.zeros(shape), t_q)


def qkv():
    return [torch.zeros(2, 3, t, 6) for t in (4, 7, 7)]


@pytest.mark.parametrize("shape", [[3, 11], [3, 9], [1, 10], [10], [2, 3, 10]])
def test_a_table_for_other_lengths_is_refused(shape):
    text = f"table must be [H, Tq + Tk - 1] = [3, 10], got {shape}"
    with raises_exactly(ValueError, text):
        toeplitz_attention(*qkv(), torch.zeros(shape))


@pytest.mark.parametrize("odd_one", range(4))
def test_two_dtypes_are_refused(odd_one):
    tensors = [*qkv(), torch.zeros(3, 10)]
    tensors[odd_one] = tensors[odd_one].double()
    names = ["torch.float32"] * 4
    names[odd_one] = "torch.float64"
    text = (
        "q, k, v and table must have one dtype, "
        f"got {names[0]}, {names[1]}, {names[2]} and {names[3]}"
    )
    with raises_exactly(TypeError, text):
        toeplitz_attention(*tensors)


def test_the_scale_is_given_by_name():
    with pytest.raises(TypeError, match="positional argument"):
        toeplitz_attention(*qkv(), torch.zeros(3, 10), 1.0)


@each
def test_values_are_looked_at_in_eager_mode_only(argument, monkeypatch):
    gaps = consecutive_gaps(**{name: here.to("meta") for name, here in POSITIONS.items()})
    assert (gaps.device.type, gaps.shape) == ("meta", (10,))
    monkeypatch.setattr(torch.compiler, "is_compiling", lambda: True)
    assert len(consecutive_gaps(**POSITIONS | {argument: torch.tensor([3, 3, 4])})) in (6, 9)
