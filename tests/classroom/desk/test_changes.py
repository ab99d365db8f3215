"""Judging by hand: whom a rule means, what stands in the files, undoing, two people at once, grading again."""

import json
import multiprocessing
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from grader.base.errors import CommandError
from grader.classroom.desk.changes import DeskError
from grader.classroom.desk.desk import Desk
from grader.cli.class_inputs import account
from grader.cli.desk import rules_in
from grader.cli.instructor import mark_again
from grader.course.feedback import Person
from grader.course.marks import Comment
from grader.gradebook.marking import marked
from grader.report.results import from_json, write_results
from tests.classroom.desk.running import desk_over, write_class
from tests.report import samples

RULE = {"exercise": "train_step", "scope": "mistake", "target": "missing-zero-grad"}
HEADER = "\ufeff학번,이름,연습,점수,까닭,규칙,본 답\n"


@pytest.fixture
def report(tmp_path: Path) -> Path:
    """Twelve students: with numbers those that are typical, by name the others."""
    result = samples.large_class(12)
    known = [
        replace(s, person=Person(s.student.split("_")[0], s.student.split("_")[1])) if i % 4 == 0 else s
        for i, s in enumerate(result.submissions)
    ]
    write_class(tmp_path / "report", replace(result, submissions=tuple(known)), tmp_path / "work")
    return tmp_path / "report"


def group_of(desk: Desk, title: str, exercise: str = "train_step") -> dict[str, Any]:
    return next(g for g in desk.exercise(exercise)["groups"] if title in g["title"])


def done(told: dict[str, Any]) -> tuple[int, int, list[str]]:
    return told["added"], told["removed"], told["left"]


def log(report: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (report / "desk.jsonl").read_text(encoding="utf-8").splitlines()]


def text(report: Path, name: str = "overrides.csv") -> str:
    return (report / name).read_text(encoding="utf-8")


def test_a_rule_for_a_mistake_gives_everybody_with_it_points(report: Path) -> None:
    """The lines are those that `grade` and `mark` read; who has a number is named by it."""
    desk = desk_over(report)
    assert done(desk.judge({**RULE, "score": "+1", "text": "부분 점수"})) == (6, 0, [])
    header, *lines = text(report).splitlines(keepends=True)
    assert header == HEADER
    assert re.fullmatch(
        r"20260000,김하,train_step,\+1,부분 점수,실수:missing-zero-grad,답:[0-9a-f]{12}\n", lines[0]
    )
    named = samples.large_class(12).submissions[2].student
    assert lines[1].startswith(f",{named},train_step,+1,부분 점수,실수:missing-zero-grad,답:")
    assert len(lines) == 6
    result = marked(
        from_json((report / "results.json").read_bytes()), rules_in(report), tuple(samples.EXERCISES)
    )
    raised = [s for s in result.submissions if s.mark is not None and s.mark.reasons]
    assert len(raised) == 6
    assert all(
        s.mark and s.mark.reasons == ("train_step: 1점을 더해 2/4점이에요. 부분 점수",) for s in raised
    )
    (entry,) = log(report)
    assert (entry["who"], entry["what"], entry["rule"]) == ("조교", "points", "실수:missing-zero-grad")
    assert entry["before"] == []
    assert len(entry["after"]) == 6


def test_the_same_rule_again_replaces_what_it_gave(report: Path) -> None:
    desk = desk_over(report)
    desk.judge({**RULE, "score": "+1", "text": "부분 점수"})
    group = group_of(desk, "zero_grad")
    desk.judge({**RULE, "scope": "group", "target": group["key"], "score": "-0.5", "text": "주석 없음"})
    assert done(desk.judge({**RULE, "score": "+2", "text": "더"})) == (6, 6, [])
    assert {(w["score"], w["lines"]) for w in desk.exercise("train_step")["written"]} == {
        ("-0.5", 6),
        ("+2", 6),
    }
    assert desk.judge({**RULE, "score": "+2", "text": "더"})["added"] == 0


def test_one_student_gets_a_fixed_mark_and_rules_pass_by(report: Path) -> None:
    desk = desk_over(report)
    desk.judge({**RULE, "score": "+1", "text": "부분 점수"})
    group = group_of(desk, "zero_grad")
    students = desk.answers("train_step", group["key"], 0)["programs"][0]["students"]
    one = {"exercise": "train_step", "scope": "student", "target": students[0]["id"]}
    assert done(desk.judge({**one, "score": "3", "text": "구두로 확인"})) == (1, 1, [])
    assert desk.judge({**RULE, "score": "+2", "text": "더"})["left"] == [
        f"1명({students[0]['name'].split()[-1]})은 이미 점수를 정해서 그대로예요."
    ]
    shown = desk.answers("train_step", group["key"], 0)["programs"][0]["students"]
    assert shown[0]["mark"] == "3/4"


