"""What a submission is compared with: the solution's and the known mistakes' runs, each made when first needed."""

import types
from collections.abc import Iterator
from functools import cached_property, lru_cache

import numpy as np

from grader.course import Exercise
from grader.course_files import load_course
from grader.judging.edits import Candidate, paired_mistakes, single_mistakes, solution_text
from grader.judging.judge import difference, has_same_cause
from grader.observe.play import Scenario, play_scenario
from grader.observe.program import Program, load_program
from grader.observe.trace import Run

_UNLIKELY_PAIRS = 300  # at about 8 ms each: what a learner waits for when no known mistake fits
_KEPT_PROGRAMS = 500  # compiled mistakes; thousands of pairs are each played once and not needed again
_KEPT_REFERENCES = 32
"""More than the course has exercises: a class is graded with one seed, and tests take one exercise after the other.
Each holds every run that was compared, some 6 MB for the single mistakes of an exercise."""


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
        self._changes: dict[str, set[str]] = {}

    def solution(self, scenario: str) -> Run:
        """The solution's run of a scenario."""
        return self._run("", scenario)

    @cached_property
    def singles(self) -> list[Candidate]:
        """Single mistakes."""
        return list(single_mistakes(self.exercise))

    @cached_property
    def pairs(self) -> list[Candidate]:
        """Pairs of mistakes."""
        return list(paired_mistakes(self.exercise, every_way=False))

    @cached_property
    def rarer_pairs(self) -> list[Candidate]:
        """Pairs made in other ways than the first; none unless the reference is thorough."""
        common = {c.source for c in self.pairs}
        every = paired_mistakes(self.exercise, every_way=True) if self.thorough else ()
        return [c for c in every if c.source not in common]

    def run(self, candidate: Candidate, scenario: str) -> Run:
        """A mistake's run of a scenario."""
        return self._run(candidate.source, scenario)

    def behaves_like(self, candidate: Candidate, runs: dict[str, Run]) -> bool:
        """Whether the candidate behaves as in `runs` in every scenario; stops at the first scenario that differs."""
        return all(
            scenario.name in runs and self._agrees(candidate, scenario, runs[scenario.name])
            for scenario in self._scenarios(runs)
        )

    def pairs_to_try(self, runs: dict[str, Run]) -> list[Candidate]:
        """Pairs worth a waiting learner's time: those that are likely, and a few hundred of the others.

        What is likely follows from the first scenario that went wrong. A mistake that by itself changes nothing there
        mostly changes nothing there beside another mistake either. So a pair is likely when both of its mistakes
        change that scenario, or when only one does and that one alone already gives the learner's run. Example: the
        scenario has no clipping, and the learner's run there is that of `missing-zero-grad`. Then
        (missing-zero-grad, no-clip) is likely, and (clip-by-value, no-clip) is not. A thorough reference tries all.
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
        """Ids of the mistakes that behave differently from the solution in this scenario."""
        if scenario.name not in self._changes:
            right = self.solution(scenario.name)
            found = {c.ids[0] for c in self.singles if not self._agrees(c, scenario, right)}
            self._changes[scenario.name] = found
        return self._changes[scenario.name]

    def _agrees(self, candidate: Candidate, scenario: Scenario, run: Run) -> bool:
        """Compare with the known part of the candidate's run; play more of it only if this part does not decide.

        Most candidates differ from a wrong submission at its first wrong update. Playing each only that far makes
        hundreds of pairs affordable while a learner waits.
        """
        key = (candidate.source, scenario.name)
        known = self._runs.get(key)
        if known is not None and (known.complete or _parted(run, known, scenario.atol)):
            return _same(run, known, scenario.atol)
        self._runs[key] = self._play(candidate.source, scenario, against=run)
        return _same(run, self._runs[key], scenario.atol)

    def _scenarios(self, runs: dict[str, Run]) -> Iterator[Scenario]:
        """All scenarios. First those in which the runs differ from the solution: they tell candidates apart soonest."""
        scenarios = self.exercise.driver.scenarios

        def agrees(scenario: Scenario) -> bool:
            run = runs.get(scenario.name)
            return run is not None and difference(run, self.solution(scenario.name), scenario.atol) is None

        return iter(sorted(scenarios, key=agrees))

    def _run(self, source: str, scenario: str) -> Run:
        key = (source, scenario)
        if key not in self._runs or not self._runs[key].complete:
            self._runs[key] = self._play(source, self.exercise.driver[scenario])
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


@lru_cache(maxsize=_KEPT_REFERENCES)
def reference(exercise: str, seed: int, device: str = "cpu", *, thorough: bool = False) -> Reference:
    """The reference of an exercise, kept for the next submission."""
    return Reference(load_course().exercise(exercise), seed, device, thorough=thorough)
