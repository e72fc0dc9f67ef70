"""Every shape comment of every snippet is true, and a false one would be found."""

from pathlib import Path

import pytest
import torch

from tests.shapes import shape_comments, shapes_checked

SNIPPETS = Path(__file__).parents[1] / "snippets"


def call_sinusoidal(m):
    m.sinusoidal_table(torch.arange(5), 7)
    m.sinusoidal_table(torch.arange(10).view(2, 5), 7)
    m.SinusoidalPositionEncoding(7, max_len=5)(torch.zeros(2, 5, 7))


def call_rope(m):
    inv_freq = m.rope_inv_freq(8)
    for positions in (torch.arange(5), torch.arange(10).view(2, 5)):
        for layout in m.LAYOUTS:
            m.apply_rope(torch.zeros(2, 3, 5, 11), positions, inv_freq, layout=layout)
    for weight in (torch.zeros(33, 7), torch.zeros(33)):  # heads of width 11
        m.half_from_interleaved(weight, 3, n_rotated=8)
        m.interleaved_from_half(weight, 3, n_rotated=8)


def call_attention(m):
    q, k, v = torch.zeros(2, 3, 5, 11), torch.zeros(2, 3, 7, 11), torch.zeros(2, 3, 7, 13)
    m.attention(q, k, v, bias=torch.zeros(3, 5, 7), mask=torch.ones(5, 7, dtype=torch.bool))


def call_masks(m):
    m.causal_mask(torch.arange(5), torch.arange(7))
    m.causal_mask(torch.arange(10).view(2, 5), torch.arange(14).view(2, 7))


def call_learned(m):
    encode = m.LearnedPositionEncoding(7, max_len=11)
    encode(torch.arange(5))
    encode(torch.arange(10).view(2, 5))
    m.extend_table(torch.zeros(5, 7), 11)
    m.resize_grid(torch.zeros(6, 7), (2, 3), (4, 5))


def call_shaw(m):
    q, k = torch.zeros(2, 3, 5, 11), torch.zeros(2, 3, 7, 11)
    mask, tables = torch.ones(5, 7, dtype=torch.bool), torch.zeros(2, 9, 11)
    m.shaw_attention(q, k, k, torch.arange(5), torch.arange(7), *tables, mask=mask)


def call_shaw_bucketed(m):
    q, k = torch.zeros(2, 3, 5, 11), torch.zeros(2, 3, 7, 11)
    mask, tables = torch.ones(5, 7, dtype=torch.bool), torch.zeros(2, 9, 11)
    m.shaw_attention_bucketed(q, k, k, torch.zeros(5, 7, dtype=torch.int64), *tables, mask=mask)


def call_t5_bias(m):
    for bidirectional in (False, True):
        bias = m.T5Bias(3, bidirectional=bidirectional)
        bias(torch.arange(5), torch.arange(7))


def call_alibi(m):
    m.alibi_bias(torch.arange(5), torch.arange(7), m.alibi_slopes(3))


def call_rope_scaling(m):
    m.linear(8, 4.0)
    m.ntk_aware(8, 4.0)
    m.dynamic_ntk(8, 300, 100)


def call_yarn(m):
    m.ntk_by_parts(8, 4.0, 4096)
    m.yarn(8, 4.0, 4096)


def call_llama3_rope(m):
    m.llama3(8)


def call_longrope(m):
    m.longrope(8, 5, 4096, [1.0] * 4, [2.0] * 4, factor=4.0)


def call_partial_rope(m):
    m.partial_inv_freq(16, 0.5)
    m.proportional_inv_freq(8, 0.5)


def call_rope_2d(m):
    per_head = m.mixed_inv_freq(16, 3)
    for positions in (m.patch_positions(5, 1), torch.zeros(2, 5, 2)):
        for inv_freq in (m.axial_inv_freq(16), per_head):
            for layout in m.LAYOUTS:
                m.apply_rope_2d(torch.zeros(2, 3, 5, 16), positions, inv_freq, layout=layout)


def call_m_rope(m):
    m.m_rope_axes((2, 1, 1))
    axes = m.m_rope_axes((2, 1, 1), "interleaved")
    positions, _ = m.m_rope_positions([1, (1, 2, 2)])
    for positions in (positions, positions[:, None].expand(3, 2, 5)):
        m.apply_m_rope(torch.zeros(2, 7, 5, 8), positions, torch.ones(4), axes)


def call_xpos(m):
    scale = m.xpos_scale(8)
    for positions in (torch.arange(5), torch.arange(10).view(2, 5)):
        for layout in m.LAYOUTS:
            x = torch.zeros(2, 3, 5, 8)
            m.apply_xpos(x, positions, scale, scale, keys=True, layout=layout)


