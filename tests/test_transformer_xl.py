"""The four terms against a loop over single pairs, then what follows from them."""

import pytest
import torch

from posenc_check import oracles, relative
from snippets.attention import attention
from snippets.shaw import shaw_attention
from snippets.transformer_xl import relative_keys, transformer_xl_attention, transformer_xl_scores

B, H, TQ, TK, D, DV, D_MODEL = 2, 3, 4, 7, 5, 8, 6
Q_POSITIONS, K_POSITIONS = torch.tensor([31, 40, 36, 33]), torch.arange(30, 37)
MASK = torch.ones(TQ, TK, dtype=torch.bool).tril(2)


def generic(*shape, seed=0, dtype=torch.float64):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(shape, dtype=torch.float64, generator=generator).to(dtype)


def inputs(dtype=torch.float64, **replaced):
    """Everything that the function takes, with sizes that all differ."""
    shapes = {
        "q": (B, H, TQ, D), "k": (B, H, TK, D), "v": (B, H, TK, DV),
        "content_bias": (H, D), "position_bias": (H, D), "lag_weight": (H * D, D_MODEL),
    }
    tensors = {n: generic(*s, seed=i, dtype=dtype) for i, (n, s) in enumerate(shapes.items())}
    return tensors | {"q_positions": Q_POSITIONS, "k_positions": K_POSITIONS} | replaced


def without_values(tensors):
    return {n: t for n, t in tensors.items() if n != "v"}


def oracle(mask=None, **tensors):
    q, k, v = (tensors.pop(n) for n in "qkv")
    names = "q_positions k_positions content_bias position_bias lag_weight".split()
    return relative.transformer_xl(q, k, v, *(tensors[n] for n in names), mask=mask)


def assert_close(got, want):
    # float64 sums of six to thirty products and seven weights of numbers below 10.
    torch.testing.assert_close(got, want, rtol=0, atol=1e-12)


@pytest.mark.parametrize("mask", [None, MASK], ids=["full", "masked"])
def test_every_output_follows_the_equation(mask):
    tensors = inputs()
    assert_close(transformer_xl_attention(**tensors, mask=mask), oracle(mask, **tensors))


def test_each_term_follows_its_part_of_the_equation():
    tensors = without_values(inputs())
    got, want = transformer_xl_scores(**tensors), relative.transformer_xl_terms(**tensors)
    assert [list(t.shape) for t in got] == [
        [B, H, TQ, TK], [B, H, TQ, TK], [B, H, 1, TK], [H, TQ, TK],
    ]  # fmt: skip
    for one, other in zip(got, want, strict=True):
        assert_close(one.expand(B, H, TQ, TK), other)
        assert other.abs().min() > 1e-4


def test_a_key_behind_has_a_positive_lag():
    tensors = inputs(q_positions=torch.full((TQ,), 35))
    behind = transformer_xl_scores(**without_values(tensors))[3][:, 0, 0]  # the key at 30
    r = relative_keys(torch.tensor(5), tensors["lag_weight"], H)
    assert_close(behind, (tensors["position_bias"] * r).sum(-1))


def test_only_differences_of_positions_count():
    tensors = inputs()
    moved = {n: tensors[n] + 10**9 for n in ("q_positions", "k_positions")}
    plain = transformer_xl_attention(**tensors)
    assert torch.equal(transformer_xl_attention(**tensors | moved), plain)
    swapped = {"q_positions": 60 - Q_POSITIONS, "k_positions": 60 - K_POSITIONS}
    other = transformer_xl_attention(**tensors | swapped)
    assert (other - plain).abs().max() > 0.1  # left is not right


def test_without_biases_and_with_one_head_it_is_shaws_form_with_sinusoids_for_a_table():
    tensors = inputs()
    one = {n: tensors[n][:, :1] for n in "qk"} | {"v": generic(B, 1, TK, D)}
    weight, reach = tensors["lag_weight"][:D], 20
    zeros = torch.zeros(1, D).double()
    biases = {"content_bias": zeros, "position_bias": zeros, "lag_weight": weight}
    # Shaw counts from the query to the key: his row k + gap holds the lag -gap.
    table = relative_keys(torch.arange(reach, -reach - 1, -1), weight, 1)[0]
    want = shaw_attention(
        *one.values(), Q_POSITIONS, K_POSITIONS, table, torch.zeros_like(table), mask=MASK
    )
    assert_close(transformer_xl_attention(**tensors | one | biases, mask=MASK), want)


