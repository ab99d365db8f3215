"""Provide what a submission is compared with: the runs of the solution and of the known mistakes.

Each run is made when it is first needed and kept for the next submission of the class. The known mistakes are played
in this process, not in the sandbox: they are programs of the course.
"""

import itertools
import re
import types
import weakref
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from functools import cached_property, lru_cache

from grader.course.course import Exercise
from grader.course.reading import load_course
from grader.judging.behaviour_table import behaviours_of
from grader.judging.compare_runs import difference, follows, has_same_cause
from grader.judging.edits import (
    Combination,
    MistakeVariant,
    program_of,
    program_of_all,
    program_text,
    variants,
)
from grader.observe.play import Scenario, play_scenario
from grader.observe.program import Program, load_program
from grader.observe.trace import Run

_KEPT_PROGRAMS = 300
"""Maximum number of loaded programs of mistakes per reference; the least recently used is dropped first."""
_KEPT_RUNS = 300
"""Maximum number of the mistakes' runs per reference, about 10 KB each; the next submission needs mostly the same."""
_KEPT_REFERENCES = 32
"""Maximum number of references: more than the 27 exercises that count, which each submission goes through in order."""
_KEPT_LESSONS = 8
"""Maximum number of lessons whose solutions stay loaded."""
_program_numbers = itertools.count(1)
"""Numbers of the loaded mistakes: each module needs a unique name, because classes are pickled by it."""


