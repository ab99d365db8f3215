"""The desk in a real browser: by keys alone, read aloud, on a phone, over a class of attackers."""

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Route, expect

from tests.classroom.desk.pages import Opened, wait, write
from tests.report import samples
from tests.report.test_class_page_in_browser import RULES

pytestmark = [pytest.mark.full, pytest.mark.browser]


def test_an_evening_by_keys_alone(opened: Opened) -> None:
    """Next group, seen, points with a reason, a comment, undo; the files say what the page says."""
    page = opened(samples.large_class(24))
    assert "token" not in page.url
    assert page.evaluate("document.cookie") == ""  # no script can read it
    assert page.inner_text("#round") == "0/2 묶음"
    assert "zero_grad" in page.inner_text("#title")
    page.keyboard.press("j")
    expect(page.locator("#title")).to_contain_text("통과")
    page.keyboard.press("k")
    expect(page.locator("#title")).to_contain_text("zero_grad")
    page.keyboard.press("s")
    page.keyboard.type("+1")
    page.keyboard.press("Escape")
    page.keyboard.press("c")
    page.keyboard.type("거의 다 왔어요 <b>jx</b>")
    page.keyboard.press("Control+Enter")
    wait(page, "12명에게 적었어요")
    assert (page.report / "overrides.csv").read_text(encoding="utf-8").count(
        "거의 다 왔어요 <b>jx</b>,묶음:"
    ) == 12
    expect(page.locator("#written li")).to_contain_text("거의 다 왔어요 <b>jx</b>")
    expect(page.locator("#programs article").first).to_contain_text("2/4")
    page.keyboard.press("c")
    page.keyboard.type("코멘트만")
    page.keyboard.press("Control+Enter")
    expect(page.locator("#written li")).to_have_count(2)
    assert (page.report / "comments.csv").exists()
    page.keyboard.press("u")
    wait(page, "외 7명의 코멘트 「코멘트만」")
    page.keyboard.press("u")
    wait(page, "외 7명의 점수 「+1」")
    assert not (page.report / "overrides.csv").exists()
    assert not (page.report / "comments.csv").exists()
    page.keyboard.press("x")
    expect(page.locator("#round")).to_have_text("1/2 묶음")
    expect(page.locator("#title")).to_contain_text("통과")
    page.locator("#keys").uncheck()
    page.locator("#title").focus()
    page.keyboard.press("k")
    page.wait_for_timeout(200)
    assert "통과" in page.inner_text("#title")
    assert page.told == []


def test_what_is_written_can_be_published_and_names_released(opened: Opened) -> None:
    page = opened(samples.large_class(8), anonymous=True)
    assert "2026" not in page.inner_text("main")
    page.get_by_label("까닭이나 코멘트").fill("잘했어요")
    page.locator("#scopes").get_by_label("학생 모두").check()
    page.get_by_role("button", name="적기 Ctrl+Enter").click()
    wait(page, "4명에게 적었어요")
    page.get_by_role("button", name="결과에 반영").click()
    wait(page, "다 반영했어요")
    pages = [path.read_text(encoding="utf-8") for path in (page.report / "feedback").glob("*.html")]
    assert sum("잘했어요" in text for text in pages) == 4
    page.get_by_role("button", name="이름 보이기").click()
    wait(page, "이름을 보여 줘요")
    expect(page.locator("#programs")).to_contain_text("2026")


@pytest.mark.parametrize(
    ("hostile", "width", "scheme"),
    [(False, 390, "dark"), (True, 1280, "light")],
)
def test_axe_finds_nothing(opened: Opened, hostile: bool, width: int, scheme: str) -> None:
    """With something written, with everything folded out; nothing wider than the window."""
    page = opened(samples.small_class() if hostile else samples.large_class(24), width=width, scheme=scheme)
    page.get_by_label("까닭이나 코멘트").fill("한 문장")
    page.get_by_role("button", name="적기 Ctrl+Enter").click()
    page.wait_for_selector("#written button")
    page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    page.wait_for_timeout(100)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    found = Axe().run(page, options={"runOnly": {"type": "tag", "values": RULES}})
    assert found.response["violations"] == [], found.generate_report()
    assert len(found.response["passes"]) > 15


def test_a_class_of_attackers_runs_nothing_and_asks_nobody(opened: Opened) -> None:
    """Names, code, messages and notes full of markup: each group of each exercise is looked at."""
    page = opened(samples.small_class())
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    for option in page.locator("#exercise option").all():
        name = option.get_attribute("value")
        page.locator("#exercise").select_option(name)
        page.wait_for_load_state("networkidle")
        for button in range(page.locator("#groups button").count() if name == "train_step" else 1):
            page.locator("#groups button").nth(button).click()
            page.wait_for_timeout(40)
            page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    assert page.evaluate("window.ran") is None
    assert page.locator("main script, main img, main svg, main iframe, main a:not(.jump)").count() == 0
    assert page.told == []
    own = page.evaluate("location.origin")
    assert asked
    assert all(url.startswith(f"{own}/api/") for url in asked)


