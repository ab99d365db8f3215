"""A learner in JupyterLab: Korean menus and lines, figures of the theme's colours, predictions by mouse and by key."""

import io
import re
import shutil
from pathlib import Path
from typing import Any

import nbformat
import pytest
from PIL import Image

from grader import plots
from grader.course.reading import load_course
from tests.browser import text_of, texts_of
from tests.workspace.conftest import Started

pytestmark = [pytest.mark.full, pytest.mark.browser, pytest.mark.xdist_group("lab")]

COURSE = load_course()
FIRST, SECOND = COURSE.lessons[1].predictions[:2]  # the road of test_road_in_browser.py is in lesson 01
PLOT = """
from matplotlib import pyplot as plt
from grader.plots import COLORS, show, use_course_style

use_course_style()
figure, axis = plt.subplots()
axis.set(xlabel="스텝", ylabel="손실")
axis.axhspan(0.4, 0.6, color=COLORS["text"])  # letters are too thin: some screens draw no pixel in their full colour
show(figure, "띠 하나가 있는 그림입니다.")
"""


@pytest.fixture(scope="module")
def opened(lab: Started, page: Any) -> Any:
    """The page with a short notebook open that stands beside the lessons."""
    cell = nbformat.v4.new_code_cell
    cells = [
        cell("from grader import predict, reveal"),
        *(cell(f'{call}("{one.id}")') for one in (FIRST, SECOND) for call in ("predict", "reveal")),
        cell(PLOT),
        cell("folded = 1", metadata={"jupyter": {"source_hidden": True}}),
        nbformat.v4.new_markdown_cell("업데이트에는 마지막 마이크로 배치만 들어갔습니다."),
    ]
    metadata = nbformat.read(COURSE.parts[0].notebook, as_version=4).metadata
    nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata=metadata), lab.folder / "short.ipynb")
    page.goto(f"{lab.address}/lab/tree/short.ipynb?reset")  # without what another test left open
    page.wait_for_selector(".jp-Notebook .jp-Cell")
    return page


@pytest.fixture(scope="module")
def ran(opened: Any) -> Any:
    """The page with every cell run, one after the other: nothing chosen yet."""
    page = opened
    page.wait_for_selector("text=Python 3 (ipykernel) | 대기")  # keys that come before the kernel are lost
    page.click(".jp-Notebook .jp-CodeCell >> nth=0")
    for number in range(6):
        page.keyboard.press("Shift+Enter")
        page.wait_for_selector(f".jp-CodeCell >> nth={number} >> text=[{number + 1}]:")
    return page


def test_its_menus_are_korean_and_nothing_is_asked(opened: Any) -> None:
    opened.wait_for_selector("text=파일 >> nth=0")
    assert opened.locator(".jp-Dialog").count() == 0
    assert opened.locator("text=Would you like").count() == 0


def test_no_empty_screen_follows_the_last_cell_and_code_is_not_cut(opened: Any) -> None:
    opened.locator(".cm-content.cm-lineWrapping").first.wait_for()
    assert opened.locator(".jp-mod-scrollPastEnd").count() == 0


def test_lines_break_between_korean_words(opened: Any) -> None:
    paragraph = opened.wait_for_selector(".jp-RenderedMarkdown p")
    assert paragraph.evaluate("e => getComputedStyle(e).wordBreak") == "keep-all"


def test_nothing_is_told_before_a_choice(ran: Any) -> None:
    """What an experiment shows stays behind its line, which opens."""
    said = text_of(ran.locator(".jp-Notebook"))
    assert said.count("위에서 예측을 먼저 골라 보세요.") == 2
    assert said.count("결과는 고를 때까지 가려 둡니다") == 2
    assert "아직 예측을 고르지 않아" not in said
    ran.click(".hanstep-veil summary >> nth=1")
    ran.wait_for_selector("text=아직 예측을 고르지 않아 >> visible=true")
    said = text_of(ran.locator(".jp-Notebook"))
    assert said.count("아직 예측을 고르지 않아") == 1
    for one in (FIRST, SECOND):
        assert one.because[:12] not in said


def test_a_folded_cell_shows_whether_it_has_run(ran: Any) -> None:
    """Its prompt is not in the page; it stays folded while it runs."""
    folded = ran.locator(".jp-CodeCell", has_text="folded = 1")
    place = folded.locator(".jp-Placeholder-prompt")
    shown = "e => getComputedStyle(e, '::before').content"
    assert place.evaluate(shown) == '"[ ]:"'
    ran.click(".jp-CodeCell >> nth=5 >> .jp-InputArea-prompt")
    ran.keyboard.press("Shift+Enter")
    ran.keyboard.press("Shift+Enter")
    ran.wait_for_function(f"e => ({shown})(e) === '\"[8]:\"'", arg=place.element_handle())
    assert folded.locator(".jp-InputArea-editor").count() == 0


