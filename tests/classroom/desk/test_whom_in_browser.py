"""Whom a judgement reaches, in a real browser: it is the group on the screen unless somebody chose otherwise there."""

import csv
from typing import Any

import pytest
from playwright.sync_api import expect

from grader.course.feedback import ClassResult
from tests.classroom.desk.pages import Opened, wait, write
from tests.classroom.desk.running import class_of, desk_over, right, write_class, wrong
from tests.report import samples
from tests.report.samples import MISSING_ZERO_GRAD, STEP_EARLY

pytestmark = [pytest.mark.full, pytest.mark.browser]


def shared_mistakes() -> ClassResult:
    """Three with one mistake, two with that and another, one with the other; the same mistake in another exercise."""
    kinds = ((MISSING_ZERO_GRAD,),) * 3 + ((MISSING_ZERO_GRAD, STEP_EARLY),) * 2 + ((STEP_EARLY,),)
    other = (wrong("fit", MISSING_ZERO_GRAD),) * 2 + (right("fit"),) * 4
    return class_of(*((wrong("train_step", *kind), fit) for kind, fit in zip(kinds, other, strict=True)))


def scope(page: Any) -> str:
    return str(page.locator("#scopes input:checked").locator("..").inner_text())


def overrides(page: Any) -> list[dict[str, str]]:
    with (page.report / "overrides.csv").open(encoding="utf-8-sig") as file:
        return list(csv.DictReader(file))


def test_one_student_is_chosen_for_one_answer_only(opened: Opened) -> None:
    """Neither the next group, nor the next exercise, nor the next judgement is for one student."""
    page = opened(shared_mistakes())
    for leave in (
        lambda: page.keyboard.press("j"),
        lambda: page.locator("#exercise").select_option("fit"),
        lambda: write(page, "+1", "한 사람"),
    ):
        page.locator("#scopes label").filter(has_text="학생").last.click()
        expect(page.locator("#act")).to_contain_text("에게만 적기")
        page.locator("#title").focus()
        leave()
        expect(page.locator("#act")).to_have_text("이 묶음 2명에게 적기")
        assert scope(page) == "이 묶음 모두 (2명)"
    assert len(overrides(page)) == 1


def test_a_mistake_stays_chosen_only_while_it_is_that_very_mistake(opened: Opened) -> None:
    """Not for another mistake that stands in its place, and not in another exercise under the same name."""
    page = opened(shared_mistakes())
    page.locator("#scopes label").filter(has_text="zero_grad").click()
    page.locator("#title").focus()
    page.keyboard.press("j")
    expect(page.locator("#facts")).to_contain_text("2명")
    assert "zero_grad" in scope(page)
    page.keyboard.press("j")
    expect(page.locator("#act")).to_have_text("이 묶음 1명에게 적기")
    page.keyboard.press("k")
    expect(page.locator("#act")).to_have_text("이 묶음 2명에게 적기")
    page.locator("#scopes label").filter(has_text="zero_grad").click()
    page.locator("#exercise").select_option("fit")
    expect(page.locator("#act")).to_have_text("이 묶음 2명에게 적기")
    assert scope(page).startswith("이 묶음 모두")
    write(page, "+1", "이 묶음")
    wait(page, "적었어요")
    assert {line["연습"] for line in overrides(page)} == {"fit"}


def test_a_scope_wider_than_the_group_is_tinted_and_names_the_others(opened: Opened) -> None:
    page = opened(shared_mistakes())
    reach, form = page.locator("#reach"), page.locator("#form")
    expect(reach).to_be_hidden()
    page.locator("#scopes label").filter(has_text="zero_grad").click()
    expect(page.locator("#act")).to_have_text("다른 묶음까지 5명에게 적기")
    expect(reach).to_have_text("이 묶음에 없는 2명에게도 가요: 학생4, 학생5")
    expect(form).to_have_class("wide")
    write(page, "1", "다섯")
    wait(page, "5명에게 적었어요")
    expect(page.locator("#act")).to_have_text("이 묶음 3명에게 적기")  # the next one is the group's again
    expect(form).not_to_have_class("wide")
    write(page, "2", "셋")
    wait(page, "3명에게 적었어요")
    assert sorted(line["점수"] for line in overrides(page)) == ["1", "1", "2", "2", "2"]


