"""In JupyterLab a notebook is unsaved only if it was changed, a check saves it, and the microscope has the keys."""

from typing import Any

import nbformat
import pytest

from tests.browser import text_of
from tests.workspace.conftest import Started
from tests.workspace.test_jupyterlab_in_browser import COURSE, THREE_MISTAKES

pytestmark = [pytest.mark.full, pytest.mark.browser, pytest.mark.xdist_group("lab")]

IS_DIRTY = """() => [...jupyterapp.shell.widgets('main')]
  .find((one) => one.context?.model?.cells).context.model.dirty"""


def opened(lab: Started, page: Any, name: str, *more: Any) -> None:
    """Open a notebook of an exercise's cell and its check, with text above."""
    code, text = nbformat.v4.new_code_cell, nbformat.v4.new_markdown_cell
    cells = [
        code("from grader import check, hint, microscope"),
        text("## 앞의 절"),
        code(THREE_MISTAKES, metadata={"tags": ["exercise:train_step"]}),
        code("check(train_step)", metadata={"tags": ["check"]}),
        *more,
        text("## 다음 절"),
    ]
    metadata = nbformat.read(COURSE.parts[0].notebook, as_version=4).metadata
    nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata=metadata), lab.folder / f"{name}.ipynb")
    page.goto(f"{lab.address}/lab/tree/{name}.ipynb?reset")
    page.wait_for_selector("text=Python 3 (ipykernel) | 대기 >> visible=true")


def test_opening_a_notebook_changes_nothing_in_it_and_a_check_saves_it(lab: Started, page: Any) -> None:
    """What had passed was gone after the page was left: progress kept the pass, the file had no code."""
    opened(lab, page, "saved")
    file = lab.folder / "saved.ipynb"
    before = file.read_bytes()
    page.wait_for_timeout(1500)  # JupyterLab learns the kernel's version of Python
    assert page.evaluate(IS_DIRTY) is False
    writing, checking = (page.locator(".jp-CodeCell").nth(number) for number in (1, 2))
    page.click(".jp-Notebook .jp-CodeCell >> nth=0")
    page.keyboard.press("Control+Enter")
    writing.locator(".cm-content").click()
    page.keyboard.press("Control+End")
    page.keyboard.insert_text("  # mine")
    page.wait_for_timeout(300)
    assert page.evaluate(IS_DIRTY) is True, "what the learner has written counts"
    assert file.read_bytes() == before
    page.keyboard.press("Shift+Enter")
    page.keyboard.press("Control+Enter")
    checking.get_by_text("실수를").first.wait_for()
    page.wait_for_function(f"() => !({IS_DIRTY})()")
    saved = nbformat.read(file, as_version=4).cells
    assert "# mine" in saved[2].source
    assert "실수를" in str(saved[3].outputs)


def test_the_microscope_takes_the_arrows_as_soon_as_it_is_there(lab: Started, page: Any) -> None:
    """JupyterLab went to the next heading, until a button of the microscope was pressed."""
    opened(lab, page, "arrows")
    page.click(".jp-Notebook .jp-CodeCell >> nth=0")
    for _ in range(4):
        page.keyboard.press("Shift+Enter")
    page.locator(".hanstep-acts button", has_text="현미경").click()
    slider = page.get_by_role("slider", name="단계")
    slider.wait_for()
    page.wait_for_function("() => document.activeElement.classList.contains('hsm-app')")
    looking = page.locator(".jp-CodeCell", has=page.locator(".hsm-app"))

    def pressed(key: str) -> str:
        page.keyboard.press(key)
        assert "jp-mod-active" in looking.get_attribute("class")
        return str(slider.input_value())

    at = int(slider.input_value())
    assert pressed("ArrowLeft") == str(at - 1)
    assert pressed("ArrowRight") == str(at)
    page.locator(".hsm-head").click()
    assert pressed("ArrowLeft") == str(at - 1)
    page.locator(".hsm-code li").first.click()
    assert pressed("ArrowLeft") == str(at - 2)
    page.locator(".hsm-head").click()
    page.keyboard.press("Shift+Enter")  # other keys are JupyterLab's
    page.wait_for_function("() => !document.activeElement.closest('.hsm-app')")
    assert "다음 절" in text_of(page.locator(".jp-Notebook .jp-Cell.jp-mod-active"))
