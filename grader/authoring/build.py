"""Build a lesson's source in `solutions/` into the learner's notebook and the executed solution (`grader build`)."""

import copy
import importlib
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from grader import paths
from grader.authoring import first_cell
from grader.authoring.check_predictions import check_predictions
from grader.authoring.execute import NotebookFailed, error_outputs, execute
from grader.authoring.measured_behaviour import measured_table
from grader.authoring.strip_solutions import BuildError, starter_text
from grader.base.files import write_whole
from grader.base.installing import repository
from grader.course.course import Course, CourseError, Lesson, Part
from grader.course.exercise_cell import exercise_of
from grader.judging.behaviour_table import format_table
from grader.judging.edits import variant_source, variants_of
from grader.judging.solution import exercise_source
from grader.judging.text_location import is_line_of

HINT_COMMENT = "# 막히면 아래 줄의 #을 지우고 실행하세요"

FOLDED = "folded"
"""Tag of a cell shown folded, to be opened when wanted: tables, plots, asserts."""

# Only this metadata is kept: the rest that jupytext and Jupyter add changes from run to run.
_KERNELSPEC = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}
_LANGUAGE = {"file_extension": ".py", "mimetype": "text/x-python", "name": "python"}


@dataclass(frozen=True)
class Stale:
    """A generated file that does not match its source, with the reason in Korean."""

    path: Path
    reason: str

    def __str__(self) -> str:
        return f"{self.path.parent.name}/{self.path.name}: {self.reason}"


def build_all(
    course: Course, *, check: bool, report: Callable[[str], None], only: Sequence[Lesson] = ()
) -> bool:
    """Build every lesson, or with `check` only report what is stale.

    Args:
        course: the course.
        check: write and run nothing.
        report: gets Korean lines on what is done or found.
        only: build these lessons instead of all.

    Returns:
        True if everything matches its source.

    Raises:
        BuildError: a source cannot be built, or its notebook does not run.
    """
    stale: list[Stale] = []
    lessons = only or course.lessons
    for lesson in lessons:
        if not check:
            report(f"{lesson.name}: 노트북을 만들고 실행해요 …")
        stale += [*build_behaviours(lesson, check=check), *build(lesson, check=check)]
    known = {part.notebook for part in course.parts}
    for path in sorted(paths.lessons_path().rglob("*.ipynb")):
        if path not in known:
            stale.append(Stale(path, "course.toml에 없는 노트북이에요"))
    for found in stale:
        report(str(found))
    if stale:
        report("새로 만들려면: grader build")
    else:
        report(f"레슨 {len(lessons)}개가 모두 원본과 같아요." if check else "다 만들었어요.")
    return not stale


def _check_mistake_edits(lesson: Lesson) -> None:
    """Apply every edit of every mistake: an error in one would otherwise show only while a class is graded."""
    for exercise in (e for e in lesson.exercises if e.mistakes):
        try:
            for variant in variants_of(exercise):
                variant_source(exercise, variant)
        except CourseError as error:
            raise BuildError(str(error)) from error
        for mistake in exercise.mistakes:
            if mistake.near and not is_line_of(exercise_source(exercise), mistake.near):
                raise BuildError(
                    f"{exercise.name}.toml: 실수 '{mistake.id}'의 near가 정답에 없는 줄이에요. "
                    f"정답의 한 줄을 그대로 적어 주세요: {mistake.near!r}"
                )


def build_behaviours(lesson: Lesson, *, check: bool, only: Collection[str] = ()) -> list[Stale]:
    """Write the table of what each known mistake changes; with `check` say whether it is stale.

    `only` names the exercises that are measured anew; empty, all are.

    Raises:
        BuildError: an edit of a mistake cannot be made, or its `near` is no line of the solution.
    """
    _check_mistake_edits(lesson)
    if not any(exercise.mistakes for exercise in lesson.exercises):
        return []
    text = format_table(measured_table(lesson, only))
    if not check:
        write_whole(lesson.behaviours, text)
        return []
    there = lesson.behaviours.read_text(encoding="utf-8") if lesson.behaviours.exists() else ""
    return (
        [] if there == text else [Stale(lesson.behaviours, "실수나 시나리오가 바뀐 뒤로 다시 재지 않았어요")]
    )


