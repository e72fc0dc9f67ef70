"""The sentences of docs/methods/m_rope.md, in the order of the page."""

import math

import pytest
import torch

from posenc_check import oracles
from snippets.m_rope import apply_m_rope, m_rope_axes, m_rope_positions
from snippets.rope import apply_rope, rope_inv_freq
from tests.guard.marks import claim

F64 = torch.float64
AXES = torch.tensor([0, 2, 1, 0])
PLACES = torch.tensor([[5, 5, 9, 12, 30], [7, 8, 9, 2, 30], [11, 4, 9, 6, 30]])


def close(a, b, atol=1e-12):
    torch.testing.assert_close(a, torch.as_tensor(b, dtype=F64), rtol=0, atol=atol)


def random(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=F64)


Q, K = random(2, 2, 3, 5, 8)


def scores(q_places, k_places, axes=AXES):
    return apply_m_rope(Q, q_places, rope_inv_freq(8), axes) @ apply_m_rope(K, k_places, rope_inv_freq(8), axes).mT


@claim("m-rope-angle", r"\[ \theta_i = p_{a(i)}\,\omega_i, \quad a(i) \in \{t, h, w\} \]")
@pytest.mark.parametrize("base", [10000.0, 1000000.0])
def test_angles(base):
    turned = apply_m_rope(Q, PLACES, rope_inv_freq(8, base), AXES)
    for t in range(5):
        angles = [PLACES[axis, t].item() * oracles.rope_speed(i, 8, base) for i, axis in enumerate(AXES)]
        for b in range(2):
            for h in range(3):
                close(turned[b, h, t], oracles.rope_vector(Q[b, h, t], 1.0, angles, "half"))


@claim(
    "m-rope-text", "A text token has the same number on all three axes, and M-RoPE is then plain RoPE."
)
def test_text_only():
    positions, _ = m_rope_positions([5], start=40)
    assert positions.tolist() == [[40, 41, 42, 43, 44]] * 3
    speeds = [oracles.rope_speed(i, 8) for i in range(4)]
    close(apply_m_rope(Q, positions, rope_inv_freq(8), AXES), oracles.rope(Q, range(40, 45), speeds, "half"))


@claim(
    "m-rope-blocks",
    "Blocks (Qwen2-VL): with sections of 16, 24 and 24 pairs, time turns pairs 0 to 15, height 16 to 39, "
    "width 40 to 63.",
)
def test_blocks():
    axes = m_rope_axes([16, 24, 24]).tolist()
    pairs = [[i for i, axis in enumerate(axes) if axis == a] for a in (0, 1, 2)]
    assert pairs == [[*range(0, 15 + 1)], [*range(16, 39 + 1)], [*range(40, 63 + 1)]]
    # A token at time 5, height 7, width 11 turns each pair by its own number.
    x = torch.zeros(1, 1, 1, 128, dtype=F64)
    x[..., :64] = 1
    turned = apply_m_rope(x, torch.tensor([[5], [7], [11]]), rope_inv_freq(128, 1e6), torch.tensor(axes))
    for pair, angle in {15: 0.196209, 16: 0.221359, 39: 0.001545, 40: 0.001956}.items():
        got = math.atan2(turned[0, 0, 0, 64 + pair], turned[0, 0, 0, pair])
        assert abs(got - angle) < 1e-6


@claim(
    "m-rope-blocks-time",
    "Time has only fast pairs then: at base 1000000 its longest wave is 160 positions.",
)
def test_waves_of_time():
    waves = 2 * math.pi / rope_inv_freq(128, 1000000)
    assert round(waves[m_rope_axes([16, 24, 24]) == 0].max().item()) == 160
    assert waves[m_rope_axes([24, 20, 20], "interleaved") == 0].max() > 5e6


@claim(
    "m-rope-interleaved",
    "Interleaved (Qwen3-VL): with sections of 24, 20 and 20, the axes take turns, time, height, width, 20 "
    "times, and the last 4 pairs are time again.",
)
def test_interleaved():
    axes = m_rope_axes([24, 20, 20], "interleaved")
    assert axes.tolist() == [0, 1, 2] * 20 + [0] * 4


