"""A learner's first road in lesson 01: run, read, take a hint, mend, pass, look through the microscope, predict."""

import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from grader.course.conditions import full_text
from grader.course.reading import load_course
from grader.learner.history import history
from grader.learner.rewards import load_rewards
from grader.learner.store import Store
from tests.browser import text_of, texts_of
from tests.workspace.conftest import Started

pytestmark = [pytest.mark.full, pytest.mark.browser, pytest.mark.xdist_group("lab")]

LESSON = load_course().lessons[0]
EXERCISE = load_course().exercise("mend_step")
ASKED = LESSON.predictions[0]
MISTAKE, LINE = "missing-step", "opt.step()"
_JOINER = "\u2060?"


class Notebook:
    """The open lesson, as hands and eyes have it."""

    def __init__(self, page: Any) -> None:
        self.page = page
        self.runs = 0

    @property
    def cells(self) -> Any:
        """Its code cells; JupyterLab may have opened what was open the last time, too, in a tab behind it."""
        return self.page.locator(".jp-NotebookPanel:not(.lm-mod-hidden) .jp-CodeCell")

    def cell(self, source: str) -> Any:
        """The code cell that shows this."""
        return self.cells.filter(has=self.page.locator(".jp-InputArea", has_text=source))

    def run(self, cell: Any) -> Any:
        """Run a cell by its prompt and the keyboard; its output, once it is done."""
        cell.locator(".jp-InputPrompt >> visible=true").first.click()  # a folded cell has another one
        self.page.keyboard.press("Control+Enter")
        self.runs += 1
        number = (
            "([cell, text]) => cell.style.getPropertyValue('--hanstep-prompt').includes(text)"  # also folded
        )
        self.page.wait_for_function(number, arg=[cell.element_handle(), f"[{self.runs}]:"])
        return cell.locator(".jp-Cell-outputArea")

    def write(self, cell: Any, source: str) -> None:
        """Put something else into a cell."""
        cell.locator(".cm-content").click()
        self.page.keyboard.press("Control+a")
        self.page.keyboard.insert_text(source)


def shown(output: Any, text: str) -> None:
    """Wait until a learner reads this in an output, wherever its lines break."""
    # Word joiners keep a particle with the code before it.
    words = [_JOINER.join(map(re.escape, word)) for word in text.replace("`", "").replace("**", "").split()]
    output.filter(has_text=re.compile(r"\s*".join(words))).first.wait_for(state="attached")


