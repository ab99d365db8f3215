"""The page of the class in a real browser: searched, sorted, by keyboard, read aloud, printed, and without script."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe

from grader.base.file_names import file_names
from grader.course.feedback import ClassResult, Feedback, Person
from grader.course.marks import Mark
from grader.report.class_facts import exercises_of, lessons_of
from grader.report.class_page import class_page
from grader.report.mistake_map import mistake_maps
from grader.report.plain_text import JOINER
from grader.report.write_report import write_report
from tests.browser import running_browser
from tests.report import samples

pytestmark = [pytest.mark.full, pytest.mark.browser]

STUDENTS = 64
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
Opened = Callable[..., Any]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with running_browser() as running:
        yield running


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Folders of a class of sixty-four, of one with hostile students, and of one too large to show at once."""
    made = {}
    when = datetime(2026, 3, 2, 9, 30)
    for name, result in (("usual", samples.large_class(STUDENTS)), ("hostile", samples.small_class())):
        made[name] = tmp_path_factory.mktemp(name)
        write_report(made[name], result, samples.course(), when=when)
    for name, result in (
        ("sections", of_sections(300)),
        ("huge", samples.large_class(450)),
        ("lessons", of_lessons(4)),
        ("many", of_lessons(9)),
    ):
        made[name] = tmp_path_factory.mktemp(name)
        names = file_names([s.student for s in result.submissions])
        text = class_page(result, samples.course(), names, when)
        (made[name] / "index.html").write_text(text, encoding="utf-8")
    return made


def of_sections(number: int) -> ClassResult:
    """A class in three sections, with whole answers, pairs of mistakes and final marks."""
    result = samples.large_class(number)
    students = tuple(
        replace(
            s,
            person=Person(str(i), s.student, "나가다"[i % 3]),
            mark=Mark(s.score, 100.0),
            feedbacks=tuple(replace(f, code="def f():\n    pass", code_line=1) for f in s.feedbacks),
        )
        for i, s in enumerate(result.submissions)
    )
    return replace(result, submissions=students)


def of_lessons(number: int) -> ClassResult:
    """The hostile class, as if it had done everything in each of so many lessons."""
    lessons = [f"{n:02}" for n in range(1, number + 1)]

    def in_all(feedbacks: Iterable[Feedback]) -> tuple[Feedback, ...]:
        own = tuple(feedbacks)
        return tuple(replace(f, lesson=key, exercise=f"{f.exercise}_{key}") for key in lessons for f in own)

    result = samples.small_class()
    students = tuple(replace(s, feedbacks=in_all(s.feedbacks)) for s in result.submissions)
    return replace(result, submissions=students)


@pytest.fixture
def opened(browser: Any, reports: dict[str, Path]) -> Iterator[Opened]:
    """Opens the page of one of the classes; what the console says of it is in `page.told`."""
    contexts = []

    def open_page(
        name: str = "usual", *, width: int = 1280, scheme: str = "light", script: bool = True
    ) -> Any:
        contexts.append(
            browser.new_context(
                viewport={"width": width, "height": 900}, color_scheme=scheme, java_script_enabled=script
            )
        )
        page = contexts[-1].new_page()
        page.told = []
        page.on("console", lambda message: page.told.append(message.text))
        page.on("pageerror", lambda error: page.told.append(str(error)))
        page.goto((reports[name] / "index.html").as_uri())
        return page

    yield open_page
    for context in contexts:
        context.close()


def shown(page: Any) -> list[str]:
    """Students in the rows that can be seen, in their order."""
    return page.locator("#roll tbody tr:visible th").all_inner_texts()


def class_of(name: str) -> ClassResult:
    return samples.large_class({"usual": STUDENTS, "huge": 450}[name])


# ---- finding ------------------------------------------------------------------------------------------


