"""A server that answers late: what is pressed means what was on the screen then, and never what comes to it later."""

from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from tests.classroom.desk.pages import Held, Opened, answer, wait, write
from tests.classroom.desk.running import desk_over
from tests.classroom.desk.test_students_in_browser import a_class, file
from tests.classroom.desk.test_whom_in_browser import overrides, shared_mistakes
from tests.report.test_class_page_in_browser import RULES

pytestmark = [pytest.mark.full, pytest.mark.browser]


def is_waiting(page: Any) -> None:
    """The button names nobody, and a press of it writes nothing."""
    expect(page.locator("#act")).to_have_text("불러오고 있어요…")
    expect(page.locator("#loading")).to_be_visible()
    expect(page.locator("#scopes input").first).to_be_disabled()
    page.locator("#write").dispatch_event("click")
    wait(page, "아직 불러오고 있어요")


def look_up(page: Any, name: str) -> None:
    page.keyboard.press("/")
    page.keyboard.type(name)
    page.keyboard.press("Enter")


def test_what_is_typed_for_the_student_who_was_looked_up_is_written_when_the_button_says_so(
    opened: Opened,
) -> None:
    page = opened(a_class())
    look_up(page, "학생1")
    expect(page.locator("#act")).to_have_text("20260001 학생1에게 전체 점수 적기")
    held = Held(page, "**/api/student*")
    look_up(page, "학생2")
    page.get_by_label("점수 s").fill("+4")
    page.get_by_label("까닭이나 코멘트").fill("이의")
    is_waiting(page)
    held.let_go()
    expect(page.locator("#act")).to_have_text("20260002 학생2에게 전체 점수 적기")
    page.wait_for_timeout(300)
    assert not (page.report / "overrides.csv").exists()
    assert (page.input_value("#score"), page.input_value("#text")) == ("+4", "이의")
    page.locator("#write").click()
    wait(page, "1명에게 적었어요: 학생2")
    assert "20260002,학생2,전체,+4,이의" in file(page)
    assert file(page).count("\n") == 2


@pytest.mark.parametrize("leave", ["exercise", "next", "button", "see"])
def test_nobody_is_written_to_while_another_view_is_on_its_way(opened: Opened, leave: str) -> None:
    page = opened(shared_mistakes())
    page.locator("#scopes").get_by_label("학생 모두").check()
    held = Held(page, "**/api/see" if leave == "see" else "**/api/answers*")
    if leave == "exercise":
        page.locator("#exercise").select_option("fit")
    elif leave == "next":
        page.keyboard.press("j")
    else:
        page.locator("#next" if leave == "button" else "#see").click()
    page.get_by_label("점수 s").fill("+1")
    page.get_by_label("까닭이나 코멘트").fill("빠른 손")
    is_waiting(page)
    held.let_go()
    expect(page.locator("#act")).to_contain_text("명에게 적기")
    assert not (page.report / "overrides.csv").exists()
    expect(page.locator("#text")).to_have_value("빠른 손")


def test_what_could_not_be_written_never_goes_to_the_next_group(opened: Opened) -> None:
    """The next view was asked for before the answer came."""
    page = opened(shared_mistakes())
    held = Held(page, "**/api/judge")
    write(page, "+1", "첫 묶음의 까닭")
    wait(page, "적고 있어요…")
    page.keyboard.press("j")
    page.wait_for_timeout(100)
    held.fail()
    expect(page.locator("#facts")).to_contain_text("2명")
    expect(page.locator("#act")).to_contain_text("2명에게 적기")
    assert (page.input_value("#score"), page.input_value("#text")) == ("", "")
    page.locator("#title").focus()
    page.keyboard.press("k")
    expect(page.locator("#text")).to_have_value("첫 묶음의 까닭")
    assert page.input_value("#score") == "+1"