def count_on(parts):
    """The same positions, one token at a time."""
    tokens, start = [], 0
    for part in parts:
        frames, rows, columns = part if isinstance(part, tuple) else (part, 1, 1)
        used = []
        for f in range(frames):
            for r in range(rows):
                for c in range(columns):
                    used.append((start + f, start + r, start + c) if isinstance(part, tuple) else (start + f,) * 3)
        tokens += used
        start = max(map(max, tokens)) + 1
    return tokens, start


@claim(
    "m-rope-next",
    "The patches of an image share the time, and count rows and columns from where the text stands. The next "
    "text token goes on after the largest number used.",
)
@pytest.mark.parametrize("parts", [[3, (1, 2, 3), 2], [(1, 4, 2), 5], [2, (3, 2, 2), 1, (1, 5, 2), 4]])
def test_positions(parts):
    positions, following = m_rope_positions(parts)
    tokens, start = count_on(parts)
    assert positions.T.tolist() == [list(token) for token in tokens] and following == start


@claim(
    "m-rope-next-example",
    "Three words, an image of two rows and three columns, and the next word stands at 6, although 9 tokens "
    "came before.",
)
def test_next_position():
    positions, following = m_rope_positions([3, (1, 2, 3)])
    assert (following, positions.shape[1]) == (6, 9)


@claim(
    "m-rope-cache-length",
    "With the number of cached tokens in its place its scores are wrong.",
)
def test_cache_length_as_position():
    cached, following = m_rope_positions([1, (1, 2, 2)])
    right, wrong = (torch.full((3, 5), p) for p in (following, cached.shape[1]))
    assert (scores(right, cached) - scores(wrong, cached)).abs().max() > 0.1
    whole, _ = m_rope_positions([1, (1, 2, 2), 1])
    close(scores(right, cached)[..., 0, :], scores(whole[:, 5:].expand(3, 5), cached)[..., 0, :])


@claim(
    "m-rope-both-coordinates",
    "They count pairs. Under layout half the axis of pair 16 holds for coordinates 16 and 80.",
)
def test_both_coordinates_of_a_pair():
    axes = m_rope_axes([16, 24, 24])
    for coordinate in (16, 80):
        x = torch.zeros(1, 1, 1, 128, dtype=F64)
        x[..., coordinate] = 1
        still = apply_m_rope(x, torch.tensor([[9], [0], [9]]), rope_inv_freq(128), axes)
        moved = apply_m_rope(x, torch.tensor([[0], [9], [0]]), rope_inv_freq(128), axes)
        assert torch.equal(still, x) and moved.nonzero()[:, -1].tolist() == [16, 80]


@claim("m-rope-cost", "As RoPE: one angle for each pair.")
def test_as_many_cosines_as_rope():
    from torch.utils._python_dispatch import TorchDispatchMode

    class Count(TorchDispatchMode):
        cosines = 0

        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            if function is torch.ops.aten.cos.default:
                self.cosines += args[0].numel()
            return function(*args, **(kwargs or {}))

    with Count() as three:
        apply_m_rope(Q, PLACES, rope_inv_freq(8), AXES)
    with Count() as one:
        apply_rope(Q, PLACES[0], rope_inv_freq(8))
    assert three.cosines == one.cosines == 5 * 4


@claim(
    "m-rope-two-images",
    "The second image starts behind the largest number of the first, on all three axes, so patches in the same "
    "place of two images differ by the same amount on each axis.",
)
def test_two_images():
    positions, _ = m_rope_positions([2, (1, 2, 3), (1, 2, 3)])
    first, second = positions[:, 2:8], positions[:, 8:]
    assert torch.equal(second - first, torch.full((3, 6), 3))
    assert second.min() == first.max() + 1


@claim(
    "m-rope-shift",
    "Scores depend on gaps only, separately on each axis: shift all three axes of all tokens alike, and "
    "nothing changes.",
)
def test_shifts():
    close(scores(PLACES + 70, PLACES + 70), scores(PLACES, PLACES), atol=1e-11)
    own = torch.tensor([[3], [50], [8]])  # each axis by its own amount
    close(scores(PLACES + own, PLACES + own), scores(PLACES, PLACES), atol=1e-11)
    for axis in range(3):
        further = PLACES.clone()
        further[axis] *= 2
        assert (scores(further, further) - scores(PLACES, PLACES)).abs().max() > 0.1
