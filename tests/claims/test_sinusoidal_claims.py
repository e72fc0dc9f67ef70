"""The sentences of docs/methods/sinusoidal.md, in the order of the page."""

import math

import pytest
import torch
from torch import nn

from posenc_check import oracles
from snippets.sinusoidal import (
    SinusoidalPositionEncoding,
    sinusoidal_inv_freq,
    sinusoidal_table,
)
from tests.guard.marks import claim

F64 = torch.float64
HALF_ULP = 2.0**-25  # half the distance of float32 numbers just below 1: the last rounding


def rows(positions, d_model):
    return sinusoidal_table(positions, d_model).double()


@claim(
    "sinusoidal-formula",
    r"\[ \begin{aligned} PE_{p,\,2i} &= \sin(p\,\omega_i) \\ PE_{p,\,2i+1} &= \cos(p\,\omega_i) \\ "
    r"\omega_i &= 10000^{-2i/d} \end{aligned} \]",
)
@pytest.mark.parametrize("d_model", [1, 2, 3, 4, 8, 17, 64])
def test_the_table_is_the_formula(d_model):
    positions = [0, 1, 7, 49, 1000]
    expected = oracles.sinusoid_table(positions, d_model)
    got = rows(torch.tensor(positions), d_model)
    torch.testing.assert_close(got, expected, rtol=0, atol=1.1 * HALF_ULP)


@claim(
    "sinusoidal-speeds",
    "The first hand turns by one radian per position, and each further hand is slower than the one "
    r"before it by the same factor, \(10000^{-2/d}\).",
)
@pytest.mark.parametrize("d_model", [6, 17, 512])
def test_each_hand_is_slower_by_one_factor(d_model):
    speeds = sinusoidal_inv_freq(d_model).tolist()
    assert speeds[0] == 1.0
    for faster, slower in zip(speeds, speeds[1:]):
        assert math.isclose(slower / faster, math.exp(-2 / d_model * math.log(10000)), rel_tol=1e-12)


@claim(
    "sinusoidal-wavelengths",
    r"A full turn of hand \(i\) takes \(2\pi \cdot 10000^{2i/d}\) positions; at \(d = 512\) this runs "
    "from 6.28 to 60611.",
)
def test_wavelengths_at_512():
    turns = 2 * math.pi / sinusoidal_inv_freq(512)
    assert f"{turns[0]:.2f}" == "6.28" and f"{turns[-1]:.0f}" == "60611"
    assert math.isclose(turns[100], 2 * math.pi * 10000 ** (200 / 512), rel_tol=1e-12)


@claim(
    "sinusoidal-range-end",
    r"For an even width the largest wavelength stays below \(10000 \cdot 2\pi\), because the last pair has "
    r"\(2i = d - 2\), not \(2i = d\).",
)
@pytest.mark.parametrize("d_model", [2, 8, 512])
def test_the_last_wavelength_stops_one_pair_short(d_model):
    speeds = sinusoidal_inv_freq(d_model)
    assert len(speeds) == d_model // 2
    last = 2 * math.pi / speeds[-1].item()
    assert last < 10000 * 2 * math.pi
    assert math.isclose(last, 2 * math.pi * 10000 ** ((d_model - 2) / d_model), rel_tol=1e-12)


@claim(
    "sinusoidal-minus-sign",
    r"At \(d = 4\), column 2 of position 1 is \(\sin 0.01 \approx 0.01\); with a plus sign in the "
    r"exponent it is \(\sin 100 \approx -0.506\).",
)
def test_the_sign_of_the_exponent():
    entry = rows(torch.tensor([1]), 4)[0, 2].item()
    assert abs(entry - math.sin(0.01)) < HALF_ULP and f"{entry:.2f}" == "0.01"
    plus = 1 / sinusoidal_inv_freq(4)[1]  # the same size, the other sign of the exponent
    assert math.isclose(plus, 100, rel_tol=1e-12) and f"{math.sin(plus):.3f}" == "-0.506"