def test_every_change_is_undone_by_one_act_and_the_files_are_as_before(report: Path) -> None:
    desk = desk_over(report)
    before = []
    key = group_of(desk, "zero_grad")["key"]
    for act in (
        lambda: desk.judge({**RULE, "score": "+1", "text": "부분 점수"}),
        lambda: desk.judge({**RULE, "score": "+2", "text": "더"}),
        lambda: desk.judge({**RULE, "text": "주석을\n달아 보세요"}),
        lambda: desk.see("train_step", key),
        lambda: desk.take_back(
            {**RULE, "file": "overrides.csv", "score": "+2", "text": "더", "rule": "실수:missing-zero-grad"}
        ),
    ):
        before.append(state(report, desk))
        act()
        assert state(report, desk) != before[-1]
    for expected in reversed(before):
        assert desk.undo()["undone"]
        assert state(report, desk) == expected
    assert desk.undo() == {"undone": ""}
    assert not (report / "overrides.csv").exists()
    assert len(log(report)) == 10


def state(report: Path, desk: Desk) -> Any:
    files = [
        (report / name).read_bytes() if (report / name).exists() else b""
        for name in ("overrides.csv", "comments.csv")
    ]
    lines = [sorted(data.splitlines()) for data in files]
    return lines, [g["seen"] for g in desk.exercise("train_step")["groups"]]


def test_undoing_leaves_what_somebody_else_did_since(report: Path) -> None:
    desk, other = desk_over(report), desk_over(report, "다른 조교")
    desk.judge({**RULE, "score": "+1", "text": "부분 점수"})
    group = group_of(desk, "zero_grad")
    student = desk.answers("train_step", group["key"], 0)["programs"][0]["students"][0]["id"]
    other.judge(
        {
            **{"exercise": "train_step", "scope": "student", "target": student},
            **{"score": "2", "text": "정했어요", "replace": True},
        }
    )
    assert desk.undo()["conflicts"] == 1
    assert text(report).splitlines()[1:] == [
        next(line for line in text(report).splitlines() if "정했어요" in line)
    ]
    assert other.undo()["undone"] == "points"
    assert desk.undo() == {"undone": ""}


def test_lines_that_were_written_by_hand_stay_with_their_columns(report: Path) -> None:
    (report / "overrides.csv").write_bytes(
        "과제 1,,,\r\n학번,연습,점수,사유,메모\r\n20260000,fit,3,재채점,=비밀\r\n".encode("cp949")
    )
    desk = desk_over(report)
    desk.judge({**RULE, "score": "+1", "text": '쉼표, "따옴표"'})
    lines = text(report).splitlines()
    assert lines[:3] == [
        "\ufeff과제 1,,,",
        "학번,연습,점수,사유,메모,이름,규칙,본 답",
        "20260000,fit,3,재채점,=비밀,,,",
    ]
    assert desk.undo()["undone"] == "points"
    assert text(report).splitlines() == lines[:3]
    rules_in(report)


def _judge(report: Path, who: str, start: Any, number: int) -> None:
    desk = desk_over(report, who)
    group = group_of(desk, "zero_grad")
    students = [
        s["id"] for p in desk.answers("train_step", group["key"], 0)["programs"] for s in p["students"]
    ]
    start.wait()
    for i in range(number):
        one = {"exercise": "train_step", "scope": "student", "target": students[i % len(students)]}
        desk.judge({**one, "score": "+0.1", "text": f"{who} {i}", "beside": "add"})
        desk.judge({**one, "text": f"{who}의 말 {i}"})


def test_three_people_at_once_lose_no_word(report: Path) -> None:
    """Processes of their own, each change a whole file written anew."""
    context = multiprocessing.get_context("fork")
    start, number = context.Barrier(3), 8
    people = ("김조교", "이조교", "박조교")
    processes = [context.Process(target=_judge, args=(report, who, start, number)) for who in people]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)
        assert process.exitcode == 0
    for name, said in (("overrides.csv", "{} {}"), ("comments.csv", "{}의 말 {}")):
        written = text(report, name)
        assert len(written.splitlines()) == 1 + 3 * number
        assert all(f",{said.format(who, i)}," in written for who in people for i in range(number))
    assert len(log(report)) == 3 * 2 * number
    rules_in(report)


def test_a_log_cut_off_in_a_line_goes_on(report: Path) -> None:
    """A machine that lost its power; the files are whole in any case."""
    desk = desk_over(report)
    desk.judge({**RULE, "score": "+1", "text": "하나"})
    path = report / "desk.jsonl"
    path.write_bytes(path.read_bytes() + b'{"id": "x", "wh')
    assert desk.judge({**RULE, "text": "둘"})["added"] == 6
    assert desk.undo()["undone"] == "comment"
    assert desk.undo()["undone"] == "points"


