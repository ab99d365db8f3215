"""Report pages and the notebook card in a real browser: readable, reachable, and harmless."""

import json
import sys
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from grader.report.html import feedback_html
from grader.report.write_report import write_report
from tests.browser import running_browser, running_lab
from tests.report import samples

pytestmark = [pytest.mark.full, pytest.mark.browser]


# For every piece of text: its contrast with what is painted behind it, opacity and translucent fills included.
CONTRAST = """() => {
  const parse = (c) => { const m = c.match(/[\\d.]+/g).map(Number); return [m[0], m[1], m[2], m[3] ?? 1]; };
  const over = (a, b) => [0, 1, 2].map(i => a[i] * a[3] + b[i] * (1 - a[3])).concat(1);
  const lum = (c) => { const [r, g, b] = c.slice(0, 3).map(v => { v /= 255;
    return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; }); return .2126 * r + .7152 * g + .0722 * b; };
  const found = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode, text = node.textContent.trim(), own = node.parentElement;
    if (!text || own.closest('style, .unseen') || !own.getClientRects().length) continue;
    const chain = []; for (let e = own; e; e = e.parentElement) chain.unshift(e);
    let back = [255, 255, 255, 1], opacity = 1;
    if (matchMedia('(prefers-color-scheme: dark)').matches) back = [18, 18, 18, 1];
    for (const e of chain) { const s = getComputedStyle(e);
      opacity *= Number(s.opacity); back = over(parse(s.backgroundColor), back); }
    const style = getComputedStyle(own), ink = parse(style.color); ink[3] *= opacity;
    const [a, b] = [lum(over(ink, back)), lum(back)].sort((x, y) => y - x);
    const size = parseFloat(style.fontSize), large = size >= 24 || (size >= 18.66 && style.fontWeight >= 700);
    found.push({text: text.slice(0, 40), ratio: (a + .05) / (b + .05), need: large ? 3 : 4.5});
  }
  return found;
}"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with running_browser() as running:
        yield running


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("report")
    write_report(out, samples.small_class(), samples.course(), when=datetime(2026, 3, 2, 9, 30))
    (out / "cards").mkdir()
    for scheme, back, ink in (
        ("light", "#ffffff", "rgba(0,0,0,.87)"),
        ("dark", "#111111", "rgba(255,255,255,.87)"),
    ):
        cards = "\n".join(
            feedback_html(f, hints=["힌트"], total_hints=4) for f in samples.every_kind().values()
        )
        page = f'<!doctype html><meta charset="utf-8"><body style="background:{back};color:{ink}">{cards}'
        (out / "cards" / f"{scheme}.html").write_text(page, encoding="utf-8")
    return out


def opened(browser: Any, path: Path, *, width: int = 1280, scheme: str = "light") -> Any:
    page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    page.goto(path.as_uri())
    return page


def interesting(report: Path) -> list[Path]:
    """The class, a student with every kind of card, and the student whose texts are hostile."""
    hostile = next((report / "feedback").glob("_script*.html"))
    return [report / "index.html", report / "feedback" / "김하윤.html", hostile]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_has_enough_contrast(browser: Any, report: Path, scheme: str) -> None:
    """WCAG AA on every page and on the card as a notebook shows it, in light and in dark."""
    for path in (*interesting(report), report / "cards" / f"{scheme}.html"):
        page = opened(browser, path, scheme=scheme)
        page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
        found = page.evaluate(CONTRAST)
        assert len(found) > 30, path.name
        assert [f for f in found if f["ratio"] < f["need"]] == [], path.name
        page.close()


@pytest.mark.parametrize("width", [320, pytest.param(390, marks=pytest.mark.full)])
def test_phone_needs_no_sideways_scrolling(browser: Any, report: Path, width: int) -> None:
    """Not the map of mistakes, not the table of the class; a 200-letter name pushes nothing out."""
    for path in (*interesting(report), *sorted((report / "feedback").glob("aaa*.html"))):
        page = opened(browser, path, width=width)
        page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
        assert page.evaluate("document.documentElement.scrollWidth") <= width, path.name
        page.close()


def test_hostile_pages_run_nothing_and_ask_nobody(browser: Any, report: Path) -> None:
    """A student's text opens no dialog, changes nothing, and no page asks for another file."""
    for path in interesting(report):
        page = browser.new_page()
        asked: list[str] = []
        dialogs: list[str] = []
        page.on("request", lambda request, asked=asked: asked.append(request.url))
        page.on("dialog", lambda dialog, dialogs=dialogs: (dialogs.append(dialog.message), dialog.dismiss()))
        page.goto(path.as_uri())
        page.wait_for_timeout(100)
        assert asked == [path.as_uri()]
        assert dialogs == []
        assert page.locator("script").count() == (path.name == "index.html")
        page.close()


