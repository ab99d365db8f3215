"""Provide `check` and `hint` for notebook cells. They judge as grading does, but without the sandbox."""

import gc
import inspect
import linecache
import re
import types
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from grader.course.course import CourseError, Exercise
from grader.course.feedback import Feedback
from grader.course.reading import load_course
from grader.grading import SEED
from grader.grading.in_process import SECONDS, KernelIsBroken, play_and_judge
from grader.judging.learner_code import LearnerCode
from grader.judging.own_edit import wants_own_edit, with_own_edit
from grader.judging.reference import cached_reference
from grader.judging.repair.add_repair import wants_repair, with_repair
from grader.learner.earned import describe, pass_notes, recorded_check
from grader.learner.progress import Progress
from grader.learner.settings import as_chosen, repair_setting
from grader.notebook.attempts import attempts, start_server
from grader.notebook.failed_cells import notice_failed_cells, older_than_its_cell
from grader.notebook.hints import hints_left, next_hints, total_hints
from grader.notebook.microscopy.situations import can_be_seen
from grader.notebook.missing_names import explain_missing_names
from grader.notebook.own_answers import code_of, is_practice, own_cell, protect_answers
from grader.notebook.queued_checks import once
from grader.notebook.seen_code import with_seen_code
from grader.notebook.shell import running_shell
from grader.notebook.shown import Shown, message
from grader.observe.program import Program
from grader.observe.wording import with_particle
from grader.report.hint_ladder import without_clues
from grader.report.html import feedback_html, note_html
from grader.report.text import feedback_text
from grader.submission.cells import Cell, as_python
from grader.submission.practice_cells import without_practice
from grader.submission.source_file import names_bound_when_graded, surroundings

explain_missing_names()  # here because each lesson's first cell imports this module
notice_failed_cells()
protect_answers()


def check(
    function: Callable[..., Any] | None = None, *, device: str = "cpu", seconds: float = SECONDS
) -> Shown:
    """Run a graded function on the checker's own small models, and show what it does right and wrong.

    Args:
        function: the function (or class) with the exercise's name.
        device: `cpu` or `cuda`.
        seconds: time limit of the check.
    """
    try:
        name = _name(function)
        if is_practice(function):
            return message(_NO_ANSWER)
        exercise = load_course().exercise(name)
    except CourseError as error:
        return message(str(error))
    except TypeError:
        return message(
            f"check에는 함수를 그대로 넘겨 주세요 (받은 값의 타입: {type(function).__name__}). "
            "예: check(train_step)"
        )
    assert function is not None  # it has an exercise's name, so it is not None
    if (older := older_than_its_cell(name, function)) is not None:
        text = "\n".join([f"{older.title}.", *older.lines])
        return Shown(note_html(older.lines, title=older.title), text)
    try:
        return once(function, (device, seconds), lambda: _checked(exercise, function, device, seconds))
    except KernelIsBroken as error:
        return message(str(error))


def _checked(exercise: Exercise, function: Callable[..., Any], device: str, seconds: float) -> Shown:
    """Judge the exercise's function, record the result, and return its card; see `check`."""
    feedback = judge_in_kernel(exercise, function, device, seconds, hints=True)
    learner = Progress.load()
    repair, _ = repair_setting(Path.cwd())
    gain = recorded_check(learner, feedback, _program(exercise, function)[1].text, repair)
    notes = (
        *feedback.notes,
        *_dependency_warnings(function, exercise.driver.lends),
        *learner.take_notices(),
    )
    feedback = replace(feedback, notes=notes)
    if feedback.status != "passed":
        left, told = hints_left(exercise, learner), without_clues(as_chosen(feedback, Path.cwd()))
        card = feedback_html(told, total_hints=left, folded=True)
        acts = (*(["hint"] if total_hints(exercise, learner) else []), *_can_be_seen(function))
        card = with_seen_code(_with_acts(card, acts), exercise.name, function)
        return Shown(card, feedback_text(told), feedback)
    on_pass = pass_notes(load_course(), exercise, learner, gain)
    following = on_pass.following
    onward = None if following is None else (describe(following), following.section.link)
    card = feedback_html(feedback, standing=(*filter(None, (on_pass.lesson,)), *on_pass.gains), onward=onward)
    return Shown(
        with_seen_code(_with_acts(card, _can_be_seen(function)), exercise.name, function),
        feedback_text(feedback, standing=on_pass.lines),
        feedback,
    )


