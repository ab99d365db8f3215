"""Text edits of the solution -> programs, traced lazily: what a wrong submission is compared with."""

import ast
import types
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import combinations, pairwise, product

import numpy as np

from grader.course import CourseError, Edit, Exercise, Mistake, load_course
from grader.judging.judge import difference, has_same_cause
from grader.observe.play import Scenario, play_scenario
from grader.observe.program import Program, load_program
from grader.observe.trace import Run
from grader.submission.folder import read_submission

_UNLIKELY_PAIRS = 300  # at about 8 ms each: what a learner waits for when no known mistake fits
_KEPT_PROGRAMS = 500  # compiled mistakes; thousands of pairs are each played once and not needed again


@dataclass(frozen=True)
class Candidate:
    """A program that makes one known mistake, or two at once."""

    mistakes: tuple[Mistake, ...]
    source: str
    """The exercise's source with the edits applied."""

    @property
    def ids(self) -> tuple[str, ...]:
        """Ids of its mistakes in the order of the course file."""
        return tuple(m.id for m in self.mistakes)


@cache
def solution_text(lesson: str) -> str:
    """The lesson's solution as one program text, read by the same reader as a submission."""
    course = load_course()
    path = course.lesson(lesson).solution
    submission = read_submission(path, tuple(course.exercises))
    if submission.unreadable or not submission.files or submission.files[0].problems:
        raise CourseError(f"{path}: 해답을 읽을 수 없어요: {submission.unreadable or submission.files}")
    return submission.files[0].text


def exercise_source(exercise: Exercise) -> str:
    """Source of the exercise's function or class in the solution, decorators included."""
    text = solution_text(exercise.lesson)
    start, end = definition_span(text, exercise.name)
    return "".join(f"{line}\n" for line in text.split("\n")[start - 1 : end])


def definition_span(text: str, name: str) -> tuple[int, int]:
    """First and last line (from 1) of the last top-level definition of `name`.

    Raises:
        CourseError: it is not defined.
    """
    for node in reversed(ast.parse(text).body):
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name == name:
            first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
            return first, node.end_lineno or node.lineno
    raise CourseError(f"해답에 `{name}` 정의가 없어요")


def apply_edits(source: str, edits: tuple[Edit, ...], owner: str) -> str | None:
    """The source with all edits made at once; None when two of them overlap.

    Raises:
        CourseError: an old text does not stand exactly once in the source.
    """
    spans = []
    for old, new in edits:
        if source.count(old) != 1:
            raise CourseError(
                f"{owner}: 바꿀 글이 해답에 {source.count(old)}번 있어요 (한 번이어야 해요): {old!r}"
            )
        start = source.index(old)
        spans.append((start, start + len(old), new))
    spans.sort()
    if any(left[1] > right[0] for left, right in pairwise(spans)):
        return None
    for start, end, new in reversed(spans):
        source = source[:start] + new + source[end:]
    return source


def single_mistakes(exercise: Exercise) -> Iterator[Candidate]:
    """Every way to make every known mistake, in the order of the course file."""
    source = exercise_source(exercise)
    for mistake in exercise.mistakes:
        for edits in mistake.programs:
            edited = apply_edits(source, edits, f"{exercise.name}/{mistake.id}")
            if edited is None:
                raise CourseError(f"{exercise.name}/{mistake.id}: 편집끼리 겹쳐요")
            yield Candidate((mistake,), edited)


def paired_mistakes(exercise: Exercise, *, every_way: bool) -> Iterator[Candidate]:
    """Every pair whose edits do not overlap and whose result is a program.

    `every_way` pairs each way to make a mistake with each way to make the other: several times as many.
    """
    source = exercise_source(exercise)
    for one, other in combinations(exercise.mistakes, 2):
        counts = [None if every_way else mistake.in_pairs for mistake in (one, other)]
        for edits in product(one.programs[: counts[0]], other.programs[: counts[1]]):
            edited = apply_edits(source, edits[0] + edits[1], exercise.name)
            if edited is not None and _parses(edited):
                yield Candidate((one, other), edited)


def _parses(source: str) -> bool:
    try:
        ast.parse(source)
    except SyntaxError:
        return False
    return True