def test_from_the_first_check_to_the_first_prediction(lab: Started, page: Any) -> None:
    """The first pass takes four actions: run the function and its check, add the line, run the function again.

    Afterwards the page is opened again, and a mistake is made anew.
    """
    shutil.rmtree(lab.progress, ignore_errors=True)  # a new learner, whatever tests before have predicted
    page.goto(lab.address)
    page.wait_for_url(f"**/lab/tree/{LESSON.parts[0].place}")
    page.wait_for_selector(
        "text=Python 3 (ipykernel) | 대기 >> visible=true"
    )  # keys that come before the kernel are lost
    lesson = Notebook(page)
    lesson.run(lesson.cells.nth(0))  # the package, which is there
    writing, checking = lesson.cell("def mend_step("), lesson.cell("check(mend_step)")
    given = "\n".join(texts_of(writing.locator(".cm-line")))
    lesson.run(writing)
    card = lesson.run(checking)
    mistake = next(one for one in EXERCISE.mistakes if one.id == MISTAKE)
    shown(card, mistake.title)
    shown(card, full_text(mistake.explain))

    acts = checking.locator(".hanstep-acts button")
    asking = lesson.cell('hint("mend_step")')
    assert asking.locator(".hanstep-acts").count() == 0  # its button is on the card now
    acts.filter(has_text="힌트").click()
    lesson.runs += 1
    hint = asking.locator(".jp-Cell-outputArea")
    shown(hint, "힌트 1/2 · 생각할 것")  # the card has said already which line is missing, and where
    shown(hint, mistake.hint)
    assert mistake.title.replace("`", "") not in text_of(hint).replace("\u2060", "")
    shown(card, "남은 힌트는 1개예요.")
    acts.filter(has_text="다음 힌트 (2/2)").click()
    lesson.runs += 1
    shown(hint, "정답을 볼까요?")
    acts.filter(has_text="정답 보기").wait_for()
    assert "def mend_step" not in text_of(hint)

    right = given.replace("    loss.backward()", f"    loss.backward()\n    {LINE}")
    acts.filter(has_text="현미경").click()
    lesson.runs += 1
    looking = lesson.cell("microscope(mend_step)")
    shown(looking, "내 코드는 매개변수를 한 번도 옮기지 않았어요")

    lesson.write(writing, right.replace(LINE, LINE.removesuffix(")")))
    lesson.run(writing)
    lesson.runs += 1  # the check follows by itself
    shown(card, "위 셀이 실행되지 않았어요")
    lesson.write(writing, right)
    lesson.run(checking)
    page.get_by_text("지금 코드는 아직 실행하지 않았어요").wait_for()
    checking.locator(".hanstep-stale button").click()
    lesson.runs += 2
    shown(card, "통과")
    checking.locator(".hanstep-stale").wait_for(state="detached")
    shown(asking.locator(".hanstep-stale"), "고치기 전의 코드에 대한 힌트예요.")
    looking.locator(".hanstep-stale button").click()
    lesson.runs += 1
    looking.locator(".hanstep-stale").wait_for(state="detached")
    looking.get_by_text("한 번도 옮기지 않았어요").wait_for(state="detached")
    shown(card, EXERCISE.because)
    shown(card, "XP")
    won = {one.id: one for one in load_rewards().achievements}
    overcome = won["mistake-overcome"]
    shown(card, f"새 업적 「{overcome.title}」: {overcome.text}")
    assert mistake.title.replace("`", "") not in text_of(card).replace("\u2060", "")

    slider = page.get_by_role("slider", name="단계")
    slider.wait_for()
    last = int(slider.get_attribute("max"))
    slider.press("Home")
    assert moment(slider).startswith("1/")
    slider.press("ArrowRight")
    assert moment(slider).startswith("2/")
    box = slider.bounding_box()
    slider.drag_to(slider, target_position={"x": box["width"] - 1, "y": box["height"] / 2})
    assert moment(slider).startswith(f"{last + 1}/{last + 1}, ")

    letter = next(iter(ASKED.wrong))
    page.locator(f"[data-hanstep-choice='{ASKED.id}']").filter(has_text=f"{letter}:").click()
    experiment = lesson.cell(f'reveal("{ASKED.id}")').locator(".jp-Cell-outputArea")
    shown(experiment, f"내 예측 {letter} → 결과 {ASKED.answer}.")
    shown(experiment, ASKED.because)
    shown(experiment, f"새 업적 「{won['first-prediction'].title}」: {won['first-prediction'].text}")
    assert_written(lab.progress)

    # The same page opened again, with the outputs that were saved: the card still follows the code.
    page.keyboard.press("Escape")
    page.keyboard.press("Control+s")
    page.locator(".jp-mod-dirty").wait_for(state="detached")
    page.reload()
    page.wait_for_selector("text=Python 3 (ipykernel) | 대기 >> visible=true")
    shown(card, "통과")
    lesson.write(writing, given)
    page.keyboard.press("Control+Enter")
    shown(card, mistake.title)  # the check follows by itself


def moment(slider: Any) -> str:
    return str(slider.get_attribute("aria-valuetext"))


def assert_written(home: Path) -> None:
    """What stays when JupyterLab is closed."""
    told = history(Store(home).read())
    assert told.letters[ASKED.id] == next(iter(ASKED.wrong))
    assert told.verdicts[ASKED.id] is False
    entry = told.exercise(EXERCISE.name)
    assert (entry.passed, entry.tries, entry.hints_used) == (True, 2, 1)
    assert told.mistakes[EXERCISE.name, MISTAKE].once_mastered
    assert {"first-prediction", "mistake-overcome"} <= told.achievements.keys()
