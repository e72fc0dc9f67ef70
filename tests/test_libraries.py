"""What the contracts found in other libraries: kept, complete, and each difference in words."""

import ast
import re
from pathlib import Path

import pytest

from posenc_check.contracts import CONTRACTS
from posenc_check.peers import difference, libraries, results_file

PEERS = Path(libraries.__file__).parent
KEPT = {group: results_file.load(f"libraries_{group}") for group in libraries.GROUPS}
RECORDS = [(group, record) for group, kept in KEPT.items() for record in kept["records"]]
LISTED = difference.listed()
SCRIPTS = sorted((PEERS / "reproductions").glob("*.py"))


def pins(group: str) -> dict:
    """Package to version, of the group's requirements file."""
    text = (PEERS / f"requirements-{group}.txt").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return dict(line.split("==") for line in lines)


@pytest.mark.parametrize("group", KEPT)
def test_the_kept_findings_carry_their_mark_and_their_versions(group):
    kept = KEPT[group]
    assert kept["digest"] == results_file.digest(kept["records"])
    assert kept["command"] == f"python -m posenc_check.peers.libraries {group} --record"
    versions = dict(kept["versions"])
    assert versions.pop("python").startswith("3.11.")
    assert versions == {name: pins(group)[name] for name in versions}
    assert {*libraries.GROUPS[group].values()} <= {*versions}


@pytest.mark.parametrize("group", KEPT)
def test_every_requirement_is_an_exact_pin_with_the_torch_of_the_snippets(group):
    assert all(re.fullmatch(r"[\w.]+", version) for version in pins(group).values())
    assert pins(group)["torch"] == "2.13.0"


def test_each_unmet_requirement_is_explained_by_a_listed_difference():
    used = set()
    for _, record in RECORDS:
        for found, one in difference.explained(LISTED, record):
            assert one is not None, (record["of"], found)
            used.add(one)
    assert used == {one for one in LISTED if not one.beside}


def test_a_piece_has_a_note_where_a_difference_of_it_is_documented():
    for _, record in RECORDS:
        said = [one.documented for _, one in difference.explained(LISTED, record)]
        assert any(said) == bool(record["note"]), record["of"]


def test_each_difference_is_put_into_words_and_has_a_source():
    for one in LISTED:
        assert one.says.endswith(".") and len(one.says) > 20
        assert len(one.source) > 10
        assert one.kind in difference.KINDS


def test_each_difference_has_a_reproduction_and_each_reproduction_a_difference():
    assert {path.stem for path in SCRIPTS} == {one.reproduction for one in LISTED}


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_a_reproduction_stands_alone_and_says_where_it_runs(path):
    text = path.read_text(encoding="utf-8")
    tree = ast.parse(text)
    assert re.search(r"Run in \.venv-peers|Any environment with torch", ast.get_docstring(tree))
    assert "xpected" in text or "layout kept" in text
    assert "posenc_check" not in text and "snippets" not in text
    assert "print(" in text


def test_every_adapter_belongs_to_a_group():
    files = {path.stem for path in (PEERS / "adapters").glob("*.py")} - {"__init__"}
    assert files == {module for modules in libraries.GROUPS.values() for module in modules}


def test_every_contract_met_a_library():
    assert {record["contract"] for _, record in RECORDS} == set(CONTRACTS)


def test_no_piece_is_asked_twice_under_one_name():
    names = [(record["contract"], record["of"]) for _, record in RECORDS]
    assert len(names) == len(set(names))


def found(library: str, of: str, name: str) -> dict:
    """One requirement of one piece."""
    for _, record in RECORDS:
        if record["library"] == library and of in record["of"]:
            for requirement in record["requirements"]:
                if name in requirement["name"]:
                    return requirement
    raise LookupError(f"{library}: {of}: {name}")


def test_known_faults_are_found_without_a_case_of_their_own():
    upside_down = found("litgpt", "beta_fast", "gives each pair the speed of yarn")
    assert (upside_down["expected"], upside_down["got"]) == ("1", "0.25")
    assert "upside down" in upside_down["cause"]
    poisoned = found("rotary-embedding-torch", "offset=start", "earlier call in bfloat16")
    assert poisoned["where"].startswith("position 257,")
    uncached = found("rotary-embedding-torch", "cache_if_possible", "earlier call in bfloat16")
    assert uncached["status"] == "pass"
    nested = found("transformers", "nested per layer type", "truncate")
    flat = found("transformers", '["yarn"](config, seq_len', "truncate")
    assert (nested["status"], flat["status"]) == ("fail", "pass")
    shared = found("equinox", "after one with theta=10000", "turns each pair")
    alone = found("equinox", "the first of this width", "turns each pair")
    assert "the base is about 10000" in shared["cause"] and alone["status"] == "pass"


def test_a_long_error_is_kept_as_one_short_line():
    assert libraries.line("a\x1b[1mb\x1b[0m\n\n c") == "ab c"
    assert libraries.line("x" * 400) == "x" * 300 + " ..."


def test_an_unknown_group_is_refused(capsys):
    assert libraries.main([]) == libraries.main(["no-such"]) == 2
    assert "transformers, torch, jax" in capsys.readouterr().out
