"""Look for seeds with which a wrong program looks right: a class is graded with a seed that nobody has tried.

    python -m tests.seeds shard_indices --seeds 3 12     # seeds 3 to 11; lists what passes
    python -m tests.seeds --all --seeds 3 5

The wrong programs are all variants of the known mistakes and those of `tests/rejected`. One that passes shows a
scenario whose drawn numbers are sometimes too harmless.
"""

import argparse
import contextlib
import io
import sys
import time
from collections.abc import Iterator

import torch

from grader.course.course import Exercise
from grader.course.reading import load_course
from grader.judging.judge import find_difference
from grader.judging.reference import Reference
from grader.observe.play import play_scenario
from grader.observe.program import load_program
from tests.sample_programs import samples


def wrong_programs(reference: Reference) -> Iterator[tuple[str, str]]:
    """Yield (name, source) of each wrong program of the reference's exercise."""
    for variant in reference.variants:
        yield variant.name, reference.sources[variant.name]
    for sample in samples("rejected", reference.exercise.name):
        yield f"rejected/{sample.name}", sample.text


def passes(source: str, reference: Reference) -> bool:
    """Return True if no scenario tells the program from the solution with the reference's seed."""
    program = load_program(source, name="wrong_program")
    try:
        for scenario in reference.exercise.driver.scenarios:
            right = reference.solution_run(scenario.name)
            with contextlib.redirect_stdout(io.StringIO()):  # some print
                run = play_scenario(scenario, program, seed=reference.seed, against=right)
            if not run.complete or find_difference(run, right, scenario.atol) is not None:
                return False
        return True
    finally:
        program.unload()


def passing(exercise: Exercise, seed: int) -> list[str]:
    """Return the names of the exercise's wrong programs that pass with the seed."""
    reference = Reference(exercise, seed)
    return [name for name, source in wrong_programs(reference) if passes(source, reference)]


def main() -> int:
    """Run the command; 1 if a wrong program passes."""
    parser = argparse.ArgumentParser(prog="python -m tests.seeds", description=__doc__)
    parser.add_argument("exercise", nargs="*")
    parser.add_argument("--all", action="store_true", help="every exercise")
    parser.add_argument("--seeds", nargs=2, type=int, default=(3, 6), metavar=("FIRST", "END"))
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    course = load_course()
    bad = 0
    for name in list(course.exercises) if arguments.all else arguments.exercise:
        begun = time.monotonic()
        found = [
            (seed, one) for seed in range(*arguments.seeds) for one in passing(course.exercise(name), seed)
        ]
        bad += len(found)
        print(f"{name}: {len(found)} pass, {time.monotonic() - begun:.0f} s", flush=True)
        for seed, one in found:
            print(f"    seed {seed}: {one}", flush=True)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