def test_search_finds_names_and_mistakes(opened: Opened) -> None:
    """Whatever the case or the spaces; Hangul from a Mac is in pieces; several words narrow the search down."""
    page = opened()
    assert len(shown(page)) == STUDENTS
    assert page.get_by_role("status").inner_text() == f"{STUDENTS}명 모두"
    search = page.get_by_role("searchbox")
    search.fill("20260007")
    assert shown(page) == [s.student for s in class_of("usual").submissions if "20260007" in s.student]
    assert page.get_by_role("status").inner_text() == f"{STUDENTS}명 가운데 1명"
    search.fill("\u1100\u1175\u11b7")  # 김, decomposed
    assert shown(page) == [s.student for s in class_of("usual").submissions if "김" in s.student]
    search.fill("  김   ZERO_GRAD ")
    found = shown(page)
    assert found
    assert all("김" in name for name in found)
    search.fill("마이크로 배치")  # the second mistake of an exercise that is nobody's first
    assert len(shown(page)) == STUDENTS // 4
    search.fill("없는 이름")
    assert shown(page) == []
    page.get_by_role("button", name="조건 지우기").click()
    assert len(shown(page)) == STUDENTS
    assert search.evaluate("e => e === document.activeElement")
    assert page.told == []


def test_filters_narrow_down_together(opened: Opened) -> None:
    page = opened()
    kind, stuck = page.get_by_label("어떤 학생"), page.get_by_label("막힌 곳")
    kind.select_option("nothing")
    assert len(shown(page)) == STUDENTS // 4
    kind.select_option("")
    stuck.select_option(label=f"opt.zero_grad()를 부르지 않았어요 ({STUDENTS // 2}명)")
    assert len(shown(page)) == STUDENTS // 2
    kind.select_option("halted")
    assert len(shown(page)) == STUDENTS // 4  # the typical ones, whose last exercise never ends
    kind.select_option("")
    stuck.select_option("e0.6")
    assert len(shown(page)) == STUDENTS // 4
    page.get_by_role("searchbox").fill("20260000")
    assert len(shown(page)) == 1
    assert page.told == []


def test_filter_options_count_right(opened: Opened) -> None:
    """The number in every option is the number of rows that it leaves."""
    page = opened("hostile")
    for name in ("stuck", "kind"):
        options = page.locator(f"#{name} option").all()
        assert len(options) > 4
        for option in options[1:]:
            page.locator(f"#{name}").select_option(option.get_attribute("value"))
            assert f"({len(shown(page))}명)" in option.inner_text()
        page.locator(f"#{name}").select_option("")


def test_headers_sort_and_say_so(opened: Opened) -> None:
    page = opened()
    by_score = page.get_by_role("columnheader", name="점수")
    assert by_score.get_attribute("aria-sort") is None
    by_score.get_by_role("button").click()
    assert by_score.get_attribute("aria-sort") == "ascending"
    scores = [float(t) for t in page.locator("#roll tbody .sum").all_inner_texts()]
    assert scores == sorted(scores)
    assert len(set(scores)) > 2
    by_score.get_by_role("button").press("Enter")
    assert by_score.get_attribute("aria-sort") == "descending"
    scores = [float(t) for t in page.locator("#roll tbody .sum").all_inner_texts()]
    assert scores == sorted(scores, reverse=True)
    page.get_by_role("columnheader", name="학생").get_by_role("button").press("Space")
    assert by_score.get_attribute("aria-sort") is None
    assert shown(page) == sorted(shown(page))
    page.get_by_role("columnheader", name="레슨 01").get_by_role("button").click()
    points = [
        float(t.split("/")[0]) for t in page.locator("#roll .lesson > span:first-child").all_inner_texts()
    ]
    assert points == sorted(points)
    page.get_by_role("searchbox").fill("김")
    assert len(shown(page)) == sum("김" in s.student for s in class_of("usual").submissions)


def test_going_back_finds_the_table_as_it_was_left(opened: Opened) -> None:
    """What was typed is still there, and so are the rows it left."""
    page = opened()
    page.get_by_role("searchbox").fill("20260005")
    (name,) = shown(page)
    page.get_by_role("link", name=name).click()
    page.wait_for_url("**/feedback/**")
    page.go_back()
    assert page.get_by_role("searchbox").input_value() == "20260005"
    assert shown(page) == [name]