def test_a_folded_cell_opens_by_its_dots_only(ran: Any) -> None:
    """A click selects it, so that the keys run it; its button runs it, too."""
    folded = ran.locator(".jp-CodeCell", has_text="folded = 1")
    active = ran.locator(".jp-Notebook .jp-Cell.jp-mod-active")
    folded.locator(".jp-PlaceholderText").click()
    assert "folded = 1" in text_of(active)
    ran.keyboard.press("Control+Enter")
    shown = "e => getComputedStyle(e, '::before').content"
    place = folded.locator(".jp-Placeholder-prompt").element_handle()
    ran.wait_for_function(f"e => ({shown})(e) === '\"[9]:\"'", arg=place)
    folded.get_by_role("button", name="실행").click()
    ran.wait_for_function(f"e => ({shown})(e) === '\"[10]:\"'", arg=place)
    assert folded.locator(".jp-InputArea-editor").count() == 0
    folded.locator(".jp-MoreHorizIcon").click()
    folded.locator(".jp-InputArea-editor").wait_for()


def test_a_choice_by_mouse_finds_its_reason(ran: Any, tmp_path: Path) -> None:
    letter = sorted(FIRST.wrong)[0]
    ran.click(f".jp-CodeCell >> nth=1 >> button:has-text('{letter}')")
    ran.wait_for_selector(f"text=내 예측 {letter} → 결과 {FIRST.answer} >> visible=true")
    shown = text_of(ran.locator(".jp-CodeCell >> nth=2")).replace("\n", " ")
    assert without_marks(FIRST.wrong[letter])[:30] in shown
    assert without_marks(FIRST.because)[:30] in shown


def test_a_choice_by_keyboard_finds_its_reason(ran: Any) -> None:
    letter = SECOND.answer
    ran.focus(f".jp-CodeCell >> nth=3 >> button:has-text('{letter}')")
    ran.keyboard.press("Space")
    ran.wait_for_selector(f"text=내 예측 {letter} → 결과 {letter}")
    assert without_marks(SECOND.because)[:30] in text_of(ran.locator(".jp-CodeCell >> nth=4")).replace(
        "\n", " "
    )


@pytest.mark.parametrize("theme", ["JupyterLab Dark", "JupyterLab Light"])
def test_a_figure_stands_on_the_ground_of_the_theme(ran: Any, theme: str) -> None:
    """The ground in a corner of the picture is the notebook's, and its ink the theme's."""
    palette = plots.DARK_COLORS if theme == "JupyterLab Dark" else plots.COLORS
    ran.evaluate(f"window.jupyterapp.commands.execute('apputils:change-theme', {{theme: '{theme}'}})")
    ran.wait_for_selector(f"body[data-jp-theme-name='{theme}']", state="attached")
    ran.wait_for_selector("#jupyterlab-splash", state="detached")  # its veil fades out over the notebook
    ground = ran.eval_on_selector(".jp-NotebookPanel-notebook", "e => getComputedStyle(e).backgroundColor")
    picture = ran.locator(".hanstep-figure img")
    picture.scroll_into_view_if_needed()
    # Until it is decoded, its place is painted without it.
    picture.evaluate("e => e.decode().then(() => new Promise(requestAnimationFrame))")
    image = Image.open(io.BytesIO(picture.screenshot())).convert("RGB")
    colors = {color: count for count, color in image.getcolors(maxcolors=image.width * image.height)}
    assert image.getpixel((3, 3)) == rgb(palette["panel"]) == tuple(map(int, re.findall(r"\d+", ground)))
    assert rgb(palette["text"]) in colors
    assert picture.get_attribute("alt") == "띠 하나가 있는 그림입니다."


def rgb(color: str) -> tuple[int, ...]:
    return tuple(bytes.fromhex(color.removeprefix("#")))


def without_marks(text: str) -> str:
    return text.replace("`", "").replace("**", "")


def test_on_a_narrow_screen_the_lesson_has_the_room(ran: Any) -> None:
    """Last: JupyterLab's list of files would leave a telephone a strip of it."""
    ran.set_viewport_size({"width": 390, "height": 844})
    ran.wait_for_selector("#jp-left-stack", state="hidden")
    assert ran.locator(".jp-Notebook").bounding_box()["width"] > 250


# ---- one action a prediction -----------------------------------------------------------------------

