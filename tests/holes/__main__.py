"""Look for holes: edits of a solution's one line that no scenario notices.

    python -m tests.holes train_step                # list the edits that pass and have no reason in reasons.toml
    python -m tests.holes --all --write             # every exercise; keep what passes in reasons.toml

The edits are those of the repair search. An edit that passes is either equivalent, then `reasons.toml` says why in one
of the words of `REASONS`, or it is a hole: a promise that no scenario needs.
"""

import argparse
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import torch

from grader.course.course import Exercise
from grader.course.reading import load_course
from grader.judging.judge import find_difference
from grader.judging.reference import Reference
from grader.judging.repair.edit_drafts import KINDS
from grader.judging.repair.small_edits import SmallEdit, small_edits
from grader.judging.solution import exercise_source, solution_with_needed_imports
from grader.observe.play import play_scenario
from grader.observe.program import load_program
from tests.holes.reasons import EDITS_FILE, EDITS_HEADER, Passed, read_reasons, write_reasons

SEEDS = (1, 2)
"""An edit passes if it passes with each of these; some only look right by chance with one."""
_SECONDS = 20
"""Time after which an edited program counts as caught: it never ends."""


def edits_of(exercise: Exercise) -> Iterator[SmallEdit]:
    """Yield every edit of the solution that removes, moves or changes something, each as a whole program.

    Edits that put in a line are left out: the solution has it already, and twice it mostly changes nothing. So are
    those that copy a value, which leave all numbers as they are.
    """
    every = small_edits(
        solution_with_needed_imports(exercise.lesson), exercise.name, exercise_source(exercise)
    )
    return (edit for edit in every if not KINDS[edit.kind].inserts_line and edit.kind != "copied")


def passes(exercise: Exercise, text: str, references: dict[int, Reference]) -> bool:
    """Return True if no scenario tells the program from the solution.

    It is played in a child process: an edit may loop for ever, leave the model broken or end the process.
    """
    child = os.fork()
    if not child:
        signal.alarm(_SECONDS)  # its default action ends the child
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        os.dup2(1, 2)
        verdict = 1
        try:
            verdict = int(not _looks_right(exercise, text, references))
        finally:
            os._exit(verdict)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def _looks_right(exercise: Exercise, text: str, references: dict[int, Reference]) -> bool:
    program = load_program(text, name="edited")
    if exercise.name not in program.names:
        return False
    for seed, reference in references.items():
        for scenario in exercise.driver.scenarios:
            right = reference.solution_run(scenario.name)
            run = play_scenario(scenario, program, seed=seed, against=right)
            if not run.complete or find_difference(run, right, scenario.atol) is not None:
                return False
    return True


def found(exercise: Exercise) -> tuple[list[Passed], int]:
    """Return the edits of the solution that pass, and the number of all."""
    references = played_references(exercise)
    every = list(edits_of(exercise))
    return [
        Passed(exercise.name, "\n".join(edit.old), "\n".join(edit.new), edit.where)
        for edit in every
        if passes(exercise, edit.program, references)
    ], len(every)


def played_references(exercise: Exercise) -> dict[int, Reference]:
    """Return a reference for each of `SEEDS` that has played the solution: once here, not in each child."""
    references = {seed: Reference(exercise, seed) for seed in SEEDS}
    for reference in references.values():
        for scenario in exercise.driver.scenarios:
            reference.solution_run(scenario.name)
    return references


def run_command(
    prog: str,
    description: str | None,
    search: Callable[[Exercise], tuple[list[Passed], int]],
    file: Path,
    header: str,
    describe: Callable[[Passed], str],
) -> int:
    """Run a command that lists what passes in exercises; return 1 if something passes for which no reason is known.

    Args:
        prog: how the command is called.
        description: what its help says.
        search: returns what passes in an exercise, and the number of programs that were tried.
        file: the reasons, which `--write` rewrites.
        header: comment at the beginning of that file.
        describe: returns the lines that are shown of what passes without a reason.
    """
    parser = argparse.ArgumentParser(prog=prog, description=description)
    parser.add_argument("exercise", nargs="*")
    parser.add_argument("--all", action="store_true", help="every exercise")
    parser.add_argument("--write", action="store_true", help=f"keep what passes in {file.name}")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    course = load_course()
    reasons = read_reasons(file)
    holes = 0
    for name in list(course.exercises) if arguments.all else arguments.exercise:
        begun = time.monotonic()
        passed, count = search(course.exercise(name))
        unknown = [one for one in passed if not reasons.get(one)]
        holes += len(unknown)
        print(
            f"{name}: {count} programs, {len(passed)} pass, {len(unknown)} without a reason, "
            f"{time.monotonic() - begun:.0f} s",
            flush=True,
        )
        for one in unknown:
            print(describe(one), flush=True)
        if arguments.write:
            kept = {one: why for one, why in reasons.items() if one.exercise != name}
            reasons = kept | {one: reasons.get(one, "") for one in passed}
            write_reasons(reasons, file, header)
    return 1 if holes else 0


def main() -> int:
    """Run the command; 1 if an edit passes for which no reason is known."""
    return run_command(
        "python -m tests.holes",
        __doc__,
        found,
        EDITS_FILE,
        EDITS_HEADER,
        lambda one: f"    - {one.old!r}\n    + {one.new!r} {one.where}",
    )


if __name__ == "__main__":
    sys.exit(main())
