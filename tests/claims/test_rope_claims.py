"""The sentences of docs/methods/rope.md, in the order of the page."""

import math

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from posenc_check import oracles
from snippets.attention import attention
from snippets.masks import causal_mask
from snippets.rope import (
    LAYOUTS,
    apply_rope,
    half_from_interleaved,
    interleaved_from_half,
    rope_inv_freq,
)
from tests.guard.marks import claim

F64 = torch.float64


def speeds(head_dim, base=10000.0):
    return [oracles.rope_speed(i, head_dim, base) for i in range(head_dim // 2)]


def turn(x, positions, layout="half", base=10000.0):
    return apply_rope(x, positions, rope_inv_freq(x.shape[-1], base), layout=layout)


def matrix(position, head_dim, layout):
    """R(position) as the snippet applies it: its action on the unit vectors."""
    unit = torch.eye(head_dim, dtype=F64)[None, None]
    return turn(unit, torch.full((head_dim,), position), layout)[0, 0].T


def random(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=F64)


def close(a, b, atol=1e-12):
    """Equal but for float64 rounding of angles up to a few hundred radians."""
    torch.testing.assert_close(a, b, rtol=0, atol=atol)


@claim(
    "rope-rotation",
    r"\[ \begin{aligned} \begin{pmatrix} a' \\ b' \end{pmatrix} &= \begin{pmatrix} \cos p\,\omega_i & "
    r"-\sin p\,\omega_i \\ \sin p\,\omega_i & \cos p\,\omega_i \end{pmatrix} \begin{pmatrix} a \\ b "
    r"\end{pmatrix} \\ \omega_i &= 10000^{-2i/d} \end{aligned} \]",
)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("head_dim", [2, 8, 14])
def test_each_pair_is_rotated(head_dim, layout):
    x, positions = random(2, 3, 5, head_dim), [0, 1, 7, 49, 300]
    got = turn(x, torch.tensor(positions), layout)
    close(got, oracles.rope(x, positions, speeds(head_dim), layout))


@claim("rope-identity", r"\[ R(m)^\top R(n) = R(n - m) \]")
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("m, n", [(3, 10), (10, 3), (0, 5), (-4, 7), (250, 1)])
def test_two_rotations_leave_a_relative_one(m, n, layout):
    r_m, r_n = matrix(m, 8, layout), matrix(n, 8, layout)
    close(r_m.T @ r_n, oracles.rotation_matrix(n - m, speeds(8), layout))
    close(r_m.T @ r_m, torch.eye(8, dtype=F64))
    assert abs(torch.linalg.det(r_m).item() - 1) < 1e-12  # a reflection would give -1


@claim(
    "rope-score",
    r"\[ \bigl(R(m)\,q\bigr)^\top \bigl(R(n)\,k\bigr) = q^\top R(n - m)\,k \]",
)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_score_is_one_relative_rotation(layout):
    q, k = random(2, 8)
    for m, n in [(3, 10), (10, 3), (120, 7)]:
        left = turn(q.view(1, 1, 1, 8), torch.tensor([m]), layout).flatten()
        right = turn(k.view(1, 1, 1, 8), torch.tensor([n]), layout).flatten()
        close(left @ right, q @ oracles.rotation_matrix(n - m, speeds(8), layout) @ k)


@claim(
    "rope-direction",
    "The reversed gap gives another score: unlike the bare rows of the sinusoid, a query and a key can "
    "tell before from after.",
)
def test_the_direction_of_the_gap_counts():
    q, k = (x.view(1, 1, 1, 8) for x in random(2, 8))
    rows = oracles.sinusoid_table(range(10), 8)
    for m, n in [(3, 8), (5, 6), (0, 9)]:
        ahead = (turn(q, torch.tensor([m])) * turn(k, torch.tensor([n]))).sum()
        behind = (turn(q, torch.tensor([n])) * turn(k, torch.tensor([m]))).sum()
        assert abs(ahead - behind) > 0.1
        close(rows[m] @ rows[n], rows[n] @ rows[m])


@claim(
    "rope-identity-order",
    r"The order matters: for \(m \neq n\), \(R(m - n)\) is another matrix, the inverse turn.",
)
def test_the_order_of_the_difference():
    product = matrix(3, 8, "half").T @ matrix(10, 8, "half")
    other = oracles.rotation_matrix(3 - 10, speeds(8), "half")
    assert (product - other).abs().max() > 0.5
    close(product @ other, torch.eye(8, dtype=F64))


@claim("rope-norm", "A rotation keeps the length of every vector.")
@pytest.mark.parametrize("layout", LAYOUTS)
def test_length_is_kept(layout):
    x = random(2, 3, 5, 14)
    y = turn(x, torch.arange(40, 45), layout)
    close(y.norm(dim=-1), x.norm(dim=-1))
    assert (y - x).norm(dim=-1).min() > 0.1  # the vectors did turn


def scores(q, k, positions, layout="half", base=10000.0):
    return turn(q, positions, layout, base) @ turn(k, positions, layout, base).mT


@claim(
    "rope-offset-only",
    "Shift the query and the key by the same number of places, and their score stays.",
)
@pytest.mark.parametrize("shift", [1, 17, 100_000])
def test_scores_depend_on_the_gap(shift):
    q, k = random(2, 2, 3, 5, 14)
    here = torch.arange(5)
    # Float64 angles near 1e5 are good to 1e5 * 2**-52 = 2e-11 each.
    close(scores(q, k, here + shift), scores(q, k, here), atol=1e-9)
    stretched = scores(q, k, 2 * here)
    assert (stretched - scores(q, k, here)).abs().max() > 0.1  # other gaps, other scores


@claim(
    "rope-output-shift",
    "Position enters the weights through gaps alone, and with plain values it enters the output in the "
    "same way: shift a whole sequence, and the output of the attention stays.",
)
def test_output_stays_under_a_shift():
    q, k, v = random(3, 2, 3, 5, 8)
    here = torch.arange(5)

    def output(positions):
        mask = causal_mask(positions, positions)
        return attention(turn(q, positions), turn(k, positions), v, mask=mask)

    close(output(here + 1000), output(here), atol=1e-10)
    assert (output(3 * here) - output(here)).abs().max() > 0.1


@claim(
    "rope-not-values", "Rotated values would carry their absolute position into the output."
)
def test_rotated_values_carry_their_position():
    q, k, v = random(3, 2, 3, 5, 8)
    here = torch.arange(5)

    def output(positions):
        return attention(turn(q, positions), turn(k, positions), turn(v, positions))

    assert (output(here + 1000) - output(here)).abs().max() > 0.1


@claim(
    "rope-both-sides",
    "Rotating only one of the two, query or key, leaves the score tied to an absolute position.",
)
def test_one_sided_rotation_is_absolute():
    q, k = random(2, 2, 3, 5, 8)
    here = torch.arange(5)
    for one_sided in (lambda p: turn(q, p) @ k.mT, lambda p: q @ turn(k, p).mT):
        assert (one_sided(here + 10) - one_sided(here)).abs().max() > 0.1


def projected_scores(w_q, w_k, x, n_heads, layout):
    q, k = ((x @ w.T).unflatten(-1, (n_heads, -1)).transpose(1, 2) for w in (w_q, w_k))
    return scores(q, k, torch.arange(x.shape[1]), layout)


@claim(
    "rope-layout-conversion",
    "Reorder the rows of the query and key projections inside each head, and the other layout gives the "
    "same scores.",
)
def test_converted_projections_give_the_same_scores():
    w_q, w_k, x = random(12, 10), random(12, 10, seed=1), random(3, 5, 10, seed=2)
    trained = projected_scores(w_q, w_k, x, 2, "interleaved")
    to_half = half_from_interleaved(w_q, 2), half_from_interleaved(w_k, 2)
    close(projected_scores(*to_half, x, 2, "half"), trained, atol=1e-11)
    back = interleaved_from_half(to_half[0], 2)
    assert torch.equal(back, w_q) and not torch.equal(to_half[0], w_q)


@claim(
    "rope-layout-unconverted",
    "Load the weights without reordering, and nothing fails: shapes fit, norms fit, the scores are wrong.",
)
def test_unconverted_projections_fit_and_are_wrong():
    w_q, w_k, x = random(12, 10), random(12, 10, seed=1), random(3, 5, 10, seed=2)
    right = projected_scores(w_q, w_k, x, 2, "interleaved")
    wrong = projected_scores(w_q, w_k, x, 2, "half")
    assert wrong.shape == right.shape and (wrong - right).abs().max() > 1
    heads = (x @ w_q.T).unflatten(-1, (2, 6)).transpose(1, 2)
    half, neighbours = (turn(heads, torch.arange(5), layout) for layout in LAYOUTS)
    close(half.norm(dim=-1), neighbours.norm(dim=-1))


@claim(
    "rope-layout-bias",
    "Biases of the two projections, and weights of a norm on queries or keys, follow the same order.",
)
def test_biases_and_norm_weights_follow():
    x, bias, gain = random(3, 5, 12), random(12, seed=1), random(6, seed=2)

    def head_vectors(x, bias, gain):
        return ((x + bias).unflatten(-1, (2, 6)) * gain).transpose(1, 2)

    trained = turn(head_vectors(x, bias, gain), torch.arange(5), "interleaved")
    rows = half_from_interleaved(torch.arange(12), 2)
    converted = head_vectors(
        x[..., rows], half_from_interleaved(bias, 2), half_from_interleaved(gain, 1)
    )
    back = interleaved_from_half(torch.arange(6), 1)
    close(turn(converted, torch.arange(5), "half")[..., back], trained)


@claim(
    "rope-layout-partial",
    "Under partial rotary give n_rotated, the rotated width: the other rows of a head keep their place.",
)
def test_partial_rotary_reorders_the_rotated_rows_only():
    x = random(3, 5, 2 * 10)  # two heads of width 10, of which 6 are rotated
    rows = half_from_interleaved(torch.arange(20), 2, n_rotated=6)
    assert rows.tolist() == [0, 2, 4, 1, 3, 5, 6, 7, 8, 9, 10, 12, 14, 11, 13, 15, 16, 17, 18, 19]
    assert interleaved_from_half(rows, 2, n_rotated=6).tolist() == list(range(20))

    def rotated(x, layout):
        heads = x.unflatten(-1, (2, 10)).transpose(1, 2)
        return apply_rope(heads, torch.arange(5), rope_inv_freq(6), layout=layout)

    half, neighbours = rotated(x[..., rows], "half"), rotated(x, "interleaved")
    close(half @ half.mT, neighbours @ neighbours.mT, atol=1e-11)


@claim(
    "rope-partial",
    "If inv_freq is shorter than half the head, the remaining coordinates pass unchanged (partial "
    r"rotary); \(d\) in the equation is then the rotated width.",
)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_partial_rotary(layout):
    x, positions = random(2, 3, 5, 14), torch.arange(5)
    y = apply_rope(x, positions, rope_inv_freq(6), layout=layout)
    assert torch.equal(y[..., 6:], x[..., 6:])
    close(y[..., :6], oracles.rope(x[..., :6], positions, speeds(6), layout))


@claim(
    "rope-decode",
    "With its own position, one new query against the cached keys gives the row of the full pass.",
)
def test_one_new_query_gives_the_row_of_the_full_pass():
    q, k, v = random(3, 2, 3, 7, 8)
    here = torch.arange(7)
    keys, mask = turn(k, here), causal_mask(here, here)
    whole = attention(turn(q, here), keys, v, mask=mask)
    for t in range(7):
        query = turn(q[:, :, t : t + 1], here[t : t + 1])
        step = attention(query, keys, v, mask=causal_mask(here[t : t + 1], here))
        close(step, whole[:, :, t : t + 1])


def with_reflection(x, positions):
    """A mirror in each pair, then the turn: not RoPE, and it keeps the offset property."""
    mirrored = torch.cat((x[..., : x.shape[-1] // 2], -x[..., x.shape[-1] // 2 :]), -1)
    return turn(mirrored, positions)


FAULTY = {
    "exponent": lambda x, p: apply_rope(x, p, 1 / rope_inv_freq(x.shape[-1])),
    "direction": lambda x, p: turn(x, -p),
    "base": lambda x, p: turn(x, p, base=500.0),
    "layout": lambda x, p: turn(x, p, "interleaved"),
    "reflection": with_reflection,
    "identity": lambda x, p: x,
}


@claim(
    "rope-property-is-blind",
    "A flipped sign in the exponent, a turn in the other direction, another base, the other layout, a "
    "reflection in place of the rotation, and doing nothing at all keep the offset property.",
)
@pytest.mark.parametrize("faulty", FAULTY.values(), ids=FAULTY)
def test_the_offset_property_passes_wrong_code(faulty):
    q, k = random(2, 2, 3, 5, 8)
    here = torch.arange(5)

    def score(positions):
        return faulty(q, positions) @ faulty(k, positions).mT

    close(score(here + 17), score(here), atol=1e-9)
    right = oracles.rope(q, here, speeds(8), "half")
    close(turn(q, here), right)
    assert (faulty(q, here) - right).abs().max() > 0.1  # values do tell


@claim(
    "rope-one-value-tells",
    "Position 1 and pair 1 are enough to tell these six faults from the right code.",
)
def test_one_pair_at_one_position_tells():
    x, one = random(1, 1, 1, 6), torch.tensor([1])
    right = oracles.rope(x, one, speeds(6), "half")[..., [1, 4]]
    close(turn(x, one)[..., [1, 4]], right)
    for faulty in FAULTY.values():
        assert (faulty(x, one)[..., [1, 4]] - right).abs().max() > 0.01


@claim(
    "rope-mixed-not-rotation",
    "It is no rotation at all: it changes the length of the vector.",
)
def test_mixed_layouts_change_the_length():
    x, position = random(8), 1
    swapped = torch.cat((-x[4:], x[:4]))  # the half-wise turn

    def combined_with(table):
        return x * (position * table).cos() + swapped * (position * table).sin()

    for_neighbours, for_halves = rope_inv_freq(8).repeat_interleave(2), rope_inv_freq(8).repeat(2)
    assert abs(combined_with(for_neighbours).norm() / x.norm() - 1) > 0.05
    close(combined_with(for_halves), turn(x.view(1, 1, 1, 8), torch.tensor([position])).flatten())


@claim("rope-bfloat16-positions", "In bfloat16 positions 256 and 257 are the same number.")
def test_bfloat16_merges_positions():
    positions = torch.tensor([256, 257])
    assert positions.bfloat16()[0] == positions.bfloat16()[1]
    x = random(1, 1, 1, 8).expand(1, 1, 2, 8)
    apart, merged = turn(x, positions), turn(x, positions.bfloat16().to(torch.int64))
    assert (apart[0, 0, 0] - apart[0, 0, 1]).abs().max() > 0.1
    assert torch.equal(merged[0, 0, 0], merged[0, 0, 1])


@claim(
    "rope-refuses-half",
    "apply_rope refuses half-precision positions and speeds instead of rotating by a wrong angle.",
)
def test_half_precision_is_refused():
    x, here = random(1, 1, 5, 8), torch.arange(5)
    for dtype in (torch.bfloat16, torch.float16):
        message = f"^positions must be integer, float32 or float64, got {dtype}$"
        with pytest.raises(TypeError, match=message):
            apply_rope(x, here.to(dtype), rope_inv_freq(8))
        with pytest.raises(TypeError, match=f"^inv_freq must be float32 or float64, got {dtype}$"):
            apply_rope(x, here, rope_inv_freq(8).to(dtype))


FAR = torch.arange(131072 - 127, 131072 + 1)


@claim(
    "rope-float32-angle",
    r"Even float32 is short at length: at the 128 positions up to 131072, at \(d = 128\), cosines of "
    "float32 angles are wrong by up to 0.0075.",
)
def test_float32_angles_are_short_at_length():
    angle = FAR[:, None].double() * rope_inv_freq(128)
    rounded = FAR[:, None].float() * rope_inv_freq(128).float()
    error = (rounded.double().cos() - angle.cos()).abs().max()
    assert (len(FAR), FAR.max()) == (128, 131072) and f"{error:.4f}" == "0.0075"


@claim(
    "rope-float64-angle",
    "Here the angle is computed in float64 and only its sine and cosine are rounded, so the error near "
    "position 131072 is as small as near position 0.",
)
def test_error_does_not_grow_with_position():
    x = random(1, 1, 128, 128).float()
    for positions in (torch.arange(128), FAR):
        exact = oracles.rope(x, positions, speeds(128), "half")
        error = (turn(x, positions).double() - exact).abs().max()
        # |x| < 5 and four float32 roundings of 2**-24 each.
        assert error < 5 * 4 * 2**-24


@claim(
    "rope-axis-order",
    "When the two sizes differ, the check of positions catches it; when they are equal, nothing can.",
)
def test_exchanged_axes():
    with pytest.raises(ValueError, match=r"^positions must be \[T\] or \[B, T\] with T=3, B=2, got"):
        turn(random(2, 5, 3, 8), torch.arange(5))  # [B, T, H, D]
    square = random(2, 3, 3, 8)
    turned = turn(square, torch.arange(3))
    assert (turn(square.transpose(1, 2), torch.arange(3)).transpose(1, 2) - turned).abs().max() > 0.1


@claim(
    "rope-per-head",
    "Rotating the whole model width as if it were one head gives each head different speeds.",
)
def test_rotating_before_the_split():
    x = random(2, 5, 24)  # three heads of width 8
    heads = x.unflatten(-1, (3, 8)).transpose(1, 2)
    right = oracles.rope(heads, range(5), speeds(8), "half")
    close(turn(heads, torch.arange(5)), right)
    early = turn(x[:, None], torch.arange(5))[:, 0].unflatten(-1, (3, 8)).transpose(1, 2)
    assert (early - right).abs().amax(dim=(0, 2, 3)).min() > 0.1  # every head


def all_ones_score(gaps, head_dim=128, base=10000.0):
    """Score per coordinate of all-ones q and k, through the snippet."""
    ones = torch.ones(1, 1, len(gaps), head_dim, dtype=F64)
    return turn(ones, torch.as_tensor(gaps), base=base).sum(-1).flatten() / head_dim


@claim(
    "rope-score-oscillates",
    r"At \(d = 128\) it falls at first, rises for the first time from gap 11 to gap 12, and is negative "
    "for the first time at gap 1707.",
)
def test_score_of_all_ones():
    # q stands at position 0, so the sum over the turned key is the score.
    score = all_ones_score(range(2000))
    close(score[9], torch.tensor(sum(math.cos(9 * w) for w in speeds(128)) / 64, dtype=F64))
    assert [r for r in range(1999) if score[r + 1] > score[r]][0] == 11
    assert int((score < 0).nonzero()[0]) == 1707


@claim(
    "rope-random-mean",
    "For independent random queries and keys, one of them with zero mean, the mean score is zero at every "
    "gap; for such vectors there is nothing to decay.",
)
def test_mean_score_of_random_vectors():
    # Exact instead of sampled: q with zero mean and k independent of it let q and -q stand for all.
    q, k = random(2, 1, 1, 6, 16)
    positions = torch.tensor([0, 1, 5, 50, 500, 5000])
    at_zero = torch.zeros(6, dtype=torch.int64)
    pair = [(turn(sign * q, at_zero) * turn(k, positions)).sum(-1) for sign in (1, -1)]
    close((pair[0] + pair[1]) / 2, torch.zeros(1, 1, 6, dtype=F64))
    # ... and what does not vanish, the spread, is the same at every gap: E (q^T R k)^2 = D.
    many_q, many_k = random(1, 1, 20_000, 16, seed=3), random(1, 1, 20_000, 16, seed=4)
    for gap in (1, 50, 5000):
        score = (many_q * turn(many_k, torch.full((20_000,), gap))).sum(-1)
        assert abs(score.mean()) < 4 * 4 / math.sqrt(20_000)  # four standard errors
        assert abs(score.square().mean() / 16 - 1) < 0.1


@claim(
    "rope-incomplete-turns",
    r"At \(d = 128\) and base 10000, a training length of 4096 leaves 18 of the 64 pairs without one "
    "complete turn.",
)
def test_pairs_without_a_complete_turn():
    speed = rope_inv_freq(128)
    assert len(speed) == 64 and int((4096 * speed < 2 * math.pi).sum()) == 18


@claim(
    "rope-unseen-angles",
    "The slowest pair has seen angles up to 0.47 radians; at position 131072 its angle is 15.1, more than "
    "two full turns.",
)
def test_angles_of_the_slowest_pair():
    slowest = rope_inv_freq(128)[-1].item()
    assert f"{4096 * slowest:.2f}" == "0.47"
    assert f"{131072 * slowest:.1f}" == "15.1" and 131072 * slowest > 2 * 2 * math.pi


@claim(
    "rope-base",
    r"The base sets the spread: from base 10000 to base 1000000, the last wavelength at \(d = 128\) grows "
    r"by the factor \(100^{126/128}\), the first not at all.",
)
def test_the_base_sets_the_spread():
    small, large = rope_inv_freq(128), rope_inv_freq(128, base=1_000_000.0)
    assert small[0] == large[0] == 1
    assert math.isclose(small[-1] / large[-1], 100 ** (126 / 128), rel_tol=1e-12)


def work(length, rope):
    """Multiply-adds of the matrix products of one attention, counted by torch."""
    q, k, v = random(3, 1, 2, length, 8)
    with FlopCounterMode(display=False) as counter:
        if rope:
            q, k = turn(q, torch.arange(length)), turn(k, torch.arange(length))
        attention(q, k, v)
    return counter.get_total_flops()


@claim(
    "rope-quadratic",
    "It does not change the cost of dense attention: with it or without it, doubling the length "
    "multiplies the work of the two matrix products by four.",
)
def test_attention_stays_quadratic():
    assert work(32, rope=True) == work(32, rope=False) == 2 * (2 * 2 * 32 * 32 * 8)
    assert work(64, rope=True) == 4 * work(32, rope=True)


class CountMultiplied(torch.utils._python_dispatch.TorchDispatchMode):
    """Counts the elements that pass through multiplications."""

    total = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        if func is torch.ops.aten.mul.Tensor:
            self.total += result.numel()
        return result


@claim(
    "rope-adds-work",
    "The rotation comes on top, and its work grows linearly with the length.",
)
def test_rotation_adds_linear_work():
    def multiplied(length):
        x, positions, inv_freq = random(1, 2, length, 8), torch.arange(length), rope_inv_freq(8)
        with CountMultiplied() as count:
            apply_rope(x, positions, inv_freq)
        return count.total

    assert multiplied(32) >= 2 * 2 * 32 * 8  # two products for each of 2 x 32 x 8 coordinates
    assert multiplied(64) == 2 * multiplied(32)


@claim(
    "rope-no-speed-up",
    "RoPE adds work at every length: it is a position mechanism, not a speed-up.",
)
def test_more_is_multiplied_with_rope_than_without():
    def multiplied(length, rope):
        q, k, v = random(3, 1, 2, length, 8)
        with CountMultiplied() as count, FlopCounterMode(display=False) as counter:
            if rope:
                q, k = turn(q, torch.arange(length)), turn(k, torch.arange(length))
            attention(q, k, v)
        return count.total + counter.get_total_flops()

    for length in (1, 32, 256):
        added = multiplied(length, rope=True) - multiplied(length, rope=False)
        assert added >= 2 * (2 * 2 * length * 8)  # q and k, two products a coordinate


@claim(
    "rope-far-gap-flips",
    "A query and a key that are equal, and zero outside the slowest pair, score positive at every gap "
    r"within 4096 at \(d = 128\), and negative at gap 27205.",
)
def test_a_far_gap_turns_the_score_over():
    x = torch.zeros(1, 1, 4098, 128, dtype=F64)
    x[..., 63] = 1.0  # the slowest pair of layout "half"
    gaps = torch.cat((torch.arange(4097), torch.tensor([27205])))
    score = (turn(x, gaps) * x).sum(-1).flatten()
    assert score[:-1].min() > 0.5 and score[-1] < -0.5
