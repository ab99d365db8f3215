"""What the desk says it did is what the marks did: no points without a base, none beyond zero or full."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from grader.classroom.desk.changes import DeskError
from grader.classroom.desk.desk import Desk
from grader.cli.instructor import mark_again
from grader.course.feedback import Absent, Feedback, Person
from grader.gradebook.hand_files import OVERRIDES
from tests.classroom.desk.running import class_of, desk_over, right, write_class, wrong
from tests.report import samples
from tests.report.samples import MISSING_ZERO_GRAD, STEP_EARLY


def unread(exercise: str) -> Feedback:
    return samples.stopped("unreadable", exercise, samples.EXERCISES[exercise])


def nothing_right(exercise: str) -> Feedback:
    sample = wrong(exercise, STEP_EARLY)
    return replace(sample, checks=samples.checks(False, False, False))


@pytest.fixture
def report(tmp_path: Path) -> Path:
    """1: 1/4; 2: 0/4; 3: 4/4; 4 and 5 cannot be read; 6 handed in nothing."""
    answers = [
        (wrong("train_step", MISSING_ZERO_GRAD), right("fit")),
        (nothing_right("train_step"), right("fit")),
        (right("train_step"), right("fit")),
        *((unread("train_step"), unread("fit")),) * 2,
    ]
    absent = (Absent(Person("20260006", "학생6")),)
    write_class(tmp_path / "report", replace(class_of(*answers), absent=absent), tmp_path / "work")
    return tmp_path / "report"


def group(desk: Desk, sign: str) -> dict[str, Any]:
    return next(g for g in desk.exercise("train_step")["groups"] if g["sign"] == sign or sign in g["title"])


def judge(desk: Desk, sign: str, score: str, text: str = "까닭", **more: Any) -> dict[str, Any]:
    key = group(desk, sign)["key"]
    request = {"exercise": "train_step", "scope": "group", "target": key, "score": score, "text": text}
    return desk.judge({**request, **more})


def whole(desk: Desk, number: str, score: str) -> dict[str, Any]:
    (found,) = desk.found(number)["students"]
    return desk.judge({"scope": "whole", "target": found["id"], "score": score, "text": "직접 봄"})


def reasons(report: Path) -> list[str]:
    result, _ = mark_again(report, {})
    return [reason for s in result.submissions if s.mark is not None for reason in s.mark.reasons]


def test_what_could_not_be_read_takes_no_points_to_add(report: Path) -> None:
    """There is nothing to add to: the answer says what to write, and nothing is written."""
    desk = desk_over(report)
    assert group(desk, "읽을 수 없는")["points"] == "—"
    told = judge(desk, "읽을 수 없는", "+1")
    assert told["added"] == 0
    assert told["left"] == [
        "2명(학생4, 학생5)은 파일을 읽지 못해서 더하고 뺄 점수가 없어요. "
        "3처럼 정할 점수나 면제를 적어 주세요."
    ]
    assert not (report / "overrides.csv").exists()


def test_a_score_for_one_of_two_unread_exercises_says_that_there_is_no_final_mark_yet(report: Path) -> None:
    desk = desk_over(report)
    told = judge(desk, "읽을 수 없는", "3")
    assert (told["added"], told["waiting"]) == (2, 2)
    assert group(desk, "읽을 수 없는")["points"] == "— → 3/4점"
    students = desk.answers("train_step", group(desk, "읽을 수 없는")["key"], 0)["programs"][0]["students"]
    assert students[0]["mark"] == "3/4"
    assert whole(desk, "20260004", "5")["waiting"] == 0
    assert desk.found("20260004")["students"][0]["total"] == "5/8"
    assert desk.found("20260005")["students"][0]["total"] == "—"


def test_unread_files_show_their_reason_in_place_of_code(report: Path) -> None:
    desk = desk_over(report)
    programs = desk.answers("train_step", group(desk, "읽을 수 없는")["key"], 0)["programs"]
    assert {program["note"] for program in programs} == {samples.COULD_NOT_RUN["unreadable"]}


@pytest.mark.parametrize(("sign", "score", "bound"), [("step()", "-0.5", "0점"), ("✓", "+1", "만점")])
def test_points_that_would_move_no_mark_are_not_written(
    report: Path, sign: str, score: str, bound: str
) -> None:
    desk = desk_over(report)
    told = judge(desk, sign, score)
    assert told["added"] == 0
    assert f"이미 {bound}이라 바뀔 점수가 없어서 적지 않았어요." in told["left"][0]
    assert not (report / "overrides.csv").exists()


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        (["-0.5"], ["0.5점을 빼도 0/4점 그대로예요."]),
        (["+5"], ["5점 가운데 4점만 더해 4/4점이에요."]),
        (["+1", "-2"], ["1점을 더해 1/4점이에요.", "2점 가운데 1점만 빼서 0/4점이에요."]),
        (["-0.5", "+1"], ["0.5점을 빼도 0/4점 그대로예요.", "1점 가운데 0.5점만 더해 0.5/4점이에요."]),
    ],
)
def test_the_reason_tells_only_points_that_moved(report: Path, lines: list[str], told: list[str]) -> None:
    """A file that somebody wrote by hand, about a student with 0 of 4 points."""
    rows = "".join(f"20260002,train_step,{score},x\n" for score in lines)
    (report / "overrides.csv").write_text(f"학번,연습,점수,까닭\n{rows}", encoding="utf-8")
    assert reasons(report) == [f"train_step: {one} x" for one in told]


def test_the_group_shows_the_points_before_and_now(report: Path) -> None:
    """And that it has been judged, which one undo takes back with the points."""
    desk = desk_over(report)
    key = group(desk, "zero_grad")["key"]
    judge(desk, "zero_grad", "+0.5", group=key)
    shown = group(desk, "zero_grad")
    assert (shown["points"], shown["written"], shown["seen"]) == ("1 → 1.5/4점", 1, True)
    desk.undo()
    shown = group(desk, "zero_grad")
    assert (shown["points"], shown["written"], shown["seen"]) == ("1/4점", 0, False)
    judge(desk, "zero_grad", "면제")
    assert group(desk, "zero_grad")["points"] == "1 → 면제"


def test_nobody_is_asked_to_undo_what_was_decided(report: Path) -> None:
    """One of a rule's students got a fixed score since: the rule has given to everybody whom it can give to."""
    desk = desk_over(report)
    rule = {"exercise": "train_step", "scope": "mistake", "target": "missing-zero-grad"}
    desk.judge({**rule, "score": "+1", "text": "부분"})
    student = desk.answers("train_step", group(desk, "zero_grad")["key"], 0)["programs"][0]["students"][0]
    for score in ("3", "+0.5"):
        one = {"exercise": "train_step", "scope": "student", "target": student["id"]}
        desk.judge({**one, "score": "2", "text": "직접 봄"})
        desk.judge({**one, "score": score, "text": "다시 봄"})
        assert [entry["missing"] for entry in desk.exercise("train_step")["written"]] == [0]
    desk.judge({**rule, "score": "1", "text": "모두"})
    one = {"exercise": "train_step", "scope": "student", "target": student["id"]}
    desk.judge({**one, "score": "4", "text": "구두로 확인"})
    assert [entry["missing"] for entry in desk.exercise("train_step")["written"]] == [0]


