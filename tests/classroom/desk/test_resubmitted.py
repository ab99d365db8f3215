"""A judgement belongs to the answer that was judged: of an answer handed in since, a person decides anew."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from grader.classroom.desk.changes import DeskError
from grader.classroom.desk.desk import Desk
from grader.cli.class_inputs import tell_marks
from grader.cli.instructor import mark_again
from grader.course.feedback import Absent, ClassResult, Person, SubmissionResult
from tests.classroom.desk.running import PROGRAM, class_of, desk_over, right, write_class, wrong
from tests.report import samples
from tests.report.samples import MISSING_ZERO_GRAD

MENDED = PROGRAM.replace("loss.backward()", "opt.zero_grad()\n    loss.backward()")


def a_class() -> ClassResult:
    """Two with a mistake in one exercise, and the same right answer in another; a third handed in nothing."""
    answers = ((wrong("train_step", MISSING_ZERO_GRAD), right("fit")),) * 2
    return replace(class_of(*answers), absent=(Absent(Person("20260003", "학생3")),))


def hand_in_again(tmp_path: Path, program: str, *, mended: bool = True) -> None:
    """The first student's answer to `train_step` is another one now, and is graded anew."""
    old = a_class()
    first = old.submissions[0]
    own = (right("train_step"), *first.feedbacks[1:]) if mended else first.feedbacks
    first = replace(first, feedbacks=own, digest="another")
    write_class(tmp_path / "out", replace(old, submissions=(first, *old.submissions[1:])), tmp_path, program)


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    write_class(tmp_path / "out", a_class(), tmp_path)
    return desk_over(tmp_path / "out")


def judge(desk: Desk, score: str, text: str, student: str = "학생1", **more: Any) -> dict[str, Any]:
    target = desk.found(student)["students"][0]["id"]
    request = {"exercise": "train_step", "scope": "student", "target": target, "score": score, "text": text}
    return desk.judge({**request, **more})


def marks(tmp_path: Path) -> dict[str, tuple[float | None, tuple[str, ...], tuple[str, ...]]]:
    result, _ = mark_again(tmp_path / "out", {})
    return {
        s.student.split("_")[1]: (
            s.score if s.mark is None else s.mark.score,
            () if s.mark is None else s.mark.reasons,
            tuple(comment.text for comment in s.comments),
        )
        for s in result.submissions
    }


def entries(desk: Desk) -> dict[str, dict[str, Any]]:
    return {entry["text"]: entry for entry in desk.exercise("train_step")["written"]}


