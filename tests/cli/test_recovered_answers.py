"""`grader check` and `grader grade` on files that hold an answer in another form, or under another name."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from grader.cli.main import run
from grader.course.course import Exercise
from grader.course.feedback import Feedback
from grader.grading.own_file import OwnFile
from tests.observe.five_lines import RIGHT

Ended = Callable[..., tuple[int, str]]
NAMED_DIFFERENTLY = RIGHT.replace("def train_step", "def trainStep")


@pytest.fixture
def ended(capsys: pytest.CaptureFixture[str]) -> Ended:
    """A command's exit status, and what it printed, on one line."""

    def ended(*arguments: str) -> tuple[int, str]:
        status = run(arguments)
        printed = capsys.readouterr()
        return status, re.sub(r"\s+", " ", printed.out + printed.err)

    return ended


@pytest.fixture
def file(tmp_path: Path) -> Callable[[str], str]:
    """Path of a file with this text."""

    def write(text: str) -> str:
        (tmp_path / "hw.py").write_text(text, encoding="utf-8")
        return str(tmp_path / "hw.py")

    return write


def test_a_chat_answer_is_graded_and_its_prose_is_not_begun(ended: Ended, file: Callable[[str], str]) -> None:
    text = f"물론입니다!\n\n```python\n{RIGHT}```\n\n`zero_gradients(params)`와 clip_global_norm(params)도 됩니다.\n"
    code, said = ended("check", file(text))
    assert code == 0, said
    assert "Markdown 코드 블록 안의 코드를 읽고" in said
    assert "zero_gradients" not in said
    assert "clip_global_norm" not in said


def test_a_file_of_prose_is_told_as_prose(ended: Ended, file: Callable[[str], str]) -> None:
    code, said = ended("check", file("물론입니다! train_step은 이렇게 씁니다.\n"))
    assert code == 1
    assert "코드가 아니라 글이에요" in said
    assert "accumulate_weighted" not in said


def test_a_syntax_error_shows_its_line(ended: Ended, file: Callable[[str], str]) -> None:
    text = (
        RIGHT + "\n\ndef evaluate(model, loss_fn, loader):\n    total = float(len(loader)\n    return total\n"
    )
    code, said = ended("check", file(text))
    assert code == 1
    assert "괄호 `(`를 열고 닫지 않았어요" in said
    line = text.split("\n").index("    total = float(len(loader)") + 1
    assert f"{line} | total = float(len(loader)" in said
    assert "통과했어요" in said


def test_another_name_is_proposed_with_the_command(ended: Ended, file: Callable[[str], str]) -> None:
    path = file(NAMED_DIFFERENTLY)
    code, said = ended("check", path)
    assert code == 1
    assert "`trainStep` → `train_step`" in said
    assert f"grader check {path} --as trainStep=train_step" in said
    assert "accumulate_weighted" not in said


def test_a_name_that_is_told_is_graded(ended: Ended, file: Callable[[str], str]) -> None:
    code, said = ended("check", file(NAMED_DIFFERENTLY), "--as", "trainStep=train_step")
    assert code == 0, said
    assert "제출할 때는 이름을 바꿔 주세요" in said


@pytest.mark.parametrize(
    ("pairs", "told"),
    [
        (["trainStep"], "받은 값: 'trainStep'. 예: --as trainStep=train_step"),
        (["=train_step"], "받은 값: '=train_step'"),
        (["trainStep="], "받은 값: 'trainStep='"),
        (["trainStp=train_step"], "`trainStp`가 없어요(--as trainStp=train_step). 있는 함수: trainStep"),
        (["trainStep=train_stp"], "혹시 'train_step'인가요?"),
        (["train_step=trainStep"], "이렇게 적어 주세요: --as trainStep=train_step"),
        (["train_step=train_step"], "--as를 빼고"),
        (["train_step=accumulate"], "`train_step`은 연습 문제의 이름이에요"),
        (["train_step=accumulat"], "`train_step`은 연습 문제의 이름이에요"),
        (["train_step=my-func"], "`train_step`은 연습 문제의 이름이에요"),
        (["trainStep=train_step", "other=train_step"], "두 번 나왔어요: other=train_step"),
        (["trainStep=train_step", "trainStep=fit"], "두 번 나왔어요: trainStep=fit"),
    ],
)
def test_a_wrong_pair_is_told_with_its_value(
    ended: Ended, file: Callable[[str], str], pairs: list[str], told: str
) -> None:
    options = [part for pair in pairs for part in ("--as", pair)]
    code, said = ended("check", file(NAMED_DIFFERENTLY), *options)
    assert code == 2
    assert told in said


@pytest.fixture
def unjudged(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every exercise passes at once."""

    def check(own: OwnFile, exercises: tuple[Exercise, ...], **how: object) -> tuple[Feedback, ...]:
        return tuple(Feedback(one.lesson, one.name, one.title, "passed", (), "") for one in exercises)

    monkeypatch.setattr(OwnFile, "check", check)


TWO = NAMED_DIFFERENTLY + "\n\ndef acumulate(model, loss_fn, opt, batches):\n    return 0.0\n"


@pytest.mark.usefixtures("unjudged")
def test_a_proposed_command_keeps_the_options_that_were_given(
    ended: Ended, file: Callable[[str], str]
) -> None:
    path, given = file(TWO), ("--as", "trainStep=train_step", "--seed", "7")
    _, said = ended("check", path, *given)
    assert f"grader check {path} {' '.join(given)} --as acumulate=accumulate" in said
    given += ("--exercise", "accumulate")
    _, said = ended("check", path, *given)
    assert (
        f"grader check {path} --as trainStep=train_step --exercise accumulate --seed 7 --as acumulate=accumulate"
        in said
    )


@pytest.mark.usefixtures("unjudged")
def test_nothing_is_proposed_for_an_exercise_that_was_not_asked_for(
    ended: Ended, file: Callable[[str], str]
) -> None:
    given = ("--as", "trainStep=train_step", "--exercise", "train_step")
    assert "acumulate" not in ended("check", file(TWO), *given)[1]


def test_an_exercise_of_its_own_name_is_not_replaced(ended: Ended, file: Callable[[str], str]) -> None:
    code, said = ended("check", file(RIGHT + NAMED_DIFFERENTLY), "--as", "trainStep=train_step")
    assert code == 2
    assert "`train_step`이 이미 있어요" in said


def test_a_class_is_told_of_other_names_and_not_graded_under_them(ended: Ended, tmp_path: Path) -> None:
    (tmp_path / "class").mkdir()
    (tmp_path / "class" / "kim.py").write_text(NAMED_DIFFERENTLY, encoding="utf-8")
    arguments = ["--lesson", "1", "--sandbox", "none", "--out", str(tmp_path / "out")]
    code, said = ended("grade", str(tmp_path / "class"), *arguments)
    assert code == 0, said
    (student,) = json.loads((tmp_path / "out" / "results.json").read_text(encoding="utf-8"))["submissions"]
    (entry,) = [one for one in student["exercises"] if one["exercise"] == "train_step"]
    line = (
        NAMED_DIFFERENTLY.split("\n").index(
            next(x for x in NAMED_DIFFERENTLY.split("\n") if "trainStep" in x)
        )
        + 1
    )
    assert (entry["status"], entry["score"]) == ("missing", 0)
    assert f"`trainStep`이 kim.py {line}번째 줄에 있어요" in entry["message"]
    pages = [page.read_text(encoding="utf-8") for page in (tmp_path / "out").rglob("*.html")]
    assert sum("trainStep" in page for page in pages) == len(pages) == 2
