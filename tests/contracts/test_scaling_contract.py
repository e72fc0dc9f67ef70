"""The scaling contract: our rules pass; rules as people got them wrong fail with their cause."""

import functools
import math

import pytest
import torch

from posenc_check.contracts import check_scaling
from snippets.llama3_rope import llama3
from snippets.longrope import longrope
from snippets.partial_rope import proportional_inv_freq
from snippets.rope import rope_inv_freq
from snippets.rope_scaling import dynamic_ntk, linear, ntk_aware
from snippets.yarn import ntk_by_parts, yarn, yarn_mscale

OURS = {
    "plain": (rope_inv_freq, {}),
    "linear": (linear, {}),
    "ntk_aware": (ntk_aware, {}),
    "dynamic_ntk": (dynamic_ntk, {}),
    "ntk_by_parts": (ntk_by_parts, {}),
    "yarn": (yarn, {}),
    "llama3": (llama3, {"base": 5e5, "factor": 8.0, "trained_length": 8192}),
    "longrope": (longrope, {}),
    "proportional": (proportional_inv_freq, {}),
}


@pytest.mark.parametrize("rule", OURS)
@pytest.mark.parametrize("head_dim", [64, 96])
def test_our_rules_pass(rule, head_dim):
    speeds, options = OURS[rule]
    report = check_scaling(speeds, rule=rule, **({"head_dim": head_dim} | options))
    assert report.passed, report
    assert len(report.requirements) > 3


def with_two_mscales(
    head_dim, base, factor, original_max, mscale=None, mscale_all_dim=None, attention_factor=None
):
    inv_freq, computed = yarn(
        head_dim, factor, original_max, base=base, attention_factor=attention_factor
    )
    if mscale and mscale_all_dim and attention_factor is None:
        computed = yarn_mscale(factor, mscale) / yarn_mscale(factor, mscale_all_dim)
    return inv_freq, computed


def test_two_mscales_pass():
    report = check_scaling(with_two_mscales, rule="yarn")
    assert report.passed, report
    names = [entry.name for entry in report.requirements]
    assert "divides the factor of mscale by that of mscale_all_dim" in names


def test_other_styles_pass():
    as_list = check_scaling(lambda dim, theta: rope_inv_freq(dim, theta).tolist(), rule="plain")
    assert as_list.passed, as_list
    in_float32 = check_scaling(lambda dim: rope_inv_freq(dim).float(), rule="plain")
    assert in_float32.passed, in_float32


