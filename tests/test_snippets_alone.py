"""A snippet is one file that copies alone: what it imports, states and keeps."""

import ast
import importlib
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import posenc_check

ROOT = Path(__file__).parents[1]
SNIPPETS = sorted((ROOT / "snippets").glob("[!_]*.py"))
every_snippet = pytest.mark.parametrize("path", SNIPPETS, ids=lambda path: path.stem)

# One small call for each file, with a result that is known without the file.
CALLS = {
    "sinusoidal": "assert m.sinusoidal_table(torch.tensor([0]), 4).tolist() == [[0, 1, 0, 1]]",
    "rope": "x = torch.ones(1, 1, 1, 4)\n"
    "assert m.apply_rope(x, torch.tensor([0]), m.rope_inv_freq(4)).equal(x)",
    "attention": "x = torch.ones(1, 1, 1, 4)\nassert m.attention(x, x, x).equal(x)",
    "learned": "assert m.extend_table(torch.tensor([[0.0], [2.0]]), 4).flatten().tolist() == "
    "[0, 1, 2, 2]",
    "shaw": "i = torch.arange(3)\n"
    "assert m.shaw_bucket(i, i, 1).tolist() == [[1, 2, 2], [0, 1, 2], [0, 0, 1]]",
    "shaw_bucketed": "x, zeros = torch.ones(1, 1, 1, 2), torch.zeros(3, 2)\n"
    "bucket = torch.tensor([[1]])\n"
    "assert m.shaw_attention_bucketed(x, x, x, bucket, zeros, zeros + 1).equal(x + 1)",
    "t5_bias": "gap = torch.tensor([-1000, -113, -112, -1, 0, 1])\n"
    "assert m.t5_bucket(gap, bidirectional=False).tolist() == [31, 31, 30, 1, 0, 0]",
    "alibi": "assert m.alibi_slopes(4).tolist() == [1 / 4, 1 / 16, 1 / 64, 1 / 256]",
    "rope_scaling": "assert m.linear(2, 4.0)[0].tolist() == [0.25]",
    "yarn": "assert m.yarn(2, 4.0, 4096, attention_factor=1.5) == (torch.ones(1), 1.5)",
    "llama3_rope": "assert m.llama3(2, 8.0, 6)[0].tolist() == [1 / 8]",
    "longrope": "half, double = (m.longrope(2, n, 9, [2], [0.5], factor=1)[0] for n in (9, 10))\n"
    "assert (half.item(), double.item()) == (0.5, 2)",
    "partial_rope": "assert m.proportional_inv_freq(4, 0.5).tolist() == [1, 0]",
    "rope_2d": "assert m.axial_inv_freq(4).tolist() == [[1, 0], [0, 1]]",
    "m_rope": "assert m.m_rope_positions([1, (1, 2, 1)])[0].tolist() == "
    "[[0, 1, 1], [0, 1, 2], [0, 1, 1]]",
    "xpos": "assert m.xpos_scale(4, 1.0).tolist() == [0.5, 0.75]",
    "transformer_xl": "lags, weight = torch.tensor([0, 0]), torch.eye(2)\n"
    "assert m.relative_keys(lags, weight, 1).tolist() == [[[0, 1], [0, 1]]]",
    "relative_shift": "assert m.relative_shift(torch.tensor([[1, 2], [3, 4]])).tolist() == "
    "[[2, 0], [3, 4]]",
    "deberta": "assert m.deberta_log_lag(torch.tensor([-129, 128, 511])).tolist() == "
    "[-129, 128, 255]",
    "kerple": "i, r = torch.arange(4), torch.ones(1)\n"
    "assert m.kerple_bias(i[3:], i, r, r, kind='power').tolist() == [[[-3, -2, -1, 0]]]",
    "fire": "i, r = torch.arange(4), torch.tensor(1.0)\n"
    "assert m.fire_distance(i[3:], i, r, r).tolist() == [[1, 0.7924812503605781, 0.5, 0]]",
    "cope": "assert m.cope_positions(torch.tensor([0.25, 0.5, 1])).tolist() == [1.75, 1.5, 1]",
    "fox": "s = m.forget_sums(-torch.ones(1, 1, 3))\n"
    "assert m.fox_bias(s[..., 2:], s).tolist() == [[[[-2, -1, 0]]]]",
    "sandwich": "i = torch.arange(1)\n"
    "assert m.sandwich_bias(i, i, torch.ones(1)).tolist() == [[[64]]]",
    "toeplitz_bias": "i = torch.arange(4)[None]\n"
    "assert m.toeplitz_view(i, 2).tolist() == [[[0, 1, 2], [1, 2, 3]]]",
    "masks": "i = torch.arange(2)\n"
    "assert m.causal_mask(i, i).tolist() == [[True, False], [True, True]]",
}


def functions(tree):
    return [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]


