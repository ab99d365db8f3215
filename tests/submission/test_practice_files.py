"""Files that `grader drill` and `grader clinic` write lie beside the lessons, and are handed in with them."""

from pathlib import Path

import pytest

from grader.submission.practice_files import marked, unmarked
from grader.submission.submission import read_submission
from tests.submission.samples import EXERCISES, code, notebook

ANSWER = "def train_step(model):\n    return 'the answer'\n"
WRITTEN = "import torch\n\n\ndef train_step(model):\n    return 'practice'\n"


def handed_in(folder: Path, name: str, text: str, answer: str = ANSWER) -> tuple[str, tuple[str, ...]]:
    """What is read as the answer, and the notes."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    if answer:
        (folder / "01.ipynb").write_text(notebook(code(answer, "exercise:train_step")), encoding="utf-8")
    found = read_submission(folder, EXERCISES)
    source = found.source_for("train_step")
    assert found.duplicates("train_step") == ()
    return "" if source is None else source.name, found.notes


@pytest.mark.parametrize("tool", ["drill", "clinic"])
@pytest.mark.parametrize("name", ["mine.py", "a/b.py"])
def test_a_marked_file_is_no_answer_whatever_it_is_called(tool: str, name: str, tmp_path: Path) -> None:
    assert handed_in(tmp_path, name, marked(WRITTEN, tool)) == ("01.ipynb", ())


@pytest.mark.parametrize(
    "name",
    ["clinic/train_step.py", "clinic/train_step_2.py", "x/clinic/train_step_13.py", "drill_train_step.py"],
)
def test_files_of_the_last_version_are_known_by_their_names(name: str, tmp_path: Path) -> None:
    assert handed_in(tmp_path, name, WRITTEN) == ("01.ipynb", ())


@pytest.mark.parametrize(
    "name", ["train_step.py", "clinic.py", "drill_me.py", "clinic/hw.py", "02_drill_train_step.py"]
)
def test_other_files_are_answers(name: str, tmp_path: Path) -> None:
    assert handed_in(tmp_path, name, WRITTEN, answer="")[0] == name


def test_who_has_written_an_answer_there_only_is_told(tmp_path: Path) -> None:
    source, (note,) = handed_in(tmp_path, "drill_train_step.py", WRITTEN, answer="")
    assert source == ""
    assert "`train_step`은 드릴에만 쓰여 있어요: drill_train_step.py 4번째 줄" in note


def test_a_mark_changes_no_line_and_comes_off(tmp_path: Path) -> None:
    text = marked(WRITTEN, "clinic")
    assert text.startswith(WRITTEN)
    assert unmarked(text).rstrip() == WRITTEN.rstrip()
    assert unmarked(WRITTEN) == WRITTEN
