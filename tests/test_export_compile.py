"""torch.export, torch.compile and the meta device give what eager mode gives.

Every case is a function and a maker of its arguments for a length T; the axes
that differ between two lengths are those that export may keep open.
"""

import copy

import pytest
import torch
from torch import nn
from torch._dynamo.exc import Unsupported, UserError

from snippets import alibi, attention, learned, masks, rope, rope_2d, shaw, sinusoidal
from snippets.deberta import deberta_attention, deberta_bucket, deberta_log_lag, deberta_scores
from snippets.relative_shift import relative_shift
from snippets.shaw_bucketed import shaw_attention_bucketed
from snippets.t5_bias import T5Bias, t5_bucket
from snippets.transformer_xl import relative_keys, transformer_xl_attention, transformer_xl_scores
from tests.exact import raises_exactly
from tests.rope_cases import ROPE_CASES, generic, own_positions
from tests.score_bias_graphs import SCORE_BIAS_CASES

INV_FREQ = rope.rope_inv_freq(6)


def qkv(t):
    return generic(2, 3, t, 8), generic(2, 3, t + 2, 8), generic(2, 3, t + 2, 7)


def steps(t):
    return torch.arange(t) + 2, torch.arange(t + 2)


def with_tables(t):
    q, k, _ = qkv(t)
    return q, k, k + 1, *steps(t), *generic(2, 5, 8)


def with_biases(t):
    return *qkv(t), *steps(t), *generic(2, 3, 8), generic(24, 6)


def with_lag_tables(t):
    return *qkv(t), *steps(t), *generic(2, 3, 8, 8)


def with_mask(arguments, t):
    return *arguments(t), torch.ones(t, t + 2).tril().bool()


def module(max_len=16, **options):
    return sinusoidal.SinusoidalPositionEncoding(6, max_len, **options).eval()


