"""What both forms of relative vectors refuse alike: dtypes that differ."""

import pytest
import torch

from snippets.shaw import shaw_attention, shaw_bucket
from snippets.shaw_bucketed import shaw_attention_bucketed
from tests.exact import raises_exactly

HERE = torch.arange(5)


def plain(q, k, v, tables):
    return shaw_attention(q, k, v, HERE, HERE, *tables)


def bucketed(q, k, v, tables):
    return shaw_attention_bucketed(q, k, v, shaw_bucket(HERE, HERE, 2), *tables)


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
