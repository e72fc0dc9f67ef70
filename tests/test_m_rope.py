"""M-RoPE: who turns with which axis, where tokens stand, and the rotation itself."""

import numpy as np
import pytest
import torch
from torch._subclasses import FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode

from posenc_check import oracles
from posenc_check import rope_variants as oracle
from snippets.m_rope import ORDERS, apply_m_rope, m_rope_axes, m_rope_positions
from snippets.rope import apply_rope, rope_inv_freq

POSITIONS = torch.tensor([[7, 2, 1, 900, 41], [3, 5, 1, 31, 640], [8, 0, 2, 77, 12]])
OWN_POSITIONS = torch.stack((POSITIONS, POSITIONS.flip(1) + 3), dim=1)  # [3, B, T]

both_orders = pytest.mark.parametrize("order", ORDERS)


def generic(*shape, seed=0):
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def assert_close(got, want, atol=1e-12):
    # float64: an angle below 1000 is rounded by 1e-13 at most, and |x| is below 5.
    torch.testing.assert_close(got, want, rtol=0, atol=atol)


@pytest.mark.parametrize(
    "sections, order",
    [
        ((16, 24, 24), "blocks"), ([1, 2, 3], "blocks"), ((0, 2, 0), "blocks"),
        ((24, 20, 20), "interleaved"), ([8, 8, 8], "interleaved"), ((3, 2, 0), "interleaved"),
        ((4, 0, 2), "interleaved"), ((5, 1, 2), "interleaved"), ((1, 0, 0), "interleaved"),
    ],
)
def test_pairs_are_shared_by_the_axes(sections, order):
    got = m_rope_axes(sections, order)
    assert got.dtype == torch.int64
    assert got.tolist() == oracle.m_rope_axes(sections, order)
    assert torch.bincount(got, minlength=3).tolist() == list(sections)


def test_known_axes_of_two_model_families():
    assert m_rope_axes([16, 24, 24]).tolist() == [0] * 16 + [1] * 24 + [2] * 24
    turns = m_rope_axes([24, 20, 20], "interleaved").tolist()
    assert turns == [0, 1, 2] * 20 + [0, 0, 0, 0]
    assert torch.equal(m_rope_axes([16, 24, 24]), m_rope_axes([16, 24, 24], "blocks"))


def test_known_angles_of_qwen2_vl():
    """A pair (1, 0) that has turned shows the cosine and the sine of its angle."""
    axes, inv_freq = m_rope_axes([16, 24, 24]), rope_inv_freq(128, 1e6)
    x = torch.zeros(1, 1, 1, 128, dtype=torch.float64)
    x[..., :64] = 1
    y = apply_m_rope(x, torch.tensor([[5], [7], [11]]), inv_freq, axes)[0, 0, 0]
    angle = torch.atan2(y[64:], y[:64])
    known = {0: 5 - 2 * torch.pi, 15: 0.196209, 16: 0.221359, 39: 0.001545, 40: 0.001956}
    for pair, value in known.items():  # literals with six decimals
        assert angle[pair].item() == pytest.approx(value, abs=6e-7)


def test_a_sequence_with_text_an_image_and_a_video():
    got, following = m_rope_positions([2, (1, 2, 3), 1, (2, 1, 2), 2])
    assert got.tolist() == [
        # text  image, 1 x 2 x 3   text  video, 2 x 1 x 2  text
        [0, 1, 2, 2, 2, 2, 2, 2,   5,    6, 6, 7, 7,       8, 9],
        [0, 1, 2, 2, 2, 3, 3, 3,   5,    6, 6, 6, 6,       8, 9],
        [0, 1, 2, 3, 4, 2, 3, 4,   5,    6, 7, 6, 7,       8, 9],
    ]
    assert following == 10 and got.dtype == torch.int64


@pytest.mark.parametrize("start", [0, 1, 37])
@pytest.mark.parametrize(
    "parts",
    [
        [1], [7], [(1, 1, 1)], [(4, 2, 3)], [(2, 5, 3), 4], [(2, 3, 5), (1, 4, 2)],
        [3, 2, (1, 6, 1)], (2, [3, 1, 2], 5),
    ],
)
def test_tokens_stand_where_a_walk_through_the_parts_puts_them(parts, start):
    got, following = m_rope_positions(parts, start)
    want, want_following = oracle.m_rope_positions(parts, start)
    assert got.T.tolist() == [list(token) for token in want]
    assert following == want_following == got.max() + 1 and isinstance(following, int)