def _with_acts(card: str, acts: Iterable[str]) -> str:
    """Tell JupyterLab which buttons are of use below the card (`cards.js`)."""
    return f'<div data-hanstep-acts="{" ".join(acts)}">{card}</div>'


def _can_be_seen(function: Callable[..., Any]) -> list[str]:
    return ["microscope"] if can_be_seen(function) else []


_NO_ANSWER = (
    "드릴이나 클리닉 셀의 함수는 답으로 세지 않아요. 답은 연습 셀에 쓰고, 그 셀을 실행한 다음 확인하세요. "
    "이 셀이 답이라면 `drill`이나 `clinic`을 부르는 줄을 지우고 다시 실행하세요."
)


def hint(
    exercise: str | Callable[..., Any] | None = None, *, answer: bool = False, again: str = "", ask: str = ""
) -> Shown:
    """Show the next hint together with the earlier ones; the last hint is the answer.

    If the last check named mistakes, the hints are about them, one after the other.

    Args:
        exercise: name of an exercise, or its function.
        answer: show the answer if it is the next hint; otherwise a line says how to ask for it.
        again: how the next hint is asked for, in Korean, if it is not by calling this function.
        ask: how the answer is asked for.
    """
    try:
        found = load_course().exercise(exercise if isinstance(exercise, str) else _name(exercise))
    except CourseError as error:
        return message(str(error))
    except TypeError:
        return message('hint에는 연습 이름을 따옴표로 감싸 넘겨 주세요. 예: hint("train_step")')
    call = f'hint("{found.name}"'
    hints = next_hints(
        found,
        answer=answer,
        how_to_ask=again or f"`{call})`를 다시 실행하세요.",
        how_to_see_the_answer=ask or f"`{call}, answer=True)`를 실행하세요.",
    )
    if hints is None:
        return message(
            f"{with_particle(f'`{found.name}`', '은/는')} 보너스 문제라 정해 둔 힌트가 없어요. "
            "확인에서 알려진 실수를 찾으면 그 힌트가 나와요. 레슨의 본문과 앞의 연습에서 실마리를 찾아보세요."
        )
    return Shown(with_seen_code(hints.html, found.name, _defined(found.name)), hints.text)


def _defined(name: str) -> Any:
    """Return what a name stands for in the notebook; None outside one."""
    shell = running_shell()
    return None if shell is None else shell.user_ns.get(name)


def judge_in_kernel(
    exercise: Exercise,
    function: Callable[..., Any],
    device: str = "cpu",
    seconds: float = SECONDS,
    *,
    hints: bool = False,
) -> Feedback:
    """Judge a function in this process and return the feedback; nothing is recorded.

    Args:
        exercise: the exercise that the function is to solve, whatever its own name is.
        function: the learner's function.
        device: `cpu` or `cuda`.
        seconds: time limit.
        hints: find what the hints about a named mistake come to, too.

    Raises:
        KernelIsBroken: the solution fails in this kernel as well.
    """
    start_server(exercise, device)  # in the background, while the function runs here
    program, learner_code = _program(exercise, function)
    feedback, trace = play_and_judge(exercise, program, learner_code, device=device, seconds=seconds)
    _freeze_loaded_objects()
    needs_repair, needs_edit = wants_repair(feedback), hints and wants_own_edit(feedback)
    if trace is not None and (needs_repair or needs_edit):
        known = cached_reference(exercise.name, SEED, device)
        with attempts(exercise, _surroundings(exercise, function, learner_code.text), device) as runner:
            if runner is not None:
                search = with_repair if needs_repair else with_own_edit
                feedback = search(feedback, exercise, trace.runs, known, learner_code, runner)
    return feedback


@cache
def _freeze_loaded_objects() -> None:
    """Exempt all objects that exist by now, torch and its optimizers among them, from garbage collection.

    Done once per kernel. None of them will ever be garbage, and scanning them makes the learner wait 0.3 s at a check
    now and then.
    """
    gc.freeze()


