"""What isolation costs: one submission in a cold process, in a forked one, and in a forked one inside bubblewrap.

Run by hand (`python tests/bench/sandbox.py`); pytest does not collect it. Rounds take turns, so that a neighbour on
the machine slows all of them alike, and what is printed last are ratios: seconds differ between machines.
"""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from statistics import median

os.environ.setdefault("OMP_NUM_THREADS", "1")

from grader.course.reading import load_course
from grader.judging.solution import solution_source
from grader.sandbox.sandbox import Job, Sandbox

ROUNDS = 5
PER_ROUND = 10
EXERCISES = ("train_step", "accumulate")

COLD = """
from grader.course.reading import load_course
from grader.judging.solution import solution_source
from grader.observe.play import play
from grader.observe.program import load_program
program = load_program(solution_source("01"), name="cold")
for name in {names!r}:
    assert play(load_course().exercise(name).driver, program, seed=1).runs
"""


def seconds(action: Callable[[], None], times: int) -> float:
    """Mean of `times` runs."""
    started = time.perf_counter()
    for _ in range(times):
        action()
    return (time.perf_counter() - started) / times


def main() -> None:
    """Measure and print the table."""
    job = Job(solution_source("01"), EXERCISES)
    lessons = [lesson.module for lesson in load_course().lessons]

    def cold() -> None:
        subprocess.run([sys.executable, "-c", COLD.format(names=EXERCISES)], check=True)

    with Sandbox("none", lessons=lessons) as forked, Sandbox("bwrap", lessons=lessons) as isolated:

        def run(sandbox: Sandbox) -> None:
            assert all(outcome.status == "ran" for outcome in sandbox.run([job], seed=1))

        ways = {
            "cold process": (cold, 1),
            "fork": (lambda: run(forked), PER_ROUND),
            "fork in bubblewrap": (lambda: run(isolated), PER_ROUND),
        }
        for action, _ in ways.values():
            action()
        took: dict[str, list[float]] = {name: [] for name in ways}
        for _ in range(ROUNDS):
            for name, (action, times) in ways.items():
                took[name].append(seconds(action, times))
    base = median(took["fork in bubblewrap"])
    for name, values in took.items():
        print(f"{name:20} {median(values) * 1000:8.1f} ms a submission   {median(values) / base:6.2f} x")


if __name__ == "__main__":
    main()
