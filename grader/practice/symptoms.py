"""Make the question on a broken function: which symptom does it have? Every choice was measured on a wrong program.

A choice that is not the answer is false of the function itself, and what was measured against it is kept beside it
(`counter_evidence`).
"""

import math
import random
import re
from collections.abc import Iterator
from dataclasses import dataclass

from grader.course.feedback import NO_EXCEPTION, UPDATE_COUNT, FirstDifference
from grader.grading import SEED
from grader.judging.compare_runs import Difference, find_difference
from grader.judging.first_difference import describe_first_difference
from grader.judging.reference import Reference, cached_reference
from grader.observe.play import Scenario
from grader.observe.trace import Run
from grader.observe.wording import ordinal, times, yes_or_no
from grader.practice.case import Case
from grader.practice.counter_evidence import against, difference_in

_CHOICES = 4
"""Number of choices offered, if as many different symptoms are found."""
_FEWEST = 3
"""With fewer choices than this, no question is asked."""
_NUMBER = re.compile(r"\d+|\w+ 번째")
_TYPE_BESIDE = re.compile(r"(?<=숫자가 아님) \(\w+\)$")
"""Type of what is returned in place of a number: it names the mistake (`builtin_function_or_method`)."""
_FIRST_TIMES = {"첫 번째", "두 번째"}
_MOST_PLAYS = 16
"""Maximum number of other programs run to find wrong choices."""


@dataclass(frozen=True)
class Question:
    """One right answer among symptoms of programs that behave differently in the same scenario."""

    scenario: str
    """Korean title of the scenario."""
    choices: dict[str, str]
    """Letter -> symptom in Korean."""
    answer: str
    against: dict[str, str]
    """Letter of each wrong choice -> Korean sentence on what was measured in the case's run and speaks against it."""

    @property
    def text(self) -> str:
        """The question in Korean."""
        return (
            f"이 코드와 정답을 같은 상황(「{self.scenario}」)에서 실행했어요. "
            "이 코드에서 처음으로 다른 것은 무엇일까요?"
        )


@dataclass(frozen=True)
class _Symptom:
    """The first difference between a wrong program and the solution."""

    found: Difference
    first: FirstDifference

    @property
    def likeness(self) -> str:
        """The symptom as one sentence by which two are compared (`_differ_in_words`)."""
        return symptom_in_words(self.first)

    @property
    def text(self) -> str:
        """The symptom as a choice that can be told from the others: it says what was right until then."""
        update = self.first.update
        if self.first.tensor is None or not update:
            return self.likeness
        if update == 1:
            return "첫 번째 업데이트를 마쳤을 때 벌써 매개변수가 달라요"
        return (
            f"{ordinal(update - 1)} 업데이트까지는 매개변수가 같고, {ordinal(update)} 업데이트에서 달라져요"
        )


def question(case: Case, chance: random.Random) -> Question | None:
    """Return the question on a case.

    Args:
        case: the case that was drawn.
        chance: draws the wrong answers and the order.

    Returns:
        None for a pair, whose symptoms mix, and if too few other programs show a different symptom in the scenario.
    """
    if len(case.mistakes) > 1 or not case.scenario:
        return None
    known = cached_reference(case.exercise.name, SEED)
    right = _symptom(known, case.program, case.scenario)
    if right is None:
        return None
    own, solution = known.complete_run(case.program, case.scenario), known.solution_run(case.scenario)
    scenario = case.exercise.driver[case.scenario]
    others: list[_Symptom] = []
    for other in _others(known, case, chance):
        if _is_of_missing_update(other.found, own, solution):
            continue
        there = _symptom_in(other.found.name, scenario, own, solution)
        rivals = [
            right,
            *others,
            *([there] if there is not None else []),
        ]  # `there` is true, be it first or not
        if all(_differ_in_words(other.likeness, rival.likeness) for rival in rivals):
            others.append(other)
        if len(others) == _CHOICES - 1:
            break
    if len(others) < _FEWEST - 1:
        return None
    symptoms = [right, *others]
    chance.shuffle(symptoms)
    lettered = dict(zip("abcd", symptoms, strict=False))
    return Question(
        scenario.title,
        {letter: symptom.text for letter, symptom in lettered.items()},
        next(letter for letter, symptom in lettered.items() if symptom is right),
        {
            letter: against(symptom.found, scenario, own, solution)
            for letter, symptom in lettered.items()
            if symptom is not right
        },
    )