def imported(path):
    """The first word of each imported module; a relative import counts as '.'."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield "." if node.level else node.module.split(".")[0]


@every_snippet
def test_a_copy_runs_alone_in_an_empty_folder(path, tmp_path):
    shutil.copy(path, tmp_path)
    script = f"""
import importlib.util, os, sys
sys.path.insert(0, os.getcwd())
assert importlib.util.find_spec("snippets") is None
import torch
import {path.stem} as m
{CALLS[path.stem]}
print(m.__file__)
"""
    # -I: no PYTHONPATH, no user packages, and the folder of nobody on the path.
    command = [sys.executable, "-I", "-W", "error", "-c", script]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert run.returncode == 0, run.stderr
    assert run.stdout.strip() == str(tmp_path / path.name)


@every_snippet
def test_only_torch_and_the_standard_library_are_imported(path):
    assert set(imported(path)) <= {"torch"} | sys.stdlib_module_names


@pytest.mark.parametrize(
    "stem", ["oracles", "relative", "scaling", "rope_variants", "score_biases"]
)
def test_the_oracles_import_no_snippet(stem):
    allowed = {"cmath", "itertools", "math", "posenc_check", "torch"}
    assert set(imported(ROOT / "posenc_check" / f"{stem}.py")) <= allowed


@every_snippet
def test_the_head_names_licence_project_and_version(path):
    lines = path.read_text().splitlines()
    assert lines[0] == "# SPDX-License-Identifier: MIT"
    version = posenc_check.__version__
    assert lines[1] == f"# Position encoding, executed {version}: snippets/{path.name}"


def test_the_version_is_the_same_everywhere():
    stated = {posenc_check.__version__}
    for project in ROOT.glob("pyproject.toml"):
        stated.add(tomllib.loads(project.read_text())["project"].get("version"))
    assert len(stated - {None}) == 1
    assert re.fullmatch(r"\d+\.\d+\.\d+", posenc_check.__version__)


@every_snippet
def test_lines_fit_into_eighty_columns(path):
    assert [line for line in path.read_text().splitlines() if len(line) > 80] == []


@every_snippet
def test_files_and_functions_stay_short(path):
    source = path.read_text()
    assert len(source.splitlines()) < 220
    for function in functions(ast.parse(source)):
        n_lines = function.end_lineno - function.lineno + 1
        n_lines -= len((ast.get_docstring(function, clean=False) or "").splitlines())
        assert n_lines < 45, function.name


def missing_sections(function, public):
    """The sections a docstring lacks; one may refer to another function for them."""
    text = ast.get_docstring(function) or ""
    same_as = re.search(r"`(\w+)`; same arguments and errors\.", text)
    if same_as and same_as[1] in public:
        return []
    wanted = ["Args:", "Raises:"]
    if ast.unparse(function.returns) != "None":
        wanted.append("Returns:")
    return [section for section in wanted if not re.search(rf"^{section}$", text, re.M)]


@every_snippet
def test_public_functions_say_what_they_take_return_and_raise(path):
    public = {f.name: f for f in functions(ast.parse(path.read_text())) if f.name[0] != "_"}
    assert public
    for name, function in public.items():
        if name == "reset_parameters":  # takes and returns nothing
            assert ast.get_docstring(function)
        else:
            assert missing_sections(function, public) == [], name


@every_snippet
def test_the_module_docstring_names_its_source_and_axes(path):
    text = ast.get_docstring(ast.parse(path.read_text()))
    assert re.search(r"\(arXiv:\d{4}\.\d{5}\)", text)
    assert re.search(r"^Axes: ", text, re.M)
    assert "torch; copy this file as" in text


@every_snippet
def test_nothing_is_kept_at_module_level(path):
    tree = ast.parse(path.read_text())
    allowed = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.ClassDef)
    for node in tree.body[1:]:  # the first is the docstring
        if not isinstance(node, allowed):
            constant = isinstance(node, ast.Assign) and ast.literal_eval(node.value)
            assert isinstance(constant, (tuple, str, int, float)), ast.unparse(node)
    assert not [n for n in ast.walk(tree) if isinstance(n, (ast.Global, ast.Nonlocal))]
    assert not {"functools", "weakref"} & set(imported(path))


@every_snippet
def test_no_default_argument_can_be_changed(path):
    for function in functions(ast.parse(path.read_text())):
        for default in function.args.defaults + function.args.kw_defaults:
            constant = default is None or isinstance(default, ast.Constant)
            assert constant or ast.unparse(default) == "torch.float32", function.name


def test_the_package_adds_nothing_to_the_files_that_the_pages_show():
    """A wrapper in the package could make tests pass that the shown file fails."""
    body = ast.parse((ROOT / "snippets/__init__.py").read_text()).body
    assert len(body) == 1 and isinstance(body[0], ast.Expr)
    for path in SNIPPETS:
        module = importlib.import_module(f"snippets.{path.stem}")
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.FunctionDef):
                assert getattr(module, node.name).__code__.co_filename == str(path), node.name
