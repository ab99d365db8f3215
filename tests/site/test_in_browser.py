"""The site in a real browser, opened as files: searched, answered, on a phone, in the dark, printed, scriptless."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe

from grader.report.plain_text import JOINER
from grader.site.descriptions import page_name
from tests.browser import running_browser
from tests.site.built import the_course

pytestmark = [pytest.mark.full, pytest.mark.browser, pytest.mark.xdist_group("site")]

RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
LESSONS = the_course().lessons
ASKED = LESSONS[0].predictions[0]
FIRST = page_name(
    next(p for p in LESSONS[0].parts if f'"{ASKED.id}"' in p.source.read_text(encoding="utf-8"))
)
"""Page that asks the first prediction."""
DRAWN = page_name(
    next(p for p in the_course().parts if "image/svg" in p.executed.read_text(encoding="utf-8"))
)
"""First page with a drawing."""
EXERCISE = page_name(LESSONS[0].part_of("train_step"))
Opened = Callable[..., Any]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with running_browser() as running:
        yield running


@pytest.fixture
def opened(browser: Any, site: Path) -> Iterator[Opened]:
    """Opens a page of the site as a file, offline; what the console says is in `page.told`."""
    contexts = []

    def open_page(
        name: str = "index",
        *,
        width: int = 1280,
        scheme: str = "light",
        script: bool = True,
        motion: str = "no-preference",
    ) -> Any:
        contexts.append(
            browser.new_context(
                viewport={"width": width, "height": 844 if width < 500 else 900},
                color_scheme=scheme,
                reduced_motion=motion,
                java_script_enabled=script,
                offline=True,
                has_touch=width < 500,
            )
        )
        page = contexts[-1].new_page()
        page.told = []
        page.on("console", lambda message: page.told.append(message.text))
        page.on("pageerror", lambda error: page.told.append(str(error)))
        path, _, query = name.partition("?")
        page.goto((site / f"{path}.html").as_uri() + (f"?{query}" if query else ""))
        return page

    yield open_page
    for context in contexts:
        context.close()


def found(page: Any) -> list[str]:
    return page.locator("#search-found a").evaluate_all("links => links.map(a => a.getAttribute('href'))")


def test_korean_and_english_find_the_same(opened: Opened) -> None:
    """From the sidebar of any page; with particles, without spaces, by the other names of the glossary."""
    page = opened(FIRST)
    box = page.get_by_role("searchbox", name="검색")
    box.fill("기울기 누적")
    box.press("Enter")
    page.wait_for_url("**/search.html?q=*")
    by_korean = found(page)
    assert by_korean[0] == "glossary.html#term-gradient-accumulation"
    assert any(address.startswith(f"{LESSONS[0].name}/") for address in by_korean)
    query = page.get_by_label("찾을 말")
    for other in (
        "gradient accumulation",
        "Gradient  Accumulation",
        "기울기를 누적",
        "기울기누적",
        "기울기 누적을",
        "기울기 누적이란",
        "기울기누적하기",
        "그레이디언트 누적",
    ):
        query.fill(other)
        assert found(page) == by_korean, other
    assert f"이 말이 나오는 절과 용어 {len(by_korean)}개" in page.get_by_role("status").inner_text()
    query.fill("zero_grad")
    assert any(address.startswith("gallery.html#") for address in found(page))
    query.fill("<b>없는 말</b>")
    assert found(page) == []
    assert "맞는 곳이 없습니다" in page.get_by_role("status").inner_text()
    query.fill("기울기 누적")
    page.locator("#search-found a").nth(1).click()
    page.wait_for_url("**#*")
    assert page.evaluate("document.getElementById(decodeURIComponent(location.hash.slice(1))) !== null")
    assert page.told == []


@pytest.mark.parametrize(
    ("typed", "first"),
    [
        ("zero grad", f"{LESSONS[0].name}/"),
        ("ZeroGrad", f"{LESSONS[0].name}/"),
        ("optimizer.zero_grad()", f"{LESSONS[0].name}/"),
        ("warm-up", "glossary.html#term-warmup"),
        ("학습률 예열", f"{LESSONS[2].name}/3_warmup.html#"),
        ("그라디언트 클리핑", "glossary.html#term-gradient-clipping"),
        ("grad clip", "glossary.html#term-gradient-clipping"),
        ("backpropagation", "glossary.html#term-backward-pass"),
        ("optimzer", "glossary.html#term-optimizer"),
        ("옵티마이져", "glossary.html#term-optimizer"),
        ("드랍아웃", "glossary.html#term-dropout"),
        ("micro batch", "glossary.html#term-micro-batch"),
        ("평가모드", "glossary.html#term-evaluation-mode"),
        ("gradient descent", ""),
        ("배치 사이즈", ""),
        ("데이터로더", ""),
        ("그레이디언트를 왜 지우나요", f"{LESSONS[0].name}/"),
        ("손실이 안 줄어요", ""),
        ("설치", ""),
        ("colab", "index.html#"),
    ],
)
def test_what_learners_type_is_found(opened: Opened, typed: str, first: str) -> None:
    """Other words, other spaces, slips of the finger, whole questions."""
    page = opened("search")
    page.get_by_label("찾을 말").fill(typed)
    addresses = found(page)
    assert addresses, page.get_by_role("status").inner_text()
    assert addresses[0].startswith(first), addresses[:3]
    assert page.told == []


@pytest.mark.parametrize(
    ("typed", "begins"),
    [
        ("기울기 누적", "01_five_line_step/4_accumulation_loop.html#"),
        ("클리핑", "03_bells_and_whistles/5_clipping.html#"),
        ("학습률", "02_loop_anatomy/4_schedules.html#"),
        ("워밍업", "03_bells_and_whistles/3_warmup.html#"),
        ("에폭", "01_five_line_step/5_one_epoch.html#"),
        ("유효 배치 크기", "01_five_line_step/3_why_accumulation_works.html#"),
        ("가중치 감쇠", "03_bells_and_whistles/2_adam_steps.html#"),
        ("배치 정규화", "04_sam_accumulation/5_two_forwards.html#"),
        ("혼합 정밀도", "02_loop_anatomy/2_clipping_and_16_bits.html#"),
        ("오버플로", "02_loop_anatomy/3_skipped_steps.html#"),
        ("체크포인트", "02_loop_anatomy/6_best_checkpoint.html#"),
        ("평가 모드", "01_five_line_step/6_evaluation_and_switches.html#"),
        ("시드", "02_loop_anatomy/1_seeds.html#"),
        ("첨예도", "04_sam_accumulation/5_two_forwards.html#"),
    ],
)
def test_after_its_definition_comes_the_part_that_is_about_it(
    opened: Opened, typed: str, begins: str
) -> None:
    """Accumulation led to a heading of the overview, then to a section on the scaler; its own part was fourth."""
    page = opened("search")
    page.get_by_label("찾을 말").fill(typed)
    definition, part, *_ = found(page)
    assert definition.startswith("glossary.html#term-")
    assert part.startswith(begins)


@pytest.mark.parametrize(
    ("typed", "begins"),
    [("AdamW", "06_why_it_does_not_learn/2_adamw.html#"), ("zero_grad", "01_five_line_step/")],
)
def test_what_is_no_term_begins_with_its_part(opened: Opened, typed: str, begins: str) -> None:
    page = opened("search")
    page.get_by_label("찾을 말").fill(typed)
    assert found(page)[0].startswith(begins)


def test_search_says_what_it_changed_and_left_out(opened: Opened) -> None:
    page = opened("search")
    page.get_by_label("찾을 말").fill("optimzer 꿔바로우")
    told = page.get_by_role("status").inner_text()
    assert "「optimzer」 대신 찾은 말: optimizer" in told
    assert "「꿔바로우」: 나오는 곳이 없어" in told
    # An excerpt begins with a whole word.
    page.get_by_label("찾을 말").fill("zero_grad")
    excerpts = page.evaluate("[...document.querySelectorAll('#search-found p')].map(p => p.textContent)")
    assert not any("★" in one for one in excerpts)  # how hard a section is, is none of its text
    texts = " ".join(page.evaluate("SEARCH_INDEX.sections.map(s => s.text)"))
    assert all(f" {one[2:20]}" in texts for one in excerpts if one.startswith("… "))


@pytest.mark.parametrize("key", ["/", "Control+k"])
def test_a_key_leads_to_the_search(opened: Opened, key: str) -> None:
    page = opened(FIRST)
    page.keyboard.press(key)
    page.keyboard.type("a/b")
    assert page.get_by_role("searchbox", name="검색").input_value() == "a/b"
    narrow = opened(FIRST, width=390)
    narrow.keyboard.press(key)
    narrow.wait_for_url("**/search.html")
    narrow.get_by_label("찾을 말").fill("zero_grad")
    assert found(narrow)


def test_everything_fits_a_phone(opened: Opened) -> None:
    """Tables that are too wide become blocks of labelled lines, formulas get smaller; nothing scrolls sideways."""
    page = opened(FIRST, width=390)
    page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    page.wait_for_timeout(300)
    wide = page.evaluate("""() => [...document.querySelectorAll('.table-wrapper, .formula, .hanstep-figure img')]
      .filter(e => e.scrollWidth > e.clientWidth + 1 || e.getBoundingClientRect().right > 391)
      .map(e => e.textContent.slice(0, 60))""")
    assert wide == []
    cell = page.locator("table.stacked td[data-label]").first
    head = page.locator("table.stacked thead th").nth(1)
    assert cell.get_attribute("data-label") == head.text_content()
    sides = "cells => [...new Set(cells.map((cell) => getComputedStyle(cell).textAlign))]"
    for table in page.locator("table.stacked").all():
        assert len(table.locator("td[data-label]").evaluate_all(sides)) == 1, "short and long values alike"


def test_lines_break_between_words(opened: Opened) -> None:
    """No line of a phone begins with the particle of the code, bracket or formula before it."""
    page = opened(FIRST, width=390)
    page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    broken = page.evaluate("""() => {
      const found = [], walker = document.createTreeWalker(document.querySelector('article'), NodeFilter.SHOW_TEXT);
      const at = (node, index) => {
        const r = document.createRange(); r.setStart(node, index); r.setEnd(node, index + 1);
        return r.getBoundingClientRect();
      };
      while (walker.nextNode()) {
        const node = walker.currentNode;
        for (const { index } of node.data.matchAll(/\u2060/g)) {
          const before = index > 0 ? at(node, index - 1) : node.previousSibling?.getBoundingClientRect();
          const after = at(node, index + 1);
          if (before && after.height && after.top > before.bottom - 2) found.push(node.data.slice(index, index + 12));
        }
      }
      return found;
    }""")
    assert broken == []


def test_code_in_a_sentence_is_nearly_as_large_as_its_text_and_on_its_line(opened: Opened) -> None:
    """It was 81 % of the text."""
    page = opened(FIRST)
    found = page.evaluate("""() => [...document.querySelectorAll('article p > code.literal')].map((code) => {
      const style = getComputedStyle(code), around = getComputedStyle(code.parentElement);
      return [parseFloat(style.fontSize) / parseFloat(around.fontSize), style.verticalAlign];
    })""")
    assert found
    assert all(share >= 0.92 and align == "baseline" for share, align in found)


def test_a_fingers_copy_button_covers_no_code(opened: Opened) -> None:
    page = opened(FIRST, width=390)
    over, below = page.evaluate("""() => {
      const blocks = [...document.querySelectorAll('.highlight:has(button.copy)')]
        .filter(block => block.getClientRects().length);
      const covered = blocks.filter(block => {
        const button = block.querySelector('button.copy').getBoundingClientRect();
        return [...block.querySelectorAll('.line')].slice(0, 3).some(line => {
          const range = document.createRange(); range.selectNodeContents(line);
          return [...range.getClientRects()]
            .some(r => r.width && r.top < button.bottom - 2 && r.bottom > button.top + 2);
        });
      });
      const late = blocks.filter(block => {
        const first = block.querySelector('.line').getBoundingClientRect();
        return first.top - block.getBoundingClientRect().top > 20;
      });
      return [covered.length, late.length];
    }""")
    assert over == 0
    assert below == 0, "a blank line above the code"


def test_the_choices_stand_on_the_buttons(opened: Opened) -> None:
    """One click answers; the list of choices is for those without a script."""
    page = opened(FIRST)
    asked = page.get_by_role("group", name=f"예측 {ASKED.id}", exact=True)
    texts = asked.get_by_role("button").all_inner_texts()
    assert [text.split()[0] for text in texts] == list(ASKED.choices)
    assert all(len(text) > 4 for text in texts)
    assert not page.locator("ul", has_text=f"{ASKED.choices[0]}: ").first.is_visible()
    unscripted = opened(FIRST, script=False)
    assert unscripted.locator("li", has_text=f"{ASKED.choices[0]}: ").first.is_visible()


@pytest.mark.parametrize("width", [390, 1280])
def test_the_first_screen_asks_and_one_click_answers(opened: Opened, width: int) -> None:
    """The question, its choices and the button to start stand above the fold of a phone."""
    page = opened(width=width)
    start = page.locator(".landing-start .button")
    assert start.bounding_box()["y"] + start.bounding_box()["height"] <= 844
    assert page.locator(".landing-why").is_visible() is False
    page.locator(".landing-ask .predict button").first.click()
    assert "→ 결과" in page.locator(".predict-result").inner_text()
    page.locator(".landing-why a").click()
    page.wait_for_url("**/01_*/*.html")
    assert page.told == []


def test_the_microscope_moves_until_it_is_taken_in_hand(opened: Opened) -> None:
    page = opened(width=390)
    slider = page.locator(".landing-microscope input[type=range]")
    page.locator(".landing-microscope").scroll_into_view_if_needed()
    page.evaluate("document.querySelector('.landing-microscope').scrollIntoView({block: 'center'})")
    page.locator(".landing-microscope").get_by_role("button", name="멈춤").wait_for(timeout=10_000)
    at = slider.input_value()
    page.wait_for_function(
        f"document.querySelector('.landing-microscope input').value !== '{at}'", timeout=10_000
    )
    page.locator(".landing-microscope").get_by_role("button", name="다음 단계").click()
    taken = slider.input_value()
    page.wait_for_timeout(4000)
    assert slider.input_value() == taken


@pytest.mark.parametrize("width", [390, 1280])
def test_the_page_keeps_its_place_while_the_microscope_moves(opened: Opened, width: int) -> None:
    page = opened(width=width, motion="reduce")
    stage = page.locator(".landing-microscope")
    stage.get_by_role("button", name="처음으로").click()
    heights = set()
    for _ in range(int(stage.locator("input").get_attribute("max")) + 1):
        heights.add(stage.bounding_box()["height"])
        stage.get_by_role("button", name="다음 단계").click()
    assert len(heights) == 1


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_strip_of_events_is_whole(opened: Opened, scheme: str) -> None:
    """It began with 「ro_grad」, above a scrollbar."""
    strip = opened(scheme=scheme, motion="reduce").locator(".landing-microscope .hsm-strip")
    assert strip.evaluate("e => e.scrollWidth <= e.clientWidth + 1")


def test_the_glossary_is_compact(opened: Opened) -> None:
    page = opened("glossary")
    heights = page.locator("section[id^=term-]").evaluate_all("all => all.map(e => e.offsetHeight)")
    assert sorted(heights)[len(heights) // 2] < 160, "four terms stood on a screen"


def test_the_microscope_stands_still_where_motion_is_unwanted(opened: Opened) -> None:
    page = opened(width=390, motion="reduce")
    page.evaluate("document.querySelector('.landing-microscope').scrollIntoView({block: 'center'})")
    at = page.locator(".landing-microscope input[type=range]").input_value()
    page.wait_for_timeout(4000)
    assert page.locator(".landing-microscope input[type=range]").input_value() == at


def test_every_choice_stands_on_its_button(opened: Opened) -> None:
    """Also where code stands between the question's text and its buttons."""
    asking = [
        part for part in the_course().parts if any("predict(" in "".join(c["source"]) for c in part.cells())
    ]
    page = opened()
    site = page.url.removesuffix("index.html")
    for part in asking:
        page.goto(f"{site}{page_name(part)}.html")
        bare = page.evaluate(
            "[...document.querySelectorAll('.predict:not(.predict-whole)')].map(box => box.dataset.id)"
        )
        assert not bare, part.place