def call_transformer_xl(m):
    q, k, v = torch.zeros(2, 3, 5, 11), torch.zeros(2, 3, 7, 11), torch.zeros(2, 3, 7, 13)
    biases, weight = torch.zeros(2, 3, 11), torch.zeros(33, 8)
    mask, positions = torch.ones(5, 7, dtype=torch.bool), (torch.arange(5), torch.arange(7))
    m.transformer_xl_attention(q, k, v, *positions, *biases, weight, mask=mask)


def call_relative_shift(m):
    m.relative_shift(torch.zeros(2, 3, 5, 11), 7)


def call_deberta(m):
    q, k, v = torch.zeros(2, 3, 5, 11), torch.zeros(2, 3, 7, 11), torch.zeros(2, 3, 7, 13)
    mask, tables = torch.ones(5, 7, dtype=torch.bool), torch.zeros(2, 3, 8, 11)
    positions = torch.arange(5), torch.arange(7)
    m.deberta_attention(q, k, v, *positions, *tables, max_distance=16, mask=mask)


def call_kerple(m):
    for kind in m.KINDS:
        m.Kerple(3, kind=kind)(torch.arange(5), torch.arange(7))


def call_fire(m):
    m.Fire(3, hidden=11)(torch.arange(5), torch.arange(7))


def call_cope(m):
    mask = torch.ones(5, 7, dtype=torch.bool)
    m.CoPE(11, 13)(torch.zeros(2, 3, 5, 11), torch.zeros(2, 3, 5, 7), mask=mask)


def call_fox(m):
    gates = m.ForgetGate(11, 3)(torch.zeros(2, 4, 11))
    m.forget_sums(gates, m.forget_sums(gates)[..., -1])
    m.fox_bias(torch.zeros(2, 3, 5), torch.zeros(2, 3, 7))


def call_sandwich(m):
    m.sandwich_bias(torch.arange(5), torch.arange(7), torch.ones(3), width=8)


def call_toeplitz_bias(m):
    q, k = torch.zeros(2, 3, 5, 11), torch.zeros(2, 3, 7, 11)
    m.toeplitz_attention(q, k, k, torch.zeros(3, 11))


CALLS = {
    "sinusoidal": (call_sinusoidal, {"B": 2, "T": 5, "P": 4, "d_model": 7}),
    "rope": (call_rope, {"B": 2, "H": 3, "T": 5, "P": 4, "D": 11}),
    "attention": (call_attention, {"B": 2, "H": 3, "Tq": 5, "Tk": 7, "D": 11, "Dv": 13}),
    "masks": (call_masks, {"B": 2, "Tq": 5, "Tk": 7}),
    "learned": (call_learned, {"T": 5, "d_model": 7, "max_len": 11, "height": 2, "width": 3}),
    "shaw": (call_shaw, {"B": 2, "H": 3, "Tq": 5, "Tk": 7, "D": 11}),
    "shaw_bucketed": (call_shaw_bucketed, {"B": 2, "H": 3, "Tq": 5, "Tk": 7, "R": 9, "D": 11}),
    "t5_bias": (call_t5_bias, {"H": 3, "Tq": 5, "Tk": 7}),
    "alibi": (call_alibi, {"H": 3, "Tq": 5, "Tk": 7}),
    "rope_scaling": (call_rope_scaling, {"P": 4}),
    "yarn": (call_yarn, {"P": 4}),
    "llama3_rope": (call_llama3_rope, {"P": 4}),
    "longrope": (call_longrope, {"P": 4}),
    "partial_rope": (call_partial_rope, {"P": 4}),
    "rope_2d": (call_rope_2d, {"B": 2, "H": 3, "T": 5, "P": 8, "D": 16}),
    "m_rope": (call_m_rope, {"B": 2, "H": 7, "T": 5, "P": 4, "D": 8}),
    "xpos": (call_xpos, {"B": 2, "H": 3, "T": 5, "P": 4, "D": 8}),
    "transformer_xl": (
        call_transformer_xl,
        {"B": 2, "H": 3, "Tq": 5, "Tk": 7, "D": 11, "Dv": 13, "d_model": 8},
    ),
    "relative_shift": (call_relative_shift, {"Tq": 5, "Tk": 7, "R": 11}),
    "deberta": (call_deberta, {"B": 2, "H": 3, "Tq": 5, "Tk": 7, "D": 11, "Dv": 13}),
    "kerple": (call_kerple, {"H": 3, "Tq": 5, "Tk": 7}),
    "fire": (call_fire, {"H": 3, "Tq": 5, "Tk": 7, "F": 11}),
    "cope": (call_cope, {"B": 2, "H": 3, "Tq": 5, "Tk": 7, "D": 11, "N": 13}),
    "fox": (call_fox, {"B": 2, "H": 3, "T": 4, "Tq": 5, "Tk": 7}),
    "sandwich": (call_sandwich, {"H": 3, "Tq": 5, "Tk": 7, "P": 4}),
    "toeplitz_bias": (call_toeplitz_bias, {"B": 2, "H": 3, "Tq": 5, "Tk": 7, "D": 11}),
}


