"""Make the page of a part: the learner's notebook, with the printed and drawn outputs of its experiments.

Exercises stay as learners get them. Only the outputs of experiments come from the executed solutions; neither a line of
a solution nor, before a choice is made, an answer to a prediction can be read on the page.
"""

import base64
import copy
import hashlib
import html
import importlib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from grader.authoring import first_cell
from grader.authoring.build import FOLDED
from grader.base.errors import HanstepError
from grader.course.course import Lesson, Part, Prediction

_PREDICT_CALL = re.compile(r"""^\s*predict\(\s*["']([^"']+)["']""", re.MULTILINE)
_REVEAL_CALL = re.compile(r"""^\s*reveal\(\s*["']([^"']+)["'].*\n?""", re.MULTILINE)
_TOPIC = re.compile(r"#{1,6} |\*\*(?:(?:예측|물음)[ .]|여기에서 쉬어도)")
"""Beginning of a line that changes the topic: a heading, the next question, an invitation to rest."""
_KEYS = "Shift+Enter"
_ITEM = re.compile(r"(\s*)(?:[-*]|(\d+)\.) ")
_SENTENCES = re.compile(r"(?:(?<=[.?!])|(?<=[.?!]\*\*)) ")
_RUNS = re.compile(r"실행(?:해 보세요|하세요)\.|(?=.*(?:셀|다음)).*실행합니다\.")
"""A sentence that asks the reader to run something."""
_NOT_A_CELL = re.compile(r"노트북|터미널|`grader |JupyterLab|\|")
"""What stands in a sentence that says where to run it, or is about something else than a cell."""
_CHOOSE_AND_RUN = re.compile(r"고른 다음,? 실행(?:하세요|합니다)\.")
_THINK_AND_RUN = re.compile(r"(다음|고),? (?:아래를 )?실행(?:하세요|합니다)\.")
_NOT_YET = "아직 예측을 고르지 않아"
"""Beginning of `reveal`'s output in a notebook that was run without choosing."""
_DRAWING = re.compile(r'(<img [^>]*)src="data:image/svg\+xml;base64,([A-Za-z0-9+/=]+)">')
_ENLARGE = '<span class="enlarge" aria-hidden="true">누르면 크게 열립니다.</span>'
_FIGURES_OWN_STYLE = re.compile(r"<style>.*?</style>(?=<figure)", re.DOTALL)


class SiteError(HanstepError):
    """The site cannot be built; the message says what is wrong and how to fix it."""


@dataclass
class PartPage:
    """A part's page: its notebook, and its pictures by file name."""

    notebook: Any
    pictures: dict[str, bytes] = field(default_factory=dict)


def part_page(lesson: Lesson, part: Part, head: str) -> PartPage:
    """Make the page of a part.

    Args:
        lesson: the part's lesson.
        part: the part; both of its notebooks must be up to date.
        head: HTML to put below the page's title.

    Raises:
        SiteError: a notebook is missing or broken, or the two do not match.
    """
    learner, executed = _read(part.notebook, lesson), _read(part.executed, lesson)
    outputs = {cell["id"]: cell for cell in executed.cells}
    page = PartPage(notebook=copy.deepcopy(learner))
    for cell in learner.cells:
        if cell.cell_type == "markdown":
            cell.source = _to_be_read(_without_keys(cell.source))
    page.notebook.cells = list(_cells(page, learner.cells, outputs, lesson, part))
    _insert_head(page.notebook.cells[0], head, lesson, part)
    return page


def predict_calls(source: str) -> list[str]:
    """Return the ids of the predictions that a cell asks for."""
    return _PREDICT_CALL.findall(source)


def _read(path: Path, lesson: Lesson) -> Any:
    try:
        return importlib.import_module("nbformat").reads(path.read_text(encoding="utf-8"), as_version=4)
    except (OSError, ValueError) as error:
        raise SiteError(
            f"{path}을 읽을 수 없어요 ({type(error).__name__}). 다시 만들어 주세요: grader build {lesson.id}"
        ) from error


