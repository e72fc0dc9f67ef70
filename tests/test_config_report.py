"""What the command prints, for every example: the lines that carry the numbers, exactly."""

import pytest

from posenc_check.command import main
from posenc_check.config_numbers import count
from tests.rope_configs import EXAMPLES, config

LLAMA = """\
llama-3.1-8b.json

  rope_type         llama3, factor 8
  rotated           128 of 128 coordinates of a head
  base              500 000
  trained length    8 192 (original_max_position_embeddings)
  maximum length    131 072

  band      pairs      plain wavelength in tokens   slow-down
  kept      0 to 28    6.28 to 1 956                1
  blended   29 to 34   2 402 to 6 695               1.207 to 5.257
  divided   35 to 63   8 219 to 2 559 196           8

  29 of 64 pairs complete no turn in 8 192 tokens at plain speed
  attention factor 1: logits as without scaling

0 problems found
"""
LINES = {
    "llama-3.2-1b": [
        "  rope_type         llama3, factor 32",
        "  kept      0 to 14    6.28 to 1 956                1",
        "  blended   15 to 17   2 948 to 6 695               1.651 to 9.667",
        "  divided   18 to 31   10 089 to 2 084 765          32",
        "  14 of 32 pairs complete no turn in 8 192 tokens at plain speed",
    ],
    "qwen2.5-7b-yarn": [
        "  rope_type         yarn, factor 4",
        "  trained length    32 768 (original_max_position_embeddings)",
        "  kept      0 to 23    6.28 to 900                  1",
        "  blended   24 to 39   1 117 to 28 473              1.046 to 3.4",
        "  divided   40 to 63   35 333 to 5 063 256          4",
        "  attention factor 1.1386 on queries and keys: logits times 1.2965",
        "  Note: max_position_embeddings is the trained length; the factor reaches",
        "    131 072",
    ],
    "deepseek-v3": [
        "  rotated           64 of 192 coordinates of a head",
        "  blended   11 to 22   149 to 3 533                 1.081 to 10",
        "  attention factor 1: logits as without scaling",
        "  Note: qk_rope_head_dim: the rotated part of a head is kept apart, behind the",
        "    others",
        "  Note: mscale_all_dim: DeepSeek's attention also multiplies its softmax scale,",
        "    by 1.8739",
    ],
    "phi-3-mini-128k": [
        "  rope_type         longrope, factor 32",
        "  rotated           96 of 96 coordinates of a head",
        "  listed   0 to 47   6.28 to 51 862               1.07 to 64.76",
        "  14 of 48 pairs complete no turn in 4 096 tokens at plain speed",
        "  attention factor 1.1902 on queries and keys: logits times 1.4167",
        "  Note: computed for the maximum length, 131 072 tokens; keys cached at a length",
        "    with other speeds no longer fit",
    ],
    "gpt-oss-20b": [
        "  rope_type         yarn, factor 32",
        "  rotated           64 of 64 coordinates of a head",
        "  base              150 000",
        "  kept      0 to 8     6.28 to 124                  1",
        "  blended   9 to 17    179 to 3 532                 1.104 to 13.76",
        "  divided   18 to 31   5 125 to 649 409             32",
        "  14 of 32 pairs complete no turn in 4 096 tokens at plain speed",
        "  attention factor 1.3466 on queries and keys: logits times 1.8133",
    ],
    "gemma-3-12b": [
        "full_attention",
        "  rope_type         linear, factor 8",
        "  base              1 000 000",
        "  maximum length    131 072",
        "  divided   0 to 127   6.28 to 5 640 335            8",
        "sliding_attention",
        "  rope_type         default",
        "  base              10 000",
        "  kept   0 to 127   6.28 to 58 470               1",
        "  0 of 128 pairs complete no turn in 131 072 tokens at plain speed",
    ],
}


def shown(capsys, path, *more):
    main(["config", str(path), *more])
    return capsys.readouterr().out


def test_the_whole_page_of_llama(capsys):
    assert shown(capsys, EXAMPLES / "llama-3.1-8b.json") == LLAMA


@pytest.mark.parametrize("name", LINES)
def test_the_lines_with_numbers(name, capsys):
    lines = shown(capsys, EXAMPLES / f"{name}.json").splitlines()
    assert lines[0] == f"{name}.json"
    # In this order, with others between.
    place = -1
    for line in LINES[name]:
        assert line in lines
        assert lines.index(line, place + 1) > place
        place = lines.index(line, place + 1)


def test_every_example_has_its_lines():
    assert {path.stem for path in EXAMPLES.glob("*.json")} == {*LINES, "llama-3.1-8b"}
    named = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    assert all(f"- `{path.name}`: " in named for path in EXAMPLES.glob("*.json"))


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.json")), ids=lambda path: path.stem)
def test_lines_fit_a_terminal(path, capsys):
    assert max(map(len, shown(capsys, path).splitlines())) <= 80


@pytest.fixture
def page(tmp_path, capsys):
    def page(whole, *more):
        (tmp_path / "some.json").write_text(str(whole).replace("'", '"'))
        return shown(capsys, tmp_path / "some.json", *more)

    return page


def test_pairs_that_stand_still(page):
    out = page(config("proportional", factor=8.0))
    assert "  rotated           8 of 16 coordinates of a head\n" in out
    assert "  divided   0 to 3   6.28 to 64.61                8\n" in out
    assert "  still     4 to 7   140 to 1 445                 does not turn\n" in out
    assert "  4 of 8 pairs complete no turn in 4 096 tokens at plain speed\n" in out


def test_dynamic_keeps_its_first_pair(page):
    out = page(config("dynamic"), "--length", "6144")
    assert "  kept      0        6.28                         1\n" in out
    assert "  blended   1 to 7   13.66 to 1 445               1.104 to 2\n" in out
    assert "  kept   0 to 7   6.28 to 1 445                1\n" in page(config("dynamic"))


def test_an_attention_factor_changes_the_logits_by_its_square(page):
    out = page(config("yarn", attention_factor=0.5))
    assert "  attention factor 0.5 on queries and keys: logits times 0.25\n" in out


def test_no_length_at_all(page):
    out = page({"head_dim": 8, "rope_theta": 500.0})
    assert "  maximum length    not given\n" in out
    assert "trained length" not in out and "complete no turn" not in out


@pytest.mark.parametrize("rule", ["default", "dynamic"])
def test_a_maximum_is_not_called_trained(rule, page):
    out = page(config(rule))
    assert out.count("length    ") == 1 and "  maximum length    4 096\n" in out
    assert "  0 of 8 pairs complete no turn in 4 096 tokens at plain speed\n" in out


def test_turns_of_linear_are_counted_in_a_trained_length_only(page):
    out = page(config("linear"))
    assert "  maximum length    4 096\n" in out
    assert "trained length" not in out and "complete no turn" not in out
    out = page(config("linear", beside={"original_max_position_embeddings": 1024}))
    assert "  trained length    1 024 (original_max_position_embeddings)\n" in out
    assert "  maximum length    4 096\n" in out
    assert "  1 of 8 pairs complete no turn in 1 024 tokens at plain speed\n" in out


@pytest.mark.parametrize(
    "value, text",
    [
        (7, "7"),
        (6.2832, "6.28"),
        (99.994, "99.99"),
        (100.4, "100"),
        (8192, "8 192"),
        (2.5e6, "2 500 000"),
    ],
)
def test_counts(value, text):
    assert count(value) == text