CASES = {
    "rope_inv_freq": (lambda x: x * rope.rope_inv_freq(8), lambda t: (generic(t, 4),)),
    "sinusoidal_inv_freq": (
        lambda x: x * sinusoidal.sinusoidal_inv_freq(7), lambda t: (generic(t, 4),)
    ),
    "table": (lambda p: sinusoidal.sinusoidal_table(p, 7), lambda t: (torch.arange(t) + 4,)),
    "table of a batch": (
        lambda p: sinusoidal.sinusoidal_table(p, 7), lambda t: (own_positions(t),)
    ),
    "module": (module(), lambda t: (generic(2, t, 6),)),
    "module that keeps float32": (
        module(keep_float32=True).bfloat16(), lambda t: (generic(2, t, 6).bfloat16(),)
    ),
    "rope half": (
        lambda x, p: rope.apply_rope(x, p, INV_FREQ),
        lambda t: (generic(2, 3, t, 8), torch.arange(t)),
    ),
    "rope interleaved": (
        lambda x, p: rope.apply_rope(x, p, INV_FREQ, layout="interleaved", attention_factor=1.5),
        lambda t: (generic(2, 3, t, 8), own_positions(t)),
    ),
    "half_from_interleaved": (
        lambda w: rope.half_from_interleaved(w, 2), lambda t: (generic(12, t),)
    ),
    "interleaved_from_half": (
        lambda w: rope.interleaved_from_half(w, 2), lambda t: (generic(12, t),)
    ),
    "attention": (attention.attention, qkv),
    "attention with bias and mask": (
        lambda q, k, v, b, m: attention.attention(q, k, v, bias=b, mask=m),
        lambda t: (*qkv(t), generic(3, t, t + 2), torch.ones(t, t + 2).tril().bool()),
    ),
    "mask": (masks.causal_mask, steps),
    "mask of a batch": (masks.causal_mask, lambda t: (own_positions(t), own_positions(t + 2))),
    "learned": (learned.LearnedPositionEncoding(6, 16).eval(), lambda t: (torch.arange(t) + 4,)),
    "learned of a batch": (
        learned.LearnedPositionEncoding(6, 1000).eval(), lambda t: (own_positions(t) % 1000,)
    ),
    "extend_table": (lambda w: learned.extend_table(w, 13), lambda t: (generic(t, 6),)),
    "resize_grid": (
        lambda w: learned.resize_grid(w, (2, 3), (4, 5)), lambda t: (generic(6, t),)
    ),
    "shaw_bucket": (lambda q, k: shaw.shaw_bucket(q, k, 2), steps),
    "shaw": (shaw.shaw_attention, with_tables),
    "shaw with mask": (
        lambda *rest: shaw.shaw_attention(*rest[:-1], mask=rest[-1]),
        lambda t: (*with_tables(t), torch.ones(t, t + 2).tril().bool()),
    ),
    "shaw_bucketed": (
        lambda q, k, v, i, j, *tables: shaw_attention_bucketed(
            q, k, v, shaw.shaw_bucket(i, j, 2), *tables
        ),
        with_tables,
    ),
    "t5_bucket": (lambda gap: t5_bucket(gap, bidirectional=False), lambda t: (-torch.arange(t),)),
    "t5_bucket of both sides": (
        lambda gap: t5_bucket(gap, bidirectional=True), lambda t: (torch.arange(t) * 20 - 60,)
    ),
    "t5 bias": (T5Bias(3, bidirectional=False).eval(), steps),
    "t5 bias of both sides": (T5Bias(3, bidirectional=True).eval(), steps),
    "relative_keys": (
        lambda lags, weight: relative_keys(lags, weight, 3),
        lambda t: (torch.arange(t) - 4, generic(12, 6)),
    ),
    "relative_shift": (relative_shift, lambda t: (generic(2, 3, t, t + 2),)),
    "relative_shift of keys ahead": (
        lambda x: relative_shift(x, x.shape[-1] - x.shape[-2] + 1),
        lambda t: (generic(2, 3, t, 2 * t + 1),),
    ),
    "transformer_xl_scores": (
        lambda q, k, _, *rest: transformer_xl_scores(q, k, *rest)[1], with_biases
    ),
    "transformer_xl": (transformer_xl_attention, with_biases),
    "transformer_xl with mask": (
        lambda *rest: transformer_xl_attention(*rest[:-1], mask=rest[-1]),
        lambda t: with_mask(with_biases, t),
    ),
    "deberta_bucket": (lambda lag: deberta_bucket(lag, 3), lambda t: (torch.arange(t) - 4,)),
    "deberta_log_lag": (lambda lag: deberta_log_lag(lag, 8, 99), lambda t: (torch.arange(t) * 9,)),
    "deberta_scores": (
        lambda q, k, _, *rest: deberta_scores(q, k, *rest)[2], with_lag_tables
    ),
    "deberta": (deberta_attention, with_lag_tables),
    "deberta with mask and a log scale": (
        lambda *rest: deberta_attention(
            *rest[:-1], max_distance=5, order="released", mask=rest[-1]
        ),
        lambda t: with_mask(with_lag_tables, t),
    ),
    "alibi_slopes": (lambda x: x * alibi.alibi_slopes(6), lambda t: (generic(t, 6),)),
    "alibi_bias": (lambda q, k: alibi.alibi_bias(q, k, alibi.alibi_slopes(3)), steps),
} | ROPE_CASES | SCORE_BIAS_CASES
every_case = pytest.mark.parametrize("function, arguments", CASES.values(), ids=CASES)


