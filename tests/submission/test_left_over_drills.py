"""What is left of a drill beside the answer: its stub without its call, a half-written one, a helper in its cell."""

from pathlib import Path

import pytest

from grader.course.reading import load_course
from grader.grading.grade_submission import grade_one
from grader.grading.grading_run import GradingRun
from grader.judging.solution import exercise_source
from grader.submission.submission import read_submission
from tests.submission.samples import code, kept, read
from tests.submission.test_practice import ANSWER, FORMS, STUB

OTHER = "def accumulate():\n    ..."
HALF = "def {}(model):\n    return ("
FILLED = "def train_step(model):\n    return 'a drill'"


def plain(*cells: dict[str, object]) -> str:
    """A script without cell marks."""
    return "\n\n".join(str(cell["source"]) for cell in cells) + "\n"


@pytest.fixture(params=[*FORMS, "plain"])
def written(request: pytest.FixtureRequest, tmp_path: Path):  # type: ignore[no-untyped-def]
    write, suffix = {**FORMS, "plain": (plain, ".py")}[request.param]
    return lambda *cells: read(tmp_path / f"hw{suffix}", write(*cells))


LEFT_OVERS = {
    "stub alone": [STUB],
    "call commented out": [f"import torch\n\n\n{STUB}\n# drill(train_step)"],
    "call in the next cell": [STUB, "drill(train_step)"],
    "drill begun": ['drill("train_step")', STUB],
    "filled, call in the next cell": [FILLED, "drill(train_step)"],
    "half": [f"{HALF.format('train_step')}\n\n\ndrill(train_step)"],
    "half, own name": [f"{HALF.format('train_step_drill')}\n\n\ndrill(train_step_drill)"],
    "half, call in the next cell": [HALF.format("train_step"), "drill(train_step)"],
}


@pytest.mark.parametrize("left_over", LEFT_OVERS)
def test_it_neither_replaces_the_answer_nor_takes_the_file_down(written, left_over):
    cells = [code(ANSWER, "exercise:train_step"), *map(code, LEFT_OVERS[left_over]), code(OTHER)]
    file = written(*cells)
    assert [line for line in kept(file) if line != "import torch"] == [
        *ANSWER.splitlines(),
        *OTHER.splitlines(),
    ]
    assert file.complaint("train_step") is None
    assert file.complaint("accumulate") is None


def test_an_exercise_cell_counts_as_it_is(tmp_path: Path) -> None:
    """Nobody is graded by a draft above a cell that he left empty."""
    text = FORMS["ipynb"][0](code(ANSWER), code(STUB, "exercise:train_step"))
    assert "raise NotImplementedError" in read(tmp_path / "hw.ipynb", text).text


@pytest.mark.parametrize("form", ["script", "percent"])
def test_a_broken_cell_of_a_script_costs_itself_only(form: str, tmp_path: Path) -> None:
    """As in a notebook, from which nbconvert and jupytext made the script."""
    file = read(tmp_path / "hw.py", FORMS[form][0](code(ANSWER), code("x = ("), code(OTHER)))
    assert {"train_step", "accumulate"} <= set(file.defines)
    (problem,) = file.problems
    assert (
        file.nearest_place(problem.line).line
        == file.path.read_text(encoding="utf-8").split("\n").index("x = (") + 1
    )


@pytest.mark.parametrize("form", FORMS)
def test_a_helper_in_a_drill_cell_is_said_to_be_there(form: str, tmp_path: Path) -> None:
    """In the notebook it works, because the cell has run; graded, it was a NameError without a cause."""
    course = load_course()
    answer = exercise_source(course.exercise("train_step")).replace("    opt.step()\n", "    go(opt)\n")
    assert "go(opt)" in answer
    drill = (
        "def go(opt):\n    opt.step()\n\n\ndef train_step_drill(model):\n    ...\n\n\ndrill(train_step_drill)"
    )
    write, suffix = FORMS[form]
    path = tmp_path / f"hw{suffix}"
    path.write_text(
        write(code(f"import torch\n\n\n{answer}", "exercise:train_step"), code(drill)), encoding="utf-8"
    )
    run = GradingRun(course, (course.lesson("01"),), 1, sandbox="none")
    graded = grade_one(run, read_submission(path, tuple(course.exercises)))
    (feedback,) = (f for f in graded.feedbacks if f.exercise == "train_step")
    assert feedback.error == "NameError: name 'go' is not defined"
    assert any("`go`는 드릴이나 클리닉 셀에만 있어요" in note for note in feedback.notes)


def test_an_annotated_variable_of_a_drill_cell_is_known_by_name(ipynb):
    file = ipynb(code(ANSWER), code(f"rate: float = 0.1\n{ANSWER}drill(train_step)"))
    assert file.note_on("NameError: name 'rate' is not defined") is not None


def test_a_cell_that_does_not_parse_is_named_like_any_code_cell(ipynb):
    complaint = ipynb(code("import os"), code("x = 1\ndef train_step(:\n")).complaint("train_step")
    assert complaint is not None
    assert complaint.message.startswith("hw.ipynb 코드 셀 2의 2번째 줄을 읽을 수 없어요.")