def build(lesson: Lesson, *, check: bool) -> list[Stale]:
    """Write both notebooks of each part; with `check` write and run nothing and return those that are stale.

    Raises:
        BuildError: a source cannot be built, or its notebook does not run.
    """
    notebooks = {part: solution_notebook(part) for part in lesson.parts}
    _check_names(lesson, notebooks)
    stale = []
    learners = {part: to_json(learner_notebook(lesson, part)) for part in lesson.parts}
    if not check:  # all of them before any runs: what runs may read the course's other notebooks
        for part, learner in learners.items():
            part.notebook.parent.mkdir(exist_ok=True)
            write_whole(part.notebook, learner)
    for part, solved in notebooks.items():
        if check:
            stale += [*_stale_learner(part.notebook, learners[part]), *_stale_executed(part.executed, solved)]
            continue
        try:
            execute(solved)
        except NotebookFailed as error:
            line = _line_of(part, solved, error.cell_id)
            raise BuildError(f"{part.source.name} {line}번째 줄에서 시작하는 셀: {error}") from error
        write_whole(part.executed, to_json(_with_our_metadata(solved, part)))
    return stale


def solution_notebook(part: Part) -> Any:
    """Return the part's notebook with its solutions, not yet executed."""
    return _notebook(part, _read(part))


def learner_notebook(lesson: Lesson, part: Part) -> Any:
    """Return the notebook as a learner opens it: without solutions and outputs, with hint cells."""
    text = _read(part)
    notebook = _notebook(part, starter_text(text, part.source.name))
    answers = dict(_exercise_cells(_notebook(part, text)))
    for name, cell in _exercise_cells(notebook):
        if cell.source == answers[name].source:
            raise BuildError(f"{part.source.name}: {name} 연습 셀에 BEGIN SOLUTION이 없어요.")
    notebook.cells = list(_with_hints(notebook, {e.name for e in lesson.exercises if e.kind == "bonus"}))
    return notebook


def _check_names(lesson: Lesson, notebooks: Mapping[Part, Any]) -> None:
    """Raise `BuildError` unless the parts' notebooks hold all exercises and ask rightly for all predictions."""
    found = [name for notebook in notebooks.values() for name, _ in _exercise_cells(notebook)]
    wanted = [exercise.name for exercise in lesson.exercises]
    if sorted(found) != sorted(wanted):
        raise BuildError(
            f"연습 문제 이름이 서로 달라요. {lesson.name}/*.py: {sorted(found)}, "
            f"{lesson.name}/*.toml: {sorted(wanted)}. 이름을 맞춰 주세요."
        )
    asked = {one for part, notebook in notebooks.items() for one in check_predictions(lesson, part, notebook)}
    for prediction in lesson.predictions:
        if prediction.id not in asked:
            raise BuildError(
                f"{lesson.name}: 예측 {prediction.id}: predict 0번, reveal 0번이에요. 한 번씩 불러 주세요."
            )


def _read(part: Part) -> str:
    try:
        return part.source.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise BuildError(f"{part.source}: UTF-8이 아니에요 ({error})") from error


def _notebook(part: Part, text: str) -> Any:
    """Parse the source, name its cells, and add the installing cell."""
    import jupytext

    try:
        notebook = jupytext.reads(text, fmt="py:percent")
    # Jupytext uses many libraries: the header may not be YAML, or may name no usable kernel.
    except Exception as error:
        raise BuildError(f"{part.source.name}: 맨 위의 머리말이 틀렸어요: {str(error)[:200]}") from error
    notebook = _with_our_metadata(notebook, part)
    _name_cells(notebook)
    _put_first_cell(notebook)
    return notebook


def _with_our_metadata(notebook: Any, part: Part) -> Any:
    notebook.metadata = _nbformat().NotebookNode(
        kernelspec=_nbformat().NotebookNode(_KERNELSPEC),
        language_info=_nbformat().NotebookNode(_LANGUAGE),
        title=part.title,
    )
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    for cell in notebook.cells:
        tags = cell.metadata.get("tags")
        cell.metadata = _nbformat().NotebookNode({"tags": list(tags)} if tags else {})
        if FOLDED in (tags or ()):
            cell.metadata["jupyter"] = _nbformat().NotebookNode(source_hidden=True)
    return notebook