def plain(head_dim, base=10_000.0):
    return [base ** (-2 * i / head_dim) for i in range(head_dim // 2)]


def ramped(head_dim, base, factor, trained, fast=32.0, slow=1.0, upside_down=False):
    """The released ramp, with whatever numbers one gives it."""
    def pair(turns):
        return head_dim * math.log(trained / (turns * 2 * math.pi)) / (2 * math.log(base))

    low, high = max(math.floor(pair(fast)), 0), min(math.ceil(pair(slow)), head_dim - 1)
    found = []
    for i, speed in enumerate(plain(head_dim, base)):
        kept = 1 - min(max((i - low) / (high - low), 0), 1)
        kept = 1 - kept if upside_down else kept
        found.append(speed * kept + speed / factor * (1 - kept))
    return found


def yarn_like(**wrong):
    def speeds(head_dim, base, factor, trained_length, beta_fast, beta_slow):
        said = {"fast": beta_fast, "slow": beta_slow, "trained": trained_length, "factor": factor}
        said |= {name: change(said) for name, change in wrong.items() if callable(change)}
        more = {name: value for name, value in wrong.items() if not callable(value)}
        return ramped(head_dim, base, **(said | more))

    return speeds


def llama_like(weight, blend="speeds"):
    """weight(L / wavelength, wavelength, L) is the share that is kept in the middle band."""

    def speeds(head_dim, base, factor, low_freq_factor, high_freq_factor, trained_length):
        found = []
        for speed in plain(head_dim, base):
            wave = 2 * math.pi / speed
            if wave < trained_length / high_freq_factor:
                found.append(speed)
            elif wave > trained_length / low_freq_factor:
                found.append(speed / factor)
            else:
                bounds = (low_freq_factor, high_freq_factor)
                kept = weight(trained_length / wave, wave, trained_length, *bounds)
                slow = kept / 1 + (1 - kept) / factor
                if blend == "wavelengths":
                    slow = 1 / (kept + (1 - kept) * factor)
                found.append(speed * slow)
        return found

    return speeds


LLAMA = {"base": 5e5, "factor": 8.0, "trained_length": 8192}
SPEEDS = "gives each pair the speed of "
WRONG = {
    "upside down": ("linear", lambda d, f, base: [s * f for s in plain(d, base)],
                    {"call": "head_dim, factor, base"}, SPEEDS, "factor is taken upside down"),
    "twice": ("linear", lambda d, f, base: [s / f / f for s in plain(d, base)],
              {"call": "head_dim, factor, base"}, SPEEDS, "applied twice"),
    "not applied": ("linear", lambda d, f, base: plain(d, base),
                    {"call": "head_dim, factor, base"}, SPEEDS, "the factor is not followed"),
    "fixed factor": ("linear", lambda d, f, base: [s / 4 for s in plain(d, base)],
                     {"call": "head_dim, factor, base"}, "follows factor", "every value is multiplied by 1.5"),
    "another rule": ("linear", ntk_aware, {}, SPEEDS, "speeds of another rule, ntk_aware"),
    "base times factor": ("ntk_aware", lambda head_dim, base, factor: plain(head_dim, base * factor),
                          {}, SPEEDS, "the exponent D / (D - 2) is missing"),
    "plain exponent sign": ("plain", lambda head_dim, base: [1 / s for s in plain(head_dim, base)],
                            {}, SPEEDS, "exponent sign"),
    "plain without 2": ("plain", lambda head_dim, base: plain(head_dim, base**0.5),
                        {}, SPEEDS, "lacks its factor 2"),
    "plain doubled": ("plain", lambda head_dim, base: plain(head_dim, base**2),
                      {}, SPEEDS, "doubles the column"),
    "plain step": ("plain", lambda head_dim, base: [base ** -(2 * i // head_dim)
                                                    for i in range(head_dim // 2)],
                   {}, SPEEDS, "integer division"),
    "plain ends at 1 / base": ("plain", lambda head_dim, base: torch.logspace(
        0, -math.log10(base), head_dim // 2), {}, SPEEDS, "end at 1 / base"),
    "fixed base": ("plain", lambda head_dim, base: plain(head_dim), {}, "follows base",
                   "the base is not followed"),
    "width of the model": ("plain", lambda head_dim, base: plain(128, base)[: head_dim // 2],
                           {}, "takes another width", "lacks its factor 2"),
    "extended length": ("dynamic_ntk", lambda dim, length, original_max, factor, base: dynamic_ntk(
        dim, round(original_max * factor), original_max, factor, base), {},
        SPEEDS, "the maximum length stands where"),
    "ratio alone": ("dynamic_ntk", lambda dim, length, original_max, factor, base: ntk_aware(
        dim, max(1.0, factor * length / original_max), base), {}, SPEEDS, "without factor - 1"),
    "length ignored": ("dynamic_ntk", lambda dim, base, length: plain(dim, base), {},
                       SPEEDS, "the length is not followed"),
    "scaled within the trained length": (
        "dynamic_ntk", lambda dim, length, original_max, factor, base: ntk_aware(
            dim, factor * length / original_max - (factor - 1) if length > 3000 else 1.5, base),
        {}, "gives the speeds at 0.5 times the trained length", ""),
    "ramp upside down": ("yarn", yarn_like(upside_down=True), {}, SPEEDS, "upside down"),
    "ramp from the extended length": (
        "yarn", yarn_like(trained=lambda s: s["trained"] * s["factor"]), {}, SPEEDS,
        "the extended length stands where"),
    "betas swapped": ("yarn", yarn_like(fast=lambda s: s["slow"], slow=lambda s: s["fast"]), {},
                      SPEEDS, "taken for each other"),
    "betas fixed": ("yarn", yarn_like(fast=32.0, slow=1.0), {}, "follows beta_fast",
                    "are not followed"),
    "beta_slow fixed": ("yarn", yarn_like(slow=1.0), {}, "follows beta_slow",
                        "are not followed"),
    "trained length fixed": ("yarn", yarn_like(trained=4096), {}, "follows trained_length",
                             "the trained length is not followed"),
    "truncate ignored": (
        "yarn", lambda head_dim, factor, trained_length, truncate: yarn(
            head_dim, factor, trained_length)[0], {}, "follows truncate", "truncate is not followed"),
    "the paper's ramp": ("yarn", ntk_by_parts, {}, SPEEDS, "another rule, ntk_by_parts"),
    "the released ramp": ("ntk_by_parts", lambda head_dim, base, factor, trained_length: yarn(
        head_dim, factor, trained_length, base=base)[0], {}, SPEEDS, "another rule, yarn"),
    "temperature at factor 1": (
        "yarn", lambda head_dim, factor, trained_length: ramped(
            head_dim, 1e4, factor + (factor == 1), trained_length), {},
        "gives plain speeds at factor 1", ""),
    "wavelength weight": (
        "llama3", llama_like(lambda turns, wave, n, low, high: (n / low - wave) / (
            n / low - n / high)), LLAMA, SPEEDS, "linear in the wavelength"),
    "wavelengths blended": (
        "llama3", llama_like(lambda turns, wave, n, low, high: (turns - low) / (high - low),
                             "wavelengths"), LLAMA, SPEEDS, "wavelengths are blended"),
    "bounds fixed": (
        "llama3", lambda head_dim, factor, trained_length, base, low_freq_factor: llama3(
            head_dim, factor, trained_length, base=base)[0], LLAMA, "follows low_freq_factor",
        "low_freq_factor and high_freq_factor are not followed"),
    "upper bound fixed": (
        "llama3", lambda head_dim, factor, trained_length, base, high_freq_factor: llama3(
            head_dim, factor, trained_length, base=base)[0], LLAMA, "follows high_freq_factor",
        "low_freq_factor and high_freq_factor are not followed"),
    "lists swapped": (
        "longrope", lambda head_dim, length, trained_length, short_factor, long_factor, factor:
        longrope(head_dim, length, trained_length, long_factor, short_factor, factor=factor), {},
        SPEEDS, "short_factor and long_factor are taken"),
    "always short": (
        "longrope", lambda head_dim, length, short_factor: [
            s / f for s, f in zip(plain(head_dim), short_factor)], {},
        "gives the speeds at 2 times the trained length", "the length is not followed"),
    "share fixed": ("proportional", lambda head_dim, share: proportional_inv_freq(head_dim, 0.25),
                    {}, "follows share", ""),
    "other pairs still": ("proportional", lambda head_dim, share: plain(head_dim), {}, SPEEDS,
                          "another rule, plain"),
    "no attention factor": ("yarn", lambda head_dim, factor, trained_length: (
        yarn(head_dim, factor, trained_length)[0], 1.0), {}, "gives the attention factor",
        "left out"),
    "squared attention factor": ("yarn", lambda head_dim, factor, trained_length: (
        yarn(head_dim, factor, trained_length)[0], yarn_mscale(factor) ** 2), {},
        "gives the attention factor", "squared"),
    "logarithm of base 10": ("yarn", lambda head_dim, factor, trained_length: (
        yarn(head_dim, factor, trained_length)[0], 1 + math.log10(factor) / 10), {},
        "gives the attention factor", "base 10"),
    "fixed attention factor": ("yarn", lambda head_dim, factor, trained_length: (
        yarn(head_dim, factor, trained_length)[0], yarn_mscale(4.0)), {},
        "gives the attention factor of another factor", "multiplied by"),
    "given factor ignored": ("yarn", lambda head_dim, factor, trained_length, attention_factor: (
        yarn(head_dim, factor, trained_length)), {}, "takes a given attention factor as it is",
        "is ignored"),
    "given factor multiplied": (
        "yarn", lambda head_dim, factor, trained_length, attention_factor: (
            yarn(head_dim, factor, trained_length)[0],
            (attention_factor or 1.0) * yarn_mscale(factor)), {},
        "takes a given attention factor as it is", "multiplied with the computed one"),
    "one mscale": ("yarn", lambda head_dim, factor, trained_length, mscale, mscale_all_dim: (
        yarn(head_dim, factor, trained_length)[0], yarn_mscale(factor, mscale or 1.0)), {},
        "divides the factor of mscale by that of mscale_all_dim", "mscale and mscale_all_dim are"),
}


@functools.cache
def report_of(name):
    rule, speeds, options, _, _ = WRONG[name]
    return check_scaling(speeds, rule=rule, **options)


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_rule_fails_with_its_cause(name):
    rule, _, _, requirement, cause = WRONG[name]
    requirement = requirement + rule if requirement == SPEEDS else requirement
    report = report_of(name)
    assert not report.unusable, report.unusable
    found = {entry.name: entry for entry in report.failures}
    assert requirement in found, report
    assert cause in found[requirement].cause if cause else found[requirement].cause == ""


def test_every_requirement_is_failed_by_some_wrong_rule():
    reports = [report_of(name) for name in WRONG]
    failed = {entry.name for report in reports for entry in report.failures}
    asked = {entry.name for report in reports for entry in report.requirements}
    assert failed == asked


def raises(head_dim, base):
    raise RuntimeError


@pytest.mark.parametrize(
    "speeds, text",
    [
        (raises, "raises(head_dim, base) raised RuntimeError: at 'raise RuntimeError'"),
        (lambda head_dim: "speeds", "must return numbers, got str"),
        (
            lambda head_dim: ([1.0], 1.0, 2.0),
            "must return inv_freq or (inv_freq, attention_factor), got 3 values",
        ),
        (
            lambda head_dim: plain(head_dim) * 2,
            "must have shape (64,), got a tensor of shape (128,)",
        ),
        (lambda head_dim: [math.nan] * 64, "returned NaN at pair 0, expected 1"),
    ],
)
def test_an_unusable_rule_is_named(speeds, text):
    report = check_scaling(speeds, rule="plain")
    assert report.unusable == text and report.exit_code == 2


@pytest.mark.parametrize(
    "options, text",
    [
        (
            {"rule": "pi"},
            "rule must be one of plain, linear, ntk_aware, dynamic_ntk, ntk_by_parts, yarn, llama3, "
            "longrope, proportional, got 'pi'",
        ),
        ({"head_dim": 5}, "head_dim must be even and at least 6, got 5"),
        (
            {"factor": 1.0},
            "base and factor must be finite and larger than 1, trained_length at least 256, "
            "got 10000, 1, 4096",
        ),
    ],
)
def test_a_wrong_option_is_named(options, text):
    with pytest.raises(ValueError) as error:
        check_scaling(linear, **({"rule": "linear"} | options))
    assert str(error.value) == text