def test_the_policy_stops_what_is_smuggled_in(opened: Opened) -> None:
    """Were a hole to let markup through, the browser would refuse it: no HTML is set, no script or style is inline."""
    page = opened(samples.large_class(4))
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    refused = page.evaluate(
        """() => {
        let refused = 0;
        const ways = [n => { n.innerHTML = '<b>x</b>'; }, n => { n.insertAdjacentHTML('beforeend', 'x'); },
                      n => document.write('x'), n => eval('1')];
        for (const set of ways) {
            try { set(document.createElement('div')); } catch { refused += 1; }
        }
        const button = document.createElement('button');
        try { button.setAttribute('onclick', 'window.ran = 2'); } catch { refused += 1; }
        const script = document.createElement('script');
        try { script.textContent = 'window.ran = 1'; } catch { refused += 1; }
        const image = document.createElement('img'); image.src = 'https://example.org/seen.png';
        document.body.append(button, script, image); button.click();
        fetch('https://example.org/').catch(() => {});
        return refused;
        }"""
    )
    page.wait_for_timeout(200)
    assert refused >= 4
    assert page.evaluate("window.ran") is None
    assert any("Content Security Policy" in line for line in page.told)


def test_no_more_is_drawn_than_can_be_read(opened: Opened) -> None:
    """Six programs at a time, the next ones at a press or a key, whatever the class's size."""
    page = opened(samples.large_class(100))
    assert page.locator("#programs article").count() <= 6
    assert page.evaluate("document.querySelectorAll('*').length") < 1_500


def test_what_is_typed_while_a_view_loads_gets_where_it_belongs(opened: Opened) -> None:
    """A slow server must not make `+1` a series of commands, nor judge the group that was there before."""
    page = opened(samples.large_class(24))
    page.route("**/api/answers*", lambda route: (page.wait_for_timeout(600), route.continue_()))
    page.keyboard.press("j")
    page.keyboard.press("s")
    page.keyboard.type("-1")
    page.keyboard.press("Escape")
    page.keyboard.press("c")
    page.keyboard.type("xju")
    page.keyboard.press("Control+Enter")  # whom it would be for is not on the screen yet
    wait(page, "아직 불러오고 있어요")
    expect(page.locator("#title")).to_contain_text("통과")
    expect(page.locator("#act")).to_have_text("이 묶음 6명에게 적기")
    page.keyboard.press("Control+Enter")
    wait(page, "6명에게 적었어요")
    expect(page.locator("#title")).to_contain_text("통과")
    expect(page.locator("#groups [aria-current=true]")).to_contain_text("6명 · 4 → 3/4점 · 적음 6 · 봤어요")
    lines = (page.report / "overrides.csv").read_text(encoding="utf-8").splitlines()[1:]
    assert len(lines) == 6
    assert all(",-1,xju,묶음:" in line for line in lines)
    assert page.inner_text("#round") == "1/2 묶음"
    page.unroute_all(behavior="ignoreErrors")


def test_a_group_clicked_while_something_is_written_is_shown_and_judged(opened: Opened) -> None:
    """What is written reads the list of groups anew; the button that was pressed before then still leads there."""
    page = opened(samples.large_class(24))
    page.route("**/api/judge", lambda route: (page.wait_for_timeout(600), route.continue_()))
    write(page, "+1", "처음 묶음")
    page.locator("#groups button").nth(1).click()
    write(page, "-1", "누른 묶음")
    wait(page, "아직 불러오고 있어요")
    expect(page.locator("#act")).to_have_text("이 묶음 6명에게 적기")
    page.keyboard.press("Control+Enter")
    wait(page, "6명에게 적었어요")
    expect(page.locator("#title")).to_contain_text("통과")
    lines = (page.report / "overrides.csv").read_text(encoding="utf-8").splitlines()[1:]
    assert sum(",+1,처음 묶음," in line for line in lines) == 12
    assert sum(",-1,누른 묶음," in line for line in lines) == 6
    page.unroute_all(behavior="ignoreErrors")


def test_on_a_phone_the_form_below_the_code_is_one_tap_away_and_leads_back(opened: Opened) -> None:
    page = opened(samples.large_class(24), width=390)
    assert page.locator("#text").bounding_box()["y"] > 900
    page.get_by_role("link", name="적는 칸으로").click()
    expect(page.get_by_label("점수 s")).to_be_in_viewport()
    write(page, "+1", "거의 다")
    wait(page, "12명에게 적었어요")
    expect(page.locator("#title")).to_be_in_viewport()
    page.set_viewport_size({"width": 1280, "height": 900})
    expect(page.get_by_role("link", name="적는 칸으로")).to_be_hidden()


def test_judging_goes_on_while_the_results_are_written(opened: Opened) -> None:
    page = opened(samples.large_class(24))
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    page.route("**/api/publish", hold)
    page.get_by_role("button", name="결과에 반영").click()
    wait(page, "반영하고 있어요")
    page.locator("#title").focus()
    page.keyboard.press("j")
    expect(page.locator("#title")).to_contain_text("통과")
    write(page, "-1", "그동안")
    wait(page, "6명에게 적었어요")
    expect(page.locator("#publish")).to_be_disabled()
    held[0].continue_()
    wait(page, "다 반영했어요")
    expect(page.locator("#publish")).to_be_enabled()


def test_keys_work_after_a_scope_was_clicked(opened: Opened) -> None:
    """Only the arrows belong to the radio buttons; what is written twice is told as such."""
    page = opened(samples.large_class(24))
    page.locator("#scopes input").nth(1).click()
    page.keyboard.press("s")
    page.keyboard.type("+1")
    assert page.input_value("#score") == "+1"
    page.get_by_label("까닭이나 코멘트").fill("한 문장")
    page.keyboard.press("Control+Enter")
    wait(page, "명에게 적었어요")
    page.locator("#scopes input").nth(1).click()
    page.get_by_label("점수").fill("+1")
    page.get_by_label("까닭이나 코멘트").fill("한 문장")
    page.keyboard.press("Control+Enter")
    wait(page, "이미 똑같이 적혀 있어요")
    page.locator("#scopes input").first.click()
    page.keyboard.press("j")
    expect(page.locator("#title")).to_contain_text("통과")