ASKED, ALONE = COURSE.lessons[2].predictions[:2]
FOLDED = {"tags": ["folded"], "jupyter": {"source_hidden": True}}
QUESTION = "**예측 1.** 무엇이 나올까요?\n\n- a: 하나\n- b: 둘\n- c: 셋"


@pytest.fixture
def questions(lab: Started, page: Any) -> Any:
    """A notebook with two questions, nothing run: names from the first cell, an experiment, what it shows.

    Code stands between each question and its `predict`, as where a program is judged or names are imported.
    """
    code, text = nbformat.v4.new_code_cell, nbformat.v4.new_markdown_cell
    cells = [code("from grader import predict, reveal\nbegun = 1")]
    for one in (ASKED, ALONE):
        cells += [
            text(QUESTION),
            code("judged = 'a program'"),
            code(f'predict("{one.id}")', metadata={"tags": ["predict"]}),
            code("print('experiment', begun + 1)"),
            code(f'reveal("{one.id}")'),
            code("# 그림: 3초쯤 걸립니다\nprint('asks', 'for time')", metadata=FOLDED),
            text("이 설명은 답을 말합니다."),
            code("print('one more')"),
            text("이것도 답을 말합니다.\n\n## 다음 절\n\n이어지는 글입니다."),
        ]
    metadata = nbformat.read(COURSE.parts[0].notebook, as_version=4).metadata
    nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata=metadata), lab.folder / "questions.ipynb")
    page.set_viewport_size({"width": 1280, "height": 900})
    page.goto(f"{lab.address}/lab/tree/questions.ipynb?reset")
    page.wait_for_selector("text=Python 3 (ipykernel) | 대기")
    for one in (ASKED, ALONE):  # Markdown is drawn cell by cell, and its choices become buttons after that
        page.wait_for_selector(f"[data-hanstep-choice='{one.id}'] >> nth=2", state="attached")
    return page


def is_veiled(text: Any) -> bool:
    """Whether a line stands in the place of the text: the style sheet says it after the text."""
    return bool(text.evaluate("e => getComputedStyle(e, '::after').content.includes('예측을 고르면')"))


def choices(page: Any, prediction: str) -> Any:
    return page.locator(f"[data-hanstep-choice='{prediction}']")


def page_marks(page: Any, prediction: str) -> dict[str, str]:
    """The letters of the choices that are marked -> as what."""
    return {
        text_of(item).strip()[0]: "right"
        if "hanstep-right" in (item.get_attribute("class") or "")
        else "pressed"
        for item in choices(page, prediction).all()
        if "hanstep-right" in (item.get_attribute("class") or "")
        or item.get_attribute("aria-pressed") == "true"
    }


def test_shift_enter_and_arrows_pass_by_a_hidden_cell(questions: Any) -> None:
    """`predict(...)` is hidden, since its choices can be clicked: the page stays at them."""
    page = questions
    page.click(".jp-Notebook .jp-CodeCell >> nth=0")
    active = page.locator(".jp-Notebook .jp-Cell.jp-mod-active")
    page.keyboard.press("Shift+Enter")
    assert "예측 1." in text_of(active)
    page.keyboard.press("Shift+Enter")
    above, experiment = "judged =", "print('experiment'"
    for key, shown in (("Shift+Enter", experiment), ("ArrowUp", above), ("ArrowDown", experiment)):
        page.keyboard.press(key)
        page.wait_for_timeout(300)
        assert shown in text_of(active), key
        assert in_view(page, active), key
    assert in_view(page, choices(page, ASKED.id).first)


def test_one_click_runs_the_experiment_and_reveals(questions: Any) -> None:
    """In a kernel in which nothing has run; the other question stays closed. Then one key does the same."""
    letter = sorted(ASKED.wrong)[0]
    rendered = questions.locator(".jp-RenderedMarkdown")
    explained = rendered.get_by_text("이 설명은 답을 말합니다.")
    assert [choices(questions, one.id).count() for one in (ASKED, ALONE)] == [3, 3]
    assert is_veiled(explained.first)
    choices(questions, ASKED.id).filter(has_text=f"{letter}:").click()
    questions.wait_for_selector(f"text=내 예측 {letter} → 결과 {ASKED.answer} >> visible=true")
    assert questions.locator(".jp-OutputArea", has_text="experiment 2").count() == 1
    assert not is_veiled(explained.first)
    assert is_veiled(explained.nth(1))
    assert is_veiled(rendered.get_by_text("이것도 답을 말합니다.").nth(1)), "behind a cell without a question"
    assert rendered.get_by_text("이어지는 글입니다.").nth(1).is_visible(), "the next topic is not hidden"
    assert questions.get_by_text("asks for time").count() == 0, "what one waits for does not run unasked"
    marked = page_marks(questions, ASKED.id)
    assert marked == {letter: "pressed", ASKED.answer: "right"}

    letter = ALONE.answer
    choices(questions, ALONE.id).filter(has_text=f"{letter}:").focus()
    questions.keyboard.press("Enter")
    questions.wait_for_selector(f"text=내 예측 {letter} → 결과 {letter}. 맞았습니다 >> visible=true")
    assert questions.locator(".jp-OutputArea", has_text="experiment 2").count() == 2


