"""The sentences of docs/methods/partial_rope.md, in the order of the page."""

import math

import pytest
import torch

from posenc_check import oracles
from snippets.partial_rope import partial_inv_freq, proportional_inv_freq
from snippets.rope import apply_rope, half_from_interleaved, rope_inv_freq
from snippets.yarn import yarn
from tests.guard.marks import claim

F64 = torch.float64


def close(a, b, rtol=1e-12, atol=0.0):
    torch.testing.assert_close(a, torch.as_tensor(b, dtype=F64), rtol=rtol, atol=atol)


def random(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=F64)


def score(q, k, gap, inv_freq):
    turned = apply_rope(q, torch.tensor([900 + gap]), inv_freq), apply_rope(k, torch.tensor([900]), inv_freq)
    return torch.linalg.vecdot(*turned)


@claim("partial-rope-content", "Coordinates that do not turn keep it.")
@pytest.mark.parametrize("speeds, still", [
    (partial_inv_freq, [*range(4, 16)]), (proportional_inv_freq, [*range(2, 8), *range(10, 16)]),
])
def test_a_match_at_any_distance(speeds, still):
    q, k = random(2, 2, 3, 1, 16)
    content = torch.zeros(16, dtype=F64)
    content[still] = 1.0
    inv_freq = speeds(16, 0.25)
    for gap in (1, 50, 3000):
        close(score(q * content, k * content, gap, inv_freq), (q * k)[..., still].sum(-1))
    assert (score(q, k, 50, inv_freq) - score(q, k, 1, inv_freq)).abs().max() > 0.1


@claim("partial-rope-partial", r"\[ \omega_i = \text{base}^{-2i/d_r}, \quad 0 \le i < d_r / 2 \]")
@pytest.mark.parametrize("head_dim, share, n_rotated", [(16, 0.25, 4), (80, 0.4, 32), (128, 0.5, 64)])
@pytest.mark.parametrize("base", [10000.0, 1000000.0])
def test_partial_speeds(head_dim, share, n_rotated, base):
    expected = [oracles.rope_speed(i, n_rotated, base) for i in range(n_rotated // 2)]
    close(partial_inv_freq(head_dim, share, base), expected)


@claim(
    "partial-rope-proportional",
    r"\[ \omega_i = \begin{cases} \text{base}^{-2i/d} & i < \lfloor p\,d/2 \rfloor \\ 0 & \text{else} \end{cases} \]",
)
@pytest.mark.parametrize("head_dim, share, turning", [(16, 0.25, 2), (10, 0.5, 2), (128, 0.5, 32)])
@pytest.mark.parametrize("base", [10000.0, 1000000.0])
def test_proportional_speeds(head_dim, share, turning, base):
    pairs = head_dim // 2
    expected = [oracles.rope_speed(i, head_dim, base) if i < turning else 0 for i in range(pairs)]
    close(proportional_inv_freq(head_dim, share, base), expected)


@claim(
    "partial-rope-numbers",
    r"At \(d = 256\), a share of 0.25 and base 1000000 both turn 32 pairs. The second pair turns by 0.6494 "
    "radians under partial rotary and by 0.8977 under p-RoPE, the slowest by 0.0000015 and by 0.0352.",
)
def test_the_same_share_twice():
    partial = partial_inv_freq(256, 0.25, 1000000)
    proportional = proportional_inv_freq(256, 0.25, 1000000)
    turning = proportional[proportional > 0]
    assert len(partial) == len(turning) == 32
    assert (round(partial[1].item(), 4), round(turning[1].item(), 4)) == (0.6494, 0.8977)
    assert (round(partial[-1].item(), 7), round(turning[-1].item(), 4)) == (0.0000015, 0.0352)


@claim("partial-rope-whole", "With a share of 1 both are plain RoPE.")
def test_the_whole_head():
    plain = [oracles.rope_speed(i, 16) for i in range(8)]
    close(partial_inv_freq(16, 1), plain)
    close(proportional_inv_freq(16, 1), plain)


def partners(inv_freq):
    x = torch.zeros(1, 1, 1, 256, dtype=F64)
    x[..., 1] = 1.0
    return apply_rope(x, torch.tensor([1]), inv_freq).nonzero()[:, -1].tolist()


@claim(
    "partial-rope-pairing",
    "Under layout half coordinate 1 of a head of width 256 turns with coordinate 129. Give apply_rope only the "
    "32 speeds above zero, and it turns with coordinate 33, as it does under partial rotary.",
)
def test_zeros_left_out():
    speeds = proportional_inv_freq(256, 0.25)
    assert partners(speeds) == [1, 129]
    assert len(speeds[speeds > 0]) == 32
    assert partners(speeds[speeds > 0]) == partners(partial_inv_freq(256, 0.25)) == [1, 33]


@claim(
    "partial-rope-rule-width",
    "Given the whole width of a head that rotates half, they return twice the speeds, and apply_rope turns all "
    "of it.",
)
def test_a_rule_for_a_part_of_the_head():
    x, here = random(2, 3, 5, 16), torch.arange(40, 45)
    half, whole = (yarn(width, 4.0, 4096)[0] for width in (8, 16))
    assert len(whole) == 2 * len(half) == 2 * len(partial_inv_freq(16, 0.5))
    assert torch.equal(apply_rope(x, here, half)[..., 8:], x[..., 8:])
    assert (apply_rope(x, here, whole)[..., 8:] - x[..., 8:]).abs().max() > 0.1


@claim(
    "partial-rope-conversion",
    "Only the rotated rows of a head move when weights change their layout: half_from_interleaved takes "
    "n_rotated for that.",
)
def test_conversion_under_partial_rotary():
    rows = torch.arange(32.0)[:, None]  # 2 heads of width 16, 4 coordinates rotated
    moved = half_from_interleaved(rows, 2, n_rotated=4).flatten().tolist()
    assert moved[:4] == [0, 2, 1, 3] and moved[16:20] == [16, 18, 17, 19]
    assert moved[4:16] == [*range(4, 16)] and moved[20:] == [*range(20, 32)]
    q, k, inv_freq = random(2, 3, 5, 16), random(2, 3, 5, 16, seed=1), partial_inv_freq(16, 0.25)
    here = torch.arange(40, 45)

    def scores(a, b, layout):
        return apply_rope(a, here, inv_freq, layout=layout) @ apply_rope(b, here, inv_freq, layout=layout).mT

    order = [int(i) for i in moved[:16]]
    close(scores(q[..., order], k[..., order], "half"), scores(q, k, "interleaved"))


@claim(
    "partial-rope-cost",
    "Less than RoPE on the whole head: partial rotary computes cosines and sines for its own pairs only.",
)
def test_cosines_of_own_pairs_only():
    from torch.utils._python_dispatch import TorchDispatchMode

    class Count(TorchDispatchMode):
        cosines = 0

        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            if function is torch.ops.aten.cos.default:
                self.cosines += args[0].numel()
            return function(*args, **(kwargs or {}))

    def cosines(inv_freq):
        with Count() as count:
            apply_rope(torch.ones(2, 3, 5, 16), torch.arange(5), inv_freq)
        return count.cosines

    assert cosines(partial_inv_freq(16, 0.25)) == 5 * 2
    assert cosines(rope_inv_freq(16)) == 5 * 8 and math.isclose(5 * 2 / (5 * 8), 0.25)
