"""The microscope in a real browser: scrubbed by keys, static without scripts, readable on light, dark and a phone."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe

from grader import microscope
from grader.notebook.microscopy.drawing import html_picture
from tests.browser import running_browser
from tests.microscopy.programs import FORGETS, HEAD, RIGHT, loaded, looked

pytestmark = [pytest.mark.full, pytest.mark.browser]
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
PAGE = """<!doctype html><html lang="ko"><head><title>현미경</title><meta name="viewport" content="width=device-width">
<style>body {{ margin: 12px; background: {back}; color: {ink}; color-scheme: {scheme} }}</style></head>
<body><main><h1>노트북</h1><h2>셀</h2><h3>출력</h3>{html}</main></body></html>"""
PAINT = {"light": ("#ffffff", "#111111"), "dark": ("#111111", "#e6e6e6")}
Opened = Callable[..., Any]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with running_browser() as running:
        yield running


@pytest.fixture
def opened(browser: Any) -> Iterator[Opened]:
    """A page with the microscope on it; whatever goes wrong in its script, or to the network, fails the test.

    With `every`, optimizers that the course explains later are on it, too.
    """
    contexts = []
    wrong: list[str] = []

    def opened(
        source: str = FORGETS,
        *,
        width: int = 1280,
        scheme: str = "light",
        copies: int = 1,
        every: bool = False,
        **more: Any,
    ) -> Any:
        contexts.append(browser.new_context(viewport={"width": width, "height": 900}, **more))
        page = contexts[-1].new_page()
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("console", lambda message: message.type == "error" and wrong.append(message.text))
        page.on("request", lambda request: request.url.startswith("http") and wrong.append(request.url))
        back, ink = PAINT[scheme]
        html = html_picture("train_step", looked(source), []) if every else microscope(loaded(source)[0]).html
        html *= copies
        page.set_content(PAGE.format(html=html, back=back, ink=ink, scheme=scheme))
        return page

    yield opened
    for context in contexts:
        context.close()
    assert wrong == []


def now(page: Any) -> str:
    return str(page.locator(".hsm-app input[type=range]").first.get_attribute("aria-valuetext"))


def grads(page: Any, who: str) -> list[str]:
    """The numbers of `.grad` that one side shows."""
    cells = page.locator(f'.hsm-side[aria-label="{who}"] .hsm-grid .hsm-num')
    return list(cells.all_inner_texts()[1::2][:4])


def test_it_opens_where_the_old_gradient_is_added_to(opened: Opened) -> None:
    page = opened()
    assert now(page) == "9/10, 두 번째 호출, backward".replace(", backward", " · backward")
    assert "지우지 않은 g₁에 더해졌어요" in page.locator(".hsm-head").inner_text()
    assert page.locator(".hsm-code .hsm-here").inner_text().split() == ["4", "loss.backward()"]
    mine, right = (
        page.locator(f'.hsm-side[aria-label="{who}"] .hsm-box >> nth=1')
        .locator(".hsm-pill")
        .all_inner_texts()
        for who in ("내 코드", "정답")
    )
    assert (mine, right) == (["g₁", "g₂"], ["g₂"])
    assert all(text.startswith("✗") for text in grads(page, "내 코드"))
    assert not page.locator(".hsm-static").is_visible()


def test_keys_and_buttons_scrub(opened: Opened) -> None:
    page = opened(every=True)
    page.locator(".hsm-app input[type=range]").focus()
    page.keyboard.press("Home")
    assert now(page).startswith("1/10, 첫 번째 호출")
    assert grads(page, "내 코드") == ["None"] * 4
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    assert now(page).startswith("4/10, 첫 번째 호출 · backward")
    filled = grads(page, "내 코드 = 정답")
    assert len(filled) == 4
    assert "None" not in filled
    page.get_by_role("button", name="이전 단계").press("Enter")
    assert now(page).startswith("3/10")
    page.keyboard.press("ArrowRight")  # on the button
    page.keyboard.press("End")
    assert now(page).startswith("10/10, 두 번째 호출 · step")
    page.keyboard.press("ArrowRight")
    assert now(page).startswith("10/10"), "there is nothing beyond the end"
    page.get_by_role("button", name="갈라지는 곳으로").click()
    assert now(page).startswith("9/10")
    page.get_by_role("button", name="AdamW").click()
    assert "exp_avg_sq" in page.locator(".hsm-app").inner_text()
    page.locator(".hsm-chip").first.click()
    assert now(page).startswith("1/10")


def test_equal_sides_are_one(opened: Opened) -> None:
    """Until the programs part; a right program is one side from beginning to end, and the strip one row."""
    page = opened()
    sides, said = page.locator(".hsm-side:visible"), page.locator(".hsm-say > div:visible")
    assert (sides.count(), said.count()) == (2, 2)
    page.locator(".hsm-app input[type=range]").press("Home")
    for _ in range(2):
        page.keyboard.press("ArrowRight")
    assert now(page).startswith("3/10")
    assert (sides.count(), said.count()) == (1, 1)
    assert sides.locator(".hsm-who").inner_text() == "내 코드 = 정답"
    assert page.locator(".hsm-strip .hsm-chip").count() == 2 * 10
    # What only the solution does is not the first thing that the owner of a right program sees.
    clears_late = RIGHT.replace("    opt.zero_grad()\n", "").replace(
        "opt.step()", "opt.step(); opt.zero_grad()"
    )
    late = opened(HEAD + clears_late)
    assert late.locator(".hsm-head").inner_text().startswith("✓")
    assert late.locator(".hsm-chip").first.inner_text() == "없음"
    assert now(late).startswith("2/")
    assert "없어요" not in late.locator(".hsm-say").inner_text()
    late.locator(".hsm-app input[type=range]").press("Home")
    assert "내 코드에는 이 단계가 없어요." in late.locator(".hsm-say").inner_text()
    right = opened(HEAD + RIGHT)
    for key in ("Home", "ArrowRight", "End"):
        right.locator(".hsm-app input[type=range]").press(key)
        assert right.locator(".hsm-side:visible").count() == 1
    assert right.locator(".hsm-lanes .hsm-small:visible").all_inner_texts() == ["내 코드 = 정답"]
    last = now(right)
    right.locator(".hsm-chip").first.click()
    assert (last.split("/")[0], now(right)[:2]) == (str(right.locator(".hsm-chip").count()), "1/")


def test_on_a_phone_in_jupyterlab_nothing_is_cut(opened: Opened) -> None:
    """JupyterLab leaves some 240 pixels: code scrolled in a box of its own, headings broke as `.gr/ad`."""
    page = opened(width=264, every=True)
    page.get_by_role("button", name="AdamW").click()
    for cut in (".hsm-code", ".hsm-box", ".hsm-side"):
        sizes = page.eval_on_selector_all(
            f"{cut}",
            "all => all.map((e) => [e.scrollWidth - e.clientWidth, e.scrollHeight - e.clientHeight])",
        )
        assert all(wide <= 1 and high <= 1 for wide, high in sizes), (cut, sizes)
    heads = page.eval_on_selector_all(".hsm-over", "all => all.map((e) => e.getBoundingClientRect().height)")
    assert max(heads) < 30
    assert "exp_avg_sq: 그레이디언트 제곱의 이동 평균" in page.locator(".hsm-foot").inner_text()
    legend, side = (page.locator(one).first.bounding_box() for one in (".hsm-foot", ".hsm-side"))
    assert legend["y"] < side["y"]


def test_it_plays_and_stops(opened: Opened) -> None:
    page = opened(reduced_motion="reduce")
    page.get_by_role("button", name="처음으로").click()
    page.clock.install()
    page.get_by_role("button", name="재생").click()
    page.clock.run_for(2_700)
    assert now(page).startswith("3/10")
    page.get_by_role("button", name="멈춤").click()
    page.clock.run_for(5_000)
    assert now(page).startswith("3/10")
    assert page.evaluate("document.getAnimations().length") == 0


def test_without_scripts_tables_remain(opened: Opened) -> None:
    page = opened(java_script_enabled=False)
    text = page.locator(".hsm-static").inner_text()
    assert "지우지 않은 g₁에 더해졌어요" in text
    assert "내 코드: g₁ + g₂ · 정답: g₂" in text
    assert page.locator(".hsm-static tr").count() == 5 + 11
    assert page.locator(".hsm-app").count() == 0


def test_two_on_one_page_do_not_meet(opened: Opened) -> None:
    """A notebook keeps the output of each run; the second is built once."""
    page = opened(copies=2)
    assert page.locator(".hsm-app").count() == 2
    page.locator(".hsm-app input").nth(1).press("Home")
    assert now(page).startswith("9/10")


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
@pytest.mark.parametrize("source", [FORGETS, HEAD + RIGHT], ids=("wrong", "right"))
def test_axe_finds_nothing(opened: Opened, source: str, width: int, scheme: str) -> None:
    page = opened(source, width=width, scheme=scheme)
    found = Axe().run(page, options={"runOnly": {"type": "tag", "values": RULES}})
    assert found.response["violations"] == [], found.generate_report()
    assert len(found.response["passes"]) > 15
    assert page.evaluate("document.documentElement.scrollWidth") <= width
