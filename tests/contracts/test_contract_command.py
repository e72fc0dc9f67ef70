"""python -m posenc_check rope module:name: statuses, messages, and never a traceback unasked."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from posenc_check.command import main
from posenc_check.contracts import CONTRACTS

ROOT = Path(__file__).parents[2]
MINE = '''
import torch
from torch import nn


def apply_rotary(x, positions, base=10000.0):
    inv_freq = base ** (-torch.arange(0, x.shape[-1], 2) / x.shape[-1])
    angle = positions[:, None] * inv_freq
    angle = torch.cat((angle, angle), -1)
    a, b = x.chunk(2, -1)
    return (x * angle.cos() + torch.cat((-b, a), -1) * angle.sin()).to(x.dtype)


def starts_at_one(x, positions):
    return apply_rotary(x, positions + 1)


def raises(x, positions):
    raise KeyError("cos")


def returns_nan(x, positions):
    return x / 0 * 0


def in_place(x, positions):
    return x.mul_(1)


def changes(x, positions):
    return x.add_(1)


def narrow(x, positions):
    return x[..., :-1]


def unknown(x, where):
    return x


class Rotary(nn.Module):
    def __init__(self, dim, theta=10000.0):
        super().__init__()
        self.dim, self.theta = dim, theta

    def forward(self, x, offset=0):
        return apply_rotary(x, torch.arange(offset, offset + x.shape[-2]), self.theta)


def leaves(x, positions):
    import sys
    sys.exit(0)


def prints(x, positions):
    print("loading")
    return apply_rotary(x, positions)


class Property:
    @property
    def rotate(self):
        raise RuntimeError("not ready")


held = Property()


class Inner:
    rotate = staticmethod(apply_rotary)


number = 3
'''


@pytest.fixture
def mine(tmp_path, monkeypatch):
    """A module in the current folder, as a reader has it; forgotten afterwards."""
    (tmp_path / "mine.py").write_text(MINE)
    (tmp_path / "broken.py").write_text("import no_such_package\n")
    (tmp_path / "leaves.py").write_text("import sys\nsys.exit(3)\n")
    (tmp_path / "data.txt").write_text("3")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    yield tmp_path
    for name in ("mine", "broken", "leaves"):
        sys.modules.pop(name, None)


def run(capsys, *arguments):
    status = main(list(arguments))
    captured = capsys.readouterr()
    return status, captured.out, captured.err


def test_a_right_rotation_has_status_0(mine, capsys):
    for target in ("mine:apply_rotary", "mine.py:apply_rotary", "mine:Inner.rotate", "mine:Rotary"):
        status, out, err = run(capsys, "rope", target, "--layout", "half")
        assert (status, err) == (0, ""), out
        assert out.endswith(" requirements failed\n") and "\n0 of " in out


def test_a_wrong_one_has_status_1_and_its_cause(mine, capsys):
    status, out, err = run(capsys, "rope", "mine:starts_at_one", "--layout", "half")
    assert (status, err) == (1, "")
    assert out.startswith(
        "rope: starts_at_one(x, positions), layout half, head_dim 16, base 10000, axes\nBHTD\n\n"
        "  FAIL  turns each pair by position * base ** (-2 i / D)\n"
        "        at position 1, coordinate 0 (batch 0, head 0): expected 0.466965, got"
    )
    assert "        likely cause: positions start at 1\n        see docs/methods/rope.md\n" in out


def test_json_is_the_report_as_data(mine, capsys):
    status, out, _ = run(capsys, "rope", "mine:starts_at_one", "--layout", "half", "--json")
    report = json.loads(out)
    assert status == 1 and report["passed"] is False and report["contract"] == "rope"
    first = report["requirements"][0]
    assert first["status"] == "fail" and first["cause"] == "positions start at 1"
    assert first["expected"] == "0.466965" and first["page"] == "docs/methods/rope.md"
    status, out, _ = run(capsys, "rope", "mine:apply_rotary", "--layout", "half", "--json")
    assert status == 0 and json.loads(out)["passed"] is True
    status, out, _ = run(capsys, "rope", "mine:raises", "--layout", "half", "--json")
    assert status == 2 and "KeyError" in json.loads(out)["unusable"]


UNUSABLE = {
    ("mine:raises",): (
        "cannot be checked: raises(x, positions) raised KeyError: 'cos'\n"
        "What it takes was guessed from the names of its parameters; call (--call) says it."
    ),
    ("mine:leaves",): (
        "cannot be checked: leaves(x, positions) raised SystemExit: 0\n"
        "What it takes was guessed from the names of its parameters; call (--call) says it."
    ),
    ("mine:narrow",): (
        "cannot be checked: must return a tensor like x, (2, 5, 5, 16) (BHTD), got (2, 5, 5, 15)"
    ),
    ("mine:changes",): (
        "cannot be checked: changes(x, positions) changes its argument x in place"
    ),
    ("mine:returns_nan",): (
        "cannot be checked: returned NaN at position 1, coordinate 0 (batch 0, head 0), expected\n"
        "0.466965"
    ),
    ("mine:Rotary", "--init", "dim, theta"): (
        "cannot be checked: init: 'dim' is no word of this contract (base, head_dim, max_len,\n"
        "rotary_dim)"
    ),
}


@pytest.mark.parametrize("arguments", UNUSABLE, ids=lambda arguments: arguments[0])
def test_what_cannot_be_checked_has_status_2(mine, capsys, arguments):
    status, out, err = run(capsys, "rope", *arguments, "--layout", "half")
    assert status == 2 and "Traceback" not in out + err
    assert " ".join(out.split("\n\n", 1)[1].split()) == " ".join(UNUSABLE[arguments].split())


REFUSED = {
    ("mine:number",): "mine:number must be callable, got int",
    ("mine:no_such",): "mine has no no_such; it has ",
    ("mine:held.rotate",): "mine:held.rotate raised RuntimeError: not ready",
    ("no_such_module:f",): (
        "importing no_such_module raised ModuleNotFoundError: No module named 'no_such_module'"
    ),
    ("broken:f",): (
        "importing broken raised ModuleNotFoundError: No module named 'no_such_package'"
    ),
    ("leaves:f",): "importing leaves raised SystemExit: 3",
    ("no_such.py:f",): "there is no file no_such.py",
    ("apply_rotary",): "target must be module:name or path/to/file.py:name, got 'apply_rotary'",
    ("mine:apply_rotary", "--rotary-dim", "5"): (
        "rotary_dim must be even, from 4 to head_dim, got 5"
    ),
}


@pytest.mark.parametrize("arguments", REFUSED, ids=lambda arguments: " ".join(arguments))
def test_what_cannot_be_found_has_status_2(mine, capsys, arguments):
    status, out, err = run(capsys, "rope", *arguments, "--layout", "half")
    assert (status, out) == (2, "")
    assert err.startswith(f"posenc_check: {REFUSED[arguments]}") and err.count("\n") == 1


def test_what_the_code_prints_does_not_mix_with_json(mine, capsys):
    status, out, err = run(capsys, "rope", "mine:prints", "--layout", "half", "--json")
    assert status == 0 and json.loads(out)["passed"] and "loading" in err
    status, out, err = run(capsys, "rope", "mine:no_such", "--layout", "half", "--json")
    assert status == 2 and json.loads(out)["unusable"].startswith("mine has no no_such")


def test_ctrl_c_ends_it_quietly(mine, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "mine", None)
    (mine / "slow.py").write_text("raise KeyboardInterrupt\n")
    status, out, err = run(capsys, "rope", "slow.py:f", "--layout", "half")
    assert (status, out, err) == (2, "", "posenc_check: stopped\n")
    sys.modules.pop("slow", None)


def test_a_dataclass_with_late_annotations_can_be_loaded(mine, capsys):
    (mine / "late.py").write_text(
        "from __future__ import annotations\nfrom dataclasses import dataclass\n"
        "from mine import apply_rotary\n\n\n@dataclass\nclass Size:\n    d: int = 4\n"
    )
    status, _, _ = run(capsys, "rope", "late.py:apply_rotary", "--layout", "half")
    assert status == 0
    sys.modules.pop("late", None)


def test_an_unguessable_argument_is_named_with_the_way_out(mine, capsys):
    status, out, _ = run(capsys, "rope", "mine:unknown", "--layout", "half")
    assert status == 2
    text = " ".join(out.split("\n\n", 1)[1].split())
    assert text == (
        "cannot be checked: cannot tell what unknown takes as where; say all of its arguments in "
        "order with call (--call), in these words, or as name=5: base, batch_cos, "
        "batch_positions, batch_sin, cos, head_dim, inv_freq, k, length, pair_complex, pair_cos, "
        "pair_sin, positions, q, rotary_dim, sin, start, x"
    )
    status, out, _ = run(
        capsys, "rope", "mine:unknown", "--layout", "half", "--call", "x, where=positions"
    )
    assert status == 1 and "likely cause: nothing is turned" in out


def test_traceback_shows_the_readers_own_exception(mine, capsys):
    for target in ("mine:raises", "broken:f"):
        _, _, silent = run(capsys, "rope", target, "--layout", "half")
        assert "Traceback" not in silent
        _, _, shown = run(capsys, "rope", target, "--layout", "half", "--traceback")
        assert "Traceback" in shown
        assert ('raise KeyError("cos")' in shown) == (target == "mine:raises")


@pytest.mark.parametrize("arguments", [(), ("--layout", "pairs"), ("--layout", "half", "--no")])
def test_a_wrong_flag_has_status_2(mine, capsys, arguments):
    with pytest.raises(SystemExit) as stopped:
        main(["rope", "mine:apply_rotary", *arguments])
    assert stopped.value.code == 2
    assert "usage: python -m posenc_check" in capsys.readouterr().err


def test_every_contract_has_a_subcommand_whose_options_are_explained(capsys):
    for name in CONTRACTS:
        with pytest.raises(SystemExit) as stopped:
            main([name.replace("_", "-"), "--help"])
        assert stopped.value.code == 0
        shown = capsys.readouterr().out
        lines = [line.split() for line in shown.splitlines() if line.startswith("  --")]
        assert lines and "TARGET" in shown
        for flag in shown.split("options:")[1].split("\n  -")[1:]:
            # Each flag is followed by words of the docstring.
            assert len(flag.split()) > 2, flag


def test_it_runs_as_a_module(mine):
    command = [sys.executable, "-m", "posenc_check", "rope", "mine:starts_at_one"]
    done = subprocess.run(
        [*command, "--layout", "half"],
        capture_output=True,
        text=True,
        cwd=mine,
        env={"PYTHONPATH": str(ROOT), "PATH": ""},
    )
    assert done.returncode == 1 and done.stderr == ""
    assert "likely cause: positions start at 1" in done.stdout
