"""The rope contract: right forms pass, wrong forms fail where they are wrong, with their cause."""

import functools

import pytest
import torch

from posenc_check.contracts import check_rope
from snippets.rope import apply_rope, rope_inv_freq
from tests.contracts import rotations
from tests.contracts.rotations import at, right, rotated, speeds, with_speeds

VALUES = "turns each pair by position * base ** (-2 i / D)"
OTHER = "takes any batch, heads, and length"
ANY = "takes positions in any order"
FAR32 = "is right at far positions, float32"
FAR16 = "is right at far positions, bfloat16"
PAST = "is right at positions past 65504, float16"
DTYPE = "returns the dtype of its input"
BEFORE = "an earlier call in bfloat16 changes nothing"
STARTS = "an earlier call at other positions changes nothing"
VIEW = "takes a transposed view, as models pass it"
GRADIENT = "passes gradients back, twice"
EXPORT = "exports without complex numbers"
STATE = "keeps no computed constant in its state dict"
CAST = "is right after module.to(bfloat16)"
EMPTY = "is right after to_empty"
BASES = "has its own base beside another instance"
GROWTH = "past max_len: refuses with a ValueError, or is right"


def ours(layout, width, base=10_000.0, **more):
    inv_freq = rope_inv_freq(width, base)
    return lambda x, positions: apply_rope(x, positions, inv_freq, layout=layout, **more)


@pytest.mark.parametrize("layout", ["half", "interleaved"])
@pytest.mark.parametrize("base", [10_000.0, 500_000.0])
def test_our_snippet_passes(layout, base):
    report = check_rope(
        ours(layout, 8, base), layout=layout, head_dim=12, rotary_dim=8, base=base, export=True
    )
    assert report.passed, report
    assert len(report.requirements) > 11


def test_our_snippet_passes_with_positions_of_each_sequence_and_an_attention_factor():
    report = check_rope(
        ours("half", 16, attention_factor=1.3),
        layout="half",
        attention_factor=1.3,
        call="x, batch_positions",
    )
    assert report.passed, report
    done = {found.name: found.status for found in report.requirements}
    assert done["takes positions of each sequence of a batch"] == "pass"


def half_with_tables(q, k, cos, sin, unsqueeze_dim=1):
    cos, sin = cos.unsqueeze(unsqueeze_dim), sin.unsqueeze(unsqueeze_dim)

    def turned(x):
        a, b = x.chunk(2, -1)
        return x * cos + torch.cat((-b, a), -1) * sin

    return turned(q), turned(k)


def tables_ready(q, k, cos, sin, offset=0):
    """As in GPT-NeoX: the rows of the tables are cut from offset on."""
    n = q.shape[-2]
    return half_with_tables(q, k, cos[None, offset : offset + n], sin[None, offset : offset + n])


def own_width(x, positions, rotary_dim):
    return rotated(x, positions[:, None].double() * speeds(x, width=rotary_dim))


def of_each_sequence(x, position_ids):
    return rotated(x, position_ids[:, None, :, None].double() * speeds(x))


def tokens_first(x, positions):
    return right(x.transpose(1, 2), positions).transpose(1, 2)


RIGHT = [
    (right, {"layout": "half"}),
    (rotations.as_complex, {"layout": "interleaved"}),
    (half_with_tables, {"layout": "half"}),
    (tokens_first, {"layout": "half", "axes": "BTHD"}),
    (rotations.Refuses, {"layout": "half", "max_position": 4096}),
    (rotations.GPTJ, {"layout": "half", "rotary_dim": 8}),
    (rotations.Choosy, {"layout": "half"}),
    (tables_ready, {"layout": "half"}),
    (own_width, {"layout": "half", "rotary_dim": 8}),
    (of_each_sequence, {"layout": "half"}),
    (lambda q, positions: right(q, positions), {"layout": "half"}),
    (lambda k, positions: right(k, positions), {"layout": "half"}),
    (lambda x, positions, dim=-2: right(x, positions if dim < 0 else None), {"layout": "half"}),
    (lambda x, p: right(x, p), {"layout": "half", "axes": "TD"}),
    (lambda x, p: right(x, p), {"layout": "half", "axes": "HTD"}),
    (lambda x, start: right(x, torch.arange(start, start + x.shape[-2])), {"layout": "half"}),
    (lambda x: right(x, torch.arange(x.shape[-2])), {"layout": "half", "call": "x"}),
    (
        lambda q, k, p: (right(q, p), right(k, p)),
        {"layout": "half", "call": "q, k, positions"},
    ),
    (
        lambda x, pair_cos, pair_sin: rotated(x, torch.atan2(pair_sin, pair_cos)),
        {"layout": "half"},
    ),
    (
        lambda x, freqs_cis: rotated(x, torch.angle(freqs_cis), "interleaved"),
        {"layout": "interleaved"},
    ),
]