def test_after_a_choice_the_cursor_stands_behind_its_experiment(lab: Started, questions: Any) -> None:
    """Also if the experiment had been run before, when it could only ask for a choice. Elsewhere, it stays there."""
    shutil.rmtree(lab.progress, ignore_errors=True)  # tests before have chosen
    page = questions
    active = page.locator(".jp-Notebook .jp-Cell.jp-mod-active")
    page.click(".jp-Notebook .jp-CodeCell >> nth=0")
    for _ in range(5):
        page.keyboard.press("Shift+Enter")
    page.wait_for_selector("text=아직 예측을 고르지 않아", state="attached")
    behind = "3초쯤"
    assert behind in text_of(active)
    choices(page, ASKED.id).first.click()
    page.wait_for_selector(f"text=→ 결과 {ASKED.answer} >> visible=true")
    page.wait_for_timeout(500)
    assert behind in text_of(active)
    assert in_view(page, page.locator("[data-prediction]").first)

    elsewhere = page.locator(".jp-Notebook .jp-CodeCell").first
    choices(page, ALONE.id).first.click()
    elsewhere.click()
    page.wait_for_selector(f"[data-prediction='{ALONE.id}']")
    page.wait_for_timeout(500)
    assert "begun = 1" in text_of(active)


def test_a_cell_that_the_learner_runs_again_meanwhile_keeps_the_verdict(lab: Started, page: Any) -> None:
    """JupyterLab gives up the first run of a cell that is run twice."""
    code, text = nbformat.v4.new_code_cell, nbformat.v4.new_markdown_cell
    cells = [
        code("from grader import predict, reveal\nimport time"),
        text(QUESTION),
        code(f'predict("{ALONE.id}")', metadata={"tags": ["predict"]}),
        code("print('begins')\ntime.sleep(3)\nprint('experiment')"),
        code(f'reveal("{ALONE.id}")'),
        text("## 다음 절"),
    ]
    metadata = nbformat.read(COURSE.parts[0].notebook, as_version=4).metadata
    nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata=metadata), lab.folder / "twice.ipynb")
    page.goto(f"{lab.address}/lab/tree/twice.ipynb?reset")
    page.wait_for_selector("text=Python 3 (ipykernel) | 대기")
    choices(page, ALONE.id).first.click()
    page.get_by_text("begins", exact=True).wait_for()
    page.locator(".jp-Notebook .jp-CodeCell", has_text="time.sleep(3)").click()
    page.keyboard.press("Shift+Enter")
    page.wait_for_selector(f"text=→ 결과 {ALONE.answer} >> visible=true")


def test_a_choice_before_the_kernel_is_there_says_what_it_waits_for(lab: Started, page: Any) -> None:
    """It said that the experiment runs, while nothing ran yet."""
    code = nbformat.v4.new_code_cell
    cells = [
        code("from grader import predict, reveal"),
        nbformat.v4.new_markdown_cell(QUESTION),
        code(f'predict("{ALONE.id}")', metadata={"tags": ["predict"]}),
        code(f'reveal("{ALONE.id}")'),
    ]
    metadata = nbformat.read(COURSE.parts[0].notebook, as_version=4).metadata
    nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata=metadata), lab.folder / "early.ipynb")
    held: list[Any] = []
    page.route(
        re.compile(r"/api/sessions"),
        lambda route: held.append(route) if route.request.method == "POST" else route.continue_(),
    )
    page.goto(f"{lab.address}/lab/tree/early.ipynb?reset")
    choice = choices(page, ALONE.id).first
    choice.click()
    says = "e => getComputedStyle(e, '::after').content"
    assert "커널을 준비하고 있어요" in choice.evaluate(says)
    for route in held:
        route.continue_()
    page.unroute_all()
    page.wait_for_selector(f"text=→ 결과 {ALONE.answer} >> visible=true")
    assert "준비하고" not in choice.evaluate(says)


