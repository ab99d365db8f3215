"""Say what was measured in a broken program's run, as a number, and speaks against a learner's choice in the clinic.

Against a symptom, which was measured on another wrong program: what this program's run has in its place. Against a
line: what it did in this program and in the right one.
"""

import ast
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from types import FrameType
from typing import Any

import numpy as np
import torch

from grader.grading import SEED
from grader.grading.time_limit import time_limit
from grader.judging.compare_runs import Difference, find_difference
from grader.judging.first_difference import (
    array_title,
    describe_first_difference,
    element_name,
    fact_text,
    number_text,
)
from grader.observe.play import Scenario, TimeLimit, play_scenario
from grader.observe.program import load_program
from grader.observe.trace import Run
from grader.observe.wording import ordinal, particle, times, with_ordinals
from grader.practice.case import Case
from grader.report.plain_text import one_line

_MOST_CHARACTERS = 80
"""Maximum characters of a value that is quoted."""
_MOST_SECONDS = 3.0
"""Maximum time of a run whose lines are watched."""


# ---- against a symptom ----------------------------------------------------------------------------------------------


def difference_in(name: str, run: Run, solution: Run, atol: float) -> Difference | None:
    """Return the first difference in one array or fact, whatever else differs; None if it agrees."""
    return find_difference(_only(name, run), _only(name, solution), atol)


def _only(name: str, run: Run) -> Run:
    """Return a run with nothing but one array or fact."""
    arrays = {key: array for key, array in run.arrays.items() if key == name}
    return Run(arrays, {key: fact for key, fact in run.facts.items() if key == name})


def against(symptom: Difference, scenario: Scenario, run: Run, solution: Run) -> str:
    """Return a Korean sentence on what speaks against a symptom that is not true of the run.

    Args:
        symptom: first difference between another program and the solution.
        scenario: the scenario that was played.
        run: this program's run.
        solution: the solution's run.
    """
    if symptom.kind == "failure":
        return _against_exception(run, solution)
    own = difference_in(symptom.name, run, solution, scenario.atol)
    if symptom.name == "theta":
        if symptom.kind == "array":
            return _against_update(symptom, own, run, solution)
        if not _updates(run):
            return "이 코드도 매개변수를 한 번도 움직이지 않아요. 정답과 같아요."
        return f"이 코드도 매개변수를 {times(_updates(run))} 움직여요. 정답과 같은 횟수예요."
    if own is not None:
        return _as_it_is(own, scenario, run, solution)
    return _as_in_solution(symptom, solution)


def _as_it_is(own: Difference, scenario: Scenario, run: Run, solution: Run) -> str:
    """Return how the same array or fact differs in this run: in another place, or in another way."""
    told = describe_first_difference(scenario, own, run, solution)
    if own.name not in run.arrays and own.name not in run.facts and run.failure is not None:
        call = ordinal(run.failure.call + 1)
        return f"이 코드는 {call} 호출의 예외({run.failure.type}) 때문에 거기까지 가지 못해요."
    return f"{told.what}: 이 코드 {_short(told.got)}, 정답 {_short(told.expected)}."


def _as_in_solution(symptom: Difference, solution: Run) -> str:
    """Return the value that the array or fact has in both runs."""
    name = symptom.name
    if symptom.kind == "fact":
        return _both(with_ordinals(name), fact_text(solution.facts.get(name), as_modes="모드" in name))
    values = np.atleast_1d(solution.arrays[name]) if name in solution.arrays else np.zeros(0)
    told = number_text(values[symptom.index]) if symptom.kind == "array" else f"{len(values)}개"
    return _both(array_title(symptom), told)


def _both(what: str, value: str) -> str:
    return f"{what}: 이 코드에서도 정답에서도 {_short(value)}."


def _short(value: str) -> str:
    return one_line(value, _MOST_CHARACTERS)


def _against_exception(run: Run, solution: Run) -> str:
    if run.failure is None and solution.failure is None:
        calls = 1 + max((event.call for event in run.events), default=0)
        moved = f"{times(_updates(run))} 움직였어요" if _updates(run) else "한 번도 움직이지 않았어요"
        return f"이 코드는 예외 없이 끝나요. 함수를 {times(calls)} 불렀고 매개변수는 {moved}."
    if run.failure is None:
        return "이 코드는 예외를 한 번도 내지 않아요."
    if solution.failure is not None:
        return f"이 코드도 {ordinal(run.failure.call + 1)} 호출에서 {run.failure.type} 예외를 내요."
    return f"이 코드의 예외는 {ordinal(run.failure.call + 1)} 호출에서 나요 ({run.failure.type})."


def _against_update(symptom: Difference, own: Difference | None, run: Run, solution: Run) -> str:
    row = symptom.index[0]
    if "theta" not in run.arrays:  # the recorder leaves it out if the number of parameters changed
        size = solution.arrays["theta"].shape[1]
        return f"이 코드에서는 매개변수의 크기부터 바뀌어요. 정답에서는 끝까지 숫자 {size}개예요."
    if own is not None and own.kind == "array" and own.index[0] < row:
        name, here, right = _element(own.index, run, solution)
        return f"매개변수는 더 먼저 달라져요. {_after(own.index[0])} `{name}`: 이 코드 {here}, 정답 {right}."
    if _updates(run) < row:
        count = _updates(run)
        moved = f"매개변수를 {times(count)}만 움직여요" if count else "매개변수를 한 번도 움직이지 않아요"
        return f"이 코드는 {moved}. {ordinal(row)} 업데이트가 없어요."
    name, here, _ = _element(symptom.index, run, solution)
    return f"{_after(row)}의 매개변수는 정답과 같아요. 예: `{name}`{particle(name, '은/는')} 둘 다 {here}."