class Reference:
    """The runs of the solution and of the known mistakes, for one exercise and seed, each made when first asked for."""

    def __init__(self, exercise: Exercise, seed: int, device: str = "cpu") -> None:
        """`seed`: what all random numbers of the scenarios follow from; `device`: where they are played."""
        self.exercise = exercise
        self.seed = seed
        self.device = device
        self.plays = 0
        """Number of scenarios played so far."""
        self._solution_program = _solution(exercise.lesson)
        self._solution_runs: dict[str, Run] = {}
        self._programs: OrderedDict[str, Program] = OrderedDict()
        weakref.finalize(self, _unload, self._programs).atexit = False
        self._runs: OrderedDict[tuple[str, str], Run] = OrderedDict()
        self._new_behaviours: dict[tuple[str, str], int] = {}

    @cached_property
    def variants(self) -> list[MistakeVariant]:
        """Every variant of every known mistake, in the order of the course file."""
        return variants(self.exercise)

    @cached_property
    def sources(self) -> dict[str, str]:
        """Source of the exercise with the mistake made, by the name of the variant."""
        return {variant.name: program_of(self.exercise, variant) for variant in self.variants}

    @cached_property
    def _table(self) -> dict[str, dict[str, int]]:
        """The exercise's part of the behaviour table."""
        return behaviours_of(self.exercise)

    def solution(self, scenario: str) -> Run:
        """Return the solution's run of a scenario."""
        if scenario not in self._solution_runs:
            self._solution_runs[scenario] = self._play("", self.exercise.driver[scenario])
        return self._solution_runs[scenario]

    def run(self, source: str, scenario: str) -> Run:
        """Return the run of a scenario by a wrong program (its source), played to its end."""
        known = self._known(source, scenario)
        if known is None or not known.complete:
            known = self._keep(source, scenario, self._play(source, self.exercise.driver[scenario]))
        return known

    def program_of_all(self, combination: Combination) -> str | None:
        """Return the source that makes these mistakes at once; None if their edits cannot be combined."""
        if len(combination) == 1:
            return self.sources[combination[0].name]
        return program_of_all(self.exercise, combination)

    def run_of_all(self, combination: Combination, scenario: str) -> Run:
        """Return the run of the program that makes these mistakes; the solution's if their edits cannot be combined."""
        return self.run(self.program_of_all(combination) or "", scenario)

    def equivalent_variants(self, variant: MistakeVariant) -> Iterator[MistakeVariant]:
        """Yield the other variants of the same mistake that behave alike in every scenario."""
        names = [scenario.name for scenario in self.exercise.driver.scenarios]
        for other in self.variants:
            same = other != variant and other.mistake.id == variant.mistake.id
            if same and all(self.behaviour(other, n) == self.behaviour(variant, n) for n in names):
                yield other

    def behaviour(self, variant: MistakeVariant, scenario: str) -> int:
        """Return the number of the variant's behaviour in a scenario; 0 is the solution's, equal numbers behave alike.

        The number comes from the course's table. A mistake that is newer than the table is played; if it changes the
        scenario, it gets a negative number of its own.
        """
        known = self._table.get(scenario, {})
        if variant.name in known:
            return known[variant.name]
        key = (variant.name, scenario)
        if key not in self._new_behaviours:
            right = self.agrees(self.sources[variant.name], scenario, self.solution(scenario))
            self._new_behaviours[key] = 0 if right else -1 - self.variants.index(variant)
        return self._new_behaviours[key]

    def agrees(self, source: str, scenario: str, run: Run) -> bool:
        """Return True if the program behaves as in `run`; it is played only until it is seen to differ.

        Most candidates differ from a wrong submission at its first wrong update. Playing each only that far makes
        hundreds of them affordable while a learner waits.
        """
        of = self.exercise.driver[scenario]
        known = self._known(source, scenario)
        if known is None or not (known.complete or _known_to_differ(run, known, of.atol)):
            known = self._keep(source, scenario, self._play(source, of, against=run))
        return known.complete and difference(run, known, of.atol, agree=has_same_cause) is None

    def known(self, source: str, scenario: str) -> Run:
        """Return the program's run of a scenario as far as it was played; if it never was, play it to its end."""
        known = self._known(source, scenario)
        return self.run(source, scenario) if known is None else known

    def _known(self, source: str, scenario: str) -> Run | None:
        """Return the kept run, which may be incomplete; None if there is none. The empty source is the solution."""
        if not source:
            return self.solution(scenario)
        known = self._runs.get((source, scenario))
        if known is not None:
            self._runs.move_to_end((source, scenario))
        return known

    def _keep(self, source: str, scenario: str, run: Run) -> Run:
        """Keep a run, and drop the least recently used one if there are too many."""
        self._runs[source, scenario] = run
        if len(self._runs) > _KEPT_RUNS:
            self._runs.popitem(last=False)
        return run

    def _play(self, source: str, scenario: Scenario, against: Run | None = None) -> Run:
        """Play a scenario; with `against`, stop at the first parameter state that differs from that run's."""
        self.plays += 1
        program = self._program(source)
        return play_scenario(scenario, program, seed=self.seed, device=self.device, against=against)

    def _program(self, source: str) -> Program:
        """Return the solution's names with the edited definition put over them, to compile one function and not all."""
        if not source:
            return self._solution_program
        if source not in self._programs:
            module = types.ModuleType(f"mistake_{next(_program_numbers)}_of_{self.exercise.name}")
            # Copy only the names that the source mentions: all names of a lesson in each program would fill the memory.
            mentioned = set(re.findall(r"\w+", source)) - {"__name__"}
            module.__dict__.update({k: v for k, v in self._solution_program.names.items() if k in mentioned})
            program = load_program(source, name=module.__name__, into=module)
            self._programs[source] = program
            if len(self._programs) > _KEPT_PROGRAMS:
                self._programs.popitem(last=False)[1].unload()
        self._programs.move_to_end(source)
        return self._programs[source]


def _unload(programs: Mapping[str, Program]) -> None:
    """Unload the programs of a reference that is no longer used."""
    for program in programs.values():
        program.unload()


def _known_to_differ(run: Run, broken_off: Run, atol: float) -> bool:
    """Return True if what was played of an incomplete run is enough to tell it from `run`."""
    theta = run.arrays.get("theta")
    return theta is None or not follows(broken_off.arrays["theta"], theta, atol)


@lru_cache(maxsize=_KEPT_LESSONS)
def _solution(lesson: str) -> Program:
    """Return the loaded solution of a lesson, which its exercises share."""
    return load_program(program_text(lesson), name=f"solution_{lesson}")


@lru_cache(maxsize=_KEPT_REFERENCES)
def reference(exercise: str, seed: int, device: str = "cpu") -> Reference:
    """Return the reference of an exercise. Cached for the next submission."""
    return Reference(load_course().exercise(exercise), seed, device)