def test_a_huge_class_comes_in_pages(opened: Opened) -> None:
    """Two hundred rows at once; the search looks through all, and the button brings the next ones."""
    page = opened("huge")
    assert len(shown(page)) == 200
    more = page.get_by_role("button", name="200명 더 보기 (250명 남음)")
    more.press("Enter")
    assert len(shown(page)) == 400
    where = "document.activeElement.closest('tr').querySelector('th').innerText"
    assert page.evaluate(where) == class_of("huge").submissions[200].student
    page.get_by_role("button", name="50명 더 보기 (50명 남음)").click()
    assert len(shown(page)) == 450
    assert not page.locator("#more").is_visible()
    page.get_by_role("searchbox").fill("20260449")
    assert len(shown(page)) == 1


# ---- the map ------------------------------------------------------------------------------------------


def test_a_cell_of_the_map_tells_who_and_escape_leads_back(opened: Opened) -> None:
    page = opened()
    row = page.get_by_role("table", name="레슨 01의 실수").get_by_role(
        "row", name=f"opt.zero_grad(){JOINER}를 부르지 않았어요"
    )
    cell = row.get_by_role("button", name=f"train_step {STUDENTS // 2}명, 누구인지 보기")
    cell.focus()
    page.keyboard.press("Enter")
    told = page.get_by_role("dialog", name=f"opt.zero_grad(){JOINER}를 부르지 않았어요")
    assert told.is_visible()
    assert told.evaluate("e => e.contains(document.activeElement)")
    assert told.get_by_role("listitem").count() == STUDENTS // 2
    assert "opt.step() # 한 걸음" in told.inner_text()
    page.keyboard.press("Escape")
    assert not told.is_visible()
    assert cell.evaluate("e => e === document.activeElement")
    cell.click()
    told.get_by_role("button", name="닫기").click()
    assert not told.is_visible()
    assert page.told == []


def test_the_map_filters_the_table(opened: Opened) -> None:
    page = opened()
    page.get_by_role("searchbox").fill("없는 이름")
    page.locator(".map button").first.click()
    names = page.locator("[popover]:popover-open li a").all_inner_texts()
    page.get_by_role("button", name="표에서 이 학생들만 보기").click()
    assert shown(page) == names
    assert page.locator("#roll").bounding_box()["y"] < 900
    assert page.evaluate("document.activeElement.id") == "students"


# ---- everybody ----------------------------------------------------------------------------------------


def test_a_section_alone_is_one_press_away(opened: Opened) -> None:
    page = opened("sections")
    page.locator("#sections ~ table").get_by_role("button", name="나", exact=True).click()
    assert page.get_by_role("status").inner_text() == "300명 가운데 100명"
    assert page.locator("#section").input_value() == "s1"
    page.get_by_role("button", name="조건 지우기").click()
    assert page.get_by_role("status").inner_text() == "300명 모두"


def test_the_map_of_one_section_counts_only_its_students(opened: Opened) -> None:
    """Cells, rows and names follow the section, and the table does too; without one everything is back."""
    page = opened("sections")
    result = of_sections(300)

    def numbers() -> dict[str, int]:
        return {
            button.get_attribute("popovertarget"): int(button.locator("span").last.inner_text())
            for button in page.locator(".map button").all()
            if button.is_visible()
        }

    def sums() -> list[str]:
        return [cell.inner_text() for cell in page.locator(".map td.sum").all() if cell.is_visible()]

    before = numbers(), sums()
    page.locator("#map-section").select_option("s1")
    own = replace(result, submissions=tuple(s for s in result.submissions if s.person.section == "나"))
    begun = [
        one
        for one in lessons_of(exercises_of(own.submissions, samples.course()), samples.course())
        if one.begun
    ]
    (map_,) = mistake_maps(own.submissions, begun)
    rows = (*map_.named, *map_.others)
    assert sorted(numbers().values()) == sorted(len(c.sightings) for row in rows for c in row.cells.values())
    assert sorted(sums()) == sorted(f"{row.students}명" for row in rows)
    assert page.get_by_role("status").inner_text() == "300명 가운데 100명"
    page.locator(".map button").first.click()
    box = page.locator("[popover]:popover-open")
    names = [one.inner_text() for one in box.locator("li a:not(.code)").all() if one.is_visible()]
    assert names
    assert {s.person.section for s in result.submissions if s.student in names} == {"나"}
    left = box.locator(".unnamed")
    rest = int(left.inner_text()) if left.is_visible() else 0
    assert len(names) + rest == int(box.locator(".count").inner_text())
    page.keyboard.press("Escape")
    page.get_by_role("button", name="조건 지우기").click()
    assert (numbers(), sums()) == before
    assert page.locator("#map-section").input_value() == ""


