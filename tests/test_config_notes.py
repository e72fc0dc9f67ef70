"""The notes of the command: each where it belongs, whole, and nowhere else."""

import json

import pytest

from posenc_check.command import main
from posenc_check.rope_config import rope_problems
from tests.rope_configs import EXAMPLES, SIZES, config, example

MROPE = (
    "mrope_section: pairs are shared by time, height and width; plain RoPE is right for text alone"
)
APART = "qk_rope_head_dim: the rotated part of a head is kept apart, behind the others"
NEIGHBOURS = "rope_interleave: pairs are neighbours, layout interleaved"
SOME = "no_rope_layers: some layers do not turn at all"
FIT = "keys cached at a length with other speeds no longer fit"
LIST = {"attention_factor": 1.0, "beside": {"max_position_embeddings": None}}


@pytest.fixture
def notes(tmp_path, capsys):
    def notes(whole, *more):
        path = tmp_path / "some.json"
        path.write_text(json.dumps(whole))
        assert main(["config", str(path), "--json", *more]) == 0
        ropes = json.loads(capsys.readouterr().out)["ropes"]
        return [note for rope in ropes for note in rope["notes"]]

    return notes


def default(**beside):
    return config("default", beside=beside)


ABOUT_LAYOUT = {
    "sections": (config("default", mrope_section=[2, 3, 3]), [MROPE]),
    "sections of null": (config("default", mrope_section=None), []),
    "neighbours": (default(rope_interleave=True), [NEIGHBOURS]),
    "halves": (default(rope_interleave=False), []),
    "some layers": (default(no_rope_layers=[1, 1, 0, 1]), [SOME]),
    "every layer": (default(no_rope_layers=[1, 1], no_rope_layer_interval=2), []),
    "a list counts": (default(no_rope_layers=[0, 1], no_rope_layer_interval=2), [SOME]),
    "an interval": (
        default(no_rope_layers=[], no_rope_layer_interval=4),
        ["no_rope_layer_interval: one layer in 4 does not turn at all"],
    ),
    "no interval": (default(no_rope_layer_interval=0), []),
    "latent": (default(qk_rope_head_dim=8), [APART]),
    "all of them": (
        config(
            "default",
            mrope_section=[1, 1, 2],
            beside={"qk_rope_head_dim": 8, "rope_interleave": True, "no_rope_layers": [0]},
        ),
        [APART, NEIGHBOURS, MROPE, SOME],
    ),
}


@pytest.mark.parametrize("name", ABOUT_LAYOUT)
def test_what_turns_and_how_is_noted_and_no_problem(name, notes):
    whole, expected = ABOUT_LAYOUT[name]
    assert notes(whole) == expected
    assert rope_problems(whole) == []


def test_deepseek_has_two_notes(notes):
    scale = "mscale_all_dim: DeepSeek's attention also multiplies its softmax scale, by 1.8739"
    assert notes(example("deepseek-v3")) == [APART, scale]


@pytest.mark.parametrize(
    "whole, more, expected",
    [
        (config("longrope"), [], [f"computed for the maximum length, 4 096 tokens; {FIT}"]),
        (config("longrope", **LIST), [], [f"computed for the trained length, 1 024 tokens; {FIT}"]),
        (
            config("longrope"),
            ["--length", "4096"],
            [f"computed for a sequence of 4 096 tokens; {FIT}"],
        ),
        (
            config("dynamic"),
            [],
            [
                f"computed for the maximum length, 4 096 tokens; {FIT}",
                "up to 4 096 tokens nothing is slowed; try --length 8192",
            ],
        ),
        (
            config("dynamic"),
            ["--length", "4096"],
            [f"computed for a sequence of 4 096 tokens; {FIT}"],
        ),
        (config("linear"), ["--length", "7"], ["a length changes nothing for rope_type linear"]),
    ],
)
def test_the_length_that_was_taken_is_noted(whole, more, expected, notes):
    assert notes(whole, *more) == expected


def test_truncate_in_a_part_is_noted(notes):
    part = config("yarn", truncate=False, attention_factor=0.5)["rope_parameters"]
    text = "truncate: transformers 5.24.0 does not read it in a part for one layer type"
    assert notes({**SIZES, "rope_parameters": {"full_attention": part}}) == [text]
    assert notes(config("yarn", truncate=False)) == []


@pytest.mark.parametrize("length, slow", [("4096", "1.1 to 3.05"), ("4097", "1.07 to 64.76")])
def test_a_length_chooses_the_list(length, slow, capsys):
    assert main(["config", str(EXAMPLES / "phi-3-mini-128k.json"), "--length", length]) == 0
    out = capsys.readouterr().out
    assert f"  listed   0 to 47   6.28 to 51 862               {slow}\n" in out


def test_notes_are_broken_into_lines_that_fit(tmp_path, capsys):
    path = tmp_path / "some.json"
    path.write_text(json.dumps(ABOUT_LAYOUT["all of them"][0]))
    main(["config", str(path)])
    assert capsys.readouterr().out.endswith(
        "  attention factor 1: logits as without scaling\n"
        "  Note: qk_rope_head_dim: the rotated part of a head is kept apart, behind the\n"
        "    others\n"
        "  Note: rope_interleave: pairs are neighbours, layout interleaved\n"
        "  Note: mrope_section: pairs are shared by time, height and width; plain RoPE is\n"
        "    right for text alone\n"
        "  Note: no_rope_layers: some layers do not turn at all\n"
        "\n0 problems found\n"
    )