def _is_of_missing_update(found: Difference, own: Run, solution: Run) -> bool:
    """Return True if parameters differ after the first update that the run does not make: so they do in the run."""
    if found.name != "theta" or found.kind != "array" or "theta" not in own.arrays:
        return False
    return found.index[0] == len(own.arrays["theta"]) < len(solution.arrays["theta"])


def _differ_in_words(one: str, other: str) -> bool:
    """Return True if two symptoms can be told apart without running the code.

    The type of an exception, which element of a list is meant, and numbers cannot: the scenario's sizes are not shown.
    Only the first and the second time can: what a step leaves behind goes wrong in the next one.
    """
    one, other = (re.sub(r" \((?:\w+|\w+ 번째)\)", "", text) for text in (one, other))
    numbers = {*_NUMBER.findall(one)} ^ {*_NUMBER.findall(other)}
    return _NUMBER.sub("", one) != _NUMBER.sub("", other) or (one != other and numbers <= _FIRST_TIMES)


def _others(known: Reference, case: Case, chance: random.Random) -> Iterator[_Symptom]:
    """Yield symptoms of other mistakes in the case's scenario, from one program for each distinct behaviour."""
    found = {
        known.behaviour(variant, case.scenario): variant
        for variant in known.variants
        if variant.mistake not in case.mistakes and not variant.copy
    }
    mine = {
        known.behaviour(variant, case.scenario)
        for variant in known.variants
        if variant.mistake in case.mistakes
    }
    programs = [variant for number, variant in sorted(found.items()) if number != 0 and number not in mine]
    for variant in chance.sample(programs, min(len(programs), _MOST_PLAYS)):
        symptom = _symptom(known, known.sources[variant.name], case.scenario)
        if symptom is not None:
            yield symptom


def _symptom(known: Reference, program: str, name: str) -> _Symptom | None:
    """Return the first difference between a program and the solution; None if they agree."""
    scenario, solution = known.exercise.driver[name], known.solution_run(name)
    run = known.complete_run(program, name)
    found = find_difference(run, solution, scenario.atol)
    if found is None:
        return None
    return _Symptom(found, describe_first_difference(scenario, found, run, solution))


def _symptom_in(name: str, scenario: Scenario, run: Run, solution: Run) -> _Symptom | None:
    """Return the first difference in one array or fact; None if it agrees, or if no name is given."""
    found = difference_in(name, run, solution, scenario.atol) if name else None
    if found is None:
        return None
    return _Symptom(found, describe_first_difference(scenario, found, run, solution))


def symptom_in_words(first: FirstDifference) -> str:
    """Return a difference as one Korean sentence.

    Numbers are quoted only if both are whole. Of others, nobody could tell the value or the larger one in the head, so
    the sentence only says that they differ.
    """
    if first.tensor is not None:
        return first.what
    if first.what == UPDATE_COUNT:  # counts how often parameters moved, not the calls that a learner can see
        moved = "한 번도 움직이지 않아요" if first.got == times(0) else f"{first.got} 움직여요"
        return f"매개변수가 올바른 코드에서는 {first.expected} 움직이는데, 이 코드에서는 {moved}"
    if first.expected == NO_EXCEPTION:
        return f"{first.what}에서 예외가 나요 ({first.got.partition(':')[0]})"
    if first.got == NO_EXCEPTION:
        return f"{first.what}에서 예외({first.expected})가 나야 하는데 그냥 끝나요"
    return f"{first.what} · {_compared(first)}"


def _compared(first: FirstDifference) -> str:
    """Return a Korean comparison of the expected with the observed value."""
    if {first.expected, first.got} == {yes_or_no(True), yes_or_no(False)}:
        yes, no = "그래요", "그렇지 않아요"
        right, here = (yes, no) if first.expected == yes_or_no(True) else (no, yes)
        return f"올바른 코드에서는 {right}. 이 코드에서는 {here}"
    expected, got = _number(first.expected), _number(first.got)
    if expected is None or got is None or (expected.is_integer() and got.is_integer()):
        shown = _TYPE_BESIDE.sub("", first.got)
        return f"올바른 코드는 {first.expected}, 이 코드는 {shown}"
    if not math.isfinite(got):
        return "NaN이 나와요" if math.isnan(got) else "무한대가 나와요"
    if got == 0:
        return "0이 나와요"
    return "숫자이지만 값이 달라요"


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