@pytest.mark.parametrize("rotate, options", RIGHT, ids=range(len(RIGHT)))
def test_right_forms_of_other_styles_pass(rotate, options):
    report = check_rope(rotate, **options)
    assert report.passed, report


WRONG = {
    "other layout": (lambda x, p: right(x, p, "interleaved"), {}, VALUES, "interleaved, (0, 1)"),
    "other layout, told interleaved": (
        right,
        {"layout": "interleaved"},
        VALUES,
        "half a head apart",
    ),
    "direction": (
        lambda x, p: rotated(x, p[:, None].double() * speeds(x), sign=-1.0),
        {},
        VALUES,
        "turns the other way",
    ),
    "reflection": (
        lambda x, p: rotated(x, p[:, None].double() * speeds(x), second=-1.0),
        {},
        VALUES,
        "a reflection",
    ),
    "exponent sign": (with_speeds(lambda x: speeds(x, times=-2.0)), {}, VALUES, "exponent sign"),
    "no factor 2": (with_speeds(lambda x: speeds(x, times=1.0)), {}, VALUES, "lacks its factor 2"),
    "doubled": (with_speeds(lambda x: speeds(x, times=4.0)), {}, VALUES, "doubles the column"),
    "integer division": (
        with_speeds(lambda x: torch.ones(x.shape[-1] // 2).double()),
        {},
        VALUES,
        "integer division",
    ),
    "ends at 1 / base": (
        with_speeds(lambda x: torch.logspace(0, -4, x.shape[-1] // 2).double()),
        {},
        VALUES,
        "end at 1 / base",
    ),
    "base": (with_speeds(lambda x: speeds(x, 500_000.0)), {}, VALUES, "the base is about 500000"),
    "base and direction": (
        lambda x, p: rotated(x, p[:, None] * speeds(x, times=1.0), sign=-1.0),
        {},
        VALUES,
        "turns the other way: the sign of the sine is swapped; and the exponent lacks",
    ),
    "starts at 1": (at(lambda x, p: p + 1), {}, VALUES, "positions start at 1"),
    "one too small": (at(lambda x, p: p - 1), {}, VALUES, "one too small"),
    "ignores positions": (
        at(lambda x, p: torch.arange(len(p))),
        {},
        VALUES,
        "rows are counted from 0",
    ),
    "nothing": (lambda x, p: x.clone(), {}, VALUES, "nothing is turned"),
    "heads": (
        at(lambda x, p: torch.arange(1, 1 + x.shape[1])[:, None]),
        {"call": "x, start"},
        VALUES,
        "axes H and T",
    ),
    "whole head": (right, {"rotary_dim": 8}, VALUES, "the whole head turns"),
    "speeds of the head": (
        with_speeds(lambda x: speeds(x)[:4]),
        {"rotary_dim": 8},
        VALUES,
        "those of the whole head",
    ),
    "no attention factor": (right, {"attention_factor": 1.2}, VALUES, "factor is not applied"),
    "squared attention factor": (
        lambda x, p: 1.44 * right(x, p),
        {"attention_factor": 1.2},
        VALUES,
        "factor is squared",
    ),
    "some factor": (lambda x, p: 0.5 * right(x, p), {}, VALUES, "multiplied by 0.5"),
    "keys not turned": (
        lambda q, k, p: (right(q, p), k),
        {"call": "q, k, positions"},
        VALUES,
        "of k alone: nothing is turned",
    ),
    "keys turn the other way": (
        lambda q, k, p: (right(q, p), right(k, -p)),
        {"call": "q, k, positions"},
        VALUES,
        "of k alone: it turns the other way",
    ),
    "keys are cut off from the graph": (
        lambda q, k, p: (right(q, p), right(k.detach(), p).requires_grad_()),
        {"call": "q, k, positions"},
        GRADIENT,
        "",
    ),
    "sine and cosine": (
        lambda x, p: rotated(x, torch.pi / 2 - p[:, None].double() * speeds(x)),
        {},
        VALUES,
        "sine and cosine are exchanged",
    ),
    "comes out in halves": (
        lambda x, p: right(x, p, "interleaved").unflatten(-1, (-1, 2)).transpose(-1, -2).flatten(-2),
        {"layout": "interleaved"},
        VALUES,
        "in the places of the other layout",
    ),
    "degrees": (
        lambda x, p: right(x, p.double().deg2rad()),
        {},
        VALUES,
        "read as degrees",
    ),
    "storage": (rotations.flat_memory, {}, VIEW, ""),
    "memo of the length": (
        rotations.Memo(lambda x, p: x.shape[2]),
        {"call": "x, positions"},
        STARTS,
        "the angles of an earlier call are used",
    ),
    "memo of the last position": (
        rotations.Memo(lambda x, p: (x.shape[2], int(p[-1]))),
        {"call": "x, positions"},
        STARTS,
        "the angles of an earlier call are used",
    ),
    "first batch row only": (
        lambda x, p: torch.cat((right(x[:1], p), x[1:])),
        {},
        VALUES,
        "",
    ),
    "one head too few": (
        lambda x, p: torch.cat((right(x[:, :4], p), x[:, 4:]), 1) if x.shape[1] == 5 else x.clone(),
        {},
        OTHER,
        "nothing is turned",
    ),
    "one token is position 0": (
        lambda x, p: right(x, p if len(p) > 1 else p * 0),
        {},
        "takes one token, as in decoding",
        "rows are counted from 0",
    ),
    "counts on from the first": (
        at(lambda x, p: p if len(p) < 6 else p[0] + torch.arange(len(p))),
        {},
        ANY,
        "",
    ),
    "row of the batch": (
        lambda x, p: right(x, p[0]),
        {"call": "x, batch_positions"},
        "takes positions of each sequence of a batch",
        "",
    ),
    "bfloat16 angles": (
        lambda x, p: rotated(x, (p[:, None] * speeds(x)).bfloat16().double()),
        {},
        VALUES,
        "angles are computed in bfloat16",
    ),
    "positions in the dtype of x": (
        lambda x, p: rotated(x, p[:, None].to(x.dtype).double() * speeds(x)),
        {},
        FAR16,
        "positions are rounded to bfloat16",
    ),
    "all in the dtype of x": (
        lambda x, p: rotated(x, (p[:, None].to(x.dtype) * speeds(x).to(x.dtype)).double()),
        {},
        FAR16,
        "positions, speeds, and angles are bfloat16",
    ),
    "float16 positions": (
        lambda x, p: rotated(x, p[:, None].to(x.dtype).double() * speeds(x)),
        {},
        PAST,
        "positions are rounded to float16",
    ),
    "float16 speeds": (
        with_speeds(lambda x: speeds(x).half().double()),
        {},
        VALUES,
        "inverse frequencies are rounded to float16",
    ),
    "wraps at 65536": (at(lambda x, p: p % 65_536), {}, FAR32, ""),
    "promotes": (lambda x, p: right(x.float(), p), {}, DTYPE, "not cast back"),
    "float64 goes down": (lambda x, p: right(x, p).float(), {}, DTYPE, "not cast back"),
    "remembers bfloat16": (rotations.Remembers, {}, BEFORE, "bfloat16"),
    "remembers the first start": (rotations.FirstStart, {}, STARTS, "the angles of an earlier call are used"),
    "detached": (lambda x, p: right(x.detach(), p).requires_grad_(), {}, GRADIENT, ""),
    "kept graph": (rotations.KeepsGraph, {}, GRADIENT, ""),
    "complex": (
        rotations.as_complex,
        {"layout": "interleaved", "export": True},
        EXPORT,
        "complex numbers",
    ),
    "stored constant": (rotations.Buffer, {}, STATE, "strict loading fails"),
    "cast constant": (rotations.NotPersistent, {}, CAST, "frequencies are rounded to bfloat16"),
    "uninitialised constant": (rotations.NotPersistent, {}, EMPTY, "stays as uninitialised memory"),
    "shared table": (rotations.SharedTable, {}, BASES, "the base is about 10000, you said 500000"),
    "base of the class": (
        rotations.LastBase,
        {},
        "keeps its base when another instance is made",
        "the base is about 500000, you said 10000",
    ),
    "bare index error": (
        rotations.Table,
        {"max_position": 4096},
        GROWTH,
        "length is not checked",
    ),
}


@functools.cache
def report_of(name):
    rotations.SHARED.clear()
    rotate, options, _, _ = WRONG[name]
    return check_rope(rotate, **({"layout": "half"} | options))


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_form_fails_with_its_cause(name):
    _, _, requirement, cause = WRONG[name]
    report = report_of(name)
    assert not report.unusable
    found = {entry.name: entry for entry in report.failures}
    assert requirement in found, report
    if cause:
        assert cause in found[requirement].cause
    else:
        assert found[requirement].cause == ""
    assert report.exit_code == 1


def test_every_requirement_is_failed_by_some_wrong_form():
    failed, asked = set(), set()
    for name in WRONG:
        report = report_of(name)
        failed |= {entry.name for entry in report.failures}
        asked |= {entry.name for entry in report.requirements if entry.status != "skip"}
    assert failed == asked


def test_a_base_of_its_own_is_named_as_not_asked():
    def with_base(x, positions, base=1000.0):
        return rotated(x, positions[:, None].double() * speeds(x, base))

    report = check_rope(with_base, layout="half")
    reasons = {entry.name: entry.reason for entry in report.requirements}
    assert report.passed
    assert reasons["its own default base"] == (
        "it is 1000, and 10000 was passed; leave base out to ask it"
    )
    asked = check_rope(with_base, layout="half", call="x, positions")
    assert asked.failures[0].cause == "the base is about 1000, you said 10000"


def raises(x, positions):
    raise KeyError("table")


def in_place(x, positions):
    x[..., 0] = 0
    return x


UNUSABLE = [
    (raises, {}, "raises(x, positions) raised KeyError: 'table'"),
    (in_place, {}, "in_place(x, positions) changes its argument x in place"),
    (
        lambda x, p: x[..., :3],
        {},
        "must return a tensor like x, (2, 5, 5, 16) (BHTD), got (2, 5, 5, 3)",
    ),
    (lambda x, p: None, {}, "must return a tensor like x, (2, 5, 5, 16) (BHTD), got NoneType"),
    (
        lambda x, p: x * float("nan"),
        {},
        "returned NaN at position 1, coordinate 0 (batch 0, head 0), expected 0.466965",
    ),
    (lambda q, k, p: q, {"call": "q, k, positions"}, "of q and k a pair must come back: (q, k)"),
    (
        right,
        {"call": "x, places"},
        "call: 'places' is no word of this contract (base, batch_cos, batch_positions, batch_sin, "
        "cos, head_dim, inv_freq, k, length, pair_complex, pair_cos, pair_sin, positions, q, "
        "rotary_dim, sin, start, x)",
    ),
]


@pytest.mark.parametrize("rotate, options, text", UNUSABLE, ids=range(len(UNUSABLE)))
def test_an_unusable_subject_is_named(rotate, options, text):
    report = check_rope(rotate, layout="half", **options)
    assert report.unusable == text
    assert report.exit_code == 2 and not report.passed
    with pytest.raises(AssertionError):
        report.raise_for_failures()


class CannotBeCast(rotations.NotPersistent):
    def _apply(self, *args, **options):
        raise RuntimeError("do not cast me")


def test_a_module_that_cannot_be_cast_is_no_traceback():
    report = check_rope(CannotBeCast, layout="half")
    assert not report.unusable
    said = [entry.reason for entry in report.requirements if "do not cast me" in entry.reason]
    assert len(said) == 3  # the cast, to_empty, and the table that is cast and grows


@pytest.mark.parametrize(
    "options, text",
    [
        ({"layout": "pairs"}, "layout must be half or interleaved, got 'pairs'"),
        ({"head_dim": 15}, "head_dim must be even, from 4 to 1024, got 15"),
        ({"rotary_dim": 18}, "rotary_dim must be even, from 4 to head_dim, got 18"),
        ({"base": 1.0}, "base must be larger than 1 and finite, got 1.0"),
        ({"axes": "BHD"}, "axes must be an order of B, H, T, D, with T and D, got 'BHD'"),
        ({"axes": "BTTD"}, "axes must be an order of B, H, T, D, with T and D, got 'BTTD'"),
        ({"base": float("inf")}, "base must be larger than 1 and finite, got inf"),
        (
            {"attention_factor": 0.0},
            "attention_factor must be positive and finite, got 0.0",
        ),
        ({"max_position": 8}, "max_position must be at least 16, got 8"),
    ],
)
def test_a_wrong_option_is_named(options, text):
    with pytest.raises(ValueError) as error:
        check_rope(right, **({"layout": "half"} | options))
    assert str(error.value) == text
