"""One student at the desk, in a real browser: found by name, marked as a whole, and seen to have handed in again."""

from dataclasses import replace
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from grader.course.feedback import Absent, ClassResult, Person
from tests.classroom.desk.pages import Opened, wait, write
from tests.classroom.desk.running import PROGRAM, class_of, right, write_class, wrong
from tests.report import samples
from tests.report.samples import MISSING_ZERO_GRAD
from tests.report.test_class_page_in_browser import RULES

pytestmark = [pytest.mark.full, pytest.mark.browser]


def a_class() -> ClassResult:
    """Three with a mistake, one whose file cannot be read, one who handed in nothing."""
    unread = tuple(
        samples.stopped("unreadable", name, samples.EXERCISES[name]) for name in ("train_step", "fit")
    )
    answers = [(wrong("train_step", MISSING_ZERO_GRAD), right("fit"))] * 3 + [unread]
    return replace(class_of(*answers), absent=(Absent(Person("20260005", "학생5")),))


def file(page: Any, name: str = "overrides.csv") -> str:
    return str((page.report / name).read_text(encoding="utf-8"))


def has_no_flaw(page: Any, width: int) -> None:
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    found = Axe().run(page, options={"runOnly": {"type": "tag", "values": RULES}})
    assert found.response["violations"] == [], found.generate_report()


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_who_handed_in_nothing_is_found_and_marked_by_keys(opened: Opened, width: int, scheme: str) -> None:
    page = opened(a_class(), width=width, scheme=scheme)
    page.keyboard.press("/")
    page.keyboard.type("학생")
    expect(page.locator("#found button")).to_have_count(5)
    has_no_flaw(page, width)
    page.keyboard.type("5")
    expect(page.locator("#found button")).to_have_count(1)
    expect(page.locator("#found button")).to_have_text("20260005 학생5 · 내지 않음 · —")
    page.keyboard.press("Enter")
    expect(page.locator("#title")).to_have_text("20260005 학생5")
    expect(page.locator("#act")).to_have_text("20260005 학생5에게 전체 점수 적기")
    write(page, "3", "구두시험")
    wait(page, "1명에게 적었어요: 학생5")
    expect(page.locator("#facts")).to_contain_text("최종 점수 3/8")
    has_no_flaw(page, width)
    assert "20260005,학생5,전체,3,구두시험,,없음" in file(page)
    page.keyboard.press("u")
    wait(page, "되돌렸어요: 학생5의 점수 「3」")
    expect(page.locator("#facts")).to_contain_text("최종 점수 —")
    page.keyboard.press("k")  # back to the groups: what is written next is theirs
    page.keyboard.press("j")
    expect(page.locator("#act")).to_contain_text("이 묶음")
    assert page.told == []


def test_who_is_typed_is_opened_however_slow_the_search_is(opened: Opened) -> None:
    page = opened(a_class())
    page.keyboard.press("/")
    page.keyboard.type("학생1")
    expect(page.locator("#found button")).to_have_count(1)
    page.route("**/api/find*", lambda route: (page.wait_for_timeout(400), route.continue_()))
    page.locator("#find").fill("학생5")
    page.keyboard.press("Enter")
    page.keyboard.press("s")  # a command again at once
    page.keyboard.type("2")
    expect(page.locator("#title")).to_have_text("20260005 학생5")
    expect(page.locator("#score")).to_have_value("2")
    expect(page.locator("#score")).to_be_focused()
    page.keyboard.press("Escape")
    page.keyboard.press("/")
    page.keyboard.type("아무도")
    page.keyboard.press("Enter")
    expect(page.locator("#found")).to_contain_text("이런 학생이 없어요")
    expect(page.locator("#find")).to_be_focused()
    page.unroute_all(behavior="ignoreErrors")


def test_a_student_leads_to_each_answer_and_a_judgement_there_is_that_students(opened: Opened) -> None:
    page = opened(a_class())
    page.get_by_label("학생 찾기").fill("학생2")
    page.locator("#found button").click()
    page.get_by_role("button", name="에폭 루프").click()
    expect(page.locator("#title")).to_contain_text("통과")
    expect(page.locator("#exercise")).to_have_value("fit")
    expect(page.locator("#programs h3 button").first).to_contain_text("학생2")
    expect(page.locator("#act")).to_have_text("20260002 학생2에게만 적기")
    page.get_by_label("까닭이나 코멘트").fill("아직")
    page.keyboard.press("Escape")
    page.keyboard.press("ArrowRight")  # another's answer is looked at; whom it is for stays
    expect(page.locator("article.chosen h3")).to_contain_text("학생1")
    expect(page.locator("#act")).to_have_text("20260002 학생2에게만 적기")
    write(page, "-1", "이의를 듣고")
    wait(page, "1명에게 적었어요: 학생2")
    expect(page.locator("#act")).to_have_text("20260002 학생2에게만 적기")
    page.get_by_label("까닭이나 코멘트").fill("쓰다 만 말")
    page.locator("#title").focus()
    page.keyboard.press("k")
    page.keyboard.press("j")
    expect(page.locator("#act")).to_have_text("이 묶음 3명에게 적기")
    expect(page.locator("#text")).to_have_value("")
    page.get_by_label("학생 찾기").fill("학생2")
    page.locator("#found button").click()
    page.get_by_role("button", name="에폭 루프").click()
    expect(page.locator("#text")).to_have_value("쓰다 만 말")
    assert file(page).count("\n") == 2
    assert page.told == []


