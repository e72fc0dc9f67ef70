"""SinusoidalPositionEncoding: the sum, its dtype, dropout, a start for decoding, refusals."""

import pytest
import torch

from posenc_check import oracles
from snippets.sinusoidal import SinusoidalPositionEncoding
from tests.exact import raises_exactly


def module(d_model=6, max_len=9, **options):
    return SinusoidalPositionEncoding(d_model, max_len, **{"dropout": 0.0, **options})


def generic(*shape, dtype=torch.float64):
    return torch.randn(*shape, dtype=dtype, generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize("d_model", [1, 2, 3, 6, 17])
def test_output_is_input_plus_the_first_rows_of_the_formula(d_model):
    x = generic(2, 5, d_model)
    want = x + oracles.sinusoid_table(range(5), d_model)
    # The rows were rounded to float32 once: 2**-25 of a number up to 1.
    torch.testing.assert_close(module(d_model)(x), want, rtol=0, atol=2**-25 + 1e-12)


@pytest.mark.parametrize("batch", [0, 1, 3])
def test_every_sequence_of_a_batch_gets_the_same_rows(batch):
    m, x = module(), generic(batch, 5, 6, dtype=torch.float32)
    y = m(x)
    assert y.shape == x.shape
    for before, after in zip(x, y, strict=True):
        assert torch.equal(after, before + m.pe[0, :5])


@pytest.mark.parametrize("name", ["float16", "bfloat16", "float32", "float64"])
def test_output_has_the_dtype_of_the_input(name):
    dtype = getattr(torch, name)
    m, x = module(), generic(2, 5, 6).to(dtype)
    y = m(x)
    assert y.dtype == dtype
    assert torch.equal(y, x + m.pe[:, :5].to(dtype))


def test_the_input_is_not_changed():
    x = generic(2, 5, 6)
    before = x.clone()
    module()(x)
    assert torch.equal(x, before)


def test_an_empty_sequence_stays_empty():
    assert module()(torch.zeros(2, 0, 6)).shape == (2, 0, 6)
    assert module()(torch.zeros(2, 0, 6), start=9).shape == (2, 0, 6)


def test_autocast_changes_nothing():
    m, x = module(), generic(2, 5, 6, dtype=torch.float32)
    with torch.autocast("cpu", torch.bfloat16):
        inside = m(x)
    assert inside.dtype == torch.float32
    assert torch.equal(inside, m(x))


def test_decoding_one_token_at_a_time_equals_the_full_pass():
    m, x = module(), generic(2, 7, 6)
    steps = [m(x[:, t : t + 1], start=t) for t in range(7)]
    assert torch.equal(torch.cat(steps, dim=1), m(x))


def test_decoding_in_chunks_equals_the_full_pass():
    m, x = module(), generic(2, 9, 6)
    chunks = [m(x[:, :4]), m(x[:, 4:], start=4)]
    assert torch.equal(torch.cat(chunks, dim=1), m(x))


def test_start_is_given_by_name():
    with pytest.raises(TypeError, match="positional argument"):
        module()(generic(2, 5, 6), 3)


@pytest.mark.parametrize("start", [-1, -9])
def test_a_negative_start_is_refused(start):
    with raises_exactly(ValueError, f"start must not be negative, got {start}"):
        module()(generic(2, 5, 6), start=start)


def test_dropout_is_exactly_off_in_eval_mode():
    m, x = module(max_len=100, dropout=0.5).eval(), generic(2, 100, 6, dtype=torch.float32)
    assert torch.equal(m(x), x + m.pe)


def test_dropout_falls_on_the_sum_in_training_mode():
    m, x = module(max_len=100, dropout=0.5).train(), generic(2, 100, 6, dtype=torch.float32)
    torch.manual_seed(0)
    y = m(x)
    kept = y != 0
    # 1200 coins: 40 % or 60 % is seven standard deviations away from one half.
    assert 0.4 < kept.double().mean() < 0.6
    assert torch.equal(y[kept], 2 * (x + m.pe)[kept])


def test_dropout_of_zero_is_exact_in_training_mode():
    m, x = module(dropout=0.0).train(), generic(2, 9, 6, dtype=torch.float32)
    assert torch.equal(m(x), x + m.pe)


def test_a_dropout_that_is_no_probability_is_refused_by_torch():
    with pytest.raises(ValueError, match="dropout probability"):
        module(dropout=1.5)


# [6, 6], [2, 5, 5, 6] and [2, 5, 1] would broadcast without a word.
WRONG_SHAPES = [[6], [5, 6], [6, 6], [2, 3, 5, 6], [2, 5, 5, 6], [2, 5, 7], [2, 5, 5], [2, 5, 1]]


@pytest.mark.parametrize("shape", WRONG_SHAPES)
def test_an_input_of_another_rank_or_width_is_refused(shape):
    text = f"Expected [batch, sequence, d_model] with d_model=6, got {shape}"
    with raises_exactly(ValueError, text):
        module()(torch.zeros(shape))


@pytest.mark.parametrize("name", ["int64", "bool", "complex64"])
def test_an_input_that_is_not_floating_point_is_refused(name):
    with raises_exactly(TypeError, f"x must be floating point, got torch.{name}"):
        module()(torch.zeros(2, 5, 6, dtype=getattr(torch, name)))


@pytest.mark.parametrize("start", [1.0, "1", None])
def test_a_start_that_is_no_int_is_refused(start):
    with raises_exactly(TypeError, f"start must be an int, got {start!r}"):
        module()(torch.zeros(2, 5, 6), start=start)


def test_a_cast_reaches_modules_that_were_added():
    m = module(keep_float32=True)
    m.gain = torch.nn.Linear(6, 6)
    m.half()
    assert (m.pe.dtype, m.gain.weight.dtype) == (torch.float32, torch.float16)


def test_a_narrow_table_that_was_assigned_is_float32_after_the_next_cast():
    m = module(keep_float32=True)
    m.load_state_dict({"pe": m.pe.half()}, assign=True)
    assert m.pe.dtype == torch.float16
    assert m.bfloat16().pe.dtype == torch.float32
