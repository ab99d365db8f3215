"""Draw a broken function or class from a known mistake, or from a pair of them, and prove that it fails as they do.

The mistake's edits are applied to the solution, then variables get other names (`disguise`). The result is handed out
only if it runs exactly as before the renaming, and fails in some scenario.
"""

import ast
import builtins
import random
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher, ndiff
from functools import cache

from grader.course.conditions import unconditional_text
from grader.course.course import Exercise, Mistake
from grader.grading import SEED
from grader.grading.time_limit import time_limit
from grader.judging.compare_runs import find_difference
from grader.judging.edits import MistakeVariant, variants_of
from grader.judging.reference import Reference, cached_reference
from grader.judging.solution import exercise_source, solution_with_needed_imports
from grader.judging.true_sentences import explanations_of_combined_mistakes
from grader.observe.play import TimeLimit
from grader.practice.culprits import Fault, find_culprits
from grader.practice.disguise import disguised, free_names, other_names, with_name

_MOST_LINES = 24
"""Maximum lines of a function that is handed out, without its docstring: it should be readable in a minute."""
_MOST_LINES_OF_CLASS = 50
"""Maximum lines of a class, whose methods are read one by one; each method is as short as a function."""
_MOST_SECONDS = 5
"""Maximum time of the plays that tell whether one mended program is right."""
_MOST_PLACES = 2
"""Maximum separate places that one mistake changes, if it can be made so: a line that moved changes two."""
_CONTEXT = 3
"""Number of lines shown before and after a changed line of the repair."""
_TRIES = 12
"""Maximum draws until one holds. Nearly all hold at once."""


@dataclass(frozen=True)
class Case:
    """A broken function or class as it is handed out."""

    exercise: Exercise
    mistakes: tuple[Mistake, ...]
    """The mistakes in it: one, or two at once."""
    text: str
    """Text of a whole file: the imports, then the function."""
    lines: frozenset[int] = frozenset()
    """Lines of `text`, from 1, that are wrong: a learner who points at one of these has found the mistake."""
    fault: Fault = "wrong"
    """What is wrong with these lines."""
    scenario: str = ""
    """Name of the first scenario in which the mistake shows; empty if unknown."""
    program: str = ""
    """Text of the function alone, without imports."""
    right: str = ""
    """Text of the function without the mistakes; empty for a program by somebody else."""
    made: tuple[MistakeVariant, ...] = ()
    """The ways in which `mistakes` are made, in their order; empty for a program by somebody else."""

    def named(self, name: str) -> str:
        """Return the text with the function under another name."""
        return with_name(self.text, self.exercise.name, name)

    def explanations(self) -> tuple[str, ...]:
        """Return what is true of each of `mistakes` in this function; it is played for that."""
        if not self.made:
            return tuple(unconditional_text(mistake.explain) for mistake in self.mistakes)
        return explanations_of_combined_mistakes(self.made, cached_reference(self.exercise.name, SEED))

    def repair(self) -> str:
        """Return the lines to remove (`- `) and to add (`+ `), as in a diff; empty if there is no right text."""
        return "\n".join(line for line in self._compared() if line.startswith(("- ", "+ ")))

    def repair_in_place(self) -> str:
        """Return `repair` with the lines around it, which show where a line belongs, and `…` for those left out."""
        lines = self._compared()
        changed = [at for at, line in enumerate(lines) if line.startswith(("- ", "+ "))]
        near = [any(abs(at - one) <= _CONTEXT for one in changed) for at in range(len(lines))]
        shown = []
        for at, line in enumerate(lines):
            if near[at]:
                shown.append(line)
            elif at == 0 or near[at - 1]:
                shown.append("  …")
        return "\n".join(shown) if changed else ""

    def _compared(self) -> list[str]:
        """Return the lines of program and right text as `ndiff` marks them; nothing if there is no right text."""
        if not self.right:
            return []
        compared = ndiff(self.program.splitlines(), self.right.splitlines())
        return [line for line in compared if not line.startswith("? ")]

    @property
    def is_class(self) -> bool:
        """True if a class is handed out, not a function."""
        return isinstance(_definition(self.program), ast.ClassDef)


def as_file(exercise: Exercise, source: str) -> str | None:
    """Return the function with the imports it needs; None if it needs names other than its lesson's imports."""
    imports = _imports(exercise, source)
    return None if imports is None else imports + source


@cache
def is_short(exercise: Exercise) -> bool:
    """Return True if the exercise can be handed out: it is short and needs nothing else of the course."""
    source = exercise_source(exercise)
    definition = _definition(source)
    functions = [node for node in ast.walk(definition) if isinstance(node, ast.FunctionDef)]
    most = _MOST_LINES_OF_CLASS if isinstance(definition, ast.ClassDef) else _MOST_LINES
    return (
        _length(definition) <= most
        and all(_length(function) <= _MOST_LINES for function in functions)
        and _imports(exercise, source) is not None
    )


