"""Two people mark one class: nobody's mark is replaced without a question, and each line says who wrote it."""

import csv
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from grader.classroom.desk.desk import Desk
from tests.classroom.desk.pages import Opened, answer, wait, write
from tests.classroom.desk.running import class_of, desk_over, right, write_class, wrong
from tests.report import samples

MISTAKE = samples.named_mistake().diagnosis.mistakes[0]


@pytest.fixture
def report(tmp_path: Path) -> Path:
    answers = [[wrong("train_step", MISTAKE), right("fit")] for _ in range(3)]
    write_class(
        tmp_path / "report", class_of(*answers, [right("train_step"), right("fit")]), tmp_path / "work"
    )
    return tmp_path / "report"


def judged(desk: Desk, score: str, *, one: bool = False, **more: Any) -> dict[str, Any]:
    (group,) = [g for g in desk.exercise("train_step")["groups"] if g["students"] == 3]
    student = desk.found("학생1")["students"][0]["id"]
    meant = {"scope": "student", "target": student} if one else {"scope": "group", "target": group["key"]}
    return desk.judge({"exercise": "train_step", **meant, "score": score, "text": f"까닭 {score}", **more})


def scores(report: Path) -> list[str]:
    with (report / "overrides.csv").open(encoding="utf-8-sig") as file:
        return [line["점수"] for line in csv.DictReader(file)]


@pytest.mark.parametrize(("first", "second"), [("3", "2"), ("+1", "+2")])
def test_another_markers_mark_is_replaced_only_when_asked(report: Path, first: str, second: str) -> None:
    one, two = desk_over(report, "김조교"), desk_over(report, "박조교")
    assert judged(one, first)["added"] == 3
    done = judged(two, second)
    assert done["choices"] == [{"label": "바꾸기", "give": {"replace": True}}]
    assert f"김조교: 학생1 {first}점, 학생2 {first}점, 학생3 {first}점." in done["ask"]
    assert scores(report) == [first] * 3
    done = judged(two, second, replace=True)
    assert (done["added"], done["removed"]) == (3, 3)
    assert done["replaced"].startswith("김조교: 학생1")
    assert scores(report) == [second] * 3


def test_ones_own_mark_is_replaced_at_once(report: Path) -> None:
    one = desk_over(report, "김조교")
    judged(one, "3", one=True)
    assert judged(one, "2", one=True)["added"] == 1


def test_what_was_written_says_who_wrote_it(report: Path) -> None:
    """Also after the other one undid replacing it; of a line that a hand wrote, nobody is known."""
    one, two = desk_over(report, "김조교"), desk_over(report, "박조교")
    judged(one, "3", one=True)
    judged(two, "2", one=True, replace=True)
    assert [entry["by"] for entry in one.exercise("train_step")["written"]] == ["박조교"]
    undone = two.undo()
    assert (undone["whose"], undone["said"]) == ("학생1", "2")
    assert [entry["by"] for entry in one.exercise("train_step")["written"]] == ["김조교"]
    (report / "desk.jsonl").unlink()
    assert [entry["by"] for entry in one.exercise("train_step")["written"]] == [""]


def test_what_was_written_knows_its_groups(report: Path) -> None:
    desk = desk_over(report)
    judged(desk, "+1")
    (written,) = desk.exercise("train_step")["written"]
    keys = {g["students"]: g["key"] for g in desk.exercise("train_step")["groups"]}
    assert written["groups"] == [keys[3]]


@pytest.mark.full
@pytest.mark.browser
def test_the_page_asks_and_keeps_what_was_typed(opened: Opened) -> None:
    answers = [[wrong("train_step", MISTAKE), right("fit")] for _ in range(3)]
    page = opened(class_of(*answers, [right("train_step"), right("fit")]))
    judged(desk_over(page.report, "다른 조교"), "+1")
    expect(page.locator("#written")).to_contain_text("적은 사람: 다른 조교", timeout=10_000)
    write(page, "+2", "내 생각")
    assert "다른 조교: 학생1 +1점" in answer(page, "그만두기")
    wait(page, "적지 않았어요")
    expect(page.locator("#text")).to_have_value("내 생각")
    assert scores(page.report) == ["+1"] * 3
    page.get_by_label("까닭이나 코멘트").focus()
    page.keyboard.press("Control+Enter")
    answer(page, "바꾸기")
    wait(page, "전에 적은 3줄은 이것으로 바꾸었어요(다른 조교: 학생1 +1점")
    assert scores(page.report) == ["+2"] * 3
    page.keyboard.press("u")
    wait(page, "되돌렸어요: 학생1, 학생2, 학생3의 점수 「+2」")
