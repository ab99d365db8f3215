"""Results of an experiment wait behind a line until its prediction is made; the experiment itself runs."""

import sys
from types import SimpleNamespace
from typing import Any

import nbformat
import pytest

from grader import predict
from grader.course.reading import load_course
from grader.notebook import hidden_results

LESSON = load_course().lessons[0]
NOTEBOOKS = [nbformat.read(part.notebook, as_version=4) for part in LESSON.parts]
CELLS = [c for notebook in NOTEBOOKS for c in notebook.cells if c.cell_type == "code"]
EXPERIMENT = next(c.source for c in CELLS if 'reveal("01-1")' in c.source)


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, dict[str, Any]]]:
    """What a notebook is given to show by the hidden_results, where a learner sits in front of it."""
    found: list[tuple[str, dict[str, Any]]] = []
    monkeypatch.setattr(
        hidden_results, "publish", lambda bundle, _meta, **how: found.append((bundle["text/html"], how))
    )
    monkeypatch.setattr(hidden_results, "_open_veils", {})
    shell = SimpleNamespace(kernel=SimpleNamespace(_allow_stdin=True))
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    return found


def run(source: str, *, success: bool = True) -> None:
    """What IPython calls around a cell."""
    hidden_results._veil_before_cell(SimpleNamespace(raw_cell=source))
    hidden_results._unveil_after_error(SimpleNamespace(success=success))


def test_results_wait_for_the_prediction(shown: list[tuple[str, dict[str, Any]]]) -> None:
    run(EXPERIMENT)
    ((line, how),) = shown
    assert "위에서 예측을 먼저 골라 보세요." in line
    predict("01-2", "a")
    assert len(shown) == 1, "another prediction"
    predict("01-1", "a")
    assert shown[1:] == [("", {"name": how["name"], "update": True})]
    run(EXPERIMENT)
    assert len(shown) == 2, "it has been made"


def test_an_error_is_never_veiled(shown: list[tuple[str, dict[str, Any]]]) -> None:
    run(EXPERIMENT, success=False)
    assert shown[-1][0] == ""
    run(EXPERIMENT)
    run("1 / 0", success=False)
    assert "위에서 예측을" in shown[-1][0], "the error of another cell lifts nothing"


def test_nobody_there_no_veil(
    shown: list[tuple[str, dict[str, Any]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Builds and the site run the same cells, and their results are the page."""
    monkeypatch.setattr(sys.modules["IPython"].get_ipython().kernel, "_allow_stdin", False)
    run(EXPERIMENT)
    assert shown == []


def test_cells_between_a_prediction_and_its_answer_wait_too() -> None:
    """They show what it asks for; those that define and assign show nothing, and exercises are the learner's own."""
    at = next(n for n, c in enumerate(CELLS) if 'predict("01-12")' in c.source)
    assert "def observe" in CELLS[at + 1].source
    assert hidden_results.open_predictions(CELLS[at + 1].source) == set()
    assert hidden_results.open_predictions(CELLS[at + 2].source) == {"01-12"}
    between = [
        c.source for c in CELLS if "01-7" in set(hidden_results._experiments().get(c.source.strip(), ()))
    ]
    assert len(between) > 1
    for cell in CELLS:
        if cell.metadata.get("tags", ["folded"])[0] not in ("folded", "install"):
            assert hidden_results.open_predictions(cell.source) == set(), cell.source
    assert hidden_results.open_predictions("1 + 1") == set()
    assert hidden_results.open_predictions('%time reveal("01-1")') == {"01-1"}
    assert hidden_results.open_predictions('reveal("99-1")') == set()
