"""max_len limits what the module stores; the formula goes on."""

import pytest
import torch

from posenc_check import oracles
from snippets.sinusoidal import SinusoidalPositionEncoding, sinusoidal_table
from tests.exact import raises_exactly


def module(max_len, d_model=6):
    return SinusoidalPositionEncoding(d_model, max_len, dropout=0.0)


def too_long(last, rows):
    return (
        "Sequence exceeds configured max_len: "
        f"positions up to {last} asked, {rows} rows stored"
    )


def test_a_sequence_of_max_len_works():
    m = module(8)
    assert torch.equal(m(torch.zeros(2, 8, 6)), m.pe.expand(2, 8, 6))


def accepted(m, length):
    try:
        m(torch.zeros(2, length, 6))
    except ValueError:
        return False
    return True


def test_the_limit_lies_right_behind_max_len():
    assert [accepted(module(8), length) for length in (7, 8, 9)] == [True, True, False]


def test_one_token_more_is_refused():
    with raises_exactly(ValueError, too_long(last=8, rows=8)):
        module(8)(torch.zeros(2, 9, 6))


def test_a_start_counts_towards_max_len():
    m, x = module(8), torch.zeros(2, 3, 6)
    assert torch.equal(m(x, start=5)[0], m.pe[0, 5:])
    with raises_exactly(ValueError, too_long(last=8, rows=8)):
        m(x, start=6)
    with raises_exactly(ValueError, too_long(last=8, rows=8)):
        m(x[:, :0], start=9)


def test_the_formula_goes_on_where_the_table_ends():
    max_len, d_model = 8, 6
    positions = [max_len, 10 * max_len, 1000 * max_len]
    with raises_exactly(ValueError, too_long(last=max_len, rows=max_len)):
        module(max_len, d_model)(torch.zeros(2, 1, d_model), start=max_len)
    rows = sinusoidal_table(torch.tensor(positions), d_model).double()
    assert rows.abs().max() <= 1
    want = oracles.sinusoid_table(positions, d_model)
    # One rounding to float32 is 2**-25; a float64 angle of 8000 adds 1e-12.
    torch.testing.assert_close(rows, want, rtol=0, atol=2**-25 + 1e-12)


def test_the_first_rows_do_not_depend_on_max_len():
    assert torch.equal(module(50).pe, module(500).pe[:, :50])


@pytest.mark.parametrize("d_model, max_len", [(0, 1), (1, 0), (-1, 3), (3, -1), (0, 0)])
def test_each_bound_of_the_constructor_holds_by_itself(d_model, max_len):
    text = f"d_model and max_len must be positive, got d_model={d_model}, max_len={max_len}"
    with raises_exactly(ValueError, text):
        SinusoidalPositionEncoding(d_model, max_len)


@pytest.mark.parametrize("name, sizes", [("d_model", (6.0, 8)), ("max_len", (6, 8.0))])
def test_a_size_that_is_no_int_is_refused(name, sizes):
    value = {"d_model": 6.0, "max_len": 8.0}[name]
    with raises_exactly(TypeError, f"{name} must be an int, got {value}"):
        SinusoidalPositionEncoding(*sizes)


def test_the_smallest_module_works():
    m = module(max_len=1, d_model=1)
    assert m(torch.full((2, 1, 1), 0.5)).tolist() == [[[0.5]], [[0.5]]]


def test_the_defaults_are_those_of_the_chapter():
    m = SinusoidalPositionEncoding(2)
    assert m.pe.shape == (1, 5000, 2)
    assert m.dropout.p == 0.1
    assert m.keep_float32 is False
    assert list(m.state_dict()) == ["pe"]


def test_the_options_are_given_by_name():
    with pytest.raises(TypeError, match="positional argument"):
        SinusoidalPositionEncoding(2, 5, 0.1, False)