def test_a_choice_made_while_another_runs_is_kept(lab: Started, page: Any) -> None:
    """Two questions share an experiment. The second is answered while what prepares it runs: both have a verdict.

    What is folded behind the experiment runs with it, up to the next heading, and each cell runs once.
    """
    code, text = nbformat.v4.new_code_cell, nbformat.v4.new_markdown_cell
    one, other = COURSE.lessons[2].predictions[2:4]
    slow = "# 준비: 느림\nimport time\nfrom grader import predict, reveal\ntime.sleep(4)\nruns = 0"
    cells = [
        code(slow, metadata=FOLDED),
        text(QUESTION),
        code(f'predict("{one.id}")', metadata={"tags": ["predict"]}),
        text(QUESTION.replace("예측 1", "예측 2")),
        code(f'predict("{other.id}")', metadata={"tags": ["predict"]}),
        code(f'runs += 1\nreveal("{one.id}")'),
        code(f'# 그림\nreveal("{other.id}")', metadata=FOLDED),
        code("# 확인\nprint('checked', runs)", metadata=FOLDED),
        text("아래 그림에서도 보입니다."),
        code("# 그림: 설명한 것\nprint('explained', runs)", metadata=FOLDED),
        text("끝으로 한마디입니다.\n\n## 다음 절\n\n다음 글입니다."),
        code("# 그림: 다음\nprint('not yet')", metadata=FOLDED),
    ]
    metadata = nbformat.read(COURSE.parts[0].notebook, as_version=4).metadata
    nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata=metadata), lab.folder / "race.ipynb")
    page.goto(f"{lab.address}/lab/tree/race.ipynb?reset")
    page.wait_for_selector("text=Python 3 (ipykernel) | 대기")
    first = choices(page, one.id).filter(has_text=f"{one.answer}:")
    second = choices(page, other.id).filter(has_text=f"{other.answer}:")
    first.click()
    says = "e => getComputedStyle(e, '::after').content"
    assert "실행하고 있어요" in first.evaluate(says)
    assert page.get_by_text("예측을 먼저 골라").count() == 0
    second.click()
    assert "실행하고 있어요" in second.evaluate(says)
    for asked in (one, other):
        page.wait_for_selector(
            f"text=내 예측 {asked.answer} → 결과 {asked.answer}. 맞았습니다 >> visible=true"
        )
    for shown in ("checked 1", "explained 1"):
        page.get_by_text(shown).wait_for()
    page.wait_for_timeout(500)
    assert page.get_by_text("not yet", exact=True).count() == 0
    assert page.get_by_text("예측을 먼저 골라").count() == 0
    for item in (first, second):
        assert "실행하고" not in item.evaluate(says)


# ---- the card of a check ---------------------------------------------------------------------------

THREE_MISTAKES = """def train_step(model, opt, loss_fn, xb, yb):
    loss = loss_fn(model(xb), yb)
    opt.step()
    loss.backward()
    return loss
"""


BELOW = """cell => document.querySelector('.jp-WindowedPanel-outer').getBoundingClientRect().bottom
  - cell.getBoundingClientRect().bottom"""
"""Pixels below a cell."""


def in_view(page: Any, element: Any) -> bool:
    box, outer = element.bounding_box(), page.locator(".jp-WindowedPanel-outer").first.bounding_box()
    return bool(outer["y"] <= box["y"] and box["y"] + box["height"] <= outer["y"] + outer["height"])


