"""Drill and clinic in JupyterLab: a clock beside the cell that one writes in; line and symptom are clicked."""

import re
import shutil
from typing import Any

import nbformat
import pytest

from tests.browser import text_of, texts_of
from tests.workspace.conftest import Started
from tests.workspace.test_road_in_browser import LESSON, Notebook

pytestmark = [pytest.mark.full, pytest.mark.browser, pytest.mark.xdist_group("lab")]

CLINIC = """import random
from grader.course.reading import load_course
from grader.practice import case, clinic_cell, visit

one = case.draw(load_course().exercise("mend_step"), ["step-before-backward"], random.Random(1))
clinic_cell.visits = lambda *_, **__: iter([visit.Visit(one, random)])
clinic("mend_step")"""
"""A cell that hands out this mistake, whatever chance would draw."""
BODY = "loss = loss_fn(model(xb), yb)\n    loss.backward()\n    opt.step()\n    return loss.item()"


def test_a_drill_and_a_case_of_the_clinic(lab: Started, page: Any) -> None:
    shutil.rmtree(lab.progress, ignore_errors=True)
    page.set_default_timeout(25_000)
    page.goto(f"{lab.address}/lab/tree/{LESSON.parts[-1].place}")
    page.wait_for_selector("text=Python 3 (ipykernel) | 대기 >> visible=true")
    lesson = Notebook(page)
    first = lesson.cells.filter(has=page.locator(".cm-content")).first  # the ones before are folded
    first.wait_for()
    lesson.write(first, "from grader import clinic, drill\ndrill()")
    page.keyboard.press("Shift+Enter")
    clock = page.locator(".hanstep-clock")
    clock.filter(has_text=re.compile(r"0:0\d")).wait_for()
    page.keyboard.insert_text(BODY)  # nothing was clicked: the cell is written in
    page.keyboard.press("Shift+Enter")
    writing = lesson.cell("drill(train_step_drill)")
    writing.locator(".jp-Cell-outputArea", has_text="시계는 계속 가고 있어요").wait_for()
    assert "NotImplementedError" not in text_of(writing)
    page.wait_for_timeout(500)  # JupyterLab goes on to the next cell before the focus comes back
    page.keyboard.insert_text("  # still here")
    assert "# still here" in text_of(writing)
    assert "zero_grad" not in text_of(writing.locator(".jp-Cell-outputArea")), "the symptom alone"
    whole = "\n".join(texts_of(writing.locator(".cm-line"))).replace(
        "opt.step()", "opt.step(); opt.zero_grad()"
    )
    lesson.write(writing, whole)
    page.keyboard.press("Shift+Enter")
    page.locator(".hanstep-clock[data-done]").wait_for()
    assert "걸렸어요" in text_of(writing)

    lesson.write(first, CLINIC)
    lesson.runs = 3
    lesson.run(first)
    lines = page.locator("[data-hanstep-line][role=button]")
    lines.first.click()  # an import
    marked = lesson.cell("clinic(line=")
    marked.first.locator(".jp-Cell-outputArea", has_text="import에는 틀린 것이 없어요").wait_for()

    # A second case, below: its reply stands under its own card, and the first card answers no click any more.
    lesson.cell("clinic(mend_step_clinic)").evaluate("cell => (cell.id = 'second')")
    second = page.locator("#second")
    lesson.write(second, CLINIC)
    lesson.runs = 5
    lesson.run(second)
    choices = second.locator("[data-hanstep-line][role=button]")
    choices.nth(1).click()
    reply = second.locator("xpath=following::div[contains(@class,'jp-CodeCell')][1]")
    reply.locator(".jp-Cell-outputArea", has_text="빈 줄이에요").wait_for()
    assert "import에는 틀린 것이 없어요" in text_of(marked.first)
    assert lines.count() == choices.count() > 0
    acts = page.locator(".hanstep-acts button").filter(has_not_text="힌트")  # exercises below have theirs
    acts.filter(has_text="코드에서 다시 고르기").click()
    assert texts_of(acts) == ["답 보기", "코드에서 다시 고르기"], texts_of(acts)
    choices.first.wait_for()
    choices.nth(7).click()  # a wrong choice lets one choose again
    reply.locator(".jp-Cell-outputArea", has_text="찾았어요!").wait_for()
    page.wait_for_timeout(500)
    assert lines.count() == 0
    assert texts_of(acts) == ["다음 코드"]
    page.locator(".jp-InputPlaceholder", has_text="끝난 코드").first.wait_for()
    acts.click()
    page.locator(".jp-CodeCell .cm-content", has_text=re.compile(r"^clinic\(\)$")).wait_for()


CARD = """from IPython.display import HTML
from grader.report.html import note_html

def clinic(*_, **__):
    return HTML(note_html(["새 코드"], code="a = 1\\nb = 2", numbered=True, choices=["a: 하나", "b: 둘"], pick=True))

clinic("mend_step")"""
"""A cell with a card of the clinic that asks for a line and a symptom."""


