"""Provide the runs with which a submission is compared: those of the solution and of the known mistakes.

Each run is made when it is first needed. The last ones are kept for the next submissions of the class. The programs are
played in this process and not in the sandbox, because they belong to the course.

In this module, a program is named by its *source*, a text that defines the exercise's function or class: usually the
solution's definition with mistakes made in it, or a program of `[[copies]]`. `_SOLUTION` stands for the solution, which
is loaded as a whole lesson.

- `solution_run` is the solution's run, `complete_run` that of any source, `run_with_mistakes` that of a combination of
  mistakes: all complete.
- `reproduces` compares a program with a run, and may break the program off at the first weights that differ.
- `run_so_far` gives whatever run is kept, complete or broken off.

Whoever grades asks `cached_reference` and gives the `Reference` to `assess.py assess`; nothing is judged here. Where
the programs come from: `edits.py` (mistakes), `solution.py` (the solution). How many are kept: the constants. Another
question about runs is a method that gets them from `complete_run` or `reproduces`, which play what is not kept.
"""

import io
import itertools
import re
import types
import weakref
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import redirect_stdout
from functools import cached_property, lru_cache

from grader.course.course import Exercise
from grader.course.reading import load_course
from grader.judging.behaviour_table import Behaviours, behaviours_of
from grader.judging.compare_runs import find_difference, has_same_cause, is_prefix
from grader.judging.edits import Combination, MistakeVariant, combination_source, variant_source, variants_of
from grader.judging.solution import solution_with_needed_imports
from grader.observe.play import play_scenario
from grader.observe.program import Program, load_program
from grader.observe.trace import Run

_MAX_KEPT_PROGRAMS = 300
"""Maximum number of mistakes' programs that a `Reference` keeps loaded; the least recently used is dropped first."""
_MAX_KEPT_RUNS = 300
"""Maximum number of mistakes' runs that a `Reference` keeps, about 10 KB each; most submissions need the same ones."""
_MAX_KEPT_REFERENCES = 64
"""Maximum number of `Reference` objects that are kept; more than the course has exercises.

Every submission goes through its exercises in the same order, and it may hold all of them. If there were room for fewer
than these, each `Reference` would be dropped before it is needed again.
"""
_MAX_KEPT_SOLUTIONS = 8
"""Maximum number of lessons whose solutions are remembered: more than the course has, so none is loaded twice."""
_SOLUTION = ""
"""Takes the place of a source: the program is the solution."""
_program_numbers = itertools.count(1)
"""Numbers for the names of the mistakes' modules. The names are unique, because classes are pickled by module name."""