def _program(exercise: Exercise, function: Callable[..., Any]) -> tuple[Program, LearnerCode]:
    code = code_of(function)
    filename = code.co_filename if code is not None else "<?>"
    source = "".join(linecache.getlines(filename))
    name = getattr(function, "__name__", exercise.name)
    # The clinic's function has another name than the learner's own; the judge looks for the exercise's name.
    if name != exercise.name:
        source = re.sub(rf"(?m)^(def|class) {re.escape(name)}\b", rf"\1 {exercise.name}", source)
    return Program(names={exercise.name: function}, filename=filename), LearnerCode(source)


def _name(function: Any) -> str:
    if not callable(function):
        raise TypeError(f"함수가 아니에요: {function!r}")
    return str(getattr(function, "__name__", type(function).__name__))


def _dependency_warnings(function: Callable[..., Any], lent: Collection[str] = ()) -> Iterator[str]:
    """Yield a warning for each variable that the function uses and that will not exist when it is graded.

    The names in `lent` will: the exercise's driver lends them.
    """
    function = inspect.unwrap(function)
    carried = _carried_names(function)
    if "*" in carried:
        return
    for name in sorted(set(_global_reads(function, set()))):
        if name not in carried and name not in lent:
            yield (
                f"이 함수는 연습 셀 밖에서 계산한 변수 `{name}`에 기대고 있어요. 셀 밖에서는 함수와 클래스의 정의, "
                "import, `N = 4` 같은 상수만 가져가서 채점해요. 함수 안이나 연습 셀 안에서 만들어 주세요."
            )


def _carried_names(function: Callable[..., Any]) -> set[str]:
    """Return the names that grading would keep from the cells run so far; `{"*"}` if the cells are not known."""
    own = own_cell(function).strip()
    ran = _cells_run(function)
    if ran is None or not own:
        return {"*"}
    exercises = tuple(load_course().exercises)
    cells = [Cell(None, 1, text, exercises[:1] if text == own else ()) for text in ran]
    return names_bound_when_graded(without_practice(cells, exercises)[0], exercises)


def _surroundings(exercise: Exercise, function: Callable[..., Any], own: str) -> str | None:
    """Return the code from earlier cells that the function's own cell depends on; None outside a notebook.

    `own` is the text of the function's cell.
    """
    ran = _cells_run(function)
    if ran is None:
        return None
    exercises = tuple(load_course().exercises)
    others = [Cell(None, 1, as_python(text), ()) for text in ran if text != own.strip()]
    kept, _ = without_practice(others, exercises)
    return surroundings(Cell(None, 1, own, exercises[:1]), exercise.name, kept, exercises)


def _cells_run(function: Callable[..., Any]) -> list[str] | None:
    """Return the texts of the notebook's cells in the order they were run; None outside a notebook."""
    ran = getattr(inspect.unwrap(function), "__globals__", {}).get("In")  # IPython's history
    return [text.strip() for text in ran if isinstance(text, str)] if isinstance(ran, list) else None


def _global_reads(function: Any, visited: set[int]) -> Iterator[str]:
    """Yield the notebook's global names that a function reads when it runs, directly or through its helpers."""
    if id(function) in visited:
        return
    visited.add(id(function))
    functions = (
        [m for m in vars(function).values() if isinstance(m, types.FunctionType)]
        if inspect.isclass(function)
        else [function]
    )
    for each in functions:
        namespace, code = getattr(each, "__globals__", {}), getattr(each, "__code__", None)
        for name in _global_names(code) if code is not None else ():
            if name not in namespace:  # a builtin, or a name that will raise NameError anyway
                continue
            yield name
            value = namespace[name]
            is_definition = isinstance(value, types.FunctionType | type)
            if is_definition and getattr(value, "__module__", None) == namespace.get("__name__"):
                yield from _global_reads(value, visited)


def _global_names(code: types.CodeType) -> Iterator[str]:
    import dis

    for instruction in dis.get_instructions(code):
        if instruction.opname == "LOAD_GLOBAL":
            yield str(instruction.argval)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _global_names(constant)
