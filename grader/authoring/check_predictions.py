"""Whether a lesson's predictions and its notebook fit together, and the notebook keeps the answers to itself."""

import re
from collections import Counter
from typing import Any

from grader.authoring.strip_solutions import BuildError
from grader.course import Lesson

_ASKED = re.compile(r"""^predict\(["']([^"']+)["']\)$""", re.MULTILINE)
_REVEALED = re.compile(r"""^reveal\(\s*["']([^"']+)["'](.*)""", re.MULTILINE | re.DOTALL)
_CHOICE = re.compile(r"^- ([a-d]): ", re.MULTILINE)
_CONSTANT = re.compile(r"""^\s*,\s*(?:measured\s*=\s*)?["']""")


def check_predictions(lesson: Lesson, notebook: Any) -> None:
    """Refuse a notebook that asks what nobody answers, or that gives an answer away.

    Raises:
        BuildError: with the prediction and what is wrong about it.
    """
    asked, revealed = Counter[str](), Counter[str]()
    choices: dict[str, list[str]] = {}
    above = ""
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            above = cell.source
            continue
        for prediction in _ASKED.findall(cell.source):
            asked[prediction] += 1
            choices[prediction] = _CHOICE.findall(above)
        found = _REVEALED.search(cell.source)
        if found:
            revealed[found[1]] += 1
            if _CONSTANT.match(found[2]):
                raise _refused(
                    lesson, found[1], "reveal에 답이 적혀 있어요. 답은 predictions.toml에만 적어 주세요"
                )
    for one in lesson.predictions:
        if asked[one.id] != 1 or revealed[one.id] != 1:
            raise _refused(
                lesson,
                one.id,
                f"predict {asked[one.id]}번, reveal {revealed[one.id]}번이에요. 한 번씩 불러 주세요",
            )
        if choices[one.id] != [*one.choices]:
            raise _refused(
                lesson,
                one.id,
                f"바로 위의 글에 있는 보기는 {', '.join(choices[one.id]) or '없음'}, "
                f"predictions.toml의 글자는 {', '.join(one.choices)}이에요. 같아야 해요",
            )
    unknown = sorted({*asked, *revealed} - {one.id for one in lesson.predictions})
    if unknown:
        raise _refused(lesson, unknown[0], "predictions.toml에 없어요. 답과 까닭을 적어 주세요")


def _refused(lesson: Lesson, prediction: str, why: str) -> BuildError:
    return BuildError(f"{lesson.solution.name}: 예측 {prediction}: {why}.")