def test_headings_are_named_for_screen_readers(browser: Any, report: Path) -> None:
    """Each card of a student's page has a heading, and the list above leads to them."""
    page = opened(browser, report / "feedback" / "김하윤.html")
    assert page.get_by_role("heading", level=3).count() == len(samples.EXERCISES)
    assert page.get_by_role("navigation", name="연습 문제").get_by_role("link").count() == len(
        samples.EXERCISES
    )
    page.close()


def test_print_shows_what_is_folded(browser: Any, report: Path) -> None:
    """Paper has no triangle to click: hints of the mistakes are printed open, on white."""
    page = opened(browser, report / "feedback" / "김하윤.html", scheme="dark")
    hint = page.get_by_text("몇 배일까요?")
    assert not hint.is_visible()
    page.emulate_media(media="print", color_scheme="light")
    assert hint.bounding_box()["height"] > 10
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    page.close()


# ---- JupyterLab ---------------------------------------------------------------------------------------


@pytest.fixture
def jupyterlab(tmp_path: Path) -> Iterator[tuple[str, Path]]:
    """A running JupyterLab with its own settings: its address and its notebook folder."""
    lab = Path(sys.executable).with_name("jupyter-lab")
    if not lab.exists():
        pytest.skip("JupyterLab is not installed beside this Python")
    notebooks, config = tmp_path / "notebooks", tmp_path / "config"
    notebooks.mkdir()
    settings = config / "lab" / "user-settings" / "@jupyterlab" / "apputils-extension"
    settings.mkdir(parents=True)
    (settings / "notification.jupyterlab-settings").write_text('{"fetchNews": "false"}')
    folders = {"JUPYTER_CONFIG_DIR": config, "JUPYTER_DATA_DIR": tmp_path / "data", "HOME": tmp_path}
    command = [str(lab), "--allow-root", f"--ServerApp.root_dir={notebooks}"]
    with running_lab(command, folders, tmp_path / "log") as address:
        yield f"{address}/lab/tree/", notebooks


# Each element as tag and its declarations as the browser understood them, then the text.
SHAPE = """(card) => [[...card.querySelectorAll('*')].map(e => e.tagName + ' ' + [...e.style].sort().map(
  p => p + ':' + e.style.getPropertyValue(p)).join(';')), card.textContent.replace(/\\s+/g, ' ').trim()]"""


@pytest.mark.full  # the quick run has the rules that this was learned from: test_html.py
def test_untrusted_jupyterlab_drops_nothing_of_the_card(
    browser: Any, jupyterlab: tuple[str, Path], tmp_path: Path
) -> None:
    """A notebook from somebody else is sanitized when it is opened: every style and every word must survive."""
    address, notebooks = jupyterlab
    kinds = samples.every_kind()
    cards = [feedback_html(f, hints=["힌트"], total_hints=4) for f in kinds.values()]
    cells = [
        {
            "cell_type": "code",
            "id": f"card{number}",
            "execution_count": 1,
            "metadata": {},
            "source": "",
            "outputs": [{"output_type": "display_data", "metadata": {}, "data": {"text/html": card}}],
        }
        for number, card in enumerate(cards)
    ]
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    document = {"cells": cells, "metadata": kernel, "nbformat": 4, "nbformat_minor": 5}
    (notebooks / "cards.ipynb").write_text(json.dumps(document), encoding="utf-8")
    page = browser.new_page(viewport={"width": 1100, "height": 9000})
    page.goto(address + "cards.ipynb")
    page.wait_for_function(
        f"document.querySelectorAll('.jp-RenderedHTML > div').length === {len(cards)}", timeout=90_000
    )
    trusted = page.evaluate("window.jupyterapp.shell.currentWidget.content.model.cells.get(0).trusted")
    assert trusted is False
    shown = [page.evaluate(SHAPE, e) for e in page.query_selector_all(".jp-RenderedHTML > div")]
    page.close()
    plain = browser.new_page()
    plain.set_content("".join(f"<main>{card}</main>" for card in cards))
    meant = [plain.evaluate(SHAPE, e) for e in plain.query_selector_all("main > div")]
    plain.close()
    assert len(meant) == len(kinds)
    for kind, one, other in zip(kinds, meant, shown, strict=True):
        assert other[1] == one[1], kind
        assert other[0] == one[0], kind
