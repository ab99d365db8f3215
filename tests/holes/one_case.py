"""Look for holes: known mistakes that no scenario notices where they are made in one case only.

    python -m tests.holes.one_case accumulate        # list what passes and has no reason in one_case.toml
    python -m tests.holes.one_case --all --write     # every exercise; keep what passes in one_case.toml

Learners write the same code twice: for whole windows and for a short last one, with a scaler and without, for the
first epoch and for the rest. A mistake in one of two copies passes if scenarios look at the other copy only.
What passes is either no mistake there, then `one_case.toml` says why in one of the words of `REASONS`, or it is a hole.

Example: a `Trainer` that clipped whole windows only once passed, because no scenario clipped a short window.
"""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

from grader.course.course import Cases, Exercise
from grader.judging.edits import variant_source
from grader.judging.reference import Reference
from grader.judging.solution import exercise_source, solution_source
from grader.judging.two_copies import two_copies
from grader.submission.syntax import parse
from tests.holes.__main__ import SEEDS, passes, played_references, run_command
from tests.holes.reasons import Passed

FILE = Path(__file__).with_name("one_case.toml")
_HEADER = "# Mistakes in one case only that pass, and why; `python -m tests.holes.one_case --all --write` writes it.\n"
_IS_FIRST_ROUND = '(_round := locals().get("_round", 0) + 1) == 1'
"""True only the first time that it is evaluated in a call of the function."""


def cases_of(exercise: Exercise) -> Iterator[Cases]:
    """Yield the pairs of cases for which learners may write the code twice; `first` and `second` name them."""
    source = exercise_source(exercise)
    definition = parse(source)[0]
    lines = source.split("\n")
    loops = [node for node in ast.walk(definition) if isinstance(node, ast.For | ast.While)]
    for node in loops:
        loop = lines[node.lineno - 1].strip()
        if loop.startswith("while window"):
            steps = "self.accum_steps" if "self.accum_steps" in source else "accum_steps"
            yield Cases(f"len(window) == {steps}", "whole windows", "short window", (), loop)
        if loop.startswith("while window") or "epoch" in loop:
            what = "window" if "window" in loop else "epoch"
            yield Cases(_IS_FIRST_ROUND, f"first {what}", f"later {what}s", (), loop)
    if isinstance(definition, ast.FunctionDef):
        # Nobody writes a whole training twice because of a scheduler, but some do so with a single step.
        names = ("scaler",) if loops else ("scaler", "scheduler")
        for argument in definition.args.kwonlyargs:
            if argument.arg in names:
                yield Cases(f"{argument.arg} is None", f"without {argument.arg}", f"with {argument.arg}", ())


def programs_of(exercise: Exercise, reference: Reference) -> Iterator[tuple[Passed, str]]:
    """Yield every known mistake made in one case only, with its program; each program once."""
    right, seen = exercise_source(exercise), set()
    everything = solution_source(exercise.lesson)
    for variant in reference.variants:
        if variant.copy:
            continue
        wrong = variant_source(exercise, variant)
        for cases in cases_of(exercise):
            for name, sources in ((cases.first, (wrong, right)), (cases.second, (right, wrong))):
                source = two_copies(*sources, cases)
                if source is None or source in seen:
                    continue
                seen.add(source)
                yield (
                    Passed(exercise.name, _first_changed_line(right, wrong), variant.name, name),
                    everything.replace(right, source),
                )


def _first_changed_line(right: str, wrong: str) -> str:
    """Return the first line of the right source that the wrong one does not have there; empty if it only adds some."""
    for one, other in zip(right.split("\n"), wrong.split("\n"), strict=False):
        if one != other:
            return one.strip()
    return ""


def found(exercise: Exercise) -> tuple[list[Passed], int]:
    """Return what passes, and the number of all programs; nothing and 0 if there are no two cases."""
    if not any(True for _ in cases_of(exercise)):
        return [], 0
    references = played_references(exercise)
    every = list(programs_of(exercise, references[SEEDS[0]]))
    return [what for what, text in every if passes(exercise, text, references)], len(every)


def main() -> int:
    """Run the command; 1 if something passes for which no reason is known."""
    return run_command(
        "python -m tests.holes.one_case",
        __doc__,
        found,
        FILE,
        _HEADER,
        lambda one: f"    {one.new}: {one.where}",
    )


if __name__ == "__main__":
    sys.exit(main())