def test_after_a_symptom_the_clinic_asks_for_the_line(lab: Started, page: Any) -> None:
    """One click alone changes nothing else: what is left to click is said."""
    opened(lab, page, "symptoms", CARD)
    told = page.locator(".hanstep-next")
    symptoms, lines = (page.locator(f"[data-hanstep-{kind}][role=button]") for kind in ("symptom", "line"))
    symptoms.first.click()
    told.filter(has_text="증상을 골랐어요. 이제 코드에서 틀린 줄을 누르세요.").wait_for()
    lines.first.click()  # both are chosen: they are handed in
    page.locator(".jp-CodeCell", has_text='clinic(line=1, symptom="a")').wait_for()


def test_a_refused_symptom_leads_back_and_what_was_right_stays(lab: Started, page: Any) -> None:
    """The reply stood below a long card, and asked for the line again although it was right."""
    case = CLINIC.replace("mend_step", "accumulate").replace(
        "step-before-backward", "missing-zero-grad-after-step"
    )
    case = case.replace("random)])", "random.Random(1))])")
    opened(lab, page, "refused", f"from grader import clinic\n{case}")
    lines, symptoms = (page.locator(f"[data-hanstep-{kind}][role=button]") for kind in ("line", "symptom"))
    lines.first.wait_for()
    at = next(n for n, text in enumerate(texts_of(lines)) if "opt.step()" in text)
    lines.nth(at).click()
    symptoms.filter(has_text="벌써 매개변수가 달라요").click()
    reply = page.locator(".jp-Cell-outputArea", has_text="증상만 다시 골라 보세요")
    reply.wait_for()
    assert re.search(r"매개변수는 정답과 같아요. 예: .* 둘 다 -?\d", " ".join(text_of(reply).split()))
    page.get_by_role("button", name="코드에서 다시 고르기").click()
    assert page.locator("[data-hanstep-line][aria-pressed=true]").count() == 1
    symptoms.filter(has_text="두 번째 업데이트에서 달라져요").click()
    page.locator(".jp-Cell-outputArea", has_text="찾았어요!").wait_for()


def test_progress_opens_the_clinic(lab: Started, page: Any) -> None:
    """It told the command; the next exercise is a link."""
    shutil.rmtree(lab.progress, ignore_errors=True)
    opened(lab, page, "progress", "from grader import progress\nprogress()")
    button = page.get_by_role("button", name="클리닉 열기")
    button.wait_for()
    assert "여는 명령" not in text_of(page.locator(".jp-Cell-outputArea").first)
    button.click()
    page.locator(".jp-Cell-outputArea", has_text="이 함수에는 실수가").wait_for()


def test_while_a_drill_runs_what_shows_the_answer_is_folded(lab: Started, page: Any) -> None:
    """The drill's cell stood right below the clinic's answer, all lines in view."""
    code = f"def train_step(model, opt, loss_fn, xb, yb):\n    {BODY}"
    hidden = "<pre>loss_' 'fn(model(xb), yb)</pre><div data-hanstep-over></div>"
    answer = f"from IPython.display import HTML\nHTML('{hidden}')"
    opened(lab, page, "folded", code, answer, "from grader import drill\ndrill()")
    for _ in range(3):
        page.keyboard.press("Shift+Enter")
    page.locator(".hanstep-clock").wait_for()
    lesson = Notebook(page)
    shown = page.locator(".jp-CodeCell .cm-content, .jp-OutputArea-output", has_text="loss_fn(model")
    page.wait_for_function("() => document.querySelectorAll('.jp-InputPlaceholder').length === 1")
    assert shown.filter(visible=True).count() == 0
    assert page.locator(".jp-Cell-outputWrapper .jp-PlaceholderText").count() == 0, "it shows the HTML's text"
    away = page.get_by_text("드릴이 끝날 때까지 가려 두었어요")
    away.wait_for()
    page.keyboard.insert_text(BODY.replace("opt.step()", "opt.step()\n    opt.zero_grad()"))
    page.keyboard.press("Control+Enter")
    page.locator(".hanstep-clock[data-done]").wait_for()
    lesson.cell("def train_step(").wait_for()
    assert shown.filter(visible=True).count() == 3
    assert away.count() == 0


def opened(lab: Started, page: Any, name: str, *codes: str) -> None:
    """Open a new notebook of these cells, and run the first one."""
    notebook = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell(code) for code in codes],
        metadata=nbformat.read(LESSON.parts[0].notebook, as_version=4).metadata,
    )
    nbformat.write(notebook, lab.folder / f"{name}.ipynb")
    page.goto(f"{lab.address}/lab/tree/{name}.ipynb?reset")
    page.wait_for_selector("text=Python 3 (ipykernel) | 대기 >> visible=true")
    page.click(".jp-Notebook .jp-CodeCell >> nth=0")
    page.keyboard.press("Control+Enter")
