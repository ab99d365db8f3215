"""A cell that failed leaves the function of an earlier run: no check judges that one in its place."""

from collections.abc import Iterator
from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell

from grader.course.reading import load_course
from grader.learner.progress import Progress
from grader.notebook.check import protect_answers
from grader.notebook.failed_cells import notice_failed_cells
from grader.notebook.missing_names import explain_missing_names, why_missing
from tests.notebook.test_notebook import RIGHT

BROKEN = {
    "a bracket": ("loss.item()", "float(loss.item("),
    "no body": ('-> float:\n    """', '-> float:\n"""'),
    "an error in the signature": ("-> float:", "-> flaot:"),
}


@pytest.fixture
def shell(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    made = InteractiveShell.instance()
    notice_failed_cells()
    explain_missing_names()
    protect_answers()
    made.run_cell("import torch\nfrom grader import check, hint")
    yield made
    notice_failed_cells()  # forgets what has failed
    InteractiveShell.clear_instance()


def result(shell: Any, cell: str) -> Any:
    return shell.run_cell(cell, store_history=True).result


def test_an_exercise_cell_without_its_function_is_not_to_be_run_again(
    shell: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where the front end tells which cell runs: the function has another name, and none that is near."""
    shell.run_cell("check(train_step)")
    assert "먼저 실행하세요" in capsys.readouterr().out
    shell.run_cell("def mine(): ...", cell_id="exercise-train_step")
    shell.run_cell("check(train_step)")
    told = capsys.readouterr().out
    assert "먼저 실행하세요" not in told
    assert "그 안에 이 이름의 함수가 없어요" in told


@pytest.mark.parametrize("broken", ["a bracket", "no body", "an error in the signature"])
def test_a_check_after_a_failed_cell_says_so_and_records_nothing(shell: Any, broken: str) -> None:
    result(shell, RIGHT["train_step"])
    shell.run_cell(RIGHT["train_step"].replace(*BROKEN[broken]))
    shown = result(shell, "check(train_step)")
    assert shown.feedback is None
    assert "위 셀이 실행되지 않았어요" in shown.text
    assert Progress.load().history.exercise("train_step").tries == 0
    result(shell, RIGHT["train_step"])
    assert result(shell, "check(train_step)").passed


def test_a_syntax_error_is_told_in_korean_with_its_line(
    shell: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    """Below Python's own message, and again where the function is checked."""
    result(shell, RIGHT["train_step"])
    broken = RIGHT["train_step"].replace("loss_fn(logits, yb)", "loss_fn(logits, yb")
    line = 1 + broken[: broken.index("loss_fn(logits")].count("\n")
    shell.run_cell(broken)
    told = f"{line}번째 줄"
    for text in (capsys.readouterr().out, result(shell, "check(train_step)").text):
        assert told in text
        assert "괄호 `(`를 열고 닫지 않았어요" in text.replace("(`를", "(`를")


@pytest.mark.parametrize(
    ("cell", "told"),
    [
        ("def trainstep(*given): ...", "함수의 이름은 `trainstep`이에요"),
        ("def mine(*given): ...", "함수의 이름은 `mine`이에요"),
        ("# nothing yet", "이 이름의 함수가 없어요"),
        ("def trainstep(:", "1번째 줄"),
    ],
)
def test_a_renamed_function_is_not_judged_by_its_earlier_name(shell: Any, cell: str, told: str) -> None:
    """The name still stands for what the exercise's own cell has made before."""
    own = "exercise-train_step"
    shell.run_cell(RIGHT["train_step"], cell_id=own)
    shell.run_cell(cell, cell_id=own)
    shown = result(shell, "check(train_step)")
    assert shown.feedback is None
    assert "연습 셀에 `train_step`이 없어요" in shown.text
    assert told in shown.text
    shell.run_cell(RIGHT["train_step"], cell_id=own)
    assert result(shell, "check(train_step)").passed


def test_an_answer_in_another_cell_is_judged_whatever_the_exercises_own_cell_holds(shell: Any) -> None:
    shell.run_cell("def train_step(*given): ...", cell_id="exercise-train_step")
    result(shell, RIGHT["train_step"])
    shell.run_cell("# see above", cell_id="exercise-train_step")
    assert result(shell, "check(train_step)").passed


@pytest.mark.parametrize("outside", ["opt.step()", "return loss.item()"])
def test_a_line_that_slipped_out_of_the_function_is_told_by_cell_and_check(
    shell: Any, capsys: pytest.CaptureFixture[str], outside: str
) -> None:
    """The check would say that the line is missing, which the learner sees in the cell."""
    cell = RIGHT["train_step"].rstrip().replace(f"    {outside}", outside)
    cell = "\n".join(
        line for line in cell.split("\n") if line.strip() != "return loss.item()" or line == outside
    )
    shell.run_cell(cell)
    line = 1 + cell.split("\n").index(outside)
    assert f"{line}번째 줄" in capsys.readouterr().out
    shown = result(shell, "check(train_step)")
    assert shown.feedback is None
    assert f"{line}번째 줄이 `train_step` 밖에 있어요" in shown.text


def test_a_trial_below_the_function_is_no_line_of_it(shell: Any) -> None:
    """Neither a call of it, nor a line further down."""
    shell.run_cell("model = 1")
    for trial in ("print(train_step)", "\nprint(model)"):
        result(shell, RIGHT["train_step"].rstrip() + f"\n{trial}\n")
        assert result(shell, "check(train_step)").passed


def test_a_return_at_the_left_margin_is_told_in_korean(
    shell: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    """Python's parser lets it pass; only the compiler refuses it."""
    shell.run_cell("def train_step(model, opt, loss_fn, xb, yb):\n    opt.zero_grad()\nreturn 1.0")
    assert "3번째 줄: 함수 밖에 있는 줄이에요." in capsys.readouterr().out


@pytest.mark.parametrize("name", ["mend_step", "SAM", "accumulate"])
def test_every_exercise_is_noticed(shell: Any, name: str) -> None:
    """Classes as well."""
    kind = "class" if name[0].isupper() else "def"
    shell.run_cell(f"{kind} {name}():\n    pass")
    shell.run_cell(f"{kind} {name}(:\n    pass")
    assert "위 셀이 실행되지 않았어요" in result(shell, f"check({name})").text


def test_a_function_that_its_failed_cell_still_made_is_judged(shell: Any) -> None:
    """The cell fails below it, for example in a trial of one's own."""
    shell.run_cell(RIGHT["train_step"] + "\n1 / 0\n")
    assert result(shell, "check(train_step)").passed


def test_other_failed_cells_do_not_matter(shell: Any) -> None:
    result(shell, RIGHT["train_step"])
    for other in ("1 / 0", "def helper(:\n    pass", "x = train_step("):
        shell.run_cell(other)
    assert result(shell, "check(train_step)").passed


def test_without_an_earlier_function_the_name_is_missing_because_its_cell_failed(shell: Any) -> None:
    shell.run_cell("def train_step(:\n    pass")
    assert "오류로 멈췄어요" in str(why_missing("train_step"))
    assert "오류로" not in str(why_missing("mend_step"))
    assert "train_step" in load_course().exercises


def test_lines_outside_the_function_are_told_as_that(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """Neither as a name that an earlier cell makes, nor as an answer that is not begun."""
    cell = 'def train_step(model, opt, loss_fn, xb, yb):\n    """한 스텝."""\nopt.zero_grad()\n'
    said = "`train_step`의 줄이 들여쓰기되지 않아서 함수 밖에 있어요. 3번째 줄부터"
    shell.run_cell(cell)
    assert said in capsys.readouterr().out
    shown = result(shell, "check(train_step)")
    assert shown.feedback is None
    assert said in shown.text
    shell.run_cell("import torch\nopt = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=1.0)")
    shell.run_cell(cell)  # the name exists: the cell raises nothing
    assert said in result(shell, "check(train_step)").text
    result(shell, RIGHT["train_step"])
    assert result(shell, "check(train_step)").passed