def test_after_a_check_its_headline_is_in_view_and_what_comes_next_is_a_click(
    lab: Started, page: Any
) -> None:
    """By Shift+Enter, which goes on to the next cell; of a program with several mistakes, on a small screen."""
    code, text = nbformat.v4.new_code_cell, nbformat.v4.new_markdown_cell
    filler = "\n\n".join(["긴 글입니다."] * 30)
    cells = [
        code("from grader import check, hint"),
        text(filler),
        code(THREE_MISTAKES, metadata={"tags": ["exercise:train_step"]}),
        code("check(train_step)", metadata={"tags": ["check"]}),
        code('# 막히면 아래 줄의 #을 지우고 실행하세요\n# hint("train_step")', metadata={"tags": ["hint"]}),
        text(filler),
        text("## 다음 절"),
    ]
    metadata = nbformat.read(COURSE.parts[0].notebook, as_version=4).metadata
    nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata=metadata), lab.folder / "card.ipynb")
    page.set_viewport_size({"width": 1280, "height": 700})
    page.goto(f"{lab.address}/lab/tree/card.ipynb?reset")
    page.wait_for_selector("text=Python 3 (ipykernel) | 대기")
    page.click(".jp-Notebook .jp-CodeCell >> nth=0")
    for _ in range(4):
        page.keyboard.press("Shift+Enter")
    headline = page.get_by_text("실수를").first
    headline.wait_for()
    page.wait_for_timeout(500)
    assert in_view(page, headline)
    acts = page.locator(".hanstep-acts button")
    assert texts_of(acts) == ["힌트", "현미경", "이어서 읽기"]
    acts.nth(0).click()
    hint = page.locator(".jp-CodeCell", has=page.locator(".cm-content", has_text='hint("train_step")'))
    hint.locator(".jp-OutputArea-output").first.wait_for()
    assert text_of(hint.locator(".cm-content")) == 'hint("train_step")'
    page.wait_for_timeout(500)
    assert in_view(page, hint.get_by_text(re.compile(r"힌트 1/\d")).first)
    assert in_view(page, hint.locator(".hanstep-acts button"))
    gap = page.evaluate(BELOW, hint.element_handle())
    assert gap < 4, "no further than needed: the function stays in view above as far as there is room"
    card = page.locator(".jp-CodeCell", has=page.locator(".cm-content", has_text="check(train_step)"))
    acts = card.locator(".hanstep-acts button")
    acts.nth(1).click()
    page.get_by_role("slider", name="단계").wait_for()
    acts.nth(2).click()
    assert text_of(page.locator(".jp-Notebook .jp-MarkdownCell.jp-mod-active")).startswith("긴 글")


def test_the_next_hint_is_a_button_below_the_last_one(lab: Started, page: Any) -> None:
    """Before any check and after one, up to the answer, which is asked for once more; a new page has it too."""
    shutil.rmtree(lab.progress, ignore_errors=True)  # a new learner
    code = nbformat.v4.new_code_cell
    right = "\n".join(line for line in THREE_MISTAKES.splitlines() if "opt.step" not in line)
    right = right.replace("    loss.backward()", "    opt.zero_grad()\n    loss.backward()\n    opt.step()")
    cells = [
        code("from grader import check, hint"),
        code(right, metadata={"tags": ["exercise:train_step"]}),
        code("check(train_step)", metadata={"tags": ["check"]}),
        code('# 막히면 아래 줄의 #을 지우고 실행하세요\n# hint("train_step")', metadata={"tags": ["hint"]}),
    ]
    metadata = nbformat.read(COURSE.parts[0].notebook, as_version=4).metadata
    nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata=metadata), lab.folder / "ladder.ipynb")
    page.goto(f"{lab.address}/lab/tree/ladder.ipynb?reset")
    page.wait_for_selector("text=Python 3 (ipykernel) | 대기")
    asking = page.locator(".jp-CodeCell").nth(3)
    button = asking.locator(".hanstep-acts button")
    first, total = "다음 힌트 (2/", len(COURSE.exercise("train_step").hints)
    button.filter(has_text="힌트").click()
    button.filter(has_text=f"{first}{total})").wait_for()

    page.click(".jp-Notebook .jp-CodeCell >> nth=0")
    for _ in range(3):
        page.keyboard.press("Shift+Enter")
    checking = page.locator(".jp-CodeCell").nth(2)
    checking.locator(".hanstep-acts button", has_text="힌트").click()
    for number, name in ((1, "생각할 것"), (2, "고칠 줄")):
        asking.get_by_text(f"힌트 {number}/3 · {name}").first.wait_for()
        following = button.filter(has_text=f"({number + 1}/3)")
        following.wait_for()
        on_card = checking.locator(".hanstep-acts button", has_text="힌트")
        assert text_of(on_card) == text_of(following) == f"다음 힌트 ({number + 1}/3)"
        checking.get_by_text(f"남은 힌트는 {3 - number}개예요.").wait_for()
        following.click()
    asking.get_by_text("정답을 볼까요?").wait_for()
    told = text_of(asking.locator(".jp-OutputArea-output")).replace("\u2060", "")
    assert "그래도 막히면 아래의 「정답 보기」를 누르세요." in " ".join(told.split())
    assert "answer=True" not in told, "the button is right below"
    page.keyboard.press("Control+s")
    page.wait_for_timeout(1000)
    page.goto(f"{lab.address}/lab/tree/ladder.ipynb?reset")
    page.wait_for_selector("text=Python 3 (ipykernel) | 대기")
    button.filter(has_text="정답 보기 (3/3)").click()
    asking.get_by_text("def train_step").first.wait_for()
    button.wait_for(state="detached")

    # What was seen before the code was mended says so, and the card keeps its buttons, also on a new page.
    checking.locator(".hanstep-acts button", has_text="현미경").click()
    page.get_by_role("slider", name="단계").wait_for()
    writing = page.locator(".jp-CodeCell").nth(1)
    writing.locator(".cm-content").click()
    page.keyboard.press("Control+a")
    page.keyboard.insert_text(right.replace("return loss", "return loss.item()"))
    page.keyboard.press("Shift+Enter")  # the check follows by itself: its output is of an earlier page
    for _ in range(2):
        checking.get_by_text("통과했어요").first.wait_for()
        stale = page.locator(".hanstep-stale")
        stale.nth(1).wait_for()
        marks = ["고치기 전의 코드에 대한 힌트예요.", "고치기 전의 코드예요. 다시 보기"]
        assert sorted(text.strip() for text in texts_of(stale)) == marks
        acts = checking.locator(".hanstep-acts button")
        acts.filter(has_text="이어서 읽기").wait_for()
        assert texts_of(acts) == ["현미경", "이어서 읽기"]
        page.keyboard.press("Control+s")
        page.wait_for_timeout(1000)
        page.goto(f"{lab.address}/lab/tree/ladder.ipynb?reset")
        page.wait_for_selector("text=Python 3 (ipykernel) | 대기")


