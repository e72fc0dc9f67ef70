"""Every notebook runs from top to bottom, from the root of the repository.

Each code cell that ran is recorded with its source, so that the guard can compare the cells of
the built page with the cells that passed here.
"""

import re
from pathlib import Path

import jupytext
import nbclient
import pytest
from bs4 import BeautifulSoup
from nbclient.exceptions import CellExecutionError

from tests.drawn import extent

ROOT = Path(__file__).parents[1]
NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("**/*.py"))


def run(notebook) -> list:
    """Execute in a fresh kernel; the code cells, or a failure that shows the cell."""
    client = nbclient.NotebookClient(
        notebook, timeout=120, kernel_name="python3", resources={"metadata": {"path": str(ROOT)}}
    )
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    try:
        client.execute()
    except CellExecutionError as error:
        started = [cell for cell in cells if cell.execution_count]
        pytest.fail(
            f"{error.ename}: {error.evalue} in the cell\n\n{started[-1].source}", pytrace=False
        )
    return cells


def test_there_is_a_notebook():
    names = [path.name for path in NOTEBOOKS]
    assert names == ["beyond_length.py", "clock.py", "real_models.py"]


@pytest.fixture(scope="module", params=NOTEBOOKS, ids=lambda path: path.stem)
def path(request) -> Path:
    return request.param


@pytest.fixture(scope="module")
def cells(path) -> list:
    """The code cells of one notebook after a run."""
    return run(jupytext.read(path))


def test_notebook_runs(path, cells, record_property):
    assert cells
    record_property("notebook", path.relative_to(ROOT).as_posix())
    for number, cell in enumerate(cells, start=1):
        assert cell.execution_count == number, f"did not run:\n\n{cell.source}"
        noise = [o.text for o in cell.outputs if o.output_type == "stream" and o.name == "stderr"]
        assert not noise, f"wrote {noise} in\n\n{cell.source}"
        record_property("cell", cell.source)


@pytest.fixture
def figures(cells) -> list:
    pages = [o.data.get("text/html", "") for c in cells for o in c.outputs if "data" in o]
    return [figure for page in pages for figure in BeautifulSoup(page, "html.parser")("figure")]


def test_every_figure_has_a_caption_and_a_text_alternative(cells, figures):
    assert len(figures) == sum("\nshow(figure" in cell.source for cell in cells) > 0
    for figure in figures:
        assert len(figure.figcaption.text) > 40
        words = figure.svg["aria-label"]
        assert figure.svg["role"] == "img" and len(words) > 60 and words.endswith("."), words
        assert "nan" not in words and words != figure.figcaption.text
    assert not any("image/png" in o.get("data", {}) for c in cells for o in c.outputs)


def test_figures_share_no_id_and_stay_on_the_picture(figures):
    ids = [found["id"] for figure in figures for found in figure.find_all(id=True)]
    assert len(ids) == len(set(ids)) > 0
    for figure in figures:
        assert_text_inside(figure.svg)


def assert_text_inside(picture) -> None:
    _, _, width, height = map(float, picture["viewbox"].split())
    assert abs(width - 380) < 0.5
    for text in picture("text"):
        size = float(re.search(r"font-size: ([\d.]+)px", text["style"])[1])
        anchor = re.search(r"text-anchor: (\w+)", text["style"])[1]
        assert size >= 13
        turned = "rotate(-90" in text["transform"]  # the title of a y axis
        assert anchor == "middle" or not turned
        start, end = extent(text.text, float(text["y" if turned else "x"]), size, anchor)
        assert 0 <= start and end <= (height if turned else width), text


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_each_cell_checks_or_shows_something(path):
    """After the imports and helpers, a cell without an assert, a print or a figure is idle."""
    cells = [cell.source for cell in jupytext.read(path).cells if cell.cell_type == "code"]
    idle = [s for s in cells[2:] if not any(word in s for word in ("assert ", "print(", "show("))]
    assert idle == []


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_has_one_title(path):
    text = "\n".join(c.source for c in jupytext.read(path).cells if c.cell_type == "markdown")
    assert [line[:2] for line in text.splitlines()].count("# ") == 1


def test_a_raising_cell_is_named():
    notebook = jupytext.reads("# %%\nx = 1\n\n# %%\nassert x == 2, 'no'\n", fmt="py:percent")
    message = r"^AssertionError: no in the cell\n\nassert x == 2, 'no'$"
    with pytest.raises(pytest.fail.Exception, match=message):
        run(notebook)