def _cells(
    page: PartPage,
    cells: list[Any],
    executed: dict[str, Any],
    lesson: Lesson,
    part: Part,
) -> Iterator[Any]:
    """Yield the page's cells.

    After an open question, experiment and explanation are behind a *curtain* (a closed `<details>`) up to the next
    topic; the page's script opens it when the question is answered.
    """
    predictions = {one.id: one for one in lesson.predictions}
    waiting: list[str] = []
    behind = False
    for cell in cells:
        tags = cell.metadata.get("tags", [])
        kind = tags[0].split(":")[0] if tags else cell.cell_type
        is_experiment = kind in ("code", FOLDED)
        if kind in ("hint", first_cell.ID):
            continue
        if behind and kind == "markdown":
            same, cell.source = _up_to_next_topic(cell.source)
            yield _markdown(same)
        if behind and not is_experiment and not (kind == "markdown" and not cell.source):
            yield _markdown(raw_block("</details>"))
            behind = False
        if kind == "predict":
            for name in predict_calls(cell.source):
                waiting.append(name)
                yield _markdown(raw_block(question_box(predictions[name])))
        elif kind == "check":
            yield _markdown(raw_block(_to_the_notebook(cell.source)))
        elif kind == "exercise":
            cell.metadata = {"tags": ["exercise"]}
            yield cell
        elif is_experiment:
            if waiting and not behind:
                yield _markdown(raw_block(_curtain(waiting)))
                behind = True
            revealed = _REVEAL_CALL.findall(cell.source)
            yield _experiment(page, cell, executed.get(cell["id"]), lesson, part)
            waiting = [name for name in waiting if name not in revealed]
        else:
            yield cell
    if behind:
        yield _markdown(raw_block("</details>"))


def _without_keys(text: str) -> str:
    """Return the text without sentences, or items of a list, about keys that only a notebook has."""
    kept = []
    left_out = 0  # numbered items of the list that the line is in
    for line in text.split("\n"):
        item = _ITEM.match(line)
        left_out = left_out if line.strip() else 0
        if _KEYS not in line:
            number = item and item[2]
            kept.append(
                f"{item[1]}{int(number) - left_out}{line[item.end(2) :]}" if item and number else line
            )
        elif item:
            left_out += 1
        else:
            kept.append(" ".join(sentence for sentence in _SENTENCES.split(line) if _KEYS not in sentence))
    return "\n".join(kept)


def _to_be_read(text: str) -> str:
    """Return the text as it holds on a page, where outputs are there already and cells are run only in the notebook."""
    lines, in_code = text.split("\n"), False
    for number, line in enumerate(lines):
        in_code ^= line.startswith("```")
        if not in_code:
            item = _ITEM.match(line)
            start = item.end() if item else 0
            sentences = map(_sentence_to_be_read, _SENTENCES.split(line[start:]))
            lines[number] = line[:start] + " ".join(sentences)
    return "\n".join(lines)


def _sentence_to_be_read(sentence: str) -> str:
    sentence = _CHOOSE_AND_RUN.sub("골라 보세요.", sentence)
    if not _RUNS.search(sentence) or _NOT_A_CELL.search(sentence):
        return sentence
    if "셀" not in sentence:
        return _THINK_AND_RUN.sub(r"\1 아래를 보세요.", sentence)
    return sentence.replace("새 셀", "노트북의 새 셀", 1) if "새 셀" in sentence else f"노트북에서 {sentence}"


def _up_to_next_topic(text: str) -> tuple[str, str]:
    """Split the text before its first heading or question."""
    lines, in_code = text.split("\n"), False
    for number, line in enumerate(lines):
        if line.startswith("```"):
            in_code = not in_code
        elif not in_code and _TOPIC.match(line):
            return "\n".join(lines[:number]), "\n".join(lines[number:])
    return text, ""


