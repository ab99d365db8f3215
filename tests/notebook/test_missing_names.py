"""A cell that asks for what an earlier cell makes, in a kernel that has run nothing."""

import os
import re
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

from grader.notebook.missing_names import why_missing
from tests.places import ROOT

STARTUP = str(ROOT / "assets" / "jupyterlab" / "startup.py")
pytestmark = pytest.mark.timeout(300)


def ran(monkeypatch: pytest.MonkeyPatch, *cells: str, startup: str | None) -> list[list[Any]]:
    """What each cell put out; none stops the others."""
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")])))
    monkeypatch.delenv("PYTHONSTARTUP", raising=False)
    if startup is not None:
        monkeypatch.setenv("PYTHONSTARTUP", startup)
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    NotebookClient(notebook, timeout=120, kernel_name="python3", allow_errors=True).execute()
    return [cell.outputs for cell in notebook.cells]


def test_a_new_kernel_of_grader_start_says_which_cell_to_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """And nothing of what says it is left among the learner's names."""
    names = "print([n for n in dir() if 'missing' in n or n == 'grader'])"
    asked, left = ran(monkeypatch, "check(train_step)", names, startup=STARTUP)
    (error,) = asked
    assert error["ename"] == "NameError"
    assert error["traceback"] == ["NameError: name 'check' is not defined", why_missing("check")]
    assert left[0]["text"] == "[]\n"


def test_elsewhere_the_first_import_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    cells = (
        "from grader import check",
        "check(train_step)",
        "def f():\n    return make_model\nf()",
        "undefined",
        "clinic()",
    )
    _, step, inside, unknown, clinic = ran(monkeypatch, *cells, startup=None)
    assert step[0]["traceback"][-1] == why_missing("train_step")
    # What has run already is no advice, and the code stands on a line of its own.
    assert clinic[0]["traceback"][-1] == why_missing("clinic", prepared=True)
    assert "맨 위" not in clinic[0]["traceback"][-1]
    assert clinic[0]["traceback"][-1].endswith("\nfrom grader import clinic")
    for (error,) in (inside, unknown):
        assert error["ename"] == "NameError"
        assert len(error["traceback"]) > 2  # as Python and IPython tell it


def test_a_function_with_nearly_the_name_is_told() -> None:
    """The cell has run, so that running it is no advice; what lessons and drills define is no misspelling."""
    told = str(why_missing("sgd_update", written=["helper", "sgd_updates"]))
    assert "비슷한 이름의 함수 `sgd_updates`가 있어요. 그 함수의 이름을 `sgd_update`로 바꾸고" in told
    assert "`Add_Gradiant`가" in str(why_missing("add_gradient", written=["Add_Gradiant"]))
    assert why_missing("train_step", written=["helper"]) == why_missing("train_step")


def test_what_the_cells_of_the_notebook_have_defined_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    cells = (
        "from grader import check",
        "def sgd_updates(): ...\ndef add_gradient_drill(): ...\ndef learning_curve(): ...",
        "check(sgd_update)",
        "check(add_gradient)",
        "check(train_step)",
    )
    *_, near, drill, none = ran(monkeypatch, *cells, startup=None)
    assert near[0]["traceback"][-1] == why_missing("sgd_update", written=["sgd_updates"])
    assert drill[0]["traceback"][-1] == why_missing("add_gradient")
    assert none[0]["traceback"][-1] == why_missing("train_step")


def test_only_what_lessons_make_is_explained() -> None:
    assert "Shift+Enter" in str(why_missing("train_step"))
    told = str(why_missing("torch"))
    assert told.startswith("`torch`라는 이름은 아직 없어요.")
    assert "Shift+Enter" in told
    assert not re.search("메뉴|VS Code|Colab|JupyterLab", told)
    assert "from grader import progress" in str(why_missing("progress"))
    assert why_missing("trian_step") is None


def test_a_name_that_nearly_exists_is_told() -> None:
    assert why_missing("at_onec", known=["at_once", "model"]) == (
        "`at_onec`라는 이름은 없어요. `at_once`를 쓰려던 건가요?"
    )
    assert why_missing("qwertyuiop", known=["at_once", "model"]) is None
