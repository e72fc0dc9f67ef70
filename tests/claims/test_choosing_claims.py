"""The sentences of docs/guides/choosing.md, in the order of the page."""

import inspect

import pytest
import torch

from snippets import alibi, sandwich, sinusoidal, xpos
from snippets.alibi import alibi_bias, alibi_slopes
from snippets.learned import LearnedPositionEncoding, resize_grid
from snippets.llama3_rope import llama3
from snippets.longrope import longrope
from snippets.masks import causal_mask
from snippets.rope import apply_rope, rope_inv_freq
from snippets.rope_2d import apply_rope_2d, axial_inv_freq, patch_positions
from snippets.rope_scaling import dynamic_ntk, linear, ntk_aware
from snippets.shaw import shaw_attention
from snippets.t5_bias import T5Bias
from snippets.toeplitz_bias import consecutive_gaps
from snippets.transformer_xl import transformer_xl_attention
from snippets.yarn import yarn
from tests.guard.marks import claim

F64, HERE = torch.float64, torch.arange(7)


def random(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=F64)


Q, K, V = random(3, 2, 3, 7, 8)


def off(a, b):
    return (a - b).abs().max().item()


def t5():
    torch.manual_seed(0)
    layer = T5Bias(3, bidirectional=True, num_buckets=8, max_distance=20).double()
    torch.nn.init.normal_(layer.weight)
    return layer


def rope_scores(places):
    return apply_rope(Q, places, rope_inv_freq(8)) @ apply_rope(K, places, rope_inv_freq(8)).mT


@claim(
    "choosing-nothing-trained", "ALiBi, Sandwich, xPos, the sinusoid and NoPE train nothing."
)
def test_nothing_is_trained():
    for module in (alibi, sandwich, xpos):
        classes = [c for _, c in inspect.getmembers(module, inspect.isclass) if c.__module__ == module.__name__]
        assert classes == []
    assert list(sinusoidal.SinusoidalPositionEncoding(8, 16).parameters()) == []
    mask = causal_mask(HERE, HERE)  # all that NoPE has
    assert mask.dtype == torch.bool and mask.tolist() == [[j <= i for j in range(7)] for i in range(7)]


@claim(
    "choosing-gap-bias",
    r"A bias that depends on the gap alone needs \(2T - 1\) numbers a head and not \(T^2\).",
)
@pytest.mark.parametrize("bias", ["alibi", "t5"])
def test_numbers_of_a_gap_bias(bias):
    def numbers(q_places, k_places):
        if bias == "t5":
            return t5()(q_places, k_places).detach()
        return alibi_bias(q_places, k_places, alibi_slopes(3), dtype=F64)

    gaps = consecutive_gaps(HERE, HERE)
    table = numbers(torch.zeros_like(gaps[:1]), gaps)[:, 0]
    assert table.shape == (3, 2 * 7 - 1)
    gap = HERE - HERE[:, None]
    assert torch.equal(table[:, gap + 6], numbers(HERE, HERE))


@claim(
    "choosing-encoder",
    "A learned table is enough, and the plainest: it tells left from right, and its end is known.",
)
def test_a_table_for_an_encoder():
    torch.manual_seed(0)
    table = LearnedPositionEncoding(8, max_len=512, std=1.0)
    rows = table(torch.arange(512)).double()
    scores = (rows[:7] @ random(8, 8)) @ rows[:7].T
    assert off(scores, scores.T) > 0.1  # the key before and the key after differ
    with pytest.raises(ValueError, match="512"):
        table(torch.tensor([512]))
    left, right = (alibi_bias(torch.tensor([3]), torch.tensor([p]), alibi_slopes(3)) for p in (1, 5))
    assert torch.equal(left, right)  # ALiBi as it is


@claim(
    "choosing-decoder",
    "It needs nothing trained, and the rules of this site for longer texts change its speeds, some with one "
    "factor more: no weight changes its shape.",
)
def test_rules_are_speeds():
    lists = [1.0, 1.1, 1.2, 1.3], [1.0, 2.0, 3.0, 4.0]
    rules = {
        "linear": linear(8, 4.0), "ntk_aware": ntk_aware(8, 4.0), "yarn": yarn(8, 4.0, 64),
        "dynamic_ntk": dynamic_ntk(8, 256, 64), "llama3": llama3(8, 4.0, 64, base=10_000.0),
        "longrope": longrope(8, 256, 64, *lists, factor=4.0),
    }
    assert {name for name, (_, factor) in rules.items() if factor != 1} == {"yarn", "longrope"}
    for inv_freq, factor in rules.values():
        assert inv_freq.shape == rope_inv_freq(8).shape and isinstance(factor, float)
        x = apply_rope(Q, HERE, inv_freq, attention_factor=factor)
        assert x.shape == Q.shape and not x.requires_grad and off(x, apply_rope(Q, HERE, rope_inv_freq(8))) > 0.01


@claim(
    "choosing-audio",
    "RoPE, T5 bias, relative vectors or Transformer-XL's terms all do; a learned table does not.",
)
def test_gaps_with_their_sign():
    table, lags = random(2, 7, 8, seed=1), random(24, 6, seed=2)
    u, w = random(2, 3, 8, seed=3)
    layer = t5()
    methods = {
        "rope": rope_scores,
        "t5": lambda p: layer(p, p).detach(),
        "shaw": lambda p: shaw_attention(Q, K, V, p, p, *table),
        "xl": lambda p: transformer_xl_attention(Q, K, V, p, p, u, w, lags),
    }
    for name, method in methods.items():
        assert off(method(HERE + 30), method(HERE)) < 1e-10, name
        assert off(method(-HERE), method(HERE)) > 0.01, name  # before and after differ
    torch.manual_seed(0)
    rows = LearnedPositionEncoding(8, max_len=64, std=1.0)(torch.arange(64)).double()
    scores = [(rows[s : s + 7] + Q[0, 0]) @ (rows[s : s + 7] + K[0, 0]).T for s in (0, 30)]
    assert off(*scores) > 0.1


@claim(
    "choosing-vit",
    "A learned table has to be resized for each.",
)
def test_another_grid():
    for height, width in ((4, 6), (5, 4)):
        x, places = random(1, 2, height * width, 8), patch_positions(height, width)
        got = apply_rope_2d(x, places * torch.tensor([2 / height, 3 / width]), axial_inv_freq(8))
        assert got.shape == x.shape and off(got.norm(dim=-1), x.norm(dim=-1)) < 1e-12
        assert off(apply_rope_2d(x, places, axial_inv_freq(8)), got) > 0.01  # as they are, or scaled
    table = random(6, 8)
    resized = resize_grid(table, (2, 3), (5, 4))
    assert table.shape[0] == 6 and resized.shape == (20, 8)
    corner = torch.tensor([[0.5, 1.0]], dtype=F64)  # a scaled place is turned by its own angle
    turned = apply_rope_2d(random(1, 1, 1, 8), corner, axial_inv_freq(8))
    assert off(turned, apply_rope_2d(random(1, 1, 1, 8), 2 * corner, axial_inv_freq(8))) > 0.01