def test_the_table_is_laid_out_when_it_comes_near(opened: Opened) -> None:
    """Else a class of 600 keeps the browser busy twice as long before anything can be clicked."""
    drawn = "document.querySelector('#roll tbody tr').checkVisibility({contentVisibilityAuto: true})"
    page = opened("huge")
    page.set_viewport_size({"width": 1280, "height": 100})
    page.reload()
    assert not page.evaluate(drawn)
    page.evaluate("document.getElementById('students').scrollIntoView()")
    page.wait_for_function(drawn)
    assert len(shown(page)) == 200


def test_three_hundred_students_are_short_on_a_phone(opened: Opened) -> None:
    for script in (True, False):
        page = opened("sections", width=390, script=script)
        size = page.evaluate("[document.documentElement.scrollHeight, document.documentElement.scrollWidth]")
        assert size[1] <= 390
        assert (size[0] < 9_000) == script, size
    page = opened("sections", width=390)
    page.get_by_role("button", name="25명 더 보기").click()
    assert len(shown(page)) == 50


def test_keyboard_reaches_everything_and_shows_where_it_is(opened: Opened) -> None:
    """Whoever works without a mouse sees the focus at every step, and Enter leads from a student to the page."""
    page = opened()
    stops = []
    for _ in range(40):
        page.keyboard.press("Tab")
        stops.append(
            page.evaluate("(e => [e.tagName, getComputedStyle(e).outlineStyle])(document.activeElement)")
        )
    assert {tag for tag, _ in stops} >= {"A", "SUMMARY", "BUTTON", "INPUT", "SELECT"}
    assert {style for _, style in stops} == {"solid"}
    page.get_by_role("row", name=class_of("usual").submissions[0].student).get_by_role("link").last.press(
        "Enter"
    )
    page.wait_for_url("**/feedback/*#train_step")
    assert page.locator("#train_step").bounding_box()["y"] < 900


@pytest.mark.parametrize(
    ("name", "width", "scheme"),
    [("usual", 1280, "light"), ("usual", 390, "dark"), ("hostile", 1280, "dark"), ("hostile", 390, "light"),
     ("sections", 390, "light")],
)  # fmt: skip
def test_axe_finds_nothing(opened: Opened, name: str, width: int, scheme: str) -> None:
    """WCAG 2.2 AA as far as a program can tell, with everything folded out and with a dialog open."""
    page = opened(name, width=width, scheme=scheme)
    page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    for press in (None, page.locator(".map button").first):
        if press is not None:
            press.click()
        found = Axe().run(page, options={"runOnly": {"type": "tag", "values": RULES}})
        assert found.response["violations"] == [], found.generate_report()
        assert len(found.response["passes"]) > 20


def test_table_and_map_are_tables_on_a_phone_too(opened: Opened) -> None:
    """Their rows are stacked there, which must not take their headers from who hears the page."""
    for width, rows in ((1280, STUDENTS), (390, 25)):
        page = opened(width=width)
        table = page.get_by_role("table", name="학생별 점수")
        assert table.get_by_role("rowheader").count() == rows
        assert table.get_by_role("columnheader").count() >= 3
        a_map = page.get_by_role("table", name="레슨 01의 실수")
        assert a_map.get_by_role("columnheader").count() == 2 + len(samples.EXERCISES)
        page.get_by_role("columnheader", name="점수").get_by_role("button").click()
        assert page.get_by_role("columnheader", name="점수").get_attribute("aria-sort") == "ascending"