def _name_cells(notebook: Any) -> None:
    """Give each cell a stable id, made of its exercise's name or of kind and number.

    Random ids would differ in every build.
    """
    exercise = ""
    for number, cell in enumerate(notebook.cells, start=1):
        tag = next(iter(cell.metadata.get("tags", ())), cell.cell_type)
        if (named := exercise_of(cell)) is not None:
            exercise = named
            cell["id"] = _cell_id("exercise", exercise)
        elif tag == "check" and exercise:
            cell["id"] = _cell_id("check", exercise)
            exercise = ""
        else:
            cell["id"] = _cell_id(tag, f"{number:03d}")


def _put_first_cell(notebook: Any) -> None:
    """Insert the cell that installs the package.

    It comes after the other cells have their ids, because learners' notebooks identify cells by these.
    """
    place = next((n for n, cell in enumerate(notebook.cells) if cell.cell_type == "code"), None)
    if place is None:
        return
    metadata = {"tags": [first_cell.ID, FOLDED], "jupyter": {"source_hidden": True}}
    source = first_cell.source(repository()).rstrip("\n")
    notebook.cells.insert(place, _nbformat().v4.new_code_cell(source, id=first_cell.ID, metadata=metadata))


def _cell_id(kind: str, name: str) -> str:
    # The notebook format allows no other characters and no longer ids.
    return re.sub(r"[^A-Za-z0-9_-]", "-", f"{kind}-{name}")[:64]


def _exercise_cells(notebook: Any) -> Iterator[tuple[str, Any]]:
    for cell in notebook.cells:
        if (name := exercise_of(cell)) is not None:
            yield name, cell


def _with_hints(notebook: Any, without: Collection[str]) -> Iterator[Any]:
    """Yield all cells, with a cell for a hint (commented out) after each check.

    It is left out if the author wrote one, or if the exercise is in `without`.
    """
    code = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "code")
    for cell in notebook.cells:
        yield cell
        if not cell["id"].startswith("check-"):
            continue
        name = cell["id"].removeprefix("check-")
        if name not in without and f'hint("{name}")' not in code:
            source = f'{HINT_COMMENT}\n# hint("{name}")'
            yield _nbformat().v4.new_code_cell(source, id=_cell_id("hint", name), metadata={"tags": ["hint"]})


def _nbformat() -> Any:
    """Return the module without its (partial) types."""
    return importlib.import_module("nbformat")


def to_json(notebook: Any) -> str:
    """Return the notebook as the text of its file.

    Raises:
        ValidationError: (nbformat's) it is not a valid notebook.
    """
    _nbformat().validate(notebook)
    return str(_nbformat().writes(notebook)).rstrip("\n") + "\n"


def _stale_learner(path: Path, expected: str) -> list[Stale]:
    if not path.is_file():
        return [Stale(path, "아직 만들지 않았어요")]
    same = path.read_bytes() == expected.encode()
    return [] if same else [Stale(path, "원본에서 만든 것과 달라요")]


def _stale_executed(path: Path, expected: Any) -> list[Stale]:
    """Compare an executed notebook with its source.

    Outputs contain timings and may differ; sources may not, and every cell must have run without an error.
    """
    if not path.is_file():
        return [Stale(path, "아직 만들지 않았어요")]
    try:
        found = _nbformat().reads(path.read_text(encoding="utf-8"), as_version=4)
    except Exception as error:
        return [Stale(path, f"노트북이 아니에요 ({type(error).__name__})")]
    errors = error_outputs(found)
    if errors:
        return [Stale(path, f"오류 출력이 있어요: {errors[0]}")]
    idle = [c.get("id") for c in found.cells if c.cell_type == "code" and c.source and not c.execution_count]
    if idle:
        return [Stale(path, f"실행하지 않은 셀이 있어요: {idle[0]}")]
    return [] if _sources(found) == _sources(expected) else [Stale(path, "원본과 달라요")]


def _sources(notebook: Any) -> Any:
    cells = [(c.get("id"), c.cell_type, c.source, dict(c.metadata)) for c in notebook.cells]
    return copy.deepcopy((dict(notebook.metadata), cells))


def _line_of(part: Part, notebook: Any, cell_id: str | None) -> int | str:
    """Return the line of the source at which a cell begins: that of the n-th cell header, front matter not counted."""
    ids = [cell.get("id") for cell in notebook.cells if cell.get("id") != first_cell.ID]
    number = next((n for n, one in enumerate(ids) if one == cell_id), None)
    headers = [n for n, line in enumerate(_read(part).splitlines(), start=1) if line.startswith("# %%")]
    return headers[number] if number is not None and number < len(headers) else "?"