class Reference:
    """Plays the solution and the known mistakes of one exercise with one seed, and keeps their runs."""

    def __init__(self, exercise: Exercise, seed: int, device: str = "cpu") -> None:
        """Load the lesson's solution; nothing is played yet.

        Args:
            exercise: the exercise whose programs are played.
            seed: seed of all random numbers in the scenarios.
            device: torch device on which scenarios are played.
        """
        self.exercise = exercise
        self.seed = seed
        self.device = device
        self.play_count = 0
        """Number of plays so far, of one scenario each, for tests of what a search costs."""
        self._solution_program = _load_solution(exercise.lesson)
        self._solution_runs: dict[str, Run] = {}
        self._programs: OrderedDict[str, Program] = OrderedDict()
        """Loaded programs of mistakes by source, the least recently used first."""
        finalizer = weakref.finalize(self, _unload, self._programs)
        finalizer.atexit = False  # when Python exits, everything is gone anyway
        self._runs: OrderedDict[tuple[str, str], Run] = OrderedDict()
        """Runs of mistakes by (source, name of the scenario), the least recently used first."""
        self._runs_in_driver_order: dict[str, dict[str, Run]] = {}
        """For programs that remember something between scenarios (`_play`): by source and scenario, their runs."""
        self._new_behaviours: dict[tuple[str, str], int] = {}
        """Behaviours that the table lacks, by (name of the variant, name of the scenario)."""

    @cached_property
    def variants(self) -> list[MistakeVariant]:
        """Every variant of every known mistake, in the order of the exercise's TOML."""
        return variants_of(self.exercise)

    @cached_property
    def sources(self) -> dict[str, str]:
        """Source with one mistake made, by name of the variant."""
        return {variant.name: variant_source(self.exercise, variant) for variant in self.variants}

    def solution_run(self, scenario: str) -> Run:
        """Return the solution's run of the scenario of this name."""
        if scenario not in self._solution_runs:
            self._solution_runs[scenario] = self._play(_SOLUTION, scenario)
        return self._solution_runs[scenario]

    def complete_run(self, source: str, scenario: str) -> Run:
        """Return the complete run of a scenario by the program with this source."""
        kept = self._kept_run(source, scenario)
        if kept is None or not kept.complete:
            kept = self._store_run(source, scenario, self._play(source, scenario))
        return kept

    def run_so_far(self, source: str, scenario: str) -> Run:
        """Return the run of a scenario that is kept, complete or broken off; if none is kept, play it to its end.

        How far a broken-off run goes depends on what was compared before, for other learners too: use only what does
        not, such as the weights up to where they differ.
        """
        kept = self._kept_run(source, scenario)
        return self.complete_run(source, scenario) if kept is None else kept

    def in_toml_order(self, mistakes: Iterable[MistakeVariant]) -> Combination:
        """Return the variants in the order of the exercise's TOML; that of a set differs from process to process."""
        return tuple(sorted(mistakes, key=self.positions.__getitem__))

    def source_with_mistakes(self, mistakes: Iterable[MistakeVariant]) -> str | None:
        """Return the source with all these mistakes made; None if their edits cannot be combined.

        The order of `mistakes` does not matter: where edits overlap, it would decide which program is made, so the
        order of the exercise's TOML is taken.
        """
        combination = self.in_toml_order(mistakes)
        if len(combination) == 1:
            return self.sources[combination[0].name]
        return combination_source(self.exercise, combination)

    def source_to_edit(self, variant: MistakeVariant, others: Iterable[MistakeVariant] = ()) -> str | None:
        """Return the source that the variant edits: the solution with the other mistakes made.

        It has two copies of the code if the variant, or one of the others, is made in one copy only
        (`MistakeVariant.copy`). None if the edits of the others cannot be combined.
        """
        return combination_source(self.exercise, self.in_toml_order(others), in_two_copies=variant.copy > 0)

    def run_with_mistakes(self, mistakes: Iterable[MistakeVariant], scenario: str) -> Run | None:
        """Return the complete run of the program with all these mistakes made; None if they cannot be combined."""
        source = self.source_with_mistakes(mistakes)
        return None if source is None else self.complete_run(source, scenario)

    def equivalent_variants(self, variant: MistakeVariant) -> Iterator[MistakeVariant]:
        """Yield the other variants of the same mistake that behave like this one in every scenario."""
        names = [scenario.name for scenario in self.exercise.driver.scenarios]
        for other in self.variants:
            if other == variant or other.mistake.id != variant.mistake.id:
                continue
            if all(self.behaviour(other, name) == self.behaviour(variant, name) for name in names):
                yield other

    def behaviour(self, variant: MistakeVariant, scenario: str) -> int:
        """Return the number of the variant's behaviour in a scenario.

        0: it behaves as the solution does there. Variants with equal numbers behave alike. The number comes from the
        behaviour table, which was measured with one seed on the CPU and only guides searches. A variant that is newer
        than the table is played; if it changes the scenario, it gets a negative number of its own, so that it counts as
        unlike all others.
        """
        measured = self._behaviour_table.get(scenario, {})
        if variant.name in measured:
            return measured[variant.name]
        key = (variant.name, scenario)
        if key not in self._new_behaviours:
            is_harmless = self.reproduces(self.sources[variant.name], scenario, self.solution_run(scenario))
            self._new_behaviours[key] = 0 if is_harmless else -1 - self.positions[variant]
        return self._new_behaviours[key]

    def reproduces(self, source: str, scenario: str, run: Run) -> bool:
        """Return True if the program with this source behaves as `run` does in a scenario.

        If the program has to be played, it is broken off where its weights first differ from the run's; a difference of
        another kind is seen when it has ended. Most known mistakes differ from a wrong submission at its first wrong
        update, so hundreds of them can be compared while a learner waits.
        """
        atol = self.exercise.driver[scenario].atol
        kept = self._kept_run(source, scenario)
        # An incomplete run was broken off where it differed from another run: it may be too short to tell.
        if kept is None or not (kept.complete or _differs_so_far(kept, run, atol)):
            kept = self._store_run(source, scenario, self._play(source, scenario, against=run))
        return kept.complete and find_difference(run, kept, atol, failures_agree=has_same_cause) is None

    @cached_property
    def positions(self) -> dict[MistakeVariant, int]:
        """Position of each variant in `variants`."""
        return {variant: position for position, variant in enumerate(self.variants)}

    @cached_property
    def _behaviour_table(self) -> Behaviours:
        """The exercise's behaviours, by scenario and variant, as `grader build` measured them."""
        return behaviours_of(self.exercise)

    def _kept_run(self, source: str, scenario: str) -> Run | None:
        """Return the kept run, which may be incomplete; None if none is kept. The solution is played if need be."""
        if source == _SOLUTION:
            return self.solution_run(scenario)
        if source in self._runs_in_driver_order:
            return self._runs_in_driver_order[source][scenario]
        kept = self._runs.get((source, scenario))
        if kept is not None:
            self._runs.move_to_end((source, scenario))
        return kept

    def _store_run(self, source: str, scenario: str, run: Run) -> Run:
        """Keep a run for later, and return it; drop the least recently used one if there are too many."""
        self._runs[source, scenario] = run
        if len(self._runs) > _MAX_KEPT_RUNS:
            self._runs.popitem(last=False)
        return run

    def _play(self, source: str, scenario: str, against: Run | None = None) -> Run:
        """Play a scenario and return the run.

        With `against`, the run is broken off, and so incomplete, at the first weights that differ from that run's.

        A submission is played in all scenarios, in the order of the driver. So a program that remembers something from
        one scenario to the next, such as one that counts in an attribute of its function, is loaded anew and played in
        all scenarios in this order, too; all these runs are complete, and kept.
        """
        program = self._program(source)
        before = _state_snapshot(program, self.exercise.name)
        run = self._play_scenario(program, scenario, against)
        if source == _SOLUTION or _state_snapshot(program, self.exercise.name) == before:
            return run
        fresh = self._load_anew(source)
        names = [scenario.name for scenario in self.exercise.driver.scenarios]
        self._runs_in_driver_order[source] = {name: self._play_scenario(fresh, name) for name in names}
        return self._runs_in_driver_order[source][scenario]

    def remembers(self, source: str) -> bool:
        """Return True if the program with this source was found to remember something from scenario to scenario."""
        return source in self._runs_in_driver_order

    def run_alone(self, source: str, scenario: str) -> Run:
        """Return the run of a scenario by the program with this source, loaded anew; it is not kept."""
        return self._play_scenario(self._load_anew(source), scenario)

    def _load_anew(self, source: str) -> Program:
        """Return the program with this source as it is when nothing was played with it yet."""
        kept = self._programs.pop(source, None)
        if kept is not None:
            kept.unload()
        return self._program(source)

    def _play_scenario(self, program: Program, scenario: str, against: Run | None = None) -> Run:
        """Play a scenario with a loaded program; throw away what it prints, which is nothing of the learner's."""
        self.play_count += 1
        with redirect_stdout(io.StringIO()):
            return play_scenario(
                self.exercise.driver[scenario], program, seed=self.seed, device=self.device, against=against
            )

    def _program(self, source: str) -> Program:
        """Return the loaded program with this source.

        What a source uses but does not define, such as imports and helpers, is taken from the loaded solution, so that
        nothing else has to be compiled.
        """
        if source == _SOLUTION:
            return self._solution_program
        if source not in self._programs:
            module = types.ModuleType(f"mistake_{next(_program_numbers)}_of_{self.exercise.name}")
            # Copy only the names that the source mentions: all names of a lesson in each program would fill the memory.
            # Keep the module's own `__name__`. Do not copy the exercise's name either: a program that fails to load
            # would pass for the solution.
            mentioned = set(re.findall(r"\w+", source)) - {"__name__", self.exercise.name}
            names = self._solution_program.names
            module.__dict__.update({name: value for name, value in names.items() if name in mentioned})
            program = load_program(source, name=module.__name__, into=module)
            self._programs[source] = program
            if len(self._programs) > _MAX_KEPT_PROGRAMS:
                self._programs.popitem(last=False)[1].unload()
        self._programs.move_to_end(source)
        return self._programs[source]