def test_without_lags_the_content_bias_is_added_to_every_query():
    tensors = inputs(lag_weight=torch.zeros(H * D, D_MODEL).double())
    q, k, v = (tensors[n] for n in "qkv")
    want = oracles.attention(q + tensors["content_bias"][:, None], k, v)
    assert_close(transformer_xl_attention(**tensors), want)
    zeros = {"content_bias": torch.zeros(H, D).double()}
    assert_close(transformer_xl_attention(**tensors | zeros), attention(q, k, v))


def test_the_last_term_is_a_bias_for_each_head_and_lag():
    d = transformer_xl_scores(**without_values(inputs(q_positions=K_POSITIONS[3:])))[3]
    for step in range(TK - TQ + 1):  # the same along every diagonal
        diagonal = d.diagonal(step, 1, 2)
        assert_close(diagonal, diagonal[:, :1].expand_as(diagonal))
    assert d.std(dim=0).min() > 0.01 and d[0, 0].std() > 0.01


def test_a_memory_is_keys_with_earlier_positions():
    tensors = inputs(q_positions=K_POSITIONS[3:])
    causal = K_POSITIONS <= K_POSITIONS[3:, None]
    full = transformer_xl_attention(**tensors, mask=causal)
    half = {n: tensors[n][:, :, 2:] for n in "kv"} | {"k_positions": K_POSITIONS[2:]}
    short = transformer_xl_attention(**tensors | half, mask=causal[:, 2:])
    assert (full - short).abs().max() > 0.1
    hidden = causal & (K_POSITIONS >= 32)
    assert_close(transformer_xl_attention(**tensors, mask=hidden), short)


def test_decoding_slices_equal_the_full_pass():
    tensors = inputs()
    full = transformer_xl_attention(**tensors)
    for i in range(TQ):
        step = {"q": tensors["q"][:, :, i : i + 1], "q_positions": Q_POSITIONS[i : i + 1]}
        assert_close(transformer_xl_attention(**tensors | step)[:, :, 0], full[:, :, i])


def test_a_mask_may_differ_between_sequences_and_heads():
    tensors, mask = inputs(), generic(B, H, TQ, TK, seed=9) > -0.5
    mask[..., 0] = True
    assert_close(transformer_xl_attention(**tensors, mask=mask), oracle(mask, **tensors))


@pytest.mark.parametrize("name, atol", [("bfloat16", 0.15), ("float16", 0.02), ("float32", 1e-5)])
def test_the_output_has_the_dtype_of_the_input(name, atol):
    tensors = inputs(dtype=getattr(torch, name))
    got = transformer_xl_attention(**tensors)
    assert got.dtype == getattr(torch, name)
    # Logits below 10 are rounded a few times, and so are values below 5.
    torch.testing.assert_close(got.double(), oracle(**tensors), rtol=0, atol=atol)


def test_layouts_in_memory_do_not_matter():
    tensors = inputs()
    strided = {n: t.mT.contiguous().mT for n, t in tensors.items() if t.ndim > 1}
    assert not strided["q"].is_contiguous()
    assert_close(transformer_xl_attention(**tensors | strided), transformer_xl_attention(**tensors))


def test_every_tensor_gets_its_gradient():
    names = "q k v content_bias position_bias lag_weight".split()
    tensors = inputs()
    points = tuple(tensors[n].requires_grad_() for n in names)

    def attend(*points):
        return transformer_xl_attention(**tensors | dict(zip(names, points)), mask=MASK)

    assert torch.autograd.gradcheck(attend, points)
    for gradient in torch.autograd.grad(attend(*points).square().sum(), points):
        assert gradient.abs().max() > 0.01


@pytest.mark.parametrize("name", "uint8 uint16 int8 int16 int32".split())
def test_positions_of_any_integer_dtype_do_not_wrap_around(name):
    dtype = getattr(torch, name)
    small = {"q_positions": torch.tensor([3, 100, 5, 9]), "k_positions": torch.arange(30, 37)}
    got = transformer_xl_attention(**inputs(**{n: p.to(dtype) for n, p in small.items()}))
    assert torch.equal(got, transformer_xl_attention(**inputs(**small)))