@claim(
    "sinusoidal-plus-noise",
    r"At \(d = 64\), a row and its neighbour have a cosine similarity of 0.966 with the minus sign and "
    "of 0.096 with the plus sign.",
)
def test_the_plus_sign_loses_the_similarity_of_neighbours():
    minus, plus = sinusoidal_inv_freq(64), 1 / sinusoidal_inv_freq(64)
    row, neighbour = rows(torch.tensor([7, 8]), 64)
    similarity = torch.cosine_similarity(row, neighbour, dim=0)
    assert f"{similarity:.3f}" == f"{minus.cos().mean():.3f}" == "0.966"
    assert f"{plus.cos().mean():.3f}" == "0.096"


@claim(
    "sinusoidal-sign-blind",
    "The slip is easy to miss in a test: at position 0, and in pair 0 at every position, both signs "
    "give the same numbers to the last bit.",
)
def test_position_and_pair_zero_do_not_show_the_sign():
    table, positions = sinusoidal_table(torch.arange(9), 6), torch.arange(9, dtype=F64)
    angle = positions[:, None] / sinusoidal_inv_freq(6)  # the plus sign
    wrong = torch.stack((angle.sin(), angle.cos()), -1).flatten(-2).float()
    assert torch.equal(wrong[0], table[0])
    assert torch.equal(wrong[:, :2], table[:, :2])
    assert (wrong[1:, 2:] - table[1:, 2:]).abs().amax(dim=1).min() > 0.1


@claim(
    "sinusoidal-distinct",
    r"Among the first 5000 rows at \(d = 64\), no two are closer than 1.47 in Euclidean distance.",
)
def test_rows_are_apart():
    table = rows(torch.arange(5000), 64)
    # Plain differences: the matrix form of cdist rounds close rows to distance 0.
    nearest = min((table[k:] - table[:-k]).norm(dim=-1).min().item() for k in range(1, 5000))
    assert math.floor(nearest * 100) / 100 == 1.47


@claim(
    "sinusoidal-norm",
    r"For an even width every row has the same squared length, \(d/2\).",
)
@pytest.mark.parametrize("d_model", [2, 6, 512])
def test_rows_have_one_length(d_model):
    table = rows(torch.arange(300), d_model)
    half = torch.full((300,), d_model / 2, dtype=F64)
    torch.testing.assert_close(table.square().sum(-1), half, rtol=1e-7, atol=0)


@claim(
    "sinusoidal-own-position",
    "A row depends on its own position alone: not on the content, and not on how many rows the table "
    "has.",
)
def test_a_row_depends_on_its_position_alone():
    short = SinusoidalPositionEncoding(6, max_len=50, dropout=0.0)
    long = SinusoidalPositionEncoding(6, max_len=500, dropout=0.0)
    assert torch.equal(short.pe[0], long.pe[0, :50])
    assert torch.equal(sinusoidal_table(torch.tensor([30, 3]), 6), short.pe[0, [30, 3]])
    content = torch.randn(4, 7, 6)
    assert torch.equal(short(content), content + short.pe[:, :7])
    assert torch.equal(short(torch.zeros(1, 7, 6))[0], short.pe[0, :7])


@claim(
    "sinusoidal-step-is-turn",
    r"For an even width, moving \(k\) positions ahead turns hand \(i\) by \(k\,\omega_i\), the same turn "
    r"from every starting point: \(PE_{p+k}\) is one fixed rotation of \(PE_p\) in each pair.",
)
@pytest.mark.parametrize("k", [1, 17, 300])
def test_a_step_is_one_turn_from_everywhere(k):
    table = rows(torch.arange(500), 8)
    angle = k * torch.tensor([oracles.rope_speed(i, 8) for i in range(4)], dtype=F64)
    sin, cos = table[:-k, 0::2], table[:-k, 1::2]
    ahead = torch.stack(
        (sin * angle.cos() + cos * angle.sin(), cos * angle.cos() - sin * angle.sin()), -1
    ).flatten(-2)
    # Two products of rounded entries: a few float32 roundings.
    torch.testing.assert_close(table[k:], ahead, rtol=0, atol=4 * HALF_ULP)


