"""`grader grade --as`: answers that a class handed in under another name, one question for all of them."""

from collections.abc import Callable
from pathlib import Path

import pytest

from grader.cli.main import run
from grader.course.feedback import SubmissionResult
from grader.report.regraded import regrade_told
from grader.report.results import from_json
from tests.places import ROOT

Ended = Callable[..., tuple[int, str]]
SGD = (ROOT / "tests" / "accepted" / "sgd_update" / "copy.py").read_text(encoding="utf-8")
NAMES = [f"학생{number}" for number in range(5)]


@pytest.fixture
def ended(capfd: pytest.CaptureFixture[str]) -> Ended:
    """A command's exit status, and what it printed."""

    def ended(*arguments: object) -> tuple[int, str]:
        status = run([str(argument) for argument in arguments])
        printed = capfd.readouterr()
        return status, printed.out + printed.err

    return ended


def a_class(folder: Path, own: str) -> tuple[object, ...]:
    """Write a class that calls the answer `own`, but for the last one; return the command that grades it."""
    (folder / "class").mkdir()
    for name in NAMES:
        text = SGD if name == NAMES[-1] else SGD.replace("sgd_update", own)
        (folder / "class" / f"{name}.py").write_text(text, encoding="utf-8")
    command = ("grade", folder / "class", "--out", folder / "out", "--sandbox", "none", "--seed", "7")
    return (*command, "--exercise", "sgd_update")


def results(folder: Path) -> dict[str, SubmissionResult]:
    read = from_json((folder / "out" / "results.json").read_bytes())
    return {submission.student: submission for submission in read.submissions}


def test_a_whole_class_is_graded_under_its_own_name(ended: Ended, tmp_path: Path) -> None:
    command = a_class(tmp_path, "update_by_hand")
    code, said = ended(*command, "--as", "update_by_hand=sgd_update", "--as", "typo=sgd_update")
    assert code == 0, said
    assert "모두 통과 5명" in said
    assert "아무도 내지 않은 이름: typo" in said
    first, last = results(tmp_path)[NAMES[0]], results(tmp_path)[NAMES[-1]]
    assert first.notes == ("`update_by_hand`를 `sgd_update`로 채점했어요.",)
    assert last.notes == ()


def test_many_with_one_other_name_are_one_question(ended: Ended, tmp_path: Path) -> None:
    """The name is unlike the exercise's; the answer to the question grades only those, and is not asked again."""
    command = a_class(tmp_path, "run_it")
    code, said = ended(*command)
    assert code == 0, said
    assert said.count("run_it → sgd_update 4개") == 2, "before grading, and below its results"
    (question,) = {line for line in said.splitlines() if "run_it → sgd_update" in line}
    assert "--changed-only" in question
    assert "--as run_it=sgd_update" in question
    before = results(tmp_path)

    code, said = ended(*command, "--changed-only", "--as", "run_it=sgd_update")
    assert code == 0, said
    assert "모두 통과 5명" in said
    assert "run_it →" not in said
    (told,) = {regrade_told(results(tmp_path)[name]) for name in NAMES[:-1]}
    assert told.startswith("다시 채점한 결과예요. 채점기의 점수가 달라진 연습: sgd_update 0 →"), (
        "nothing was handed in"
    )
    assert results(tmp_path)[NAMES[-1]].digest == before[NAMES[-1]].digest

    code, said = ended(*command, "--changed-only")
    assert "모두 통과 5명" in said, "the names of the run before count"


def test_a_helper_of_one_student_is_not_asked_about(ended: Ended, tmp_path: Path) -> None:
    command = a_class(tmp_path, "sgd_update")
    (tmp_path / "class" / "혼자.py").write_text(SGD.replace("sgd_update", "run_it"), encoding="utf-8")
    code, said = ended(*command)
    assert code == 0, said
    assert "run_it" not in said


def test_a_swapped_name_is_refused(ended: Ended, tmp_path: Path) -> None:
    code, said = ended(*a_class(tmp_path, "run_it"), "--as", "sgd_update=run_it")
    assert code == 2
    assert "--as run_it=sgd_update" in said