def _definition(source: str) -> ast.FunctionDef | ast.ClassDef:
    """Return the one function or class that the source defines."""
    (definition,) = ast.parse(source).body
    assert isinstance(definition, ast.FunctionDef | ast.ClassDef)  # an exercise is one function or class
    return definition


@cache
def length(exercise: Exercise) -> int:
    """Return the number of lines of the exercise's solution, without docstrings."""
    return _length(_definition(exercise_source(exercise)))


def is_scattered(exercise: Exercise, id_: str) -> bool:
    """Return True if every way to make this mistake changes more than `_MOST_PLACES` places of the solution."""
    known = cached_reference(exercise.name, SEED)
    ways = (variant for variant in known.variants if variant.mistake.id == id_ and not variant.copy)
    return all(_places(known, variant) > _MOST_PLACES for variant in ways)


@cache
def changes_only_numbers(exercise: Exercise, id_: str) -> bool:
    """Return True if every way to make this mistake changes nothing but written numbers of the solution.

    It is found by comparing digits with the docstring, not by following what the code does.
    """
    known = cached_reference(exercise.name, SEED)
    plain = _without_numbers(exercise_source(exercise))
    ways = (variant for variant in known.variants if variant.mistake.id == id_ and not variant.copy)
    return all(_without_numbers(known.sources[variant.name]) == plain for variant in ways)


def _without_numbers(source: str) -> str:
    """Return a program's tree with 0 in place of each number."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and type(node.value) in (int, float):
            node.value = 0
    return ast.dump(tree)


@cache
def _places(known: Reference, variant: MistakeVariant) -> int:
    """Return how many separate places of the solution a mistake changes."""
    plain = disguised(exercise_source(known.exercise), {}).splitlines()
    broken = disguised(known.sources[variant.name], {}).splitlines()
    codes = SequenceMatcher(None, plain, broken, autojunk=False).get_opcodes()
    return sum(code[0] != "equal" for code in codes)


def _length(definition: ast.FunctionDef | ast.ClassDef) -> int:
    """Return the number of lines without docstrings."""
    docstrings = [
        ast.get_docstring(node, clean=False) or ""
        for node in ast.walk(definition)
        if isinstance(node, ast.FunctionDef | ast.ClassDef)
    ]
    return len(ast.unparse(definition).splitlines()) - sum(len(text.splitlines()) for text in docstrings)


def draw(exercise: Exercise, ids: Sequence[str], chance: random.Random) -> Case | None:
    """Draw a program that makes these mistakes, with other variable names.

    Args:
        exercise: the exercise to break.
        ids: ids of its mistakes: one, or two to be made at once.
        chance: draws the variant of each mistake, and the names.

    Returns:
        None if the function is too long, or if no such program could be proved wrong: the edits exclude or hide each
            other.
    """
    if not is_short(exercise):
        return None
    known = cached_reference(exercise.name, SEED)
    every = {
        id_: [
            variant
            for variant in variants_of(exercise)
            if variant.mistake.id == id_
            and not variant.copy
            and not _contains_another_mistake(exercise, variant)
            and (_places(known, variant) <= _MOST_PLACES or is_scattered(exercise, id_))
        ]
        for id_ in ids
    }
    if not all(every.values()):
        return None
    for _ in range(_TRIES):
        chosen = tuple(chance.choice(found) for found in every.values())
        case = _drawn(known, chosen, chance)
        if case is not None:
            return case
    return None


def draw_pair(exercise: Exercise, chance: random.Random) -> Case | None:
    """Draw two of the exercise's mistakes at once; None if the drawn ones do not go together."""
    ids = [mistake.id for mistake in exercise.mistakes]
    return draw(exercise, chance.sample(ids, 2), chance) if len(ids) > 1 else None


def _contains_another_mistake(exercise: Exercise, variant: MistakeVariant) -> bool:
    """Return True if this variant contains another mistake of the exercise, which the learner would not be told.

    The usual variant (number 0) never counts: moving a line contains leaving it out.
    """
    edits = set(variant.edits)
    others = (other for other in exercise.mistakes if other.id != variant.mistake.id)
    return variant.number > 0 and any(set(other.edits) < edits for other in others)


def _drawn(known: Reference, chosen: tuple[MistakeVariant, ...], chance: random.Random) -> Case | None:
    """Return a case that makes the mistakes in these variants, or None if it cannot be proved wrong."""
    exercise = known.exercise
    raw = known.source_with_mistakes(chosen)
    if raw is None:
        return None
    solution = exercise_source(exercise)
    names = other_names((solution, raw), chance)
    broken, right = disguised(raw, names), disguised(solution, names)
    imports = _imports(exercise, broken)
    if broken == right or imports is None or free_names(broken) != free_names(disguised(raw, {})):
        return None
    scenario = _first_failing_scenario(known, chosen, raw, broken)
    if scenario is None:
        return None
    offset = imports.count("\n")
    culprits = find_culprits(
        right, broken, lambda text: _mends(known, chosen, text), _near(known, chosen, right)
    )
    return Case(
        exercise,
        tuple(variant.mistake for variant in chosen),
        imports + broken,
        frozenset(line + offset for line in culprits.lines),
        culprits.fault,
        scenario,
        broken,
        right,
        chosen,
    )