def test_what_was_typed_and_not_written_stays_with_its_group(opened: Opened) -> None:
    """It is not offered for the next group, and it is back with the group that it is about."""
    page = opened(samples.large_class(24))
    page.get_by_label("까닭이나 코멘트").fill("첫 묶음에 하던 말")
    page.get_by_label("점수").fill("-1")
    page.get_by_role("button", name="다음 묶음").click()
    expect(page.locator("#title")).to_contain_text("통과")
    expect(page.locator("#told")).to_contain_text("남겨 두었어요")
    assert (page.input_value("#text"), page.input_value("#score")) == ("", "")
    page.get_by_role("button", name="이전 묶음").click()
    expect(page.locator("#title")).to_contain_text("zero_grad")
    expect(page.locator("#text")).to_have_value("첫 묶음에 하던 말")
    assert page.input_value("#score") == "-1"
    page.keyboard.press("Escape")
    page.locator("#title").focus()
    for key in "kj":  # before the first group there is none, either
        page.keyboard.press(key)
    expect(page.locator("#title")).to_contain_text("통과")
    expect(page.locator("#text")).to_have_value("")


def test_the_number_that_the_button_told_is_the_number_that_is_judged(opened: Opened) -> None:
    """Somebody graded again since the group was shown: nothing is written."""
    page = opened(shared_mistakes())
    said = page.evaluate(
        """async () => {
        const meant = {exercise: "train_step", scope: "mistake", target: "missing-zero-grad"};
        const body = JSON.stringify({...meant, count: 3, text: "x"});
        const headers = {"Content-Type": "application/json"};
        return (await (await fetch("/api/judge", {method: "POST", headers, body})).json()).error;
        }"""
    )
    assert "3명이라고 보여 드렸는데" in said
    assert not (page.report / "comments.csv").exists()


def test_another_persons_change_takes_neither_scope_nor_words(opened: Opened) -> None:
    """The page looks for changes every few seconds, also while somebody types."""
    page = opened(shared_mistakes())
    page.locator("#scopes label").filter(has_text="zero_grad").click()
    page.get_by_label("까닭이나 코멘트").fill("아직 쓰는 중")
    other = desk_over(page.report, "다른 조교")
    rule = {"exercise": "train_step", "scope": "mistake", "target": "missing-zero-grad"}
    other.judge({**rule, "score": "+1", "text": "부분 점수"})
    expect(page.locator("#written")).to_contain_text("부분 점수", timeout=10_000)
    expect(page.locator("#act")).to_have_text("다른 묶음까지 5명에게 적기")
    expect(page.get_by_label("까닭이나 코멘트")).to_be_focused()
    assert page.input_value("#text") == "아직 쓰는 중"


@pytest.mark.parametrize(("key", "code"), [("ㅓ", "KeyJ"), ("Process", "KeyJ"), ("j", "KeyC"), ("J", "KeyJ")])
def test_keys_work_under_a_korean_layout(opened: Opened, key: str, code: str) -> None:
    """The letter that arrived counts first (Dvorak), then the place of the key."""
    page = opened(shared_mistakes())
    page.evaluate(
        "([key, code]) => document.body.dispatchEvent(new KeyboardEvent('keydown', {key, code, bubbles: true}))",
        [key, code],
    )
    expect(page.locator("#facts")).to_contain_text("2명")


def test_the_address_opened_again_in_the_same_browser_shows_the_desk(opened: Opened) -> None:
    page = opened(shared_mistakes())
    again = page.context.new_page()
    assert again.goto(page.address).status == 200
    again.wait_for_selector("#programs article")
    assert "token" not in again.url
    stranger = page.context.browser.new_context()
    assert stranger.new_page().goto(page.address).status == 403
    stranger.close()


def test_a_draft_of_a_group_that_is_gone_is_kept_for_nobody(opened: Opened) -> None:
    """Neither lost nor written to the group that takes its place: somebody takes it out, or throws it away."""
    page = opened(shared_mistakes())
    page.get_by_label("점수 s").fill("+1")
    page.get_by_label("까닭이나 코멘트").fill("쓰다 만 까닭")
    regraded = class_of(*((wrong("train_step", STEP_EARLY), right("fit")),) * 6)
    write_class(page.report, regraded, page.report.parent / "work")
    expect(page.locator("#lost")).to_contain_text("+1 · 쓰다 만 까닭", timeout=15_000)
    expect(page.get_by_label("까닭이나 코멘트")).to_have_value("")
    expect(page.locator("#act")).to_contain_text("명에게 적기")
    page.locator("#lost").get_by_role("button", name="여기에 꺼내기").click()
    expect(page.get_by_label("까닭이나 코멘트")).to_have_value("쓰다 만 까닭")
    expect(page.get_by_label("점수 s")).to_have_value("+1")
    expect(page.locator("#lost")).to_be_hidden()
    assert page.told == []
