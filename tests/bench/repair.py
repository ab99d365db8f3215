"""How much is repaired, within how many plays, and where: wrong programs whose mistake is known.

    python tests/bench/repair.py [exercise ...] [--budget 200] [--source rejected|applied] [--show]

`rejected` are the programs of tests/rejected; `applied` are the mistakes of `solutions/*/*.toml`, made in the right
programs of tests/accepted wherever the old text stands in them. The place is right when the line stands at most one
away from a line that making the mistake had changed.
"""

import argparse
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from statistics import median

from grader.course.reading import load_course
from grader.grading.time_limit import time_limit
from grader.judging.reference import Reference, cached_reference
from grader.judging.repair.search import Repair, search_repair
from grader.observe.play import TimeLimit, play, play_scenario
from grader.observe.program import load_program
from grader.observe.trace import Run
from tests.sample_programs import samples

COURSE = load_course()
SEED = 1


@dataclass(frozen=True)
class Wrong:
    """A wrong program and the right one that it was made from."""

    exercise: str
    label: str
    text: str
    base: str | None
    single: bool = True
    """Whether one text was replaced; else it makes several mistakes, or one that takes several edits."""


class InProcess:
    """Plays attempts in this process: for measuring only."""

    def __init__(self, its: Reference) -> None:
        self.its, self.text, self.program = its, None, None

    def run(self, text: str, scenario: str) -> Run | None:
        try:
            with time_limit(2.0):
                if text != self.text:
                    self.text, self.program = text, load_program(text, name="attempt")
                if self.its.exercise.name not in self.program.names:
                    return None
                return play_scenario(self.its.exercise.driver[scenario], self.program, seed=SEED)
        except TimeLimit:
            return None


def rejected(names: list[str]) -> Iterator[Wrong]:
    for name in names:
        for sample in samples("rejected", name):
            base = sample.base and sample.base.text
            yield Wrong(
                name, f"{sample.name}-{sample.header['expect']}", sample.text, base, sample.edits == 1
            )


def applied(names: list[str]) -> Iterator[Wrong]:
    for name in names:
        for right in samples("accepted", name):
            base = right.text
            for mistake in COURSE.exercises[name].mistakes:
                for number, edits in enumerate(mistake.programs):
                    text = base
                    for old, new in edits:
                        text = text.replace(old, new) if text.count(old) == 1 else ""
                    if text:
                        yield Wrong(name, f"{right.name}-{mistake.id}-{number}", text, base, len(edits) == 1)


def changed_lines(base: str, text: str) -> set[int]:
    before, after = base.split("\n"), text.split("\n")
    lines = set()
    for kind, _, _, start, end in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if kind != "equal":
            lines |= {*range(start + 1, end + 1)} or {start, start + 1}
    return lines


def repaired(wrong: Wrong, budget: int) -> tuple[Repair | None, float] | None:
    its = cached_reference(wrong.exercise, SEED)
    try:
        with time_limit(20):
            program = load_program(wrong.text, name="wrong")
            trace = play(its.exercise.driver, program, seed=SEED)
            program.unload()
    except TimeLimit:
        return None
    if trace.load_failure is not None:
        return None
    for scenario in its.exercise.driver.scenarios:
        its.solution_run(scenario.name)
    started = time.perf_counter()
    found = search_repair(
        its.exercise, wrong.text, trace.runs, its.solution_run, InProcess(its), budget=budget
    )
    return found, time.perf_counter() - started


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*")
    parser.add_argument("--budget", type=int, default=400)
    parser.add_argument("--source", default="rejected", choices=("rejected", "applied"))
    parser.add_argument("--every", type=int, default=1, help="only each n-th program of an exercise")
    parser.add_argument("--show", action="store_true")
    args = parser.parse_args()
    names = args.names or list(COURSE.exercises)
    wrongs = list({w.text: w for w in (rejected if args.source == "rejected" else applied)(names)}.values())
    plays: dict[str, list[int]] = defaultdict(list)
    seconds: list[float] = []
    places: Counter[bool] = Counter()
    counted: Counter[str] = Counter()
    for wrong in wrongs:
        counted[wrong.exercise] += 1
        if counted[wrong.exercise] % args.every:
            continue
        result = repaired(wrong, args.budget)
        if result is None:
            continue
        found, took = result
        seconds.append(took)
        whole = found is not None and found.repairs_everything
        cost = found.plays if whole else 10**6
        plays[wrong.exercise].append(cost)
        plays["(one text replaced)" if wrong.single else "(several)"].append(cost)
        place = None
        if found is not None and wrong.base is not None:
            near = {n + d for n in changed_lines(wrong.base, wrong.text) for d in (-1, 0, 1)}
            place = all(edit.line in near for edit in found.edits)
            places[place] += 1
        if args.show:
            mark = "OK " if whole else "part" if found else "NO "
            print(mark, wrong.exercise, wrong.label, found and found.plays, f"{took:.2f}s", f"place={place}")
            for edit in found.edits if found else ():
                print(
                    "     ",
                    edit.line,
                    edit.kind,
                    edit.where,
                    list(edit.old),
                    "->",
                    list(edit.new),
                    flush=True,
                )
    every = [p for name, ps in plays.items() for p in ps if not name.startswith("(")]
    for name, ps in plays.items():
        print(f"{name:24}", len(ps), *(f"{sum(p <= n for p in ps) / len(ps):6.0%}" for n in (100, 200, 400)))
    print(
        f"{'all':24}",
        len(every),
        *(f"{sum(p <= n for p in every) / len(every):6.0%}" for n in (100, 200, 400)),
    )
    print(
        f"seconds: median {median(seconds):.2f}, worst {max(seconds):.2f}; place right {places[True]}/{places.total()}"
    )


if __name__ == "__main__":
    main()