@pytest.mark.parametrize("integer", [np.int64, np.int32, torch.tensor])
def test_counts_may_be_integers_of_numpy_or_torch(integer):
    grids = np.array([[1, 2, 3]]), torch.tensor([[1, 2, 3]]), [tuple(map(integer, (1, 2, 3)))]
    want, following = m_rope_positions([3, (1, 2, 3), 2])
    for grid in grids:
        got, end = m_rope_positions([integer(3), grid[0], integer(2)])
        assert torch.equal(got, want) and got.dtype == torch.int64 and end == following


def test_a_sequence_may_be_built_in_two_steps():
    whole, end = m_rope_positions([2, (1, 2, 3), 4], start=5)
    first, start = m_rope_positions([2, (1, 2, 3)], start=5)
    second, following = m_rope_positions([4], start)
    assert torch.equal(torch.cat((first, second), dim=1), whole) and following == end


@both_orders
@pytest.mark.parametrize("positions", [POSITIONS, OWN_POSITIONS], ids=["shared", "own"])
@pytest.mark.parametrize("sections, base", [((2, 1, 1), 10_000.0), ((3, 2, 2), 100.0)])
def test_every_pair_turns_with_the_position_on_its_axis(sections, base, positions, order):
    x, inv_freq = generic(2, 3, 5, 2 * sum(sections)), rope_inv_freq(2 * sum(sections), base)
    axes = m_rope_axes(sections, order)
    got = apply_m_rope(x, positions, inv_freq, axes)
    assert_close(got, oracle.m_rope(x, positions, inv_freq.tolist(), axes.tolist()))


def test_a_batch_of_three_is_not_taken_for_the_axes():
    x, inv_freq, axes = generic(3, 2, 5, 8), rope_inv_freq(8), torch.tensor([2, 0, 1, 1])
    positions = torch.stack((POSITIONS, POSITIONS + 1, POSITIONS.flip(0)), dim=1)
    got = apply_m_rope(x, positions, inv_freq, axes)
    assert_close(got, oracle.m_rope(x, positions, inv_freq.tolist(), axes.tolist()))


@both_orders
@pytest.mark.parametrize("places", [POSITIONS[0], OWN_POSITIONS[0]], ids=["shared", "own"])
def test_text_alone_is_plain_rope(places, order):
    x, inv_freq = generic(2, 3, 5, 8), rope_inv_freq(8)
    got = apply_m_rope(x, torch.stack([places] * 3), inv_freq, m_rope_axes((2, 1, 1), order))
    assert_close(got, apply_rope(x, places, inv_freq))
    assert_close(got, oracles.rope(x, places, inv_freq.tolist(), "half"))


@both_orders
@pytest.mark.parametrize("shift", [(1, 0, 0), (0, 1, 0), (0, 0, 1), (17, 400, 3000)])
def test_scores_depend_only_on_the_offset_on_each_axis(shift, order):
    q, k = generic(2, 3, 5, 8), generic(2, 3, 5, 8, seed=1)
    inv_freq, axes = rope_inv_freq(8), m_rope_axes((2, 1, 1), order)

    def scores(positions):
        q_turned, k_turned = (apply_m_rope(x, positions, inv_freq, axes) for x in (q, k))
        return q_turned @ k_turned.mT

    # Angles near 4000 are rounded by 5e-13; dot products add 8 of them.
    assert_close(scores(POSITIONS + torch.tensor(shift)[:, None]), scores(POSITIONS), atol=1e-10)
    assert (scores(POSITIONS) - scores(POSITIONS.flip(0))).abs().max() > 0.1  # axes differ


def test_norms_are_kept_and_the_input_too():
    x, axes = generic(2, 3, 5, 8), m_rope_axes((2, 1, 1))
    before = x.clone()
    y = apply_m_rope(x, POSITIONS, rope_inv_freq(8), axes)
    assert_close(y.norm(dim=-1), x.norm(dim=-1))
    assert (y - x).abs().max() > 1 and torch.equal(x, before)


class IndexOnOneDevice(TorchDispatchMode):
    """A tensor on the CPU cannot be indexed from an accelerator; fake tensors let it pass."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        if func is torch.ops.aten.index.Tensor:
            assert all(index.device == args[0].device for index in args[1] if index is not None)
        return func(*args, **(kwargs or {}))


def test_axes_are_brought_to_the_device_of_the_positions():
    with FakeTensorMode():  # an accelerator without having one
        x, axes = torch.zeros(2, 3, 5, 8), torch.zeros(4, dtype=torch.int64, device="cuda")
        positions, inv_freq = torch.zeros(3, 5, dtype=torch.int64), torch.ones(4)
        with IndexOnOneDevice():
            assert apply_m_rope(x, positions, inv_freq, axes).device.type == "cpu"