@pytest.mark.parametrize(
    ("name", "widths"), [("lessons", (320, 390, 768, 861, 1024, 1271, 1280)), ("many", (320, 860, 1280))]
)
def test_nothing_stands_outside_its_place(opened: Opened, name: str, widths: tuple[int, ...]) -> None:
    """Four lessons fit into every window, nine into that of a desk; no mark lies over another cell."""
    over = """[...document.querySelectorAll('#roll tbody td')].filter(cell => {
        const own = cell.getBoundingClientRect();
        return [...cell.querySelectorAll('i, a')].some(e => e.getBoundingClientRect().right > own.right + 1);
    }).length"""
    for width in widths:
        page = opened(name, width=width)
        assert page.evaluate("document.documentElement.scrollWidth") <= width, width
        assert page.evaluate(over) == 0, width


def test_fingers_hit_what_they_aim_at(opened: Opened) -> None:
    """On a phone everything to press is at least 24 pixels high and wide (WCAG 2.2, target size)."""
    page = opened(width=390)
    small = page.evaluate(
        """[...document.querySelectorAll('main button, main input, main select, main summary, main .roll a')]
        .filter(e => e.checkVisibility()).map(e => [e.innerText, e.getBoundingClientRect()])
        .filter(([, box]) => box.height < 24 || box.width < 24).map(([text]) => text)"""
    )
    assert small == []


# ---- without script, on paper, under attack -------------------------------------------------------------


def test_everything_can_be_read_without_script(opened: Opened) -> None:
    """No control that does nothing; the map still opens, since the browser does that."""
    page = opened(script=False)
    assert len(page.locator("#roll tbody tr:visible").all()) == STUDENTS
    for control in ("#search", "#stuck", "#kind", "#clear", "#more"):
        assert not page.locator(control).is_visible()
    assert page.locator("#roll thead button").count() == 0
    page.locator(".map button").first.click()
    told = page.locator("[popover]:popover-open")
    assert told.locator("li").count() > 0
    assert not told.get_by_text("표에서 이 학생들만 보기").is_visible()
    assert opened("huge", script=False).locator("#roll tbody tr:visible").count() == 450


def test_paper_gets_everybody_and_no_controls(opened: Opened) -> None:
    """Also those whom the screen shows only on demand; and neither dialogs nor buttons that nobody can press."""
    page = opened("huge", scheme="dark")
    page.locator(".map button").first.click()
    page.emulate_media(media="print", color_scheme="light")
    assert page.locator("#roll tbody tr:visible").count() == 450
    for gone in ("#search", "#more", "[popover]", "nav"):
        assert not page.locator(gone).first.is_visible()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert len(page.pdf(prefer_css_page_size=True)) > 10_000


def test_the_policy_stops_what_is_smuggled_in(opened: Opened) -> None:
    """Were a hole to let markup through, it could run nothing and ask nobody."""
    page = opened("hostile")
    asked: list[str] = []
    stopped: list[tuple[str, str]] = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("requestfailed", lambda request: stopped.append((request.url, request.failure)))
    page.evaluate(
        """() => {
        const script = document.createElement('script'); script.textContent = 'window.ran = 1';
        const button = document.createElement('button'); button.setAttribute('onclick', 'window.ran = 2');
        const image = document.createElement('img'); image.src = 'https://example.org/seen.png';
        image.setAttribute('onerror', 'window.ran = 3');
        document.body.append(script, button, image); button.click();
        }"""
    )
    page.wait_for_timeout(200)
    assert page.evaluate("window.ran") is None
    assert [(url, "csp") for url in asked] == stopped  # by the policy, before anything is sent
    assert len([line for line in page.told if "Content Security Policy" in line]) >= 3


def test_the_browser_runs_the_pages_script_from_a_class_of_attackers(opened: Opened) -> None:
    """Its hash fits what the browser reads, and every row is there to be found."""
    page = opened("hostile")
    assert page.told == []
    page.get_by_role("searchbox").fill("<script>")
    assert len(shown(page)) == 1