class Reference:
    """The solution's and the mistakes' runs of one exercise with one seed, each made when first asked for."""

    def __init__(self, exercise: Exercise, seed: int, device: str = "cpu", *, thorough: bool = False) -> None:
        """With `thorough`, pairs are tried in every way: minutes for a class, too long for a waiting learner."""
        self.exercise = exercise
        self.seed = seed
        self.device = device
        self.thorough = thorough
        self._base = load_program(solution_text(exercise.lesson), name=f"solution_{exercise.lesson}")
        self._programs: dict[str, Program] = {}
        self._runs: dict[tuple[str, str], Run] = {}
        self._singles: list[Candidate] | None = None
        self._pairs: list[Candidate] | None = None
        self._rarer_pairs: list[Candidate] | None = None
        self._changes: dict[str, set[str]] = {}

    def solution(self, scenario: str) -> Run:
        """The solution's run of a scenario."""
        return self._run("", scenario)

    @property
    def singles(self) -> list[Candidate]:
        """Single mistakes."""
        if self._singles is None:
            self._singles = list(single_mistakes(self.exercise))
        return self._singles

    @property
    def pairs(self) -> list[Candidate]:
        """Pairs of mistakes."""
        if self._pairs is None:
            self._pairs = list(paired_mistakes(self.exercise, every_way=False))
        return self._pairs

    @property
    def rarer_pairs(self) -> list[Candidate]:
        """Pairs made in other ways than the first; none unless the reference is thorough."""
        if self._rarer_pairs is None:
            common = {c.source for c in self.pairs}
            every = paired_mistakes(self.exercise, every_way=True) if self.thorough else ()
            self._rarer_pairs = [c for c in every if c.source not in common]
        return self._rarer_pairs

    def run(self, candidate: Candidate, scenario: str) -> Run:
        """A mistake's run of a scenario."""
        return self._run(candidate.source, scenario)

    def behaves_like(self, candidate: Candidate, runs: dict[str, Run]) -> bool:
        """Whether every scenario of `runs` goes as it goes with the candidate; stops at the first that does not."""
        return all(
            scenario.name in runs and self._agrees(candidate, scenario, runs[scenario.name])
            for scenario in self._scenarios(runs)
        )

    def pairs_to_try(self, runs: dict[str, Run]) -> list[Candidate]:
        """Pairs worth a waiting learner's time: those that are likely, and others while they are few.

        Likely by the first scenario that went wrong: a mistake that changes nothing there by itself mostly
        changes nothing there beside another one. So one of the two changes something, and where only one
        does, alone it goes as `runs` go. A thorough reference tries all.
        """
        if self.thorough:
            return self.pairs
        scenario = next(self._scenarios(runs))
        run, changing = runs.get(scenario.name), self._changing(scenario)
        alone = {c.ids[0] for c in self.singles if run is not None and self._agrees(c, scenario, run)}
        room = _UNLIKELY_PAIRS
        tried = []
        for pair in self.pairs:
            at_work = changing.intersection(pair.ids)
            likely = bool(at_work) and (len(at_work) > 1 or at_work <= alone)
            if likely or room > 0:
                tried.append(pair)
                room -= not likely
        return tried

    def _changing(self, scenario: Scenario) -> set[str]:
        """Ids of the mistakes that leave the solution in this scenario."""
        if scenario.name not in self._changes:
            right = self.solution(scenario.name)
            found = {c.ids[0] for c in self.singles if not self._agrees(c, scenario, right)}
            self._changes[scenario.name] = found
        return self._changes[scenario.name]

    def _agrees(self, candidate: Candidate, scenario: Scenario, run: Run) -> bool:
        """Compare with what is known of the candidate; play it (on) only where that does not decide.

        Most candidates leave a wrong submission at its first wrong update: playing each only that far makes
        hundreds of pairs affordable while a learner waits.
        """
        key = (candidate.source, scenario.name)
        known = self._runs.get(key)
        if known is not None and (known.complete or _parted(run, known, scenario.atol)):
            return _same(run, known, scenario.atol)
        self._runs[key] = self._play(candidate.source, scenario, against=run)
        return _same(run, self._runs[key], scenario.atol)

    def _scenarios(self, runs: dict[str, Run]) -> Iterator[Scenario]:
        """Scenarios in which the runs leave the solution first: they tell candidates apart soonest."""
        scenarios = self.exercise.driver.scenarios

        def agrees(scenario: Scenario) -> bool:
            run = runs.get(scenario.name)
            return run is not None and difference(run, self.solution(scenario.name), scenario.atol) is None

        return iter(sorted(scenarios, key=agrees))

    def _run(self, source: str, scenario: str) -> Run:
        key = (source, scenario)
        if key not in self._runs or not self._runs[key].complete:
            self._runs[key] = self._play(source, self.exercise.driver.scenario(scenario))
        return self._runs[key]

    def _play(self, source: str, scenario: Scenario, against: Run | None = None) -> Run:
        program = self._program(source)
        return play_scenario(scenario, program, seed=self.seed, device=self.device, against=against)

    def _program(self, source: str) -> Program:
        """The solution's module with the edited definition put over it (compiling one function, not all)."""
        if not source:
            return self._base
        if source not in self._programs:
            if len(self._programs) >= _KEPT_PROGRAMS:
                self._programs.clear()
            module = types.ModuleType(f"mistake_{len(self._programs)}_{self.exercise.name}")
            module.__dict__.update({k: v for k, v in self._base.names.items() if k != "__name__"})
            self._programs[source] = load_program(source, name=module.__name__, into=module)
        return self._programs[source]


def _same(run: Run, other: Run, atol: float) -> bool:
    return difference(run, other, atol, agree=has_same_cause) is None


def _parted(run: Run, broken_off: Run, atol: float) -> bool:
    """Whether what was played of a broken-off run is already enough to tell the two apart."""
    theta = run.arrays.get("theta")
    played = broken_off.arrays["theta"]
    if theta is None or theta.shape[1:] != played.shape[1:] or len(theta) < len(played):
        return True
    return not np.allclose(theta[: len(played)], played, rtol=0.0, atol=atol, equal_nan=True)


@cache
def reference(exercise: str, seed: int, device: str = "cpu", *, thorough: bool = False) -> Reference:
    """The (cached) reference of an exercise."""
    return Reference(load_course().exercise(exercise), seed, device, thorough=thorough)
