"""The sentences of docs/check/libraries.md: each is read from the kept reports."""

import re

from posenc_check.peers.difference import explained, listed
from posenc_check.peers.results_file import RESULTS
from posenc_check.peers.summary import kept
from tests.guard.marks import claim

FOLDER = RESULTS.parent


def reports(library: str, contract: str, part: str = "") -> list[dict]:
    found, versions = kept()
    fitting = [
        record
        for record in found
        if (record["library"], record["contract"]) == (library, contract) and part in record["of"]
    ]
    assert fitting, (library, contract, part)
    return [record | {"version": versions[library]} for record in fitting]


def failures(record: dict) -> dict[str, dict]:
    return {one["name"]: one for one in record["requirements"] if one["status"] == "fail"}


@claim(
    "libraries-explained",
    "The text below is printed from that record, and every requirement that is not met is "
    "explained by one of its sentences, with a source and a script that shows it.",
    measured="posenc_check/peers/results",
)
def test_every_unmet_requirement_is_explained():
    differences = listed()
    for record in kept()[0]:
        for found, one in explained(differences, record):
            assert one is not None, (record["of"], found)
            assert one.says.endswith(".") and one.source
            assert (FOLDER / "reproductions" / f"{one.reproduction}.py").is_file()
    # The page prints one part for each library of the record.
    page = (FOLDER.parents[1] / "docs/check/libraries.md").read_text(encoding="utf-8")
    printed = re.findall(r'^print\(differences\("(.+)"\)\)$', page, re.MULTILINE)
    assert printed == list(dict.fromkeys(record["library"] for record in kept()[0]))


@claim(
    "libraries-litgpt",
    "YaRN's ramp in litgpt 0.5.13 runs the other way round: the fast pairs are divided by the "
    "factor and the slow ones kept.",
    measured="posenc_check/peers/results",
)
def test_litgpt():
    (record,) = reports("litgpt", "scaling", "beta_fast")
    assert record["version"] == "0.5.13"
    first = failures(record)["gives each pair the speed of yarn"]
    assert first["where"] == "pair 0" and float(first["got"]) == float(first["expected"]) / 4
    assert first["cause"].startswith("the ramp is upside down: the fast pairs are divided")


@claim(
    "libraries-memory",
    "Angles are remembered by rotary-embedding-torch 0.9.1: a float32 call behind a bfloat16 "
    "one gets that one's rounded angles from position 257 on.",
    measured="posenc_check/peers/results",
)
def test_rotary_embedding_torch():
    name = "an earlier call in bfloat16 changes nothing"
    (record,) = reports("rotary-embedding-torch", "rope", "theta=base).rotate_queries_or_keys(x,")
    assert record["version"] == "0.9.1"
    assert failures(record)[name]["where"].startswith("position 257,")
    assert failures(record)[name]["cause"].startswith("the positions are rounded to bfloat16")
    (without,) = reports("rotary-embedding-torch", "rope", "cache_if_possible=False")
    assert name not in failures(without)


@claim(
    "libraries-equinox",
    "One table is shared in equinox 0.13.8 by modules of one width and dtype, so the second "
    "gets the base of the first.",
    measured="posenc_check/peers/results",
)
def test_equinox():
    (second,) = reports("equinox", "rope", "after one with")
    assert second["version"] == "0.13.8"
    causes = {one["cause"] for one in failures(second).values() if "cause" in one}
    assert causes == {"the base is about 10000, you said 500000"}
    for part in ("the first made", "the first of this width"):
        assert not failures(reports("equinox", "rope", part)[0])


@claim(
    "libraries-keras",
    "The rule dynamic of keras-hub 0.32.0 slows the fastest pair too, by 4.089 at factor 4.",
    measured="posenc_check/peers/results",
)
def test_keras_hub():
    (record,) = reports("keras-hub", "scaling", 'rope_type="dynamic"')
    assert record["version"] == "0.32.0" and record["options"]["factor"] == "4"
    first = failures(record)["gives each pair the speed of ntk_aware"]
    assert first["where"] == "pair 0"
    assert round(float(first["expected"]) / float(first["got"]), 3) == 4.089


@claim(
    "libraries-agree",
    "T5 buckets and the slopes of ALiBi at every number of heads are those of the papers in all "
    "libraries that were asked, but for Falcon's slopes, which are rounded to bfloat16.",
    measured="posenc_check/peers/results",
)
def test_buckets_and_slopes():
    found, _ = kept()
    asked = [record for record in found if record["contract"] in ("t5", "alibi_slopes")]
    assert len({record["library"] for record in asked}) == 3 and len(asked) > 5
    for record in asked:
        causes = {one["cause"] for one in failures(record).values()}
        assert causes == ({"the slopes are rounded to bfloat16"} if "falcon" in record["of"] else set())


@claim(
    "libraries-speeds",
    "The speeds of plain RoPE, of interpolation, and of Llama's rule agree too, but for one option "
    "of keras-hub that has no effect.",
    measured="posenc_check/peers/results",
)
def test_plain_speeds_interpolation_and_llama():
    found, _ = kept()
    asked = [
        record
        for record in found
        if record["contract"] == "scaling"
        and record["options"]["rule"] in ("plain", "linear", "llama3")
    ]
    assert len({record["library"] for record in asked}) > 5
    (odd,) = [record for record in asked if failures(record)]
    assert odd["library"] == "keras-hub" and "position_scaling_factor" in odd["of"]
    first = failures(odd)["gives each pair the speed of linear"]
    assert first["cause"] == "the factor is not followed: the speeds are plain"