def test_of_many_with_the_same_code_nobody_is_chosen_beforehand(opened: Opened) -> None:
    """Only the student for whom somebody came is; the code and the card shown are theirs."""
    page = opened(a_class(), program=PROGRAM.replace("{who}", ""))
    page.locator("#scopes").get_by_label("한 학생에게만").check()
    expect(page.locator("#act")).to_have_text("누구에게 적을지 골라 주세요")
    write(page, "+1", "누구지")
    wait(page, "누구에게 적을지 먼저 골라 주세요")
    expect(page.locator("#text")).to_have_value("누구지")
    page.locator("#scopes select").select_option(label="20260003 학생3")
    expect(page.locator("#act")).to_have_text("20260003 학생3에게만 적기")
    page.get_by_label("점수 s").fill("")
    page.get_by_label("까닭이나 코멘트").fill("")
    page.get_by_label("학생 찾기").fill("학생2")
    page.locator("#found button").click()
    page.locator("#programs .exercises button").first.click()
    expect(page.locator("#programs h3 button").first).to_contain_text("학생2 외 2명")
    expect(page.locator("#act")).to_have_text("20260002 학생2에게만 적기")
    assert not (page.report / "overrides.csv").exists()


def test_points_to_add_to_an_unread_file_are_refused_in_words(opened: Opened) -> None:
    page = opened(a_class())
    page.locator("#groups button").filter(has_text="읽을 수 없는").click()
    expect(page.locator("#facts")).to_have_text("읽을 수 없음 · — · 1명 · 다른 코드 1가지")
    write(page, "+1", "아까움")
    wait(page, "바뀐 것이 없어요. 1명(학생4)은 파일을 읽지 못해서")
    assert not (page.report / "overrides.csv").exists()
    expect(page.locator("#text")).to_have_value("아까움")  # only the score is to be mended
    expect(page.locator("#programs")).to_contain_text("JSON이 아니에요")
    write(page, "3", "메일로 받음")
    wait(page, "최종 점수는 아직 비어 있어요")


def test_what_was_judged_before_a_resubmission_is_decided_one_by_one(opened: Opened) -> None:
    """The tag at the answer, the list with its two buttons, and the judged group that is seen."""
    page = opened(a_class())
    write(page, "3", "셋 다")
    wait(page, "3명에게 적었어요: 학생1, 학생2, 학생3")
    current = page.locator("#groups [aria-current=true]")
    expect(current).to_contain_text("3명 · 1 → 3/4점 · 적음 3 · 봤어요")
    page.keyboard.press("x")  # what was judged is seen: the key goes on and takes nothing back
    expect(page.locator("#title")).to_contain_text("읽을 수 없는")
    write_class(
        page.report, a_class(), page.report.parent / "again", PROGRAM.replace("opt.step()", "opt.step() #")
    )
    page.reload()
    page.locator("#groups button").filter(has_text="zero_grad").click()
    expect(page.locator("#programs .tag")).to_have_text(["이 뒤에 다시 냈어요"] * 3)
    expect(page.locator("#groups [aria-current=true]")).to_contain_text(
        "3명 · 1/4점 · 적음 3 · 봤어요 다시 냄 3"
    )
    expect(page.locator("#written .each li")).to_have_count(3)
    has_no_flaw(page, 1280)
    page.locator("#written .each li").first.get_by_role("button", name="남기기").click()
    wait(page, "1명의 것을 새 답에도 남겼어요: 학생1")
    page.locator("#written .each li").first.get_by_role("button", name="지우기").click()
    wait(page, "1명의 것을 지웠어요: 학생2")
    expect(page.locator("#written .each li")).to_have_count(1)
    expect(page.locator("#groups [aria-current=true]")).to_contain_text("1 → 1~3/4점")
    assert page.told == []
