"""The sentences of docs/check/config.md, in the order of the page."""

import copy
import json
import math
from pathlib import Path

import pytest
import torch

from posenc_check import oracles, scaling
from posenc_check.command import main
from posenc_check.config_numbers import numbers
from posenc_check.peers import results_file
from posenc_check.peers.transformers_differences import DIFFERENCES, HERE
from posenc_check.rope_config import read_ropes, rope_from_config, rope_problems
from tests.exact import raises_exactly
from tests.guard.marks import claim

EXAMPLES = Path(__file__).parents[2] / "posenc_check" / "examples"
BLOCK = {"head_dim": 8, "rope_theta": 500.0}


def example(name):
    return json.loads((EXAMPLES / f"{name}.json").read_text(encoding="utf-8"))


def kept():
    found = results_file.load("transformers_rope")
    assert results_file.digest(found["records"]) == found["digest"]
    return found, {record["name"]: record for record in found["records"]}


@claim(
    "config-status",
    "The exit status is 0 without problems, 1 with some, 2 if the file cannot be used.",
)
def test_exit_status(tmp_path, capsys):
    bad, no_json = tmp_path / "bad.json", tmp_path / "none.json"
    bad.write_text(json.dumps(BLOCK | {"rope_scaling": {"rope_type": "linear", "factor": 0.5}}))
    no_json.write_text("not JSON")
    assert main(["config", str(EXAMPLES / "llama-3.1-8b.json")]) == 0
    assert main(["config", str(bad)]) == 1
    assert main(["config", str(no_json)]) == main(["config", str(tmp_path / "missing")]) == 2
    assert "0 problems found" in capsys.readouterr().out


@claim(
    "config-refuses",
    "It refuses a config that leaves a speed open, and says which key and what is wrong with it.",
)
@pytest.mark.parametrize("block, message", [
    ({"rope_type": "linear", "factor": 0.5}, "factor must be at least 1, got 0.5"),
    ({"rope_type": "linear", "factor": 2.0, "factr": 3}, "factr is no key of rope_type linear, got 3"),
    ({"rope_type": "yarn", "factor": 2.0, "original_max_position_embeddings": 64, "mscale": 1.0},
     "mscale and mscale_all_dim must be given together, got only mscale"),
])
def test_refusals(block, message):
    with raises_exactly(ValueError, message):
        rope_from_config(BLOCK | {"rope_scaling": block})


@claim(
    "config-forms",
    "It reads whole configs and blocks alone, flat or with a part for each layer type, old and new names of "
    "keys.",
)
def test_forms():
    want = torch.tensor([oracles.rope_speed(i, 8, 500.0) / 4 for i in range(4)], dtype=torch.float64)
    new = {"rope_type": "linear", "factor": 4.0, "rope_theta": 500.0}
    forms = [
        BLOCK | {"rope_scaling": {"type": "linear", "factor": 4.0}},
        {"head_dim": 8, "rope_parameters": new},
        {"hidden_size": 16, "num_attention_heads": 2, "rope_parameters": new},
        {"head_dim": 8, **new},
        {"text_config": {"head_dim": 8, "rope_parameters": new}},
    ]
    for form in forms:
        torch.testing.assert_close(rope_from_config(form)[0], want, rtol=1e-12, atol=0)
    parts = {"full_attention": new, "sliding_attention": {"rope_type": "default", "rope_theta": 500.0}}
    nested = {"head_dim": 8, "rope_parameters": parts}
    by_type = {name: rope_from_config(nested, layer_type=name)[0] for name in parts}
    torch.testing.assert_close(by_type["full_attention"], want, rtol=1e-12, atol=0)
    torch.testing.assert_close(by_type["sliding_attention"], 4 * want, rtol=1e-12, atol=0)


