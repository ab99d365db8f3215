"""Look for holes: known mistakes that no scenario notices where they are made in one case only.

    python -m tests.holes.one_case accumulate        # list what passes and has no reason in one_case.toml
    python -m tests.holes.one_case --all --write     # every exercise; keep what passes in one_case.toml

Learners write the same code twice: for whole windows and for a short last one, with a scaler and without, for the
first epoch and for the rest. A mistake in one of two copies passes if scenarios look at the other copy only.
What passes is either no mistake there, then `one_case.toml` says why in one of the words of `REASONS`, or it is a hole.

Example: a `Trainer` that clipped whole windows only once passed, because no scenario clipped a short window.
"""

import argparse
import ast
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import torch

from grader.course.course import Cases, Exercise
from grader.course.reading import load_course
from grader.judging.edits import variant_source
from grader.judging.reference import Reference
from grader.judging.solution import exercise_source, solution_source
from grader.judging.two_copies import two_copies
from grader.submission.syntax import parse
from tests.holes.__main__ import SEEDS, passes
from tests.holes.reasons import Passed, read_reasons, write_reasons

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
                    Passed(exercise.name, right_line(right, wrong), variant.name, name),
                    everything.replace(right, source),
                )


def right_line(right: str, wrong: str) -> str:
    """Return the first line of the right source that the wrong one does not have there; empty if it only adds some."""
    for one, other in zip(right.split("\n"), wrong.split("\n"), strict=False):
        if one != other:
            return one.strip()
    return ""


def found(exercise: Exercise) -> tuple[list[Passed], int]:
    """Return what passes, and the number of all programs."""
    references = {seed: Reference(exercise, seed) for seed in SEEDS}
    for reference in references.values():
        for scenario in exercise.driver.scenarios:
            reference.solution_run(scenario.name)  # once here, not in each child
    every = list(programs_of(exercise, references[SEEDS[0]]))
    return [what for what, text in every if passes(exercise, text, references)], len(every)


def main() -> int:
    """Run the command; 1 if something passes for which no reason is known."""
    parser = argparse.ArgumentParser(prog="python -m tests.holes.one_case", description=__doc__)
    parser.add_argument("exercise", nargs="*")
    parser.add_argument("--all", action="store_true", help="every exercise that has two cases")
    parser.add_argument("--write", action="store_true", help="keep what passes in one_case.toml")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    course = load_course()
    reasons = read_reasons(FILE)
    holes = 0
    for name in list(course.exercises) if arguments.all else arguments.exercise:
        exercise = course.exercise(name)
        if not any(True for _ in cases_of(exercise)):
            continue
        begun = time.monotonic()
        passed, count = found(exercise)
        unknown = [one for one in passed if not reasons.get(one)]
        holes += len(unknown)
        print(
            f"{name}: {count} programs, {len(passed)} pass, {len(unknown)} without a reason, "
            f"{time.monotonic() - begun:.0f} s",
            flush=True,
        )
        for one in unknown:
            print(f"    {one.new}: {one.where}", flush=True)
        if arguments.write:
            kept = {one: why for one, why in reasons.items() if one.exercise != name}
            reasons = kept | {one: reasons.get(one, "") for one in passed}
            write_reasons(reasons, FILE, _HEADER)
    return 1 if holes else 0


if __name__ == "__main__":
    sys.exit(main())
