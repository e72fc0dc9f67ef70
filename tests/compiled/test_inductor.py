"""The default backend of torch.compile, which needs a C++ compiler: `make test-compiled`."""

import pytest
import torch

from tests.test_export_compile import CASES, module

# torch 2.13.0 itself calls torch.jit when the default backend is loaded.
pytestmark = pytest.mark.filterwarnings(
    "ignore:`torch.jit.script_method` is deprecated:DeprecationWarning"
)

# A fused loop sums in another order and keeps bfloat16 rows unrounded until they are added:
# a few last digits of numbers below 4.
ATOL = {torch.float32: 2e-6, torch.bfloat16: 2**-6}


@pytest.mark.parametrize("function, arguments", CASES.values(), ids=CASES)
def test_compiled_code_agrees_with_eager_mode(function, arguments):
    torch.compiler.reset()
    compiled = torch.compile(function, fullgraph=True)
    for length in (5, 11):
        want, got = function(*arguments(length)), compiled(*arguments(length))
        assert (got.dtype, got.shape) == (want.dtype, want.shape)
        torch.testing.assert_close(got, want, rtol=0, atol=ATOL.get(got.dtype, 0))


def test_the_gradient_of_compiled_code_agrees_with_eager_mode():
    torch.compiler.reset()
    m = module()
    compiled = torch.compile(m, fullgraph=True)
    x = torch.zeros(2, 5, 6, requires_grad=True)
    (compiled(x) * m.pe[:, :5]).sum().backward()
    assert torch.equal(x.grad, m.pe[:, :5].expand(2, 5, 6))
