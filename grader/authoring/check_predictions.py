"""Check that a lesson's predictions and its notebook fit together, and that the notebook gives no answer away."""

import ast
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

from grader.authoring.strip_solutions import BuildError
from grader.course.course import Lesson, Part

_CHOICE = re.compile(r"^- ([a-d]): ", re.MULTILINE)


def check_predictions(lesson: Lesson, part: Part, notebook: Any) -> set[str]:
    """Refuse a notebook whose questions do not match `predictions.toml`, or that gives an answer away.

    Returns:
        Ids of the predictions that the notebook asks for.

    Raises:
        BuildError: names the prediction and what is wrong with it.
    """
    asked, revealed = Counter[str](), Counter[str]()
    choices: dict[str, list[str]] = {}
    above = ""
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            above = cell.source
            continue
        for name, prediction, gives_answer in _calls(cell.source):
            if gives_answer:
                raise _refused(
                    part, prediction, f"{name}에 답이 적혀 있어요. 답은 predictions.toml에만 적어 주세요"
                )
            if name == "predict":
                asked[prediction] += 1
                choices[prediction] = _CHOICE.findall(above)
            else:
                revealed[prediction] += 1
    for one in (one for one in lesson.predictions if asked[one.id] or revealed[one.id]):
        if asked[one.id] != 1 or revealed[one.id] != 1:
            raise _refused(
                part,
                one.id,
                f"predict {asked[one.id]}번, reveal {revealed[one.id]}번이에요. 한 번씩 불러 주세요",
            )
        if choices[one.id] != [*one.choices]:
            raise _refused(
                part,
                one.id,
                f"바로 위의 글에 있는 보기는 {', '.join(choices[one.id]) or '없음'}, "
                f"predictions.toml의 글자는 {', '.join(one.choices)}예요. 같아야 해요",
            )
    unknown = sorted({*asked, *revealed} - {one.id for one in lesson.predictions})
    if unknown:
        raise _refused(part, unknown[0], "predictions.toml에 없어요. 답과 까닭을 적어 주세요")
    return set(asked)


def _calls(source: str) -> Iterator[tuple[str, str, bool]]:
    """Yield each call of `predict` or `reveal` in a cell: function, prediction, and if a letter is passed as well."""
    try:
        tree = ast.parse(source)
    except SyntaxError:  # a magic, or code that the learner is to fix
        return
    for node in ast.walk(tree):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.args):
            continue
        first, *others = [*node.args, *(keyword.value for keyword in node.keywords)]
        if node.func.id in ("predict", "reveal") and isinstance(first, ast.Constant):
            yield node.func.id, str(first.value), any(isinstance(other, ast.Constant) for other in others)


def _refused(part: Part, prediction: str, why: str) -> BuildError:
    return BuildError(f"{part.source.name}: 예측 {prediction}: {why}.")