@pytest.mark.parametrize("stem", sorted(p.stem for p in SNIPPETS.glob("[!_]*.py")))
def test_every_shape_comment_is_true_and_reached(stem):
    call, sizes = CALLS[stem]
    with shapes_checked(SNIPPETS / f"{stem}.py", **sizes) as module:
        call(module)


@pytest.mark.parametrize("stem", sorted(CALLS))
def test_the_snippets_do_carry_shape_comments(stem):
    assert shape_comments((SNIPPETS / f"{stem}.py").read_text())


def check(tmp_path, body, *arguments, **sizes):
    """Run `f(x)` of a small snippet with this body."""
    path = tmp_path / "small.py"
    path.write_text("def f(x):\n" + "".join(f"    {line}\n" for line in body))
    with shapes_checked(path, **sizes) as module:
        for x in arguments:
            module.f(x)


TRUE = [
    ["y = x[0]  # (T,)"],
    ["y = x.mT  # (T, B)"],
    ["a, b = x.chunk(2)  # 2 x (B // 2, T)"],
    ["y = x  # (..., T)", "y = x  # (B, ...)", "y = x[0]  # (..., T)"],
    ["return x[:, None]  # (B, 1, T)"],
    ["y = x.sum(", "    dim=0)  # (T,)"],
    ["y = x  # (B, T)", "y = y + 1  # why, and no shape"],
]
FALSE = [
    ["y = x[0]  # (B,)"],
    ["y = x  # (T, B)"],
    ["y = x  # (T,)"],
    ["y = x  # (B, T, 1)"],
    ["a, b = x.chunk(2)  # (B // 2, T)"],
    ["a, b = x.chunk(2)  # 2 x (B, T)"],
    ["y = x  # (..., B)"],
    ["y = x[0]  # (..., B, T)"],
    ["y = x  # (T, ...)"],
    ["return x[:, None]  # (B, T)"],
    ["y = x.sum(", "    dim=0)  # (B,)"],
]


@pytest.mark.parametrize("body", TRUE, ids="; ".join)
def test_a_true_comment_passes(tmp_path, body):
    check(tmp_path, body, torch.zeros(4, 5), B=4, T=5)


@pytest.mark.parametrize("body", FALSE, ids="; ".join)
def test_a_false_comment_is_found(tmp_path, body):
    with pytest.raises(AssertionError, match="line .: the comment says"):
        check(tmp_path, body, torch.zeros(4, 5), B=4, T=5)


def test_a_comment_that_no_call_reaches_is_found(tmp_path):
    body = ["if x.ndim == 3:", "    x = x[0]  # (B, T)", "y = x  # (B, T)"]
    with pytest.raises(AssertionError, match=r"never reached: lines \[3\]"):
        check(tmp_path, body, torch.zeros(4, 5), B=4, T=5)
    check(tmp_path, body, torch.zeros(4, 5), torch.zeros(1, 4, 5), B=4, T=5)


@pytest.mark.parametrize("line", ["x += 1  # (B, T)", "x.zero_()  # (B, T)", "# (B, T)"])
def test_a_comment_behind_another_statement_is_found(tmp_path, line):
    with pytest.raises(AssertionError, match=r"no assignment or return: lines \[2\]"):
        check(tmp_path, [line, "return x"], torch.zeros(4, 5), B=4, T=5)


@pytest.mark.parametrize("comment", ["# (B, T) in float64", "#(B, T)", "# 2x (B, T)"])
def test_a_shape_comment_written_in_another_way_is_found(tmp_path, comment):
    with pytest.raises(AssertionError, match="line 2: cannot read the shape comment"):
        check(tmp_path, [f"y = x  {comment}"], torch.zeros(4, 5), B=4, T=5)


def test_equal_sizes_are_refused_because_they_hide_swapped_axes(tmp_path):
    with pytest.raises(AssertionError, match="sizes must all differ"):
        check(tmp_path, ["y = x.mT  # (B, T)"], torch.zeros(4, 4), B=4, T=4)