def test_a_prediction_is_answered_on_the_page_and_remembered(opened: Opened) -> None:
    page = opened(FIRST)
    asked = page.get_by_role("group", name=f"예측 {ASKED.id}", exact=True)
    experiment = page.locator(f"details.experiment[data-after='{ASKED.id}']").first
    assert asked.get_by_role("status").inner_text() == ""
    assert experiment.get_attribute("open") is None
    wrong = next(iter(ASKED.wrong))
    asked.locator(f"button[value='{wrong}']").click()
    told = asked.get_by_role("status").inner_text().replace(JOINER, "")
    assert f"내 예측 {wrong} → 결과 {ASKED.answer}" in told
    assert ASKED.because.replace("`", "") in told
    assert ASKED.wrong[wrong].replace("`", "") in told
    assert experiment.get_attribute("open") is not None
    right = asked.locator(f"button[value='{ASKED.answer}']")
    marks = {button: asked.locator(f"button[value='{button}'] .predict-mark") for button in ASKED.choices}
    said = {letter: mark.all_inner_texts() for letter, mark in marks.items()}
    others = {letter: [] for letter in ASKED.choices}
    assert said == {**others, wrong: ["내 예측"], ASKED.answer: ["✓ 결과"]}, (
        "a border alone told the two apart"
    )
    right.press("Enter")
    assert marks[ASKED.answer].inner_text() == "내 예측 · ✓ 결과"
    assert "맞았습니다" in asked.get_by_role("status").inner_text()
    assert right.get_attribute("aria-pressed") == "true"
    page.reload()
    assert (
        "맞았습니다"
        in page.get_by_role("group", name=f"예측 {ASKED.id}", exact=True).get_by_role("status").inner_text()
    )
    assert page.told == []


