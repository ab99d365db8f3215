"""Make what the site's first page shows before any explanation: a question to answer, and a broken step at work."""

import html
import re
from collections.abc import Iterator

from msgspec import Struct

from grader.course.course import Course, CourseError, Part
from grader.course.reading import read_typed
from grader.notebook.microscopy.drawing import html_picture, telling
from grader.notebook.microscopy.look import views
from grader.observe.program import load_program
from grader.paths import asset_path
from grader.site.gallery import program_with
from grader.site.part_page import predict_calls, question_box, raw_block

_NUMBER = re.compile(r"^\*\*(?:예측|물음) \d+\.?\*\* ")


class Landing(Struct, frozen=True, forbid_unknown_fields=True):
    """The content of `assets/site/landing.toml`, which describes each field."""

    lead: str
    code: str
    missing: str
    prediction: str
    exercise: str
    mistake: str
    seen: str


def read_landing() -> Landing:
    """Return the content of `landing.toml`.

    Raises:
        CourseError: the file has invalid content.
    """
    return read_typed(asset_path("site", "landing.toml"), Landing)


def code_with_gap(landing: Landing) -> str:
    """Return the lines of code as HTML, the missing one struck through."""
    lines = []
    for line in landing.code.strip().split("\n"):
        shown = html.escape(line)
        lines.append(f"<del>{shown}</del>" if line == landing.missing else f"<span>{shown}</span>")
    return "\n".join(lines)


def question(course: Course, landing: Landing) -> tuple[str, Part]:
    """Return the question as Markdown, with its buttons, and the part that asks it.

    Raises:
        CourseError: no part asks it.
    """
    for part in course.parts:
        for text, asked in _questions(part):
            if asked == landing.prediction:
                box = raw_block(question_box(course.prediction(asked)))
                return f"{_NUMBER.sub('', text)}\n\n{box}", part
    raise CourseError(
        f"landing.toml: 어느 노트북도 예측 '{landing.prediction}'을 묻지 않아요. "
        '노트북에 있는 predict("…")의 번호로 고쳐 주세요.'
    )


def _questions(part: Part) -> Iterator[tuple[str, str]]:
    """Yield each question's text, from its bold beginning to its choices, with the prediction's id."""
    before = ""
    for cell in part.cells():
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            before = source
        for asked in predict_calls(source) if cell["cell_type"] == "code" else ():
            begins = [found.start() for found in re.finditer(r"^\*\*(?:예측|물음) ", before, re.MULTILINE)]
            yield before[begins[-1] if begins else 0 :].strip(), asked


def moving_microscope(course: Course, landing: Landing) -> str:
    """Return the microscope's picture of the mistake, without the program: that is one line away from the answer.

    Raises:
        CourseError: the course does not have the exercise or the mistake.
    """
    exercise = course.exercise(landing.exercise)
    program = load_program(program_with(exercise, landing.mistake), name="landing_microscope")
    view = telling(views(exercise, program.names[exercise.name], program))
    return html_picture(exercise.name, [view], [])