def test_while_code_is_changed_what_was_seen_of_it_says_so(lab: Started, page: Any) -> None:
    """Card, hint and microscope have no colours until the code is as it was, or has been checked again."""
    shutil.rmtree(lab.progress, ignore_errors=True)  # a new learner
    code = nbformat.v4.new_code_cell
    cells = [
        code("from grader import check, hint, microscope"),
        code(THREE_MISTAKES, metadata={"tags": ["exercise:train_step"]}),
        code("check(train_step)", metadata={"tags": ["check"]}),
        code('hint("train_step")', metadata={"tags": ["hint"]}),
        code("microscope(train_step)"),
    ]
    metadata = nbformat.read(COURSE.parts[0].notebook, as_version=4).metadata
    nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata=metadata), lab.folder / "stale.ipynb")
    page.goto(f"{lab.address}/lab/tree/stale.ipynb?reset")
    page.wait_for_selector("text=Python 3 (ipykernel) | 대기")
    page.click(".jp-Notebook .jp-CodeCell >> nth=0")
    for _ in range(5):
        page.keyboard.press("Shift+Enter")
    page.get_by_role("slider", name="단계").wait_for()
    stale, writing = page.locator(".hanstep-old"), page.locator(".jp-CodeCell").nth(1)
    assert stale.count() == 0

    writing.locator(".cm-content").click()
    page.keyboard.press("Control+End")
    page.keyboard.insert_text("  ")  # spaces at the end are no change
    page.wait_for_timeout(600)
    page.keyboard.insert_text("# mended")
    stale.nth(2).wait_for()
    assert sorted(text.strip() for text in texts_of(stale)) == [
        "고치기 전의 코드에 대한 힌트예요.",
        "고치기 전의 코드예요. 실행하고 다시 보기",
        "위 셀의 지금 코드는 아직 실행하지 않았어요. 아래는 전에 실행한 코드를 확인한 결과예요. 실행하고 다시 확인",
    ]
    output = page.locator(".jp-CodeCell").nth(2).locator(".jp-OutputArea-output").first
    assert output.evaluate("e => getComputedStyle(e).filter") == "grayscale(1)"
    for _ in "# mended":
        page.keyboard.press("Backspace")
    stale.first.wait_for(state="detached")
    assert output.evaluate("e => getComputedStyle(e).filter") == "none"


def test_running_mended_code_uses_up_no_hint(lab: Started, page: Any) -> None:
    """The check follows by itself. A second Shift+Enter, out of habit, checks again and runs no hint."""
    shutil.rmtree(lab.progress, ignore_errors=True)  # a new learner
    code = nbformat.v4.new_code_cell
    cells = [
        code("from grader import check, hint"),
        code(THREE_MISTAKES, metadata={"tags": ["exercise:train_step"]}),
        code("check(train_step)", metadata={"tags": ["check"]}),
        code('# 막히면 아래 줄의 #을 지우고 실행하세요\nhint("train_step")', metadata={"tags": ["hint"]}),
    ]
    metadata = nbformat.read(COURSE.parts[0].notebook, as_version=4).metadata
    nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata=metadata), lab.folder / "habit.ipynb")
    page.goto(f"{lab.address}/lab/tree/habit.ipynb?reset")
    page.wait_for_selector("text=Python 3 (ipykernel) | 대기")
    page.click(".jp-Notebook .jp-CodeCell >> nth=0")
    for _ in range(4):
        page.keyboard.press("Shift+Enter")
    writing, checking, asking = (page.locator(".jp-CodeCell").nth(index) for index in (1, 2, 3))
    asking.get_by_text("힌트 1/").first.wait_for()
    before = asking.locator(".jp-OutputArea").inner_text()

    writing.locator(".cm-content").click()
    page.keyboard.press("Control+End")
    page.keyboard.insert_text("\n    # mended")
    page.keyboard.press("Shift+Enter")
    page.locator(".hanstep-stale", has_text="고치기 전의 코드에 대한 힌트예요.").wait_for()
    page.wait_for_function("document.querySelectorAll('.jp-CodeCell')[2].classList.contains('jp-mod-active')")
    page.keyboard.press("Shift+Enter")
    checking.locator(".hanstep-acts button", has_text="힌트").wait_for()
    page.wait_for_timeout(1000)
    assert asking.locator(".jp-OutputArea").inner_text() == before