class Wrapped(nn.Module):
    """torch.export takes modules."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *arguments):
        return self.function(*arguments)


def open_axes(short, long):
    """For each tensor, the axes whose size follows the length."""
    return tuple(
        {axis: torch.export.Dim.AUTO for axis in range(a.ndim) if a.shape[axis] != b.shape[axis]}
        for a, b in zip(short, long, strict=True)
    )


@pytest.fixture(autouse=True)
def forget_compiled_code():
    torch.compiler.reset()


@every_case
def test_export_of_one_length_gives_the_same(function, arguments):
    exported = torch.export.export(Wrapped(function), arguments(5)).module()
    assert torch.equal(exported(*arguments(5)), function(*arguments(5)))


@every_case
def test_export_with_an_open_length_gives_the_same(function, arguments):
    axes = (open_axes(arguments(5), arguments(7)),)
    exported = torch.export.export(Wrapped(function), arguments(5), dynamic_shapes=axes).module()
    for length in (4, 11):
        assert torch.equal(exported(*arguments(length)), function(*arguments(length)))


@every_case
@pytest.mark.parametrize("dynamic", [False, True])
def test_compile_in_one_graph_gives_the_same(function, arguments, dynamic):
    compiled = torch.compile(function, backend="eager", fullgraph=True, dynamic=dynamic)
    for length in (5, 11):
        assert torch.equal(compiled(*arguments(length)), function(*arguments(length)))


@every_case
def test_meta_tensors_give_the_shape_and_dtype_without_values(function, arguments):
    want = function(*arguments(5))
    if isinstance(function, nn.Module):
        function = copy.deepcopy(function).to("meta")
    with torch.device("meta"):
        got = function(*(a.to("meta") for a in arguments(5)))
    assert (got.device.type, got.shape, got.dtype) == ("meta", want.shape, want.dtype)


def test_start_values_of_mixed_speeds_are_drawn_in_one_graph_too():
    draw = torch.compile(rope_2d.mixed_inv_freq, backend="eager", fullgraph=True)
    torch.manual_seed(0)
    compiled = draw(8, 3)
    torch.manual_seed(0)
    assert torch.equal(compiled, rope_2d.mixed_inv_freq(8, 3))


def test_a_module_built_on_meta_is_filled_by_reset_parameters():
    with torch.device("meta"):
        m = module()
    assert m.pe.device.type == "meta"
    m.to_empty(device="cpu").reset_parameters()
    assert torch.equal(m.pe, module().pe)


def test_export_keeps_the_start_of_decoding_open():
    axes = {"x": {1: torch.export.Dim.AUTO}, "start": torch.export.Dim.AUTO}
    exported = torch.export.export(
        module(), (generic(2, 5, 6),), {"start": 3}, dynamic_shapes=axes
    ).module()
    x = generic(2, 4, 6)
    assert torch.equal(exported(x, start=7), module()(x, start=7))


def exported_module(length=torch.export.Dim.AUTO):
    x = generic(2, 5, 6)
    return torch.export.export(module(max_len=16), (x,), dynamic_shapes=({1: length},)).module()


def test_export_turns_the_max_len_check_into_a_guard_of_another_error_type():
    exported = exported_module()
    assert exported(generic(2, 16, 6)).shape == (2, 16, 6)
    with raises_exactly(AssertionError, "Guard failed: x.size()[1] <= 16"):
        exported(generic(2, 17, 6))


def test_export_refuses_a_range_of_lengths_that_goes_past_max_len():
    with pytest.raises(UserError, match=r"Not all values of T .*\[1\] <= 16"):
        exported_module(torch.export.Dim("T", min=2, max=17))
    assert exported_module(torch.export.Dim("T", min=2, max=16))


def test_compile_in_one_graph_reports_the_max_len_error_inside_one_of_its_own():
    compiled = torch.compile(module(max_len=16), backend="eager", fullgraph=True)
    with pytest.raises(Unsupported, match="ValueError.*Sequence exceeds configured max_len"):
        compiled(generic(2, 17, 6))


def test_compile_with_graph_breaks_raises_the_max_len_error_itself():
    compiled = torch.compile(module(max_len=16), backend="eager")
    text = "Sequence exceeds configured max_len: positions up to 16 asked, 16 rows stored"
    with raises_exactly(ValueError, text):
        compiled(generic(2, 17, 6))


def test_values_are_looked_at_in_eager_mode_only():
    negative, nothing = torch.tensor([-1]), torch.zeros(5, 7, dtype=torch.bool)
    table = torch.compile(sinusoidal.sinusoidal_table, backend="eager", fullgraph=True)
    assert table(negative, 4)[0, 0].item() == pytest.approx(-0.8414709848)  # sin(-1)
    attend = torch.compile(attention.attention, backend="eager", fullgraph=True)
    assert attend(*qkv(5), mask=nothing).isnan().all()
