"""What was typed at the desk and not written outlives a reload, a closed browser and another port."""

import json
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.classroom.desk.pages import Opened, wait, write
from tests.classroom.desk.running import desk_over, running_desk
from tests.report import samples

pytestmark = [pytest.mark.full, pytest.mark.browser]


def kept(page: Any) -> dict[str, Any]:
    path = page.report / "desk-drafts.json"
    return json.loads(path.read_bytes()).get("조교", {}) if path.exists() else {}


def wait_until_kept(page: Any, text: str) -> None:
    for _ in range(50):
        if any(draft["text"] == text for draft in kept(page).values()):
            return
        page.wait_for_timeout(100)
    raise AssertionError(kept(page))


def test_a_reload_keeps_text_points_and_whom_they_are_for(opened: Opened) -> None:
    """Typed about the second group, for the student of its second answer alone."""
    page = opened(samples.large_class(24))
    page.keyboard.press("j")
    expect(page.locator("#title")).to_contain_text("통과")
    page.keyboard.press("ArrowRight")
    page.locator("#scopes").get_by_label("에게만").check()
    act = page.inner_text("#act")
    page.get_by_label("점수 s").fill("-1")
    page.get_by_label("까닭이나 코멘트").fill("쓰다 만 말")
    wait_until_kept(page, "쓰다 만 말")
    page.reload()
    wait(page, "쓰던 글을 다시 꺼냈어요")
    expect(page.locator("#title")).to_contain_text("통과")
    assert (page.input_value("#score"), page.input_value("#text")) == ("-1", "쓰다 만 말")
    assert page.inner_text("#act") == act
    page.get_by_label("까닭이나 코멘트").focus()
    page.keyboard.press("Control+Enter")
    wait(page, "1명에게 적었어요")
    expect(page.locator("#text")).to_have_value("")
    page.wait_for_timeout(300)
    assert kept(page) == {}
    page.reload()
    page.wait_for_selector("#programs article")
    assert page.input_value("#text") == ""


def test_a_draft_is_there_after_the_desk_was_started_again(opened: Opened) -> None:
    """On another port, in a browser that knows no cookie; what another marker types stays apart."""
    page = opened(samples.large_class(24))
    page.get_by_label("까닭이나 코멘트").fill("밤에 쓰던 말")
    wait_until_kept(page, "밤에 쓰던 말")
    for who, text in (("다른 조교", ""), ("조교", "밤에 쓰던 말")):
        with running_desk(desk_over(page.report, who), page.report) as again:
            context = page.context.browser.new_context()
            other = context.new_page()
            other.goto(again.address)
            other.wait_for_selector("#programs article")
            expect(other.locator("#text")).to_have_value(text)
            context.close()


def test_text_that_was_emptied_does_not_come_back(opened: Opened) -> None:
    page = opened(samples.large_class(24))
    page.get_by_label("까닭이나 코멘트").fill("아니다")
    wait_until_kept(page, "아니다")
    page.get_by_label("까닭이나 코멘트").fill("")
    page.wait_for_timeout(800)
    assert kept(page) == {}


def test_the_browser_asks_before_it_drops_what_could_not_be_saved(opened: Opened) -> None:
    page = opened(samples.large_class(24))
    page.route("**/api/draft", lambda route: route.abort())
    page.get_by_label("까닭이나 코멘트").click()
    page.keyboard.type("저장되지 않은 말")
    wait(page, "쓰던 글을 아직 저장하지 못했어요")
    asked: list[str] = []
    page.on("dialog", lambda dialog: (asked.append(dialog.type), dialog.dismiss()))
    page.evaluate("setTimeout(() => location.reload(), 0)")
    page.wait_for_timeout(500)
    assert asked == ["beforeunload"]
    assert page.input_value("#text") == "저장되지 않은 말"
    page.unroute_all(behavior="ignoreErrors")
    wait_until_kept(page, "저장되지 않은 말")  # tried again
    write(page, "", "이제 보냄")
    wait(page, "명에게 적었어요")
