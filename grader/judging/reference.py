"""Provide the runs with which a submission is compared: those of the solution and of the known mistakes.

Each run is made when it is first needed, and kept for the next submission of the class. The programs are played in this
process and not in the sandbox, because they belong to the course.
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
from grader.judging.behaviour_table import Behaviours, behaviours_of
from grader.judging.compare_runs import find_difference, has_same_cause, is_prefix
from grader.judging.edits import (
    Combination,
    MistakeVariant,
    solution_with_needed_imports,
    source_of_combination,
    source_of_variant,
    variants_of,
)
from grader.observe.play import Scenario, play_scenario
from grader.observe.program import Program, load_program
from grader.observe.trace import Run

_KEPT_PROGRAMS = 300
"""Maximum number of loaded programs of mistakes per `Reference`; the least recently used is dropped first."""
_KEPT_RUNS = 300
"""Maximum number of the mistakes' runs per `Reference`, about 10 KB each; the next submission needs mostly the same."""
_KEPT_REFERENCES = 32
"""Maximum number of `Reference` objects that are kept.

Every submission goes through the exercises in the same order, 27 of them without extras. With room for fewer, each
`Reference` would be dropped before it is needed again.
"""
_KEPT_LESSONS = 8
"""Maximum number of lessons whose solutions stay loaded."""
_program_numbers = itertools.count(1)
"""Numbers for the names of the mistakes' modules, which are unique because classes are pickled by module name."""


class Reference:
    """The runs of the solution and of the known mistakes, for one exercise and one seed."""

    def __init__(self, exercise: Exercise, seed: int, device: str = "cpu") -> None:
        """Prepare; nothing is played before it is asked for.

        Args:
            exercise: the exercise.
            seed: number from which all random numbers of the scenarios follow.
            device: torch device on which scenarios are played.
        """
        self.exercise = exercise
        self.seed = seed
        self.device = device
        self.plays = 0
        """Number of scenarios played so far."""
        self._solution_program = _solution_program(exercise.lesson)
        self._solution_runs: dict[str, Run] = {}
        self._programs: OrderedDict[str, Program] = OrderedDict()
        weakref.finalize(self, _unload, self._programs).atexit = False  # at exit, everything is gone anyway
        self._runs: OrderedDict[tuple[str, str], Run] = OrderedDict()
        self._new_behaviours: dict[tuple[str, str], int] = {}

    @cached_property
    def variants(self) -> list[MistakeVariant]:
        """Every variant of every known mistake, in the order of the course file."""
        return variants_of(self.exercise)

    @cached_property
    def sources(self) -> dict[str, str]:
        """Source of the exercise with one mistake made, by name of the variant."""
        return {variant.name: source_of_variant(self.exercise, variant) for variant in self.variants}

    @cached_property
    def _table(self) -> Behaviours:
        """The exercise's measured behaviours (`behaviour_table.Behaviours`)."""
        return behaviours_of(self.exercise)

    def solution(self, scenario: str) -> Run:
        """Return the solution's run of a scenario."""
        if scenario not in self._solution_runs:
            self._solution_runs[scenario] = self._play("", self.exercise.driver[scenario])
        return self._solution_runs[scenario]

    def run(self, source: str, scenario: str) -> Run:
        """Return the complete run of a scenario by the program with this source."""
        kept = self._kept_run(source, scenario)
        if kept is None or not kept.complete:
            kept = self._keep(source, scenario, self._play(source, self.exercise.driver[scenario]))
        return kept

    def program_of_all(self, combination: Combination) -> str | None:
        """Return the source of the exercise with these mistakes made; None if their edits cannot be combined."""
        if len(combination) == 1:
            return self.sources[combination[0].name]
        return source_of_combination(self.exercise, combination)

    def run_of_all(self, combination: Combination, scenario: str) -> Run:
        """Return the complete run of the program with these mistakes; the solution's if they cannot be combined."""
        return self.run(self.program_of_all(combination) or "", scenario)

    def equivalent_variants(self, variant: MistakeVariant) -> Iterator[MistakeVariant]:
        """Yield the other variants of the same mistake that behave like this one in every scenario."""
        names = [scenario.name for scenario in self.exercise.driver.scenarios]
        for other in self.variants:
            of_same_mistake = other != variant and other.mistake.id == variant.mistake.id
            if of_same_mistake and all(self.behaviour(other, n) == self.behaviour(variant, n) for n in names):
                yield other

    def behaviour(self, variant: MistakeVariant, scenario: str) -> int:
        """Return the number of the variant's behaviour in a scenario; 0 is the solution's.

        Variants with equal numbers behave alike. The number comes from the behaviour table. A variant that is missing
        there, because it is newer, is played; if it changes the scenario, it gets a negative number of its own.
        """
        measured = self._table.get(scenario, {})
        if variant.name in measured:
            return measured[variant.name]
        key = (variant.name, scenario)
        if key not in self._new_behaviours:
            right = self.agrees(self.sources[variant.name], scenario, self.solution(scenario))
            self._new_behaviours[key] = 0 if right else -1 - self.variants.index(variant)
        return self._new_behaviours[key]

    def agrees(self, source: str, scenario: str, run: Run) -> bool:
        """Return True if the program with this source behaves as `run` does in a scenario.

        The program is played only until it is seen to differ. Most known mistakes differ from a wrong submission at its
        first wrong update, so hundreds of them can be compared while a learner waits.
        """
        its = self.exercise.driver[scenario]
        kept = self._kept_run(source, scenario)
        if kept is None or not (kept.complete or _is_seen_to_differ(kept, run, its.atol)):
            kept = self._keep(source, scenario, self._play(source, its, against=run))
        return kept.complete and find_difference(run, kept, its.atol, failures_agree=has_same_cause) is None

    def run_so_far(self, source: str, scenario: str) -> Run:
        """Return the program's run of a scenario as far as it was played; if it never was, play it to its end."""
        kept = self._kept_run(source, scenario)
        return self.run(source, scenario) if kept is None else kept

    def _kept_run(self, source: str, scenario: str) -> Run | None:
        """Return the kept run, which may be incomplete; None if there is none. The empty source is the solution."""
        if not source:
            return self.solution(scenario)
        kept = self._runs.get((source, scenario))
        if kept is not None:
            self._runs.move_to_end((source, scenario))
        return kept

    def _keep(self, source: str, scenario: str, run: Run) -> Run:
        """Keep a run and return it; drop the least recently used one if there are too many."""
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
        """Return the loaded program with this source; the empty source is the solution.

        A source is one definition. What else it needs comes from the loaded solution, so that only this definition has
        to be compiled.
        """
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
    """Unload the programs of a `Reference` that has been garbage-collected."""
    for program in programs.values():
        program.unload()


def _is_seen_to_differ(incomplete: Run, run: Run, atol: float) -> bool:
    """Return True if the part of an incomplete run that was played already differs from `run`."""
    theta = run.arrays.get("theta")
    return theta is None or not is_prefix(incomplete.arrays["theta"], theta, atol)


@lru_cache(maxsize=_KEPT_LESSONS)
def _solution_program(lesson: str) -> Program:
    """Return the loaded solution of a lesson, which its exercises share. Cached."""
    return load_program(solution_with_needed_imports(lesson), name=f"solution_{lesson}")


@lru_cache(maxsize=_KEPT_REFERENCES)
def reference(exercise: str, seed: int, device: str = "cpu") -> Reference:
    """Return the `Reference` of an exercise. Cached for the next submission."""
    return Reference(load_course().exercise(exercise), seed, device)