def test_of_a_resubmitted_answer_no_earlier_judgement_counts(
    desk: Desk, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Neither points nor words; the files keep the lines, and the command tells whose they are."""
    judge(desk, "3", "끝처리만 틀림")
    judge(desk, "", "다시 내 주세요")
    assert marks(tmp_path)["학생1"] == (
        7,
        ("train_step: 3/4점을 직접 주었어요. 끝처리만 틀림",),
        ("다시 내 주세요",),
    )
    before = (tmp_path / "out" / "overrides.csv").read_bytes()
    hand_in_again(tmp_path, MENDED)
    assert marks(tmp_path)["학생1"] == (8, (), ())
    assert (tmp_path / "out" / "overrides.csv").read_bytes() == before
    result, rules = mark_again(tmp_path / "out", {})
    capsys.readouterr()
    tell_marks(tmp_path / "out", result, rules)
    said = capsys.readouterr()
    told = "지난 답에 적은 2줄은 점수와 학생의 페이지에서 빼 두었어요: 20260001 학생1 train_step."
    assert told in said.out + said.err


def test_an_unchanged_answer_keeps_its_judgement_whatever_else_changed(desk: Desk, tmp_path: Path) -> None:
    """Blank lines, another exercise, other points after grading with another seed: the answer is the same."""
    judge(desk, "3", "끝처리만 틀림")
    hand_in_again(
        tmp_path, "import os\n\n" + PROGRAM.replace("    opt.step()", "\n    opt.step()  "), mended=True
    )
    assert marks(tmp_path)["학생1"][0] == 7
    assert entries(desk)["끝처리만 틀림"]["again"] == []


WITH_HELPERS = """import math
from torch import nn

SCALE = 2


def scaled(value):
    return value / SCALE


def unused(value):
    return math.sqrt(value)


def train_step(model, opt, loss_fn, xb, yb):
    loss = scaled(loss_fn(model(xb), yb))
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    return loss.item()
"""


@pytest.mark.parametrize(
    ("old", "new", "is_another"),
    [
        ("value / SCALE", "value", True),
        ("SCALE = 2", "SCALE = 3", True),  # needed by a helper only
        ("from torch import nn\n", "", True),  # the definition is the same, and stops now
        ("math.sqrt(value)", "value**0.5", False),
        ("import math\n", "import math\nimport os\n", False),
        ("def scaled(value):\n", "def scaled(value):  \n\n", False),
    ],
)
def test_with_another_helper_it_is_another_answer(
    tmp_path: Path, old: str, new: str, is_another: bool
) -> None:
    """So it is with all that the definition needs, and with nothing else in the file."""
    assert old in WITH_HELPERS
    write_class(tmp_path / "out", a_class(), tmp_path, WITH_HELPERS)
    desk = desk_over(tmp_path / "out")
    judge(desk, "3", "끝처리만 틀림")
    hand_in_again(tmp_path, WITH_HELPERS.replace(old, new))
    assert (marks(tmp_path)["학생1"][0] == 8) is is_another
    assert len(entries(desk)["끝처리만 틀림"]["again"]) == is_another


def test_the_desk_shows_who_handed_in_again_and_keeps_or_removes_one_by_one(
    desk: Desk, tmp_path: Path
) -> None:
    judge(desk, "3", "하나")
    judge(desk, "", "둘")
    hand_in_again(tmp_path, MENDED)
    assert next(e for e in desk.overview()["exercises"] if e["name"] == "train_step")["again"] == 2
    written = entries(desk)
    assert [s["name"] for s in written["하나"]["again"]] == ["학생1"]
    assert written["하나"]["misfits"] == 0  # said once, not twice
    group = next(g for g in desk.exercise("train_step")["groups"] if g["status"] == "passed")
    assert group["again"] == 1
    shown = desk.answers("train_step", group["key"], 0)["programs"][0]["students"][0]
    assert shown["again"] is True
    same = {"exercise": "train_step", "rule": "", "student": shown["id"]}
    with pytest.raises(DeskError, match="이 학생을 찾지 못했어요"):  # never the lines of everybody instead
        desk.take_back({**same, "student": "gone", "file": "overrides.csv", "score": "3", "text": "하나"})
    assert desk.keep({**same, "file": "overrides.csv", "score": "3", "text": "하나"})["added"] == 1
    assert marks(tmp_path)["학생1"][0] == 7
    assert entries(desk)["하나"]["again"] == []
    desk.undo()
    assert marks(tmp_path)["학생1"][0] == 8
    assert desk.take_back({**same, "file": "comments.csv", "score": "", "text": "둘"})["removed"] == 1
    assert [*entries(desk)] == ["하나"]


def test_a_new_judgement_takes_the_place_of_an_earlier_answers(desk: Desk, tmp_path: Path) -> None:
    """Also points to add, which a fixed score for the answer that is gone does not stop; and the same words again."""
    judge(desk, "2", "그 답")
    judge(desk, "", "한마디")
    hand_in_again(tmp_path, MENDED, mended=False)
    assert judge(desk, "+1", "새 답")["added"] == 1
    assert judge(desk, "", "한마디")["added"] == 1
    assert marks(tmp_path)["학생1"] == (6, ("train_step: 1점을 더해 2/4점이에요. 새 답",), ("한마디",))
    assert [*entries(desk)] == ["새 답", "한마디"]


def test_lines_that_people_wrote_stand_for_any_answer(desk: Desk, tmp_path: Path) -> None:
    (tmp_path / "out" / "overrides.csv").write_text(
        "학번,연습,점수,까닭\n20260001,train_step,2,손으로\n", encoding="utf-8"
    )
    hand_in_again(tmp_path, MENDED)
    assert marks(tmp_path)["학생1"][0] == 6


def test_a_mark_for_having_handed_in_nothing_ends_with_a_submission(desk: Desk, tmp_path: Path) -> None:
    """And one for a submission as a whole with another: both are listed until somebody decides."""
    for student in ("학생1", "학생3"):
        judge(desk, "1", "전체", student, exercise="", scope="whole")
    old = a_class()
    own = (right("train_step"), right("fit"))
    late = SubmissionResult("20260003_학생3", own, digest="d", person=old.absent[0].person)
    submissions = (replace(old.submissions[0], digest="another"), old.submissions[1], late)
    write_class(tmp_path / "out", replace(old, submissions=submissions, absent=()), tmp_path)
    assert [s["name"] for s in desk.overview()["again"]] == ["20260001 학생1", "20260003 학생3"]
    assert {student: mark[0] for student, mark in marks(tmp_path).items()} == {
        "학생1": 5,
        "학생2": 5,
        "학생3": 8,
    }


def test_a_report_without_code_keeps_all_judgements(desk: Desk, tmp_path: Path) -> None:
    judge(desk, "3", "하나")
    (tmp_path / "out" / "answers.jsonl").unlink()
    assert marks(tmp_path)["학생1"][0] == 7


def test_a_function_under_another_name_is_shown_apart_from_blank_answers(tmp_path: Path) -> None:
    """Its code is what only a person can judge; of the blank one, the file that was handed in is there to read."""
    missing = samples.stopped("missing", "train_step")
    message = "제출물에 이 함수가 없어요. 이름이 비슷한 `trainstep`이 main.py 13번째 줄에 있어요."
    named = replace(missing, other_name="trainstep", message=message)
    program = PROGRAM.replace("def train_step", "def trainstep")
    write_class(tmp_path / "out", class_of((named,), (missing,), (missing,)), tmp_path, program)
    desk = desk_over(tmp_path / "out")
    groups = desk.exercise("train_step")["groups"]
    assert [(g["title"], g["students"], g["blank"]) for g in groups] == [
        ("이름이 다른 함수를 냈어요", 1, False),
        (samples.COULD_NOT_RUN["missing"].rstrip("."), 2, True),
    ]
    assert desk.overview()["exercises"][0]["groups"] == 1
    (shown,) = desk.answers("train_step", groups[0]["key"], 0)["programs"]
    assert shown["own"][0][2].startswith("def trainstep(")
    assert shown["own"][-1][2] == "    return loss.item()"
    assert "trainstep이 main.py 13번째 줄" in shown["note"]
    blank = desk.answers("train_step", groups[1]["key"], 0)["programs"][0]
    assert blank["own"] == []
    assert any("def trainstep(" in line[2] for line in blank["rest"])