def test_what_was_typed_for_a_view_that_never_came_is_kept_for_nobody(opened: Opened) -> None:
    page = opened(shared_mistakes())
    held = Held(page, "**/api/answers*")
    page.keyboard.press("j")
    page.get_by_label("까닭이나 코멘트").fill("오지 않은 묶음에")
    page.wait_for_timeout(500)
    held.fail()
    expect(page.locator("#lost")).to_contain_text("오지 않은 묶음에")
    expect(page.locator("#act")).to_have_text("이 묶음 3명에게 적기")
    expect(page.locator("#text")).to_have_value("")


def test_a_draft_goes_to_the_view_that_was_typed_for_though_another_was_asked_for(opened: Opened) -> None:
    """`j`, a word, `j`: the word is the second group's, not the first's and not the third's."""
    page = opened(shared_mistakes())
    held = Held(page, "**/api/answers*")
    page.keyboard.press("j")
    page.get_by_label("까닭이나 코멘트").fill("둘째")
    page.keyboard.press("Escape")
    page.keyboard.press("j")
    held.let_go()
    expect(page.locator("#act")).to_have_text("이 묶음 1명에게 적기")
    expect(page.locator("#text")).to_have_value("")
    page.keyboard.press("k")
    expect(page.locator("#text")).to_have_value("둘째")
    expect(page.locator("#act")).to_have_text("이 묶음 2명에게 적기")


def test_a_second_press_does_not_undo_what_nobody_saw(opened: Opened) -> None:
    page = opened(shared_mistakes())
    write(page, "+1", "하나")
    wait(page, "3명에게 적었어요")
    page.keyboard.press("j")
    expect(page.locator("#act")).to_have_text("이 묶음 2명에게 적기")
    write(page, "+1", "둘")
    wait(page, "2명에게 적었어요")
    held = Held(page, "**/api/undo")
    page.keyboard.press("u")
    wait(page, "되돌리고 있어요…")
    page.keyboard.press("u")
    page.locator("#undo").dispatch_event("click")
    wait(page, "아직 되돌리고 있어요")
    held.let_go()
    wait(page, "되돌렸어요")
    page.wait_for_timeout(300)
    assert len(overrides(page)) == 3
    page.keyboard.press("u")
    wait(page, "학생1, 학생2, 학생3의 점수 「+1」")
    assert not (page.report / "overrides.csv").exists()


def test_undoing_leaves_the_scope_of_what_is_typed(opened: Opened) -> None:
    page = opened(shared_mistakes())
    write(page, "", "하나")
    wait(page, "3명에게 적었어요")
    page.keyboard.press("ArrowRight")
    page.locator("#scopes label").filter(has_text="학생").last.click()
    expect(page.locator("#act")).to_contain_text("에게만 적기")
    said = page.inner_text("#act")
    page.get_by_label("까닭이나 코멘트").fill("한 사람에게")
    page.keyboard.press("Escape")
    page.keyboard.press("u")
    wait(page, "되돌렸어요")
    page.wait_for_timeout(500)
    assert page.inner_text("#act") == said


def test_a_second_addition_is_asked_about(opened: Opened) -> None:
    """By its own buttons; what is typed meanwhile presses none of them."""
    page = opened(a_class())
    look_up(page, "학생1")
    expect(page.locator("#act")).to_have_text("20260001 학생1에게 전체 점수 적기")
    write(page, "+1", "거의 다")
    wait(page, "1명에게 적었어요")
    write(page, "+1.5", "다시 보니")
    expect(page.locator("#question")).to_be_visible()
    page.keyboard.type("juk 1")
    page.keyboard.press("Enter")
    found = Axe().run(page, options={"runOnly": {"type": "tag", "values": RULES}})
    assert found.response["violations"] == [], found.generate_report()
    asked = answer(page, "그만두기")
    assert "학생1에게 이미 더하거나 뺀 점수가 있어요: +1점 「거의 다」 (적은 사람: 조교)" in asked
    expect(page.locator("#text")).to_have_value("다시 보니")
    assert [line["점수"] for line in overrides(page)] == ["+1"]
    page.locator("#write").click()
    answer(page, "바꾸기 (+1.5점만)")
    wait(page, "1명에게 적었어요")
    assert [line["점수"] for line in overrides(page)] == ["+1.5"]
    desk_over(page.report)  # the log is whole
    assert page.told == []