def test_grading_again_keeps_everything_and_shows_what_fits_no_more(report: Path) -> None:
    """One of the six mends the mistake, one of the others makes it."""
    desk = desk_over(report)
    desk.judge({**RULE, "score": "+1", "text": "부분 점수"})
    desk.judge({**RULE, "text": "다음에는 되겠어요"})
    before = text(report)
    result = from_json((report / "results.json").read_bytes())
    first, *others = result.submissions
    mended = replace(
        first, feedbacks=(replace(samples.passed(), exercise="train_step"), *first.feedbacks[1:])
    )
    wrong = replace(others[0], feedbacks=(samples.named_mistake(), *others[0].feedbacks[1:]))
    write_results(report / "results.json", replace(result, submissions=(mended, wrong, *others[1:])))
    mark_again(report, {})
    assert text(report) == before
    again = from_json((report / "results.json").read_bytes())
    assert again.submissions[0].comments == (Comment("train_step", "다음에는 되겠어요"),)
    told = {e["name"]: e["misfits"] for e in desk.overview()["exercises"]}
    assert told == {**dict.fromkeys(told, 0), "train_step": 2}
    for entry in desk.exercise("train_step")["written"]:
        assert (entry["lines"], entry["misfits"], entry["missing"]) == (6, 1, 1)
    same = {"file": "overrides.csv", "score": "+1", "text": "부분 점수", "rule": "실수:missing-zero-grad"}
    assert desk.take_back({"exercise": "train_step", **same, "only_misfits": True})["removed"] == 1
    assert desk.judge({**RULE, "score": "+1", "text": "부분 점수"})["added"] == 1
    (points_, _) = sorted(desk.exercise("train_step")["written"], key=lambda w: w["file"], reverse=True)
    assert (points_["lines"], points_["misfits"], points_["missing"]) == (6, 0, 0)


def test_a_file_from_elsewhere_does_not_replace_an_evening_at_the_desk(report: Path, tmp_path: Path) -> None:
    """The command of last week, from the history of the shell."""
    desk_over(report).judge({**RULE, "score": "+1", "text": "부분 점수"})
    mine = "학번,연습,점수,까닭\n20260000,fit,1,x\n20260000,train_step,+1,부분 점수\n"
    (tmp_path / "mine.csv").write_text(mine, encoding="utf-8")
    before = text(report)
    with pytest.raises(CommandError, match="grader desk로 적은 것이") as refused:
        mark_again(report, {"overrides.csv": tmp_path / "mine.csv"})
    mark_again(report, {"overrides.csv": report / "overrides.csv"})
    assert text(report) == before
    assert "에만 있는 1줄을" in str(refused.value)
    assert f"grader mark {report} --override {tmp_path / 'mine.csv'} --join" in str(refused.value)
    result, _ = mark_again(report, {"overrides.csv": tmp_path / "mine.csv"}, join=True)
    first = result.submissions[0].mark
    assert first is not None
    assert "fit: 1/4점을 직접 주었어요. x" in first.reasons
    assert text(report).startswith(before)  # the line that the desk has already is not added again
    assert len(text(report).splitlines()) == len(before.splitlines()) + 1
    with pytest.raises(CommandError, match="거기에 모두 있으니 --override를 빼고"):
        mark_again(report, {"overrides.csv": tmp_path / "mine.csv"})
    assert desk_over(report, account()).undo()["undone"] == "join"
    assert text(report) == before


@pytest.mark.parametrize(
    ("line", "is_added"),
    [
        ("20260000,train_step,3,구두시험", False),  # decides what the desk has added to
        ("20260000,train_step,+0.5,구두시험", True),
        ("20260000,전체,90,구두시험", True),
    ],
)
def test_a_table_that_decides_what_the_desk_has_judged_is_not_joined(
    report: Path, tmp_path: Path, line: str, is_added: bool
) -> None:
    desk_over(report).judge({**RULE, "score": "+1", "text": "부분 점수"})
    before = text(report)
    (tmp_path / "mine.csv").write_text(f"학번,연습,점수,까닭\n20260000,fit,1,x\n{line}\n", encoding="utf-8")
    (report / "policy.toml").write_text("out_of = 100\n", encoding="utf-8")
    given = {"overrides.csv": tmp_path / "mine.csv"}
    if is_added:
        mark_again(report, given, join=True)
        assert len(text(report).splitlines()) == len(before.splitlines()) + 2
    else:
        with pytest.raises(CommandError, match="따로 정했어요: 20260000 train_step 3") as refused:
            mark_again(report, given)
        assert "--join" not in str(refused.value)  # it would fail, too
        with pytest.raises(DeskError, match="20260000 train_step 3"):
            mark_again(report, given, join=True)
        assert text(report) == before


def test_the_round_counts_groups_that_were_seen(report: Path) -> None:
    """By anybody; a second time takes it back. Groups without an answer are no work."""
    desk, other = desk_over(report), desk_over(report, "다른 조교")
    groups = [g for g in desk.exercise("train_step")["groups"] if g["status"] != "missing"]
    desk.see("train_step", groups[0]["key"])
    (told,) = [e for e in other.overview()["exercises"] if e["name"] == "train_step"]
    assert (told["seen"], told["groups"]) == (1, len(groups))
    assert other.see("train_step", groups[0]["key"]) == {"seen": False}
    with pytest.raises(DeskError, match="묶음이 없어요"):
        desk.see("train_step", "nosuch")
