"""The server writes only to those whom the page named, and asks before points of one student add up."""

from pathlib import Path
from typing import Any

import pytest

from grader.classroom.desk.changes import DeskError
from grader.classroom.desk.desk import Desk
from tests.classroom.desk.running import class_of, desk_over, right, write_class, wrong
from tests.classroom.desk.test_two_markers import MISTAKE, scores


@pytest.fixture
def report(tmp_path: Path) -> Path:
    answers = [[wrong("train_step", MISTAKE), right("fit")] for _ in range(3)]
    out = tmp_path / "report"
    write_class(out, class_of(*answers, [right("train_step"), right("fit")]), tmp_path / "work")
    return out


def one(desk: Desk, name: str) -> dict[str, Any]:
    (found,) = desk.found(name)["students"]
    return {"target": found["id"], "named": found["name"], "count": 1}


def keys(desk: Desk) -> dict[int, str]:
    return {group["students"]: group["key"] for group in desk.exercise("train_step")["groups"]}


def test_a_line_that_would_reach_another_than_the_page_named_is_refused(report: Path) -> None:
    desk = desk_over(report)
    said = {"exercise": "train_step", "score": "+1", "text": "까닭"}
    mistaken = {**one(desk, "학생1"), "named": "20260002 학생2"}
    for scope in ("student", "whole"):
        with pytest.raises(
            DeskError, match="보여 드린 학생은 '20260002 학생2'인데 다른 학생\\(20260001 학생1\\)"
        ):
            desk.judge({**said, **mistaken, "scope": scope})
    with pytest.raises(DeskError, match="보고 있던 묶음의 답이 아니라서"):
        desk.judge({**said, **one(desk, "학생1"), "scope": "student", "group": keys(desk)[1]})
    with pytest.raises(DeskError, match="보고 있던 묶음의 답이 아니라서"):
        desk.judge({**said, "scope": "group", "target": keys(desk)[3], "group": keys(desk)[1], "count": 3})
    assert not (report / "overrides.csv").exists()
    assert (
        desk.judge({**said, **one(desk, "학생1"), "scope": "student", "group": keys(desk)[3]})["added"] == 1
    )


def test_as_many_lines_are_removed_as_the_page_told(report: Path) -> None:
    desk = desk_over(report)
    line = {"exercise": "train_step", "score": "+1", "text": "까닭"}
    desk.judge({**line, "scope": "group", "target": keys(desk)[3]})
    (entry,) = desk.exercise("train_step")["written"]
    same = {**line, "file": "overrides.csv", "rule": entry["rule"]}
    with pytest.raises(DeskError, match="2줄이라고 보여 드렸는데 그 사이에 3줄이"):
        desk.take_back({**same, "count": 2})
    with pytest.raises(DeskError, match="보여 드린 학생은"):
        desk.take_back({**same, "student": one(desk, "학생1")["target"], "named": "학생2"})
    assert scores(report) == ["+1"] * 3
    assert desk.take_back({**same, "student": one(desk, "학생1")["target"], "named": "학생1"})["removed"] == 1
    assert desk.take_back({**same, "count": 2})["removed"] == 2


@pytest.mark.parametrize("scope", ["student", "whole"])
def test_points_for_one_student_are_not_added_to_others_silently(report: Path, scope: str) -> None:
    """Whoever reconsiders replaces; whoever finds something else adds. Both are said, with what stands there."""
    desk, other = desk_over(report, "김조교"), desk_over(report, "박조교")

    def judged(by: Desk, score: str, **more: Any) -> dict[str, Any]:
        meant = {"exercise": "train_step", "scope": scope, **one(desk, "학생1")}
        return by.judge({**meant, "score": score, "text": f"까닭 {score}", **more})

    assert judged(desk, "+1")["added"] == 1
    assert judged(desk, "+1")["added"] == 0  # said twice
    question = judged(other, "+1.5")
    assert "+1점 「까닭 +1」 (적은 사람: 김조교)" in question["ask"]
    choices = {choice["label"]: choice["give"] for choice in question["choices"]}
    assert [*choices] == ["더하기 (모두 +2.5점)", "바꾸기 (+1.5점만)"]
    assert scores(report) == ["+1"]
    assert judged(other, "+1.5", **choices["더하기 (모두 +2.5점)"])["added"] == 1
    assert scores(report) == ["+1", "+1.5"]
    other.undo()
    done = judged(other, "+1.5", **choices["바꾸기 (+1.5점만)"])
    assert (done["added"], done["removed"]) == (1, 1)
    assert scores(report) == ["+1.5"]
    assert judged(desk, "+3")["choices"][0]["label"].startswith(
        "더하기"
    )  # also where the mark is full already


def test_points_by_rules_add_up_without_a_question(report: Path) -> None:
    desk = desk_over(report)
    said = {"exercise": "train_step", "text": "까닭"}
    desk.judge({**said, "scope": "group", "target": keys(desk)[3], "score": "+1"})
    assert desk.judge({**said, "scope": "mistake", "target": MISTAKE.id, "score": "+0.5"})["added"] == 3
    student = {**said, "scope": "student", **one(desk, "학생1"), "score": "-0.5"}
    assert "+1점 「까닭」" in desk.judge(student)["ask"]
