"""Readers of scaling blocks: keys that are passed over, factors that are made up."""

import functools

import pytest

from posenc_check.contracts import check_parameters
from posenc_check.rope_config import rope_from_config
from snippets.llama3_rope import llama3
from snippets.rope import rope_inv_freq
from snippets.rope_scaling import linear
from snippets.yarn import yarn, yarn_mscale


def reader(**wrong):
    """A plain reader; each word of `wrong` switches one fault on."""
    def read(head_dim, base, block):
        block = block or {}
        kind = block.get("rope_type", None if "only rope_type" in wrong else block.get("type"))
        if "only type" in wrong:
            kind = block.get("type")
        kind = kind or "default"
        if kind == "default" or ("unknown is none" in wrong and kind == "no-such-type"):
            return rope_inv_freq(head_dim, wrong.get("default base", base)), 1.0
        if "unknown is linear" in wrong and kind == "no-such-type":
            kind = "linear"
        if not block and "needs a block" in wrong:
            raise KeyError("rope_type")
        factor = 1 / block["factor"] if "inverse" in wrong else block["factor"]
        trained = block.get("original_max_position_embeddings")
        if kind == "linear":
            return linear(head_dim, factor, base) if factor >= 1 else (
                rope_inv_freq(head_dim, base) / factor, 1.0)
        if kind == "yarn":
            bounds = {key: block[key] for key in ("beta_fast", "beta_slow") if key in block}
            bounds = {} if "no bounds" in wrong else bounds
            if "no truncate" not in wrong:
                bounds["truncate"] = block.get("truncate", True)
            if "extended length" in wrong:
                trained = round(trained * factor)
            inv_freq, computed = yarn(head_dim, factor, trained, base=base, **bounds)
            return inv_freq, factors(block, factor, computed)
        if kind == "llama3":
            low, high = block["low_freq_factor"], block["high_freq_factor"]
            if "bounds doubled" in wrong:
                high = 2 * high
            return llama3(head_dim, factor, trained, base=base,
                          low_freq_factor=low, high_freq_factor=high)
        raise ValueError(f"unknown rope_type {kind}")

    def factors(block, factor, computed):
        if "attention_factor" in block and "ignores given" not in wrong:
            given = block["attention_factor"]
            return given * computed if "multiplies given" in wrong else given
        if "mscale" in block and "ignores mscale" not in wrong:
            above, below = (yarn_mscale(factor, block[key]) for key in ("mscale", "mscale_all_dim"))
            return above / below
        return 1.0 if "no factor" in wrong else computed

    return read


def test_our_reader_and_a_plain_one_pass():
    def ours(head_dim, base, block):
        return rope_from_config({
            "head_dim": head_dim, "rope_theta": base, "rope_scaling": block,
            "max_position_embeddings": 16_384,
        })

    for read in (ours, reader()):
        for options in ({}, {"head_dim": 128, "base": 5e5}):
            report = check_parameters(read, **options)
            assert report.passed, report
            assert len(report.requirements) == 13
    speeds_alone = check_parameters(lambda d, base, block: reader()(d, base, block)[0],
                                    call="head_dim, base, block")
    assert speeds_alone.passed
    assert "only inv_freq is returned" in [entry.reason for entry in speeds_alone.requirements]


WRONG = {
    "only rope_type": ("reads the old key type", "the speeds are plain"),
    "only type": ("reads rope_type yarn", "the speeds are plain"),
    "unknown is none": ("refuses an unknown rope_type", "taken for none"),
    "unknown is linear": ("refuses an unknown rope_type", "taken for none"),
    "inverse": ("reads rope_type linear", "factor is taken upside down"),
    "no bounds": ("reads beta_fast and beta_slow", "are not followed"),
    "no truncate": ("reads truncate", "the flag truncate is not followed"),
    "extended length": ("reads rope_type yarn", "the extended length stands where"),
    "bounds doubled": ("reads rope_type llama3", ""),
    "no factor": ("gives yarn's attention factor", "left out"),
    "ignores given": ("takes a given attention factor as it is", "is ignored"),
    "multiplies given": ("takes a given attention factor as it is", "multiplied with"),
    "ignores mscale": (
        "divides the factor of mscale by that of mscale_all_dim",
        "mscale and mscale_all_dim are ignored",
    ),
}


@functools.cache
def report_of(fault):
    return check_parameters(reader(**{fault: True}))


@pytest.mark.parametrize("fault", WRONG)
def test_a_wrong_reader_fails_with_its_cause(fault):
    requirement, cause = WRONG[fault]
    report = report_of(fault)
    found = {entry.name: entry for entry in report.failures}
    assert requirement in found, report
    assert cause in found[requirement].cause if cause else not found[requirement].cause


def test_a_base_of_its_own_for_plain_blocks_is_found():
    report = check_parameters(reader(**{"default base": 20_000.0}))
    assert {entry.name for entry in report.failures} == {
        "reads no block as plain RoPE",
        "reads an empty block as plain RoPE",
        "reads rope_type default as plain RoPE",
    }


def test_unusable_readers_and_wrong_options_are_named():
    def raises(head_dim, base, block):
        return block["rope_type"]

    report = check_parameters(raises)
    assert report.exit_code == 2
    assert report.unusable == (
        "raises(head_dim, base, block) raised TypeError: 'NoneType' object is not subscriptable"
    )
    assert "in raises" in report.traceback
    with pytest.raises(ValueError) as error:
        check_parameters(raises, head_dim=7)
    assert str(error.value) == (
        "head_dim must be even and at least 6 and base larger than 1, got 7 and 10000"
    )