def test_the_theme_is_switched_and_drawings_follow(opened: Opened) -> None:
    page = opened(DRAWN)
    ground = "getComputedStyle(document.body).backgroundColor"
    scheme = "getComputedStyle(document.querySelector('.hanstep-figure img')).colorScheme"
    light = page.evaluate(ground)
    assert page.evaluate(scheme) == "light"
    for _ in range(3):
        if page.evaluate("document.body.dataset.theme") == "dark":
            break
        page.locator(".theme-toggle:visible").click()
    assert page.evaluate(ground) != light
    assert page.evaluate(scheme) == "dark"


def test_a_term_tells_its_note_and_escape_closes_it(opened: Opened) -> None:
    page = opened(FIRST)
    term = page.locator("a.term").first
    term.focus()
    note = page.get_by_role("tooltip")
    assert note.is_visible()
    assert len(note.inner_text()) > 10
    assert term.get_attribute("aria-describedby") == "term-note"
    page.keyboard.press("Escape")
    assert not note.is_visible()
    page.locator("a.term").nth(1).hover()
    assert note.is_visible()


def test_code_is_copied(opened: Opened) -> None:
    page = opened(EXERCISE)
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    block = page.locator(".tag_exercise .highlight", has_text="def train_step(").first
    block.hover()
    block.get_by_role("button", name="복사").click()
    block.get_by_role("button", name="복사됨").wait_for()
    assert page.evaluate("navigator.clipboard.readText()").startswith("def train_step(")


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
@pytest.mark.parametrize("name", ["index", "en", FIRST, "gallery", "glossary", "search?q=기울기"])
def test_axe_finds_nothing_and_nothing_stands_out(opened: Opened, name: str, width: int, scheme: str) -> None:
    """WCAG 2.2 AA as far as a program can tell, with everything folded out; no page scrolls sideways."""
    page = opened(name, width=width, scheme=scheme)
    page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    page.evaluate("document.querySelector('.predict button')?.click()")
    # What is folded out fades in (myst-nb): half faded in, its contrast would be measured too low.
    page.evaluate("Promise.all(document.getAnimations().map(animation => animation.finished))")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    # A lesson's later sections are made of the same things, and axe would look through them for a minute.
    page.evaluate(
        "[...document.querySelectorAll('article > section > section')].slice(3).forEach(s => s.remove())"
    )
    page.evaluate(
        "[...document.querySelectorAll('.highlight pre')].slice(6).forEach(p => { p.textContent = ''; })"
    )
    assert page.told == []  # axe itself looks for styles that a file may not read
    result = Axe().run(
        page, options={"runOnly": {"type": "tag", "values": RULES}, "resultTypes": ["violations"]}
    )
    assert result.response["violations"] == [], result.generate_report()