def test_giving_a_rule_to_those_who_lack_it_leaves_what_was_decided(tmp_path: Path) -> None:
    """A third student makes the mistake after grading again; of the first two, one was decided by hand."""
    mistaken = (wrong("train_step", MISSING_ZERO_GRAD),)
    write_class(tmp_path / "report", class_of(mistaken, mistaken, (right("train_step"),)), tmp_path / "work")
    desk = desk_over(tmp_path / "report")
    rule = {"exercise": "train_step", "scope": "mistake", "target": "missing-zero-grad"}
    desk.judge({**rule, "score": "2", "text": "모두"})
    first = desk.found("학생1")["students"][0]["id"]
    desk.judge({**rule, "scope": "student", "target": first, "score": "4", "text": "구두로 확인"})
    write_class(tmp_path / "report", class_of(*(mistaken,) * 3), tmp_path / "work")
    told = {entry["text"]: entry for entry in desk.exercise("train_step")["written"]}
    assert (told["모두"]["missing"], told["모두"]["missing_names"]) == (1, "학생3")
    assert desk.judge({**rule, "score": "2", "text": "모두", "only_new": True})["names"] == "학생3"
    lines = {line.name: line.score for line in OVERRIDES.read(tmp_path / "report").lines}
    assert lines == {"학생1": "4", "학생2": "2", "학생3": "2"}


def test_the_whole_is_marked_for_anybody_also_for_who_handed_in_nothing(report: Path) -> None:
    desk = desk_over(report)
    assert [s["handed_in"] for s in desk.found("학생")["students"]] == [True] * 5 + [False]
    assert desk.found("학생6")["students"][0]["total"] == "—"
    whole(desk, "학생6", "3")
    whole(desk, "학생1", "+1")
    assert desk.found("학생6")["students"][0]["total"] == "3/8"
    assert desk.found("학생1")["students"][0]["total"] == "6/8"
    lines = {(line.id, line.name, line.exercise, line.score) for line in OVERRIDES.read(report).lines}
    assert lines == {("20260006", "학생6", "전체", "3"), ("20260001", "학생1", "전체", "+1")}
    result, _ = mark_again(report, {})
    assert result.absent[0].mark is not None
    assert result.absent[0].mark.score == 3
    shown = desk.student(desk.found("학생1")["students"][0]["id"])
    assert [entry["score"] for entry in shown["written"]] == ["+1"]
    assert [exercise["name"] for exercise in shown["exercises"]] == ["train_step", "fit"]
    assert desk.overview()["exercises"][0]["misfits"] == 0
    with pytest.raises(DeskError, match="만점은 8점"):
        whole(desk, "학생1", "9")


def test_points_to_add_to_the_whole_of_an_unread_file_are_refused(report: Path) -> None:
    desk = desk_over(report)
    assert whole(desk, "학생4", "+1")["added"] == 0
    assert whole(desk, "학생4", "면제")["added"] == 1


def test_who_is_excused_has_no_points_to_add_to(report: Path) -> None:
    """By a deadline's table or by hand: the reason told is the true one."""
    (report / "extensions.csv").write_text("학번,마감,면제,까닭\n20260001,,면제,병가\n", encoding="utf-8")
    assert whole(desk_over(report), "학생1", "+1")["left"] == [
        "1명(학생1)은 면제라서 더하고 뺄 점수가 없어요."
    ]


def test_a_name_stands_beside_each_number(report: Path) -> None:
    """People read the file in a spreadsheet; the number still tells who it is."""
    desk = desk_over(report)
    judge(desk, "zero_grad", "+1")
    (line,) = OVERRIDES.read(report).lines
    assert (line.id, line.name) == ("20260001", "학생1")


def test_a_class_whose_file_cannot_be_used_takes_no_more_judgements(report: Path) -> None:
    desk = desk_over(report)
    (report / "overrides.csv").write_text("학번,연습,점수,까닭\n누구,train_step,1,x\n", encoding="utf-8")
    with pytest.raises(DeskError, match="이 학생을 찾지 못했어요"):
        judge(desk, "zero_grad", "+1")