@claim(
    "config-length",
    "In Python, a rule that depends on the length needs length; the command takes the maximum length and says "
    "so.",
)
def test_length(tmp_path, capsys):
    config = BLOCK | {
        "max_position_embeddings": 64, "rope_scaling": {"rope_type": "dynamic", "factor": 2.0}
    }
    with pytest.raises(ValueError, match="length"):
        rope_from_config(config)
    got = rope_from_config(config, length=96)[0].tolist()
    want = scaling.dynamic_ntk(8, 96, 64, 2.0, 500.0)
    assert all(math.isclose(a, b, rel_tol=1e-12) for a, b in zip(got, want, strict=True))
    assert got[-1] < 500.0 ** (-6 / 8) / 1.5
    # The list that the command takes is the one for 64 tokens, not the one up to 32.
    lists = {"short_factor": [1.0] * 4, "long_factor": [3.0] * 4, "original_max_position_embeddings": 32}
    config["rope_scaling"] = {"rope_type": "longrope", **lists}
    with pytest.raises(ValueError, match="length"):
        rope_from_config(config)
    path = tmp_path / "config.json"
    path.write_text(json.dumps(config))
    assert main(["config", str(path), "--json"]) == 0
    [rope] = json.loads(capsys.readouterr().out)["ropes"]
    assert rope["slow_down"] == pytest.approx([3.0] * 4, rel=1e-12) and rope["length"] == 64
    assert rope["notes"][0].startswith("computed for the maximum length, 64 tokens;")


QWEN_LIKE = {"head_dim": 128, "rope_theta": 1e6, "max_position_embeddings": 40960}
QWEN_BLOCK = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32768}