def test_a_check_runs_the_cells_that_it_needs(lab: Started, page: Any) -> None:
    """Who goes on where they stopped runs the check first, in a new kernel: one click runs what is missing.

    A function of another name cannot be mended by that: the card says which name is meant, and offers no button.
    """
    code = nbformat.v4.new_code_cell
    cells = [
        code("# 준비: 함수\nfrom grader import check", metadata={"tags": ["folded"]}),
        nbformat.v4.new_markdown_cell("## 절"),
        code(THREE_MISTAKES.replace("train_step", "train_stepp"), metadata={"tags": ["exercise:train_step"]}),
        code("check(train_step)", metadata={"tags": ["check"]}),
    ]
    metadata = nbformat.read(COURSE.parts[0].notebook, as_version=4).metadata
    nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata=metadata), lab.folder / "late.ipynb")
    page.goto(f"{lab.address}/lab/tree/late.ipynb?reset")
    page.wait_for_selector("text=Python 3 (ipykernel) | 대기")
    page.click(".jp-Notebook .jp-CodeCell >> nth=2")
    page.keyboard.press("Shift+Enter")
    acts = page.locator(".hanstep-acts button")
    acts.filter(has_text="필요한 위의 셀을").click()
    page.get_by_text("비슷한 이름의 함수 `train_stepp`가 있어요.").wait_for()
    acts.first.wait_for(state="detached")
    page.locator(".jp-CodeCell").nth(1).locator(".cm-content").click()
    page.keyboard.press("Control+a")
    page.keyboard.insert_text(THREE_MISTAKES)
    page.keyboard.press("Shift+Enter")  # the check follows by itself
    page.get_by_text("실수를").first.wait_for()
    assert texts_of(acts) == ["힌트", "현미경", "이어서 읽기"]


def test_the_cells_that_a_check_needs_run_without_moving_the_view(lab: Started, page: Any) -> None:
    """From the second notebook on: the view went to the top, where the cells are that the button runs."""
    code = nbformat.v4.new_code_cell
    cells = [
        code("# 준비: 함수\nfrom grader import check", metadata={"tags": ["folded"]}),
        nbformat.v4.new_markdown_cell("\n\n".join(["긴 글입니다."] * 60)),
        code(THREE_MISTAKES, metadata={"tags": ["exercise:train_step"]}),
        code("check(train_step)", metadata={"tags": ["check"]}),
        nbformat.v4.new_markdown_cell("\n\n".join(["긴 글입니다."] * 60)),
    ]
    metadata = nbformat.read(COURSE.parts[0].notebook, as_version=4).metadata
    nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata=metadata), lab.folder / "far.ipynb")
    page.goto(f"{lab.address}/lab/tree/far.ipynb?reset")
    page.wait_for_selector("text=Python 3 (ipykernel) | 대기")
    checking = page.locator(".jp-CodeCell", has_text="check(train_step)").last
    checking.locator(".cm-content").click()
    page.keyboard.press("Control+Enter")
    needed = page.locator(".hanstep-acts button", has_text="필요한 위의 셀을")
    needed.wait_for()
    page.evaluate(WATCH_TOPS)
    needed.click()
    page.get_by_text("실수를").first.wait_for()
    page.wait_for_timeout(500)
    assert page.evaluate("() => window.hanstepTops.least > 300"), "the first cell is at the top"
    assert in_view(page, page.get_by_text("실수를").first)


WATCH_TOPS = """() => {
  const view = document.querySelector('.jp-NotebookPanel:not(.lm-mod-hidden) .jp-WindowedPanel-outer');
  const tops = (window.hanstepTops = { least: view.scrollTop });
  view.addEventListener('scroll', () => (tops.least = Math.min(tops.least, view.scrollTop)));
}"""
"""How far up the view has been since."""