@claim(
    "sinusoidal-dot-by-gap",
    r"For an even width, the dot product of two rows is \(\sum_i \cos(k\,\omega_i)\), where \(k\) is the "
    "gap between them.",
)
def test_dot_product_by_gap():
    table = rows(torch.arange(200), 64)
    for p, k in [(0, 5), (60, 5), (150, 5), (3, 44), (120, 44)]:
        expected = sum(math.cos(k * oracles.rope_speed(i, 64)) for i in range(32))
        assert abs((table[p] @ table[p + k]).item() - expected) < 1e-5  # 64 rounded products


@claim(
    "sinusoidal-dot-symmetric",
    r"It has no direction: a gap of \(k\) and a gap of \(-k\) give the same value.",
)
def test_dot_product_has_no_direction():
    table = rows(torch.arange(200), 64)
    for k in (1, 9, 80):
        ahead, behind = table[100] @ table[100 + k], table[100] @ table[100 - k]
        assert abs((ahead - behind).item()) < 1e-5
        assert abs((ahead - table[100] @ table[100]).item()) > 0.1  # it does depend on the gap


@claim(
    "sinusoidal-dot-not-monotone",
    r"Nor does it fall all the way: at \(d = 512\) it rises again for the first time from gap 43 to "
    "gap 44.",
)
def test_first_rise_of_the_dot_product():
    # In float64: the rise is small, 0.012 of 135.
    speeds = sinusoidal_inv_freq(512)
    dots = (torch.arange(101, dtype=F64)[:, None] * speeds).cos().sum(-1)
    table = rows(torch.arange(101), 512)
    torch.testing.assert_close(table @ table[0], dots, rtol=0, atol=1e-4)
    rises = [k for k in range(100) if dots[k + 1] > dots[k]]
    assert rises[0] == 43


@claim(
    "sinusoidal-projected-gap",
    r"An attention layer sees them through its projections, and there it is gone: "
    r"\((W_q PE_m)^\top W_k PE_n\) depends on both positions, not on their gap alone.",
)
def test_projections_undo_the_gap_rule():
    g = torch.Generator().manual_seed(0)
    w_q, w_k = torch.randn(2, 64, 64, generator=g, dtype=F64) / 8
    table = rows(torch.arange(200), 64)
    raw, projected = table @ table.T, (table @ w_q.T) @ (table @ w_k.T).T
    assert raw.diagonal(5).std() < 1e-5
    assert projected.diagonal(5).std() > 1


class Layer(nn.Module):
    """Self-attention with one head, and a place to add position once more."""

    def __init__(self, d_model):
        super().__init__()
        self.w = nn.Parameter(torch.randn(3, d_model, d_model) / d_model**0.5)

    def forward(self, x, again=0.0):
        self.q, self.k, self.v = (x @ w + again for w in self.w)
        return x + nn.functional.scaled_dot_product_attention(self.q, self.k, self.v)


def stack_of_three():
    torch.manual_seed(0)
    layers = nn.ModuleList(Layer(6) for _ in range(3))
    encode = SinusoidalPositionEncoding(6, dropout=0.0)
    return layers, encode, torch.randn(2, 5, 6)


@claim(
    "sinusoidal-added-once",
    "It is not added again to the queries, keys and values of every layer: doing so gives a different "
    "model and different outputs.",
)
def test_added_once_and_again_are_two_models():
    layers, encode, x = stack_of_three()
    once = again = encode(x)
    for layer in layers:
        once, again = layer(once), layer(again, encode.pe[:, :5])
    torch.testing.assert_close(encode(x) - x, oracles.sinusoid_table(range(5), 6).float().expand_as(x))
    assert (once - again).abs().max() > 0.1


@claim(
    "sinusoidal-reaches-values",
    r"Position still reaches them, through the projections: the values of the first layer are "
    r"\((x + PE)\,W_v\).",
)
def test_position_reaches_the_values():
    layers, encode, x = stack_of_three()
    layers[0](encode(x))
    position = oracles.sinusoid_table(range(5), 6).float()
    torch.testing.assert_close(layers[0].v, (x + position) @ layers[0].w[2])
    assert (layers[0].v - x @ layers[0].w[2]).abs().max() > 0.1