def _experiment(page: PartPage, cell: Any, twin: Any, lesson: Lesson, part: Part) -> Any:
    """Return the cell without its call of `reveal`, with the outputs of its executed twin."""
    if twin is None or twin.source != cell.source:
        raise SiteError(
            f"{part.place}: 셀 {cell['id']}의 실행 결과가 없거나 낡았어요. "
            f"다시 만들어 주세요: grader build {lesson.id}"
        )
    is_folded = FOLDED in cell.metadata.get("tags", [])
    cell.source = _REVEAL_CALL.sub("", cell.source).rstrip("\n")
    cell.outputs = [_output(page, output) for output in twin.outputs if not _is_reveal_placeholder(output)]
    cell.execution_count = None
    cell.metadata = {"tags": ["experiment"]}
    if is_folded:
        title = cell.source.split("\n", 1)[0].removeprefix("#").strip()
        cell.metadata = {
            "tags": ["experiment", "hide-input"],
            "mystnb": {"code_prompt_show": f"코드 · {title}", "code_prompt_hide": f"코드 · {title}"},
        }
    return cell


def _is_reveal_placeholder(output: Any) -> bool:
    return any(_NOT_YET in str(content) for content in output.get("data", {}).values())


def _output(page: PartPage, output: Any) -> Any:
    """Return the output with its drawing moved to a file: text loads first, and pictures when they are scrolled to."""
    drawn = output.get("data", {}).get("text/html")
    if drawn is None:
        return output

    def put_aside(found: re.Match[str]) -> str:
        drawing = base64.b64decode(found[2])
        name = f"{hashlib.sha256(drawing).hexdigest()[:16]}.svg"
        page.pictures[name] = drawing
        at = f"../_static/drawings/{name}"
        return f'<a href="{at}" title="그림만 크게 보기">{found[1]}loading="lazy" src="{at}">{_ENLARGE}</a>'

    output.data["text/html"] = _DRAWING.sub(put_aside, _FIGURES_OWN_STYLE.sub("", drawn))
    return output


def raw_block(markup: str) -> str:
    """Return HTML as a raw block of Markdown, with a fence longer than any within it."""
    fence = "`" * 12
    return f"{fence}{{raw}} html\n{markup}\n{fence}"


def _markdown(text: str) -> Any:
    return importlib.import_module("nbformat").v4.new_markdown_cell(text)


def question_box(asked: Prediction) -> str:
    """Return the buttons for a choice. They contain answer and reasons in Base64, for the page's script alone."""
    content = {"answer": asked.answer, "because": asked.because, "wrong": asked.wrong}
    secret = base64.b64encode(json.dumps(content, ensure_ascii=False).encode()).decode()
    buttons = "".join(
        f'<button type="button" aria-pressed="false" value="{letter}">{letter}</button>'
        for letter in asked.choices
    )
    return (
        f'<div class="predict" role="group" aria-label="예측 {html.escape(asked.id)}" '
        f'data-id="{html.escape(asked.id)}" data-told="{secret}">'
        f'<span class="predict-ask">먼저 하나를 고르세요.</span> {buttons}'
        '<div class="predict-told" role="status"></div>'
        "<noscript>스크립트가 꺼져 있어 고를 수 없습니다. 답을 적어 두고 아래 실험을 펼쳐 확인하세요.</noscript></div>"
    )


def _curtain(waiting: list[str]) -> str:
    return (
        f'<details class="experiment" data-after="{html.escape(" ".join(waiting))}">'
        '<summary>실험과 설명 <span class="experiment-wait">(예측을 고르면 열립니다)</span></summary>'
    )


def _to_the_notebook(source: str) -> str:
    # An import may stand before the call.
    calls = [line for line in source.splitlines() if line.startswith("check(")]
    shown = html.escape("\n".join(calls) or source.strip())
    return (
        f'<p class="to-notebook">다 썼으면 노트북에서 <code>{shown}</code> 셀을 실행합니다. '
        "틀렸으면 무슨 실수인지 알려 줍니다.</p>"
    )


def _insert_head(cell: Any, head: str, lesson: Lesson, part: Part) -> None:
    title, found, rest = cell.source.partition("\n")
    if not title.startswith("# "):
        raise SiteError(
            f"{part.source.name}: 첫 셀이 제목(# …)으로 시작하지 않아요. 받은 줄: {title!r}. "
            f"고치고 다시 만들어 주세요: grader build {lesson.id}"
        )
    cell.source = f"{title}\n\n{raw_block(head)}\n{found}{rest}"