def _after(row: int) -> str:
    """Return when the parameters were in a state, in Korean."""
    return f"{ordinal(row)} 업데이트를 마쳤을 때" if row else "시작할 때"


def _updates(run: Run) -> int:
    """Return how often the parameters moved; row 0 is the state at the start."""
    return max(0, len(run.arrays["theta"]) - 1) if "theta" in run.arrays else 0


def _element(index: tuple[int, ...], run: Run, solution: Run) -> tuple[str, str, str]:
    """Return the name of an element of a state, and its values in both runs."""
    here, right = (number_text(one.arrays["theta"][index]) for one in (run, solution))
    return element_name(run.parameters, index[1]), here, right


# ---- against a line -------------------------------------------------------------------------------------------------


def about_line(case: Case, line: int) -> str:
    """Return a Korean sentence on what a line did, equally, in the case's program and in the right one.

    Empty if the right program does not have it, or if it did not do the same there: then it speaks against nothing.

    Args:
        case: the case.
        line: number of the line in its text, from 1.
    """
    if not case.right or not case.scenario:
        return ""
    right = case.text.removesuffix(case.program) + case.right
    there = _same_line(case.text, right, line)
    if there is None or line not in _lines_in_functions(case.text):
        return ""
    here_seen, there_seen = _watched(case, case.text), _watched(case, right)
    if here_seen is None or there_seen is None:
        return ""
    title = case.exercise.driver[case.scenario].title
    value, count = here_seen.values.get(line), here_seen.counts[line]
    if value is not None and value == there_seen.values.get(there):
        return f"「{title}」에서 이 줄이 처음 만든 `{value[0]}`: 이 코드에서도 정답에서도 {value[1]}."
    if count == there_seen.counts[there]:
        return f"「{title}」에서 이 줄은 {times(count)} 실행됐고, 정답에서도 {times(count)}이에요."
    expected = times(there_seen.counts[there])
    return f"「{title}」에서 이 줄은 {times(count)} 실행됐어요. 정답에서는 {expected}인데, 다른 줄 때문에 달라졌어요."


def _lines_in_functions(text: str) -> set[int]:
    """Return the first lines of all statements inside functions: what is outside runs before anything is watched."""
    functions = (node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef))
    inside = (node for function in functions for one in function.body for node in ast.walk(one))
    return {node.lineno for node in inside if isinstance(node, ast.stmt)}


def _same_line(text: str, other: str, line: int) -> int | None:
    """Return the number of the line in another text that is aligned with it and equal to it; None if there is none."""
    lines, others = text.splitlines(), other.splitlines()
    for block in SequenceMatcher(None, lines, others, autojunk=False).get_matching_blocks():
        if block.a <= line - 1 < block.a + block.size:
            return block.b + line - block.a
    return None


@dataclass
class _Seen:
    """What the lines of a program did in one scenario."""

    counts: Counter[int] = field(default_factory=Counter)
    """Line number -> how often it was run."""
    values: dict[int, tuple[str, str]] = field(default_factory=dict)
    """Line number -> the name that it bound when it was first run, and the number bound to it."""


def _watched(case: Case, text: str) -> _Seen | None:
    """Play the case's scenario with a program and return what its lines did; None if it takes too long."""
    program, seen = load_program(text, name=f"{case.exercise.name}_watched"), _Seen()
    try:
        with time_limit(_MOST_SECONDS), _watching(program.filename, _bound_names(text), seen):
            play_scenario(case.exercise.driver[case.scenario], program, seed=SEED)
    except TimeLimit:
        return None
    finally:
        program.unload()
    return seen


def _bound_names(text: str) -> dict[int, str]:
    """Return the name that each line with a simple assignment binds."""
    found = {}
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            found[node.lineno] = node.targets[0].id
    return found


@contextmanager
def _watching(filename: str, names: dict[int, str], seen: _Seen) -> Iterator[None]:
    """Fill `seen` while code of this file runs in this thread."""

    def traced(frame: FrameType, event: str, _argument: Any) -> Any:
        if frame.f_code.co_filename != filename:
            return None
        last = -1

        def inside(frame: FrameType, event: str, _argument: Any) -> Any:
            nonlocal last
            name = names.get(last)
            if event in ("line", "return") and name is not None and last not in seen.values:
                number = _number_in(frame.f_locals.get(name))
                if number:
                    seen.values[last] = (name, number)
            if event == "line":
                last = frame.f_lineno
                seen.counts[last] += 1
            return inside

        return inside

    before = sys.gettrace()
    sys.settrace(traced)
    try:
        yield
    finally:
        sys.settrace(before)


def _number_in(value: object) -> str:
    """Return a number as text, of a tensor its first one; empty for anything else."""
    if isinstance(value, torch.Tensor) and value.numel():
        first = value.detach().reshape(-1)[0]
        text = number_text(float(first))
        return text if value.numel() == 1 else f"[{text} …]"
    if isinstance(value, int | float) and not isinstance(value, bool):
        return number_text(float(value))
    return ""