@claim(
    "sinusoidal-scale",
    r"The first detail is not cosmetic: at \(d = 512\) a row has length 16, and an embedding drawn with "
    "standard deviation 0.02 has length about 0.45.",
)
def test_a_row_outweighs_a_small_embedding():
    row = rows(torch.tensor([37]), 512)
    assert f"{row.norm():.3f}" == "16.000"
    drawn = 0.02 * torch.randn(1000, 512, generator=torch.Generator().manual_seed(0))
    assert f"{drawn.norm(dim=-1).mean():.2f}" == f"{0.02 * math.sqrt(512):.2f}" == "0.45"


@claim(
    "sinusoidal-float64-table",
    r"And the table is computed in float64 and then rounded to float32: at \(5000 \times 512\) its "
    r"largest error is \(3 \cdot 10^{-8}\), where float32 angles give \(3.9 \cdot 10^{-4}\).",
)
def test_error_of_the_table():
    positions = torch.arange(5000, dtype=F64)
    exact_angle = positions[:, None] * torch.tensor(
        [oracles.rope_speed(i, 512) for i in range(256)], dtype=F64
    )
    exact = torch.stack((exact_angle.sin(), exact_angle.cos()), -1).flatten(-2)
    error = (rows(torch.arange(5000), 512) - exact).abs().max().item()
    assert f"{error:.0e}" == "3e-08"
    # The chapter's listing: exp of a float32 logarithm, float32 angles.
    speed = torch.exp(torch.arange(0, 512, 2.0) * (-math.log(10000.0) / 512))
    angle = torch.arange(5000.0)[:, None] * speed
    listing = torch.stack((angle.sin(), angle.cos()), -1).flatten(-2)
    assert f"{(listing - exact).abs().max():.1e}" == "3.9e-04"


@claim(
    "sinusoidal-decode-start",
    "When a decoder is fed one token at a time, a class that always starts at the first row gives every "
    "new token the address of position 0.",
)
def test_one_token_at_a_time_needs_a_start():
    encode = SinusoidalPositionEncoding(6, max_len=9, dropout=0.0)
    token = torch.zeros(2, 1, 6)
    for t in range(9):
        assert torch.equal(encode(token), sinusoidal_table(torch.tensor([[0]] * 2), 6))
        assert torch.equal(encode(token, start=t), sinusoidal_table(torch.tensor([[t]] * 2), 6))


@claim(
    "sinusoidal-other-max-len",
    "Loading it into a module with another max_len stops with a ValueError that names both shapes and "
    "the way out.",
)
def test_loading_another_max_len():
    stored = SinusoidalPositionEncoding(6, max_len=8).state_dict()
    with pytest.raises(ValueError) as caught:
        SinusoidalPositionEncoding(6, max_len=32).load_state_dict(stored)
    for part in ("[1, 8, 6]", "[1, 32, 6]", "persistent=False", "delete pe"):
        assert part in str(caught.value)
    SinusoidalPositionEncoding(6, max_len=32, persistent=False).load_state_dict({})


@claim(
    "sinusoidal-bfloat16-table",
    ".bfloat16() rounds the stored table, by up to 0.002, and a later .float() does not bring the digits "
    "back.",
)
def test_bfloat16_rounds_the_table_for_good():
    module = SinusoidalPositionEncoding(512)
    before = module.pe.clone()
    after = module.bfloat16().float().pe
    assert f"{(after - before).abs().max():.3f}" == "0.002"


@claim(
    "sinusoidal-keep-float32",
    "With keep_float32=True the table keeps its float32 values through both casts.",
)
@pytest.mark.parametrize("cast", ["half", "bfloat16", "double"])
def test_keep_float32(cast):
    module = SinusoidalPositionEncoding(6, max_len=9, keep_float32=True)
    before = module.pe.clone()
    getattr(module, cast)()
    assert module.pe.dtype == torch.float32 and torch.equal(module.pe, before)
    assert torch.equal(module.float().pe, before)


@claim(
    "sinusoidal-export-guard",
    "torch.export turns the length check into a guard of the exported program: too long an input is "
    "still refused, but with another error type than ValueError.",
)
def test_export_refuses_long_input_in_its_own_way():
    module = SinusoidalPositionEncoding(6, max_len=16, dropout=0.0).eval()
    free = {"x": {1: torch.export.Dim.DYNAMIC}}
    program = torch.export.export(module, (torch.zeros(2, 5, 6),), dynamic_shapes=free).module()
    assert torch.equal(program(torch.zeros(2, 16, 6)), module(torch.zeros(2, 16, 6)))
    with pytest.raises(AssertionError):
        program(torch.zeros(2, 17, 6))


