"""The sentences of docs/check/your_code.md, each over its test."""

import ast
import sys
import tomllib
from pathlib import Path

import pytest
import torch

import posenc_check
from posenc_check.command import main
from posenc_check.contracts import CONTRACTS, check_rope
from tests.contracts import rotations
from tests.contracts.ours import OURS
from tests.guard.marks import claim

FOLDER = Path(posenc_check.__file__).parent


@claim("your-code-torch", "The package needs torch and nothing else.")
def test_the_package_needs_torch_alone():
    project = tomllib.loads((FOLDER.parent / "pyproject.toml").read_text(encoding="utf-8"))
    wanted = project["project"]["dependencies"]
    assert [name.split(">")[0] for name in wanted] == ["torch"]
    packed = {FOLDER.parent.joinpath(*name.split(".")) for name in project["tool"]["setuptools"]["packages"]}
    for path in FOLDER.rglob("*.py"):
        if path.parent not in packed or path.parent.name == "peers":
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module] if isinstance(node, ast.ImportFrom) else []
            known = {*sys.stdlib_module_names, "torch", "posenc_check"}
            assert {name.split(".")[0] for name in names} <= known, path
    # What is imported is also packed.
    assert {FOLDER / "contracts", FOLDER / "wrong_forms", FOLDER} <= packed


def swaps_two_pairs(x, positions):
    """Pairs 1 and 2 take each other's speed: a fault that nobody lists."""
    speeds = rotations.speeds(x)
    order = torch.arange(len(speeds))
    order[1], order[2] = 2, 1
    return rotations.rotated(x, positions[:, None].double() * speeds[order])


@claim(
    "your-code-unknown-fault",
    "A fault that is not among them is still found, without a cause.",
)
def test_an_unknown_fault_is_found_without_a_cause():
    report = check_rope(swaps_two_pairs, layout="half")
    assert report.failures and {found.cause for found in report.failures} == {""}


@claim(
    "your-code-module",
    "For a module more is asked: that its constants survive module.to(bfloat16), to_empty, a "
    "second instance with another base, and a position past its table.",
)
def test_more_is_asked_of_a_module():
    expected = {
        rotations.NotPersistent: {"is right after module.to(bfloat16)", "is right after to_empty"},
        rotations.LastBase: {"keeps its base when another instance is made"},
        rotations.Table: {"past max_len: refuses with a ValueError, or is right"},
    }
    for module, names in expected.items():
        failed = {found.name for found in check_rope(module, layout="half", max_position=4096).failures}
        assert names <= failed, module
        function = check_rope(rotations.right, layout="half")
        assert not names & {found.name for found in function.requirements}


CODE = """
import torch
from tests.contracts.rotations import right


def backwards(x, positions):
    return right(x, -positions)


def raises(x, positions):
    raise KeyError("cos")


def narrow(x, positions):
    return x[..., 1:]


def not_a_number(x, positions):
    return x * float("nan")


def in_place(x, positions):
    return x.zero_()
"""


@pytest.fixture
def code(tmp_path, monkeypatch):
    path = tmp_path / "rotations_of_mine.py"
    path.write_text(CODE)
    monkeypatch.setattr(sys, "path", [*sys.path])
    return path


@claim(
    "your-code-status",
    "The exit status is 0 if every requirement holds, 1 if one fails, and 2 if the code cannot be "
    "checked.",
)
def test_exit_status(code, capsys):
    for name, status in (("right", 0), ("backwards", 1), ("raises", 2)):
        assert main(["rope", f"{code}:{name}", "--layout", "half"]) == status
    text = capsys.readouterr().out
    assert text.count("requirements failed") == 2 and text.count("cannot be checked") == 1


@claim(
    "your-code-unusable",
    "It cannot be checked if it raises, returns another shape or NaN, or changes its argument in "
    "place: the message says which, and --traceback shows the exception of your own code.",
)
def test_what_cannot_be_checked_is_said(code, capsys):
    said = {
        "raises": "raised KeyError: 'cos'",
        "narrow": "must return a tensor like x",
        "not_a_number": "returned NaN at position 1",
        "in_place": "changes its argument x in place",
    }
    for name, text in said.items():
        assert main(["rope", f"{code}:{name}", "--layout", "half"]) == 2
        assert text in capsys.readouterr().out
    main(["rope", f"{code}:raises", "--layout", "half", "--traceback"])
    assert 'raise KeyError("cos")' in capsys.readouterr().err


@claim("your-code-ours", "Our own snippets are checked by the same contracts.")
@pytest.mark.parametrize("name", CONTRACTS)
def test_our_snippets_pass(name):
    ours = OURS[name]
    assert ours
    for subject, options in ours:
        report = CONTRACTS[name](subject, **options)
        assert report.passed, report
