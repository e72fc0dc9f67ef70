"""The sentences of docs/index.md and docs/conventions.md, in the order of the pages."""

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from posenc_check import oracles
from snippets import rope
from snippets.alibi import alibi_bias
from snippets.attention import attention
from snippets.deberta import deberta_attention
from snippets.fire import Fire
from snippets.fox import forget_sums
from snippets.kerple import Kerple, kerple_bias
from snippets.learned import LearnedPositionEncoding
from snippets.masks import causal_mask
from snippets.rope import apply_rope, rope_inv_freq
from snippets.sandwich import sandwich_bias
from snippets.shaw import shaw_attention
from snippets.sinusoidal import SinusoidalPositionEncoding, sinusoidal_table
from snippets.t5_bias import T5Bias
from snippets.transformer_xl import transformer_xl_attention
from tests.guard.marks import claim
from tests.shapes import shapes_checked
from tests.test_shape_comments import call_rope

ORDER = torch.tensor([2, 0, 5, 1, 3, 4])  # no token keeps its place


def self_attention(x, mask=None):
    """One layer with fixed random projections; x is (B, T, d_model)."""
    g = torch.Generator().manual_seed(1)
    d = x.shape[-1]
    w = torch.randn(3, d, d, generator=g, dtype=torch.float64)
    q, k, v = ((x @ w_i)[:, None] for w_i in w)  # each (B, 1, T, D)
    return attention(q, k, v, mask=mask)[:, 0]


def tokens():
    return torch.randn(2, 6, 8, generator=torch.Generator().manual_seed(0), dtype=torch.float64)


@claim(
    "home-equivariant",
    "Without position information and without a mask, permuting the input tokens permutes the "
    "outputs in the same way, and no output vector changes.",
)
def test_permuting_tokens_permutes_outputs():
    x = tokens()
    # 1e-12: float64 rounding of sums in another order; the outputs are of order 1.
    torch.testing.assert_close(
        self_attention(x[:, ORDER]), self_attention(x)[:, ORDER], rtol=0, atol=1e-12
    )
    # ... and these outputs are the attention of equation 1, not some other symmetric map.
    g = torch.Generator().manual_seed(2)
    q, k, v = torch.randn(3, 1, 2, 4, 6, generator=g, dtype=torch.float64)
    torch.testing.assert_close(
        attention(q, k, v), oracles.attention(q, k, v), rtol=0, atol=1e-12
    )


@claim(
    "home-not-invariant",
    "Attention is not invariant: the list of outputs as a whole does change.",
)
def test_attention_is_not_invariant():
    x = tokens()
    assert (self_attention(x[:, ORDER]) - self_attention(x)).abs().max() > 1


@claim(
    "home-causal-mask",
    "A causal mask already breaks this symmetry, since each token sees a different set of tokens; "
    '"Transformers are unordered" is too broad.',
)
def test_a_causal_mask_breaks_the_symmetry():
    x, here = tokens(), torch.arange(6)
    mask = causal_mask(here, here)
    assert mask.tolist() == [[k <= q for k in range(6)] for q in range(6)]
    moved = self_attention(x[:, ORDER], mask)
    assert (moved - self_attention(x, mask)[:, ORDER]).abs().max() > 1


@claim(
    "conventions-shape-comments",
    "Shape comments in the snippets, such as # (B, H, T, D), are executed: the tests trace a call "
    "with sizes that all differ, and a comment that is false or never reached fails.",
)
def test_shape_comments_are_executed(tmp_path):
    # All snippets are held to their comments in test_shape_comments; here rope stands for them.
    with shapes_checked(rope.__file__, B=2, H=3, T=5, P=4, D=11) as module:
        call_rope(module)
    small = tmp_path / "small.py"
    for comment, message in [("(T, B)", "the comment says"), ("(B, T)", "never reached")]:
        small.write_text(f"def f(x):\n    return x  # {comment}\n")
        with pytest.raises(AssertionError, match=message):
            with shapes_checked(small, B=4, T=5) as module:
                if comment == "(T, B)":
                    module.f(torch.zeros(4, 5))


@claim(
    "conventions-one-row",
    "The biases that read positions, and the attentions of relative vectors, Transformer-XL and DeBERTa, take one "
    "row of them, (T,), and refuse (B, T).",
)
def test_one_row_of_positions():
    x, one, table = torch.zeros(2, 3, 5, 4), torch.ones(3), torch.zeros(6, 4)
    width, tables = torch.zeros(12, 8), torch.zeros(3, 6, 4)
    takers = {
        "alibi": lambda p: alibi_bias(p, p, one),
        "kerple": lambda p: kerple_bias(p, p, one, one, kind="log"),
        "kerple module": lambda p: Kerple(3, kind="log")(p, p),
        "sandwich": lambda p: sandwich_bias(p, p, one, width=8),
        "t5": lambda p: T5Bias(3, bidirectional=True)(p, p),
        "fire": lambda p: Fire(3)(p, p),
        "shaw": lambda p: shaw_attention(x, x, x, p, p, table[:5], table[:5]),
        "xl": lambda p: transformer_xl_attention(x, x, x, p, p, x[0, :, 0], x[0, :, 0], width),
        "deberta": lambda p: deberta_attention(x, x, x, p, p, tables, tables),
    }
    for name, call in takers.items():
        assert call(torch.arange(5)).shape[-3:-1] == (3, 5), name
        with pytest.raises(ValueError, match="^q_positions .*must be |^positions must be "):
            call(torch.arange(10).view(2, 5))
    assert apply_rope(x, torch.arange(10).view(2, 5), rope_inv_freq(4)).shape == x.shape