def _mends(known: Reference, chosen: tuple[MistakeVariant, ...], text: str) -> bool:
    """Return True if a program is right; the scenarios in which these mistakes show are played first."""
    showing = {
        name: any(known.behaviour(variant, name) for variant in chosen)
        for name in (s.name for s in known.exercise.driver.scenarios)
    }
    names = sorted(showing, key=lambda name: not showing[name])
    try:
        with time_limit(_MOST_SECONDS):
            return all(known.reproduces(text, name, known.solution_run(name)) for name in names)
    except TimeLimit:  # a loop without its end
        return False


def _near(known: Reference, chosen: tuple[MistakeVariant, ...], right: str) -> frozenset[str]:
    """Return the lines of the renamed solution to which the mistakes point by `near`."""
    plain = disguised(exercise_source(known.exercise), {}).splitlines()
    wanted = {_normal(variant.mistake.near) for variant in chosen if variant.mistake.near}
    return frozenset(
        renamed for line, renamed in zip(plain, right.splitlines(), strict=True) if line.strip() in wanted
    )


def _normal(line: str) -> str:
    """Return a line as `disguised` writes it; a line that is no statement by itself stays."""
    try:
        return ast.unparse(ast.parse(line.strip()))
    except SyntaxError:
        return line.strip()


def _first_failing_scenario(
    known: Reference, chosen: tuple[MistakeVariant, ...], raw: str, broken: str
) -> str | None:
    """Return the first scenario in which the disguised program goes wrong.

    None if there is none, if the program behaves differently than before it was renamed, or if one mistake of a pair
    changes nothing beside the other.
    """
    found = None
    for scenario in (s.name for s in known.exercise.driver.scenarios):
        if all(known.behaviour(variant, scenario) == 0 for variant in chosen):
            continue
        if not known.reproduces(broken, scenario, known.complete_run(raw, scenario)):
            return None
        if not known.reproduces(broken, scenario, known.solution_run(scenario)) and _fails_alone(
            known, broken, scenario
        ):
            found = scenario
            break
    if found is None or len(chosen) == 1:
        return found
    return found if all(_changes_pair(known, variant, chosen, raw) for variant in chosen) else None


def _fails_alone(known: Reference, broken: str, scenario: str) -> bool:
    """Return True if a program goes wrong in a scenario that is the first to be played.

    It is for the learner of the case. The known runs may be of a program that remembers the scenarios before.
    """
    if not known.remembers(broken):
        return True
    run = known.run_alone(broken, scenario)
    return (
        find_difference(run, known.solution_run(scenario), known.exercise.driver[scenario].atol) is not None
    )


def _changes_pair(
    known: Reference, variant: MistakeVariant, chosen: tuple[MistakeVariant, ...], raw: str
) -> bool:
    """Return True if the pair behaves differently, in some scenario, than without this mistake."""
    others = tuple(other for other in chosen if other != variant)
    rest = known.source_with_mistakes(others)
    if rest is None:
        return False
    acting = (s.name for s in known.exercise.driver.scenarios if known.behaviour(variant, s.name) != 0)
    return any(not known.reproduces(raw, name, known.complete_run(rest, name)) for name in acting)


def _imports(exercise: Exercise, source: str) -> str | None:
    """Return the imports that the program needs and two empty lines; None if it needs more than the lesson's imports.

    The solution's imports are included: a learner who mends the program must not have to guess what is missing above
    it.
    """
    taken = free_names(source) | free_names(exercise_source(exercise))
    needed = taken - set(dir(builtins)) - {exercise.name}
    lines, bound = {"import torch"}, {"torch"}
    for text, names in _lesson_imports(exercise.lesson):
        if names & needed - bound:
            lines.add(text)
            bound |= names
    return "\n".join(sorted(lines)) + "\n\n\n" if needed <= bound else None


@cache
def _lesson_imports(lesson: str) -> tuple[tuple[str, frozenset[str]], ...]:
    """Return each import of the lesson's solution, with the names that it binds."""
    found = [
        node
        for node in ast.parse(solution_with_needed_imports(lesson)).body
        if isinstance(node, ast.Import | ast.ImportFrom)
    ]
    return tuple(
        (ast.unparse(node), frozenset((a.asname or a.name).partition(".")[0] for a in node.names))
        for node in found
    )
