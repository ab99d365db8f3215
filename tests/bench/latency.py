"""How long a learner waits: seconds of a notebook's `check` for right and wrong programs, and of `grader check FILE`.

Run by hand; pytest does not collect it. One warm process, as a notebook's: each exercise has been checked right once,
and what the checker learned from a program is forgotten before the next, because a learner comes with one at a time.
Processor time stands beside the clock's, which a busy machine stretches.

    python tests/bench/latency.py                         all exercises (many minutes)
    python tests/bench/latency.py train_step accumulate   some
    python tests/bench/latency.py --programs 2 --kept     fewer programs; what was learned stays
"""

import argparse
import contextlib
import io
import os
import random
import re
import resource
import subprocess
import sys
import tempfile
import time
import types
from collections.abc import Iterator
from pathlib import Path
from statistics import median

os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from grader.course.course import Exercise
from grader.course.reading import load_course
from grader.judging.edits import combination_source, variant_source, variants_of
from grader.judging.reference import cached_reference
from grader.judging.solution import exercise_source, solution_source
from grader.notebook.check import check
from grader.observe.program import load_program
from tests.places import ROOT
from tests.sample_programs import samples

KINDS = {"right": "맞음", "one": "실수 하나", "several": "실수 두셋", "unknown": "모르는 실수"}
UNKNOWN = (
    (r"(\w+)\.backward\(\)", r"(1.37 * \1).backward()"),
    (r"return (.+)", r"return 1.37 * (\1)"),
    (r"= (\d[\d.e-]*)", r"= 1.37 * \1"),
)
"""Mistakes that no course file lists; the first that there is a place for is made."""

Took = tuple[float, float]
"""By the clock, and of the processor."""


def programs(exercise: Exercise, kind: str, most: int) -> list[str]:
    """At most so many sources of the exercise that are right, or wrong in this variant."""
    chance = random.Random(f"{exercise.name} {kind}")
    if kind == "right":
        return [exercise_source(exercise)] * most
    if kind == "one":
        every = variants_of(exercise)
        return [variant_source(exercise, variant) for variant in chance.sample(every, min(most, len(every)))]
    if kind == "several":
        return list(_several(exercise, most, chance))
    unnamed = [sample.text for sample in samples("rejected", exercise.name) if not sample.header["expect"]]
    return [*unnamed, *_synthetic(exercise)][:most]


def _several(exercise: Exercise, most: int, chance: random.Random) -> Iterator[str]:
    """Two mistakes, three, two …, where there is a program that makes them at once."""
    every, made = variants_of(exercise), 0
    for _ in range(200 * most):
        count = 2 + made % 2
        if made == most or count > len(exercise.mistakes):
            return
        combination = chance.sample(every, count)
        source = combination_source(exercise, combination)
        if source is not None and len({variant.mistake.id for variant in combination}) == count:
            made += 1
            yield source


def _synthetic(exercise: Exercise) -> Iterator[str]:
    source = exercise_source(exercise)
    for old, new in UNKNOWN:
        for found in re.finditer(old, source):
            yield source[: found.start()] + found.expand(new) + source[found.end() :]


def checked(exercise: Exercise, source: str) -> tuple[Took, bool]:
    """What a notebook's `check` takes, and whether it passed. As in a notebook, a cell holds one function."""
    lesson = load_program(solution_source(exercise.lesson), name="lesson")
    notebook = types.ModuleType("notebook")
    notebook.__dict__.update({name: value for name, value in lesson.names.items() if name != "__name__"})
    program = load_program(source, name="cell", into=notebook)
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            wall, cpu = time.perf_counter(), time.process_time()
            shown = check(program.names[exercise.name])
            return (time.perf_counter() - wall, time.process_time() - cpu), shown.passed
    finally:
        program.unload()
        lesson.unload()


def measured(exercise: Exercise, most: int, *, kept: bool) -> dict[str, list[Took]]:
    """Times by kind; `first` is the process's first check of this exercise."""
    right = exercise_source(exercise)
    took = {"first": [checked(exercise, right)[0]]}
    for kind in KINDS:
        took[kind] = []
        for source in programs(exercise, kind, most):
            if not kept:
                cached_reference.cache_clear()
                checked(exercise, right)
            one, passed = checked(exercise, source)
            if passed == (kind == "right"):  # a synthetic mistake may turn out to be none
                took[kind].append(one)
    return took


def cell(took: list[Took]) -> str:
    """`median / worst (worst of the processor)`."""
    if not took:
        return "—"
    walls = [wall for wall, _ in took]
    return f"{median(walls):.2f} / {max(walls):.2f} ({max(cpu for _, cpu in took):.2f})"


def cold(exercise: Exercise) -> Took:
    """`grader check FILE` for one right file, from its start to its end."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "right.py"
        file.write_text(exercise_source(exercise), encoding="utf-8")
        before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        command = [sys.executable, "-m", "grader", "check", str(file)]
        subprocess.run(command, cwd=ROOT, stdout=subprocess.DEVNULL, check=True)
        wall, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    """Measure and print the table, a row as soon as it is there."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("exercises", nargs="*", help="all, where none is given")
    parser.add_argument("--programs", type=int, default=4, help="how many of each kind at most")
    parser.add_argument("--kept", action="store_true", help="keep what was learned from one to the next")
    chosen = parser.parse_args()
    course = load_course()
    exercises = [course.exercise(name) for name in chosen.exercises] or [*course.exercises.values()]
    every: dict[str, list[Took]] = {}
    with tempfile.TemporaryDirectory() as home:
        os.environ["HANSTEP_HOME"] = home
        print("초: 중앙값 / 최악 (프로세서 시간의 최악)\n")
        print(f"| 연습 | 처음 | {' | '.join(KINDS.values())} |\n|---|{'---|' * (len(KINDS) + 1)}")
        for exercise in exercises:
            took = measured(exercise, chosen.programs, kept=chosen.kept)
            print(f"| `{exercise.name}` | {' | '.join(cell(t) for t in took.values())} |", flush=True)
            every = {kind: [*every.get(kind, ()), *times] for kind, times in took.items()}
        print(f"| 모두 | {' | '.join(cell(times) for times in every.values())} |")
        wall, cpu = cold(course.exercise("train_step"))
        print(f"\n`grader check FILE` (`train_step`, 맞음): {wall:.1f}초 (프로세서 {cpu:.1f}초)")


if __name__ == "__main__":
    main()