@lru_cache(maxsize=_MAX_KEPT_REFERENCES)
def cached_reference(exercise: str, seed: int, device: str = "cpu") -> Reference:
    """Return the `Reference` of an exercise, in one process the same one for every submission of a class."""
    return Reference(load_course().exercise(exercise), seed, device)


@lru_cache(maxsize=_MAX_KEPT_SOLUTIONS)
def _load_solution(lesson: str) -> Program:
    """Return the loaded solution of a lesson, which its exercises share. Cached: do not modify."""
    return load_program(solution_with_needed_imports(lesson), name=f"solution_{lesson}")


def _unload(programs: Mapping[str, Program]) -> None:
    """Unload the programs of a `Reference` that has been garbage-collected."""
    for program in programs.values():
        program.unload()


def _differs_so_far(incomplete: Run, run: Run, atol: float) -> bool:
    """Return True if an incomplete run differs from `run` in the part that was played.

    Only the weights are compared, because a run is broken off only where these differ. If `run` records none, True.
    """
    theta = run.arrays.get("theta")
    return theta is None or not is_prefix(incomplete.arrays["theta"], theta, atol)


def _state_snapshot(program: Program, definition: str) -> dict[str, object]:
    """Return what a program holds between calls of one of its functions or classes, to see if a call changes it.

    The snapshot has the global variables (by name), and the attributes (`.name`) and default arguments (`(0)`) of the
    function or class: the value of a number or text, the length of a container, the identity of another object.
    Callables and modules are left out, since torch wraps the `step` of an optimizer's class when the first one is made.
    """
    function = program.names.get(definition)
    values = {name: value for name, value in program.names.items() if not name.startswith("__")}
    if hasattr(function, "__dict__"):
        values |= {f".{name}": value for name, value in vars(function).items()}
    defaults = getattr(function, "__defaults__", None) or ()
    values |= {f"({number})": value for number, value in enumerate(defaults)}
    snapshot: dict[str, object] = {}
    for name, value in values.items():
        if value is None or isinstance(value, bool | int | float | str):
            snapshot[name] = value
        elif isinstance(value, dict | list | set):
            snapshot[name] = len(value)
        elif not callable(value) and not isinstance(value, types.ModuleType):
            snapshot[name] = id(value)
    return snapshot