def test_a_phones_menu_opens_by_keyboard(opened: Opened) -> None:
    page = opened(FIRST, width=390)
    menu = page.get_by_role("button", name="메뉴 펼치기")
    menu.press("Enter")
    link = page.locator(".sidebar-drawer").get_by_role("link", name="용어집")
    link.wait_for(state="visible")
    link.click()
    page.wait_for_url("**/glossary.html")


@pytest.mark.parametrize("width", [390, 1280])
def test_the_keyboard_reaches_what_can_be_seen_only(opened: Opened, width: int) -> None:
    """Not a menu that is away; and where the focus is can be seen."""
    page = opened("search", width=width)
    seen = []
    for _ in range(30):
        page.keyboard.press("Tab")
        page.wait_for_timeout(50)
        stop = page.evaluate("""() => {
          const e = document.activeElement, r = e.getBoundingClientRect();
          const ring = (x) => getComputedStyle(x).outlineStyle !== 'none';
          const inside = r.left >= 0 && r.right <= innerWidth + 1;
          return e === document.body ? null : {what: e.className, inside, ring: ring(e) || ring(e.parentElement)};
        }""")
        if stop is None:
            break
        seen.append(stop)
    assert len(seen) > 5
    assert [one for one in seen if not (one["inside"] and one["ring"])] == []


def test_without_script_everything_can_be_read(opened: Opened) -> None:
    page = opened(FIRST, script=False)
    assert page.locator("details.experiment").first.is_visible()
    assert not page.locator(".predict button").first.is_visible()
    assert page.locator(".predict noscript").first.inner_text() != ""
    page.locator("details.experiment > summary").first.click()
    assert page.locator("details.experiment .cell_output").first.is_visible()


def test_paper_gets_the_experiments_and_no_buttons(opened: Opened) -> None:
    page = opened(FIRST, scheme="dark")
    page.emulate_media(media="print")
    assert not page.locator(".predict").first.is_visible()
    assert not page.locator("button.copy").first.is_visible()
    assert page.locator("details.experiment .cell_output").first.is_visible()
    assert not page.locator(".experiment-wait").first.is_visible()
    cut = "[...document.querySelectorAll('.highlight pre')].filter(p => p.scrollWidth > p.clientWidth).length"
    assert page.evaluate(cut) == 0, "paper does not scroll"