@claim("conventions-dtype", "Half-precision positions and speeds are refused.")
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision_positions_and_speeds_are_refused(dtype):
    x, here, speeds = torch.randn(1, 2, 5, 8), torch.arange(5), rope_inv_freq(8)
    with pytest.raises(TypeError, match="^positions must be integer, float32 or float64, got"):
        apply_rope(x, here.to(dtype), speeds)
    with pytest.raises(TypeError, match="^positions must be integer, float32 or float64, got"):
        sinusoidal_table(here.to(dtype), 8)
    with pytest.raises(TypeError, match="^inv_freq must be float32 or float64, got"):
        apply_rope(x, here, speeds.to(dtype))


@claim(
    "conventions-device",
    "Devices without float64 can be served by apply_rope with positions on the CPU: on the device of x, "
    "nothing is computed in float64.",
)
def test_positions_may_stay_on_the_cpu():
    # The meta device stands in for an accelerator without float64.
    class NoFloat64(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            result = func(*args, **(kwargs or {}))
            for leaf in tree_leaves(result):
                if isinstance(leaf, torch.Tensor) and leaf.is_meta:
                    assert leaf.dtype != torch.float64, func
            return result

    x = torch.empty(1, 2, 5, 8, device="meta")
    with NoFloat64():
        y = apply_rope(x, torch.arange(5), rope_inv_freq(8))
    assert y.device.type == "meta" and y.shape == x.shape and y.dtype == x.dtype


@claim(
    "conventions-device-biases",
    "forget_sums, Kerple and Fire have no such way: they compute in float64 on the device of their input or of "
    "their parameters.",
)
def test_biases_that_need_float64_on_their_device():
    class Seen(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            result = func(*args, **(kwargs or {}))
            leaves = [x for x in tree_leaves(result) if isinstance(x, torch.Tensor)]
            self.there |= any(x.is_meta and x.dtype == torch.float64 for x in leaves)
            return result

    here = torch.arange(5, device="meta")
    layers = [Kerple(3, kind="log").to("meta"), Kerple(3, kind="power").to("meta"), Fire(3).to("meta")]
    calls = [lambda: forget_sums(torch.empty(1, 3, 5, device="meta"))]
    calls += [lambda layer=layer: layer(here, here) for layer in layers]
    for call in calls:
        with Seen() as seen:
            seen.there = False
            assert call().device.type == "meta"
        assert seen.there


@claim(
    "conventions-compile",
    "Checks look at ranks, sizes, dtypes and Python numbers; the values of tensors are looked at in "
    "eager mode (not compiled) only, so that torch.compile and torch.export keep working.",
)
def test_values_are_checked_in_eager_mode_only():
    bad = torch.tensor([0, -1, 2])
    with pytest.raises(ValueError, match="^positions must not be negative, got -1$"):
        sinusoidal_table(bad, 6)
    compiled = torch.compile(sinusoidal_table, backend="eager", fullgraph=True)
    assert compiled(bad, 6).shape == (3, 6)

    class Table(torch.nn.Module):
        def forward(self, positions):
            return sinusoidal_table(positions, 6)

    program = torch.export.export(Table(), (torch.arange(3),)).module()
    torch.testing.assert_close(program(torch.arange(3)), sinusoidal_table(torch.arange(3), 6))
    # The same for the mask of attention: a row without any key is refused in eager mode only.
    q, nothing = torch.zeros(1, 1, 2, 4), torch.zeros(2, 2, dtype=torch.bool)
    with pytest.raises(ValueError, match="^mask leaves a query without any key$"):
        attention(q, q, q, mask=nothing)
    compiled = torch.compile(attention, backend="eager", fullgraph=True)
    assert compiled(q, q, q, mask=nothing).isnan().all()
    exported = torch.export.export(SinusoidalPositionEncoding(6).eval(), (torch.zeros(2, 3, 6),))
    assert exported.module()(torch.ones(2, 3, 6)).shape == (2, 3, 6)


@claim(
    "conventions-vmap",
    "And torch.func.vmap does not allow it: over a batch of masks attention raises a RuntimeError, and over a batch "
    "of positions so does LearnedPositionEncoding.",
)
def test_vmap_over_values_that_are_checked():
    q, masks = torch.randn(3, 1, 2, 4, 6), torch.ones(3, 4, 4, dtype=torch.bool).tril()
    table, rows = LearnedPositionEncoding(6, max_len=9), torch.arange(6).view(3, 2)
    with pytest.raises(RuntimeError, match="^vmap: .*data-dependent control flow"):
        torch.func.vmap(lambda q, mask: attention(q, q, q, mask=mask))(q, masks)
    with pytest.raises(RuntimeError, match="^vmap: .*dynamic shape"):
        torch.func.vmap(table)(rows)
    # It is the look that vmap refuses: without a mask, or with one mask for all, there is none.
    want = attention(q.flatten(0, 1), q.flatten(0, 1), q.flatten(0, 1), mask=masks[0]).view_as(q)
    got = torch.func.vmap(lambda q: attention(q, q, q, mask=masks[0]))(q)
    torch.testing.assert_close(got, want)
    assert torch.func.vmap(lambda q: attention(q, q, q))(q).shape == q.shape
