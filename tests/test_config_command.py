"""python -m posenc_check config: exit statuses, bad use, --json."""

import json
import math

import pytest

from posenc_check.command import main
from posenc_check.rope_config import rope_from_config
from tests.rope_configs import EXAMPLES, SIZES, config, example


@pytest.fixture
def write(tmp_path):
    def write(content):
        path = tmp_path / "config.json"
        path.write_text(content if isinstance(content, str) else json.dumps(content))
        return str(path)

    return write


def printed(capsys, arguments):
    status = main(["config", *arguments])
    captured = capsys.readouterr()
    return status, captured.out, captured.err


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.json")), ids=lambda path: path.stem)
def test_the_examples_are_sound(path, capsys):
    status, out, err = printed(capsys, [str(path)])
    assert status == 0 and err == "" and out.endswith("\n0 problems found\n")


def test_problems_make_status_1(write, capsys):
    status, out, err = printed(capsys, [write(config("yarn", attn_factor=1.0, factor=True))])
    assert status == 1 and err == ""
    assert out == (
        "config.json\n\n  not computed: see the problems\n\n2 problems found\n"
        "  - attn_factor is no key of rope_type yarn, got 1.0\n"
        "  - factor must be a number, got True\n"
    )


def test_an_odd_config_is_computed_and_has_status_1(write, capsys):
    status, out, _ = printed(capsys, [write(config("yarn", factor=2.0))])
    assert status == 1
    assert "  rope_type         yarn, factor 2\n" in out
    assert out.endswith(
        "\n1 problem found\n"
        "  - factor is 2, but max_position_embeddings / original_max_position_embeddings\n"
        "    = 4096 / 1024 = 4; the factor is used\n"
    )


def test_a_block_that_fits_no_form_has_status_1(write, capsys):
    status, out, _ = printed(capsys, [write({**SIZES, "rope_scaling": "linear"})])
    assert status == 1
    assert out.endswith("  - rope_scaling must be a JSON object, got 'linear'\n")


def test_one_sound_layer_type_is_shown_beside_a_faulty_one(write, capsys):
    parts = {
        "full_attention": config("linear", factor=0)["rope_parameters"],
        "sliding_attention": config("linear")["rope_parameters"],
    }
    status, out, _ = printed(capsys, [write({**SIZES, "rope_parameters": parts})])
    assert status == 1
    assert "\nfull_attention\n\n  not computed: see the problems\n\nsliding_attention\n" in out
    assert "  divided   0 to 7   6.28 to 1 445                4\n" in out


LENGTH = "argument --length: must be a positive whole number"
PLOT = "argument --plot: must end in .svg"
UNUSABLE = {
    "not json": ("[1", "{path} is not JSON: Expecting ',' delimiter: line 1 column 3 (char 2)"),
    "no rope": (
        {"hidden_size": 8},
        "{path}: config has no rope: no rope_parameters, rope_scaling or rope_theta",
    ),
    "no object": ([], "{path}: config must be a JSON object, got list"),
}


@pytest.mark.parametrize("name", UNUSABLE)
def test_bad_files_have_status_2_and_a_message(name, write, capsys):
    content, text = UNUSABLE[name]
    path = write(content)
    assert printed(capsys, [path]) == (2, "", f"posenc_check: {text.format(path=path)}\n")


def test_bytes_that_are_no_text(tmp_path, capsys):
    path = tmp_path / "config.json"
    path.write_bytes(b"\xff\xfe{}")
    status, out, err = printed(capsys, [str(path)])
    assert status == 2 and out == ""
    assert err.startswith(f"posenc_check: {path} is not JSON: 'utf-8' codec can't decode byte 0xff")


def test_a_missing_file_and_a_folder(tmp_path, capsys):
    path = tmp_path / "none.json"
    text = f"posenc_check: cannot read {path}: No such file or directory\n"
    assert printed(capsys, [str(path)]) == (2, "", text)
    text = f"posenc_check: cannot read {tmp_path}: Is a directory\n"
    assert printed(capsys, [str(tmp_path)]) == (2, "", text)


@pytest.mark.parametrize(
    "arguments, text",
    [
        ([], "the following arguments are required: COMMAND"),
        (["config"], "the following arguments are required: CONFIG.json"),
        (["config", "a", "--length", "0"], f"{LENGTH}, got '0'"),
        (["config", "a", "--length", "x"], f"{LENGTH}, got 'x'"),
        (["config", "a", "--plot", "b.png"], f"{PLOT}, got 'b.png'"),
        (["config", "a", "--plot", "config.json"], f"{PLOT}, got 'config.json'"),
        (["config", "a", "--plot", "b.svg.txt"], f"{PLOT}, got 'b.svg.txt'"),
    ],
)
def test_bad_use_has_status_2_and_a_message(arguments, text, capsys):
    with pytest.raises(SystemExit) as stopped:
        main(arguments)
    assert stopped.value.code == 2
    assert capsys.readouterr().err.endswith(f"error: {text}\n")


def test_json_holds_all_numbers(capsys):
    path = EXAMPLES / "llama-3.1-8b.json"
    status, out, _ = printed(capsys, [str(path), "--json"])
    found = json.loads(out)
    assert status == 0 and found["file"] == "llama-3.1-8b.json"
    [rope] = found["ropes"]
    inv_freq, _ = rope_from_config(example("llama-3.1-8b"))
    assert rope.pop("inv_freq") == inv_freq.tolist()
    wavelengths, slow_down = rope.pop("wavelengths"), rope.pop("slow_down")
    # A few steps of float64.
    assert wavelengths[29] == pytest.approx(2 * math.pi * 5e5 ** (29 / 64), rel=1e-12)
    turned = [2 * math.pi / length / slow for length, slow in zip(wavelengths, slow_down)]
    assert turned == pytest.approx(inv_freq.tolist(), rel=1e-12)
    kept, blended, divided = rope.pop("bands")
    assert (kept["band"], blended["band"], divided["band"]) == ("kept", "blended", "divided")
    assert [kept["pairs"], blended["pairs"], divided["pairs"]] == [[0, 28], [29, 34], [35, 63]]
    assert blended["slow_down"] == pytest.approx([1.207484, 5.257327], rel=2e-6)
    assert blended["wavelengths"] == [wavelengths[29], wavelengths[34]]
    assert rope == {
        "layer_type": None,
        "rope_type": "llama3",
        "problems": [],
        "head_dim": 128,
        "rotated": 128,
        "pairs": 64,
        "base": 500000.0,
        "factor": 8.0,
        "trained_length": 8192,
        "trained_length_from": "original_max_position_embeddings",
        "max_position_embeddings": 131072,
        "length": None,
        "never_turn": 29,
        "attention_factor": 1.0,
        "logits_times": 1.0,
        "softmax_scale_times": None,
        "notes": [],
    }


def test_json_says_null_for_a_pair_that_stands_still(write, capsys):
    _, out, _ = printed(capsys, [write(config("proportional")), "--json"])
    [rope] = json.loads(out)["ropes"]
    assert rope["slow_down"][3:5] == [1.0, None] and rope["inv_freq"][4] == 0.0
    assert rope["bands"][1]["band"] == "still" and rope["bands"][1]["slow_down"] is None


def test_json_of_a_faulty_config_holds_the_problems(write, capsys):
    status, out, _ = printed(capsys, [write(config("linear", factor=0)), "--json"])
    problems = ["factor must be at least 1, got 0"]
    rope = {"layer_type": None, "rope_type": "linear", "problems": problems}
    assert status == 1 and json.loads(out) == {"file": "config.json", "ropes": [rope]}
