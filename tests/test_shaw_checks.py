"""What both forms of relative vectors refuse alike: dtypes that differ, and masks that hide a query."""

import pytest
import torch

from snippets.shaw import shaw_attention, shaw_bucket
from snippets.shaw_bucketed import shaw_attention_bucketed
from tests.exact import raises_exactly

HERE = torch.arange(5)


def plain(q, k, v, tables, mask=None):
    return shaw_attention(q, k, v, HERE, HERE, *tables, mask=mask)


def bucketed(q, k, v, tables, mask=None):
    return shaw_attention_bucketed(q, k, v, shaw_bucket(HERE, HERE, 2), *tables, mask=mask)


both_forms = pytest.mark.parametrize("form", [plain, bucketed])


def inputs(dtype=torch.float32):
    q, k, v = torch.zeros(3, 2, 3, 5, 4, dtype=dtype)
    return q, k, v, torch.zeros(2, 5, 4, dtype=dtype)


@both_forms
def test_another_dtype_of_the_tables_is_refused(form):
    q, k, v, tables = inputs()
    text = (
        "q, k, v and the tables must have one dtype, got torch.float32, torch.float32, "
        "torch.float32, torch.float64, torch.float64"
    )
    with raises_exactly(TypeError, text):
        form(q, k, v, tables.double())


@both_forms
def test_integers_are_refused(form):
    with raises_exactly(TypeError, "q must be floating point, got torch.int64"):
        form(*inputs(torch.int64))


@both_forms
def test_an_integer_q_alone_is_refused_too(form):
    q, *others = inputs()
    with raises_exactly(TypeError, "q must be floating point, got torch.int64"):
        form(q.long(), *others)


@both_forms
@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
def test_the_result_has_the_dtype_of_the_inputs(form, dtype):
    assert form(*inputs(dtype)).dtype == dtype


@both_forms
def test_a_mask_that_is_not_bool_is_refused(form):
    with raises_exactly(TypeError, "mask must be bool, got torch.int64"):
        form(*inputs(), mask=torch.ones(5, 5, dtype=torch.int64))


@both_forms
@pytest.mark.parametrize("shape", [[4, 5], [5, 1, 5, 5], [2, 2, 5, 5], [1, 2, 3, 5, 5], [4]])
def test_a_mask_that_does_not_fit_is_refused(form, shape):
    text = f"mask must broadcast to [B, H, Tq, Tk] = [2, 3, 5, 5], got {shape}"
    with raises_exactly(ValueError, text):
        form(*inputs(), mask=torch.ones(shape, dtype=torch.bool))


@both_forms
@pytest.mark.parametrize("shape", [(2, 1, 5, 5), (1, 3, 1, 5), (1, 5), (5,)])
def test_a_mask_may_have_axes_of_one_and_fewer(form, shape):
    tensors = [torch.randn(t.shape, generator=torch.manual_seed(1)) for t in inputs()]
    mask = torch.rand(shape, generator=torch.manual_seed(2)) > 0.5
    mask[..., 0] = True
    full = form(*tensors, mask=mask.expand(2, 3, 5, 5))
    assert torch.equal(form(*tensors, mask=mask), full)
    assert not torch.allclose(form(*tensors), full)


@both_forms
@pytest.mark.parametrize("shape", [[3, 5, 5], [1, 5, 5], [3, 1, 5]])
def test_a_mask_of_three_axes_is_refused(form, shape):
    text = f"mask must be [B, 1, Tq, Tk] or [1, H, Tq, Tk], not 3-D, got {shape}"
    with raises_exactly(ValueError, text):
        form(*inputs(), mask=torch.ones(shape, dtype=torch.bool))


@both_forms
def test_a_mask_row_without_any_key_is_refused(form):
    mask = torch.ones(5, 5, dtype=torch.bool)
    mask[3] = False
    with raises_exactly(ValueError, "mask leaves a query without any key"):
        form(*inputs(), mask=mask)


@both_forms
def test_values_are_looked_at_in_eager_mode_only(form, monkeypatch):
    nothing = torch.zeros(5, 5, dtype=torch.bool)
    with torch.device("meta"):
        monkeypatch.setitem(globals(), "HERE", torch.arange(5))
        assert form(*inputs(), mask=torch.ones(5, 5, dtype=torch.bool)).shape == (2, 3, 5, 4)
    monkeypatch.undo()
    monkeypatch.setattr(torch.compiler, "is_compiling", lambda: True)
    assert form(*inputs(), mask=nothing).isnan().all()