@claim(
    "config-factor-counts",
    "Where only a factor and two lengths disagree, it takes the factor, as transformers 5.24.0 does; the command "
    "lists the disagreement.",
    measured="posenc_check/peers/results/transformers_rope.json",
)
def test_the_factor_counts(tmp_path, capsys):
    odd = QWEN_LIKE | {"rope_scaling": QWEN_BLOCK}
    inv_freq, attention_factor = rope_from_config(odd)
    want = scaling.yarn(128, 4.0, 32768, 1e6, 32.0, 1.0, True)
    assert all(math.isclose(a, b, rel_tol=1e-12) for a, b in zip(inv_freq.tolist(), want, strict=True))
    # The last pair is divided by the factor, and not by 40960 / 32768 = 1.25.
    assert math.isclose(1e6 ** (-126 / 128) / inv_freq[-1], 4, rel_tol=1e-12)
    assert math.isclose(attention_factor, 0.1 * math.log(4) + 1, rel_tol=1e-12)
    ratio = "max_position_embeddings / original_max_position_embeddings"
    problem = f"factor is 4, but {ratio} = 40960 / 32768 = 1.25; the factor is used"
    assert rope_problems(odd) == [problem]
    path = tmp_path / "config.json"
    path.write_text(json.dumps(odd))
    assert main(["config", str(path), "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["ropes"][0]["problems"] == [problem]

    found, records = kept()
    assert found["versions"]["transformers"] == "5.24.0"
    record = records["yarn factor beside another ratio"]
    [theirs] = rope_problems(record["config"])
    assert theirs == f"factor is 4, but {ratio} = 40960 / 4096 = 10; the factor is used"
    # Their last pair, in float32.
    assert math.isclose(1e4 ** (-62 / 64) / record["inv_freq"][-1], 4, rel_tol=1e-6)
    assert math.isclose(record["attention_factor"], 0.1 * math.log(4) + 1, rel_tol=1e-7)


def slow_pairs(name, trained_length):
    """Pairs that complete no turn: counted here, and as the report counts them."""
    config = example(name)
    [rope] = read_ropes(config)
    report = numbers(rope, None)
    base, width = config.get("rope_theta"), report["rotated"]
    if base is None:
        base = next(v["rope_theta"] for v in config.values() if isinstance(v, dict))
    turns = [trained_length * oracles.rope_speed(i, width, base) / (2 * math.pi) for i in range(width // 2)]
    counted = sum(t < 1 for t in turns)
    assert report["never_turn"] == counted and report["trained_length"] == trained_length
    return counted, width // 2


@claim(
    "config-llama-3-1",
    "Llama 3.1 8B, llama3 with factor 8: 29 of 64 pairs within 8192 tokens, logits as they are.",
)
def test_llama_3_1():
    name, factor = "llama-3.1-8b", 8
    assert slow_pairs(name, 8192) == (29, 64)
    inv_freq, attention_factor = rope_from_config(example(name))
    want = scaling.llama3(128, factor, 8192, 500_000.0, 1.0, 4.0)
    assert all(math.isclose(a, b, rel_tol=1e-12) for a, b in zip(inv_freq.tolist(), want, strict=True))
    assert attention_factor == 1 and "3.1" in name


@claim(
    "config-gpt-oss",
    "The 20b model of gpt-oss, yarn with factor 32 and truncate off: 14 of 32 pairs within 4096 tokens, "
    "logits times 1.8133.",
)
def test_gpt_oss():
    name = "gpt-oss-20b"
    assert slow_pairs(name, 4096) == (14, 32)
    inv_freq, attention_factor = rope_from_config(example(name))
    assert round(attention_factor**2, 4) == 1.8133
    want = scaling.yarn(64, 32.0, 4096, 150_000.0, 32.0, 1.0, False)
    assert all(math.isclose(a, b, rel_tol=1e-12) for a, b in zip(inv_freq.tolist(), want, strict=True))


@claim(
    "config-deepseek",
    "DeepSeek-V3, yarn with factor 40 and two mscales: 9 of 32 pairs within 4096 tokens; the factor on the "
    "logits, 1.8739, is one of the model's softmax scale.",
)
def test_deepseek():
    name = "deepseek-v3"
    assert slow_pairs(name, 4096) == (9, 32)
    assert rope_from_config(example(name))[1] == 1
    [rope] = read_ropes(example(name))
    assert "1.8739" in " ".join(numbers(rope, None)["notes"])
    assert round((0.1 * math.log(40) + 1) ** 2, 4) == 1.8739


@claim(
    "config-qwen",
    "Qwen2.5 7B with YaRN, factor 4: 24 of 64 pairs within 32768 tokens, logits times 1.2965.",
)
def test_qwen():
    name = "qwen2.5-7b-yarn"
    assert slow_pairs(name, 32768) == (24, 64)
    inv_freq, attention_factor = rope_from_config(example(name))
    assert round(attention_factor**2, 4) == 1.2965
    assert math.isclose(1_000_000.0 ** (-126 / 128) / inv_freq[-1], 4, rel_tol=1e-12)


def ours(record):
    return rope_from_config(
        copy.deepcopy(record["config"]), length=record["length"], layer_type=record["layer_type"]
    )


@claim(
    "config-agrees",
    "On 78 configurations over seven rules transformers 5.24.0 and the reader agree to 0.000001 of each speed.",
    measured="posenc_check/peers/results/transformers_rope.json",
)
def test_agreement():
    found, records = kept()
    assert found["versions"]["transformers"] == "5.24.0"
    asked = [r for name, r in records.items() if name not in DIFFERENCES and "error" not in r]
    assert len(asked) == 78 and len({r["rope_type"] for r in asked}) == 7
    for record in asked:
        inv_freq, factor = ours(record)
        theirs = torch.tensor(record["inv_freq"], dtype=torch.float64)
        torch.testing.assert_close(inv_freq, theirs, rtol=0.000001, atol=0)
        assert math.isclose(factor, record["attention_factor"], rel_tol=1e-7)


@claim(
    "config-differences",
    "Most are configs that the reader refuses and transformers computes, with a warning or without one: a "
    "factor below 1, bounds in the wrong order, a key that no rule knows, one mscale without the other.",
    measured="posenc_check/peers/results/transformers_rope.json",
)
def test_differences():
    _, records = kept()
    refused = [name for name, (kind, _) in DIFFERENCES.items() if kind == HERE]
    assert len(refused) > len(DIFFERENCES) / 2
    for name in refused:
        assert records[name]["inv_freq"]
        with pytest.raises(ValueError):
            ours(records[name])
    assert {bool(records[name]["warnings"]) for name in refused} == {True, False}
    named = {"odd factor below 1", "odd betas swapped", "odd key attn_factor", "odd one mscale"}
    assert named <= set(refused)
    assert records["odd factor below 1"]["config"]["rope_parameters"]["factor"] < 1


@claim(
    "config-truncate",
    "With a part for each layer type, transformers 5.24.0 does not see truncate: false in the part: the answer "
    "is that of truncate: true, while the same block flat gives other speeds.",
    measured="posenc_check/peers/results/transformers_rope.json",
)
def test_truncate_in_a_part():
    found, records = kept()
    assert found["versions"]["transformers"] == "5.24.0"
    part = records["odd nested truncate False"]
    flat = {value: records[f"yarn truncate {value}"] for value in (True, False)}
    assert part["inv_freq"] == flat[True]["inv_freq"] != flat[False]["inv_freq"]
    blocks = json.dumps(part["config"])
    assert '"truncate": false' in blocks
    theirs = torch.tensor(flat[False]["inv_freq"], dtype=torch.float64)
    torch.testing.assert_close(ours(part)[0], theirs, rtol=1e-6, atol=0)