@claim(
    "sinusoidal-other-schedule",
    r"At \(d = 512\), with the columns brought into the same order, the two tables differ by up to 0.07 "
    "within the first 50 positions.",
)
def test_the_other_schedule():
    other = [math.exp(-i * math.log(10000) / 255) for i in range(256)]
    angle = torch.arange(50, dtype=F64)[:, None] * torch.tensor(other, dtype=F64)
    theirs = torch.stack((angle.sin(), angle.cos()), -1).flatten(-2)
    assert f"{(rows(torch.arange(50), 512) - theirs).abs().max():.2f}" == "0.07"


@claim(
    "sinusoidal-pairs-on-circle",
    r"Then the sine and the cosine of one pair run at different speeds, and \(\sin^2 + \cos^2 = 1\) no "
    "longer holds for the pair.",
)
def test_one_speed_for_each_pair():
    table = rows(torch.arange(100), 6)
    radius = table[:, 0::2] ** 2 + table[:, 1::2] ** 2
    torch.testing.assert_close(radius, torch.ones_like(radius), rtol=0, atol=1e-6)
    # The slip: the exponent doubles the column instead of the pair, so columns 0 and 1 differ.
    sine, cosine = math.sin(7), math.cos(7 * 10000 ** (-2 / 6))
    assert abs(sine**2 + cosine**2 - 1) > 0.1
    assert abs(table[7, 1].item() - math.cos(7)) < HALF_ULP


@claim("sinusoidal-odd-width", "There is one sine more than there are cosines.")
@pytest.mark.parametrize("d_model", [1, 3, 5, 17])
def test_odd_width(d_model):
    table = rows(torch.arange(9), d_model)
    assert table[:, 0::2].shape[1] == table[:, 1::2].shape[1] + 1
    expected = oracles.sinusoid_table(range(9), d_model)
    torch.testing.assert_close(table, expected, rtol=0, atol=1.1 * HALF_ULP)


@claim("sinusoidal-no-parameters", "There is nothing to train.")
def test_nothing_to_train():
    module = SinusoidalPositionEncoding(6, max_len=9)
    assert list(module.parameters()) == []
    assert dict(module.named_buffers()).keys() == {"pe"}


@claim(
    "sinusoidal-table-bytes",
    r"With the default 5000 rows at \(d = 512\), the table takes 9.77 MiB, in memory and in every "
    "checkpoint that stores it.",
)
def test_bytes_of_the_table():
    stored = SinusoidalPositionEncoding(512).state_dict()["pe"]
    assert f"{stored.numel() * stored.element_size() / 2**20:.2f}" == "9.77"
    assert "pe" not in SinusoidalPositionEncoding(512, persistent=False).state_dict()


@claim(
    "sinusoidal-unseen-positions",
    "The formula gives a row for any position; ten times past the stored table it still equals the "
    "float64 value.",
)
def test_rows_past_the_table():
    stored = SinusoidalPositionEncoding(8).pe.shape[1]
    far = [10 * stored, 10 * stored + 7]
    got = rows(torch.tensor(far), 8)
    torch.testing.assert_close(got, oracles.sinusoid_table(far, 8), rtol=0, atol=1.1 * HALF_ULP)


@claim(
    "sinusoidal-no-extrapolation",
    r"A linear readout makes the point without any training run: fitted to tell the position from the "
    r"rows below 64 at \(d = 32\), it is right to \(10^{-5}\) there, and wrong by more than 10 positions "
    "on average between 128 and 399.",
)
def test_a_readout_fails_beyond_its_rows():
    positions = torch.arange(400)
    table = torch.cat((rows(positions, 32), torch.ones(400, 1, dtype=F64)), 1)
    position = positions.double()
    # lstsq through the SVD: the columns of slow hands are nearly dependent.
    fit = torch.linalg.lstsq(table[:64], position[:64], driver="gelsd").solution
    error = (table @ fit - position).abs()
    assert error[:64].max() < 1e-5
    assert error[128:].mean() > 10
