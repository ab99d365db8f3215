"""Fuzz what a class hands in and what its instructor writes: nothing ends a run but a sentence.

    python -m tests.fuzz --minutes 10 --seed 1      # each 40th class is graded by the command itself
    python -m tests.fuzz --seed 1 --only 1234       # one class again, with its traceback

A finding is an exception that is no HanstepError, an honest student who is not read, something left in the temporary
folder, a class that takes more than a minute, or a command that ends otherwise than with 0, or 2 and a sentence.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from pathlib import Path
from random import Random

from grader.base.errors import HanstepError
from grader.base.removal import remove_tree
from grader.cli.class_inputs import read_rules
from grader.course.feedback import CheckResult, ClassResult, Feedback, SubmissionResult
from grader.course.reading import load_course
from grader.gradebook.marking import marked
from grader.intake.receive import enrolled, receive
from grader.intake.roster import read_roster
from tests.fuzz import classes
from tests.places import ROOT

MOST_SECONDS = 60


class Finding(Exception):
    """Something that must not be."""


def fuzzed(seed: int, number: int) -> str:
    """Receive and mark one random class in this process; how it ended.

    Raises:
        Exception: whatever it is, it is a finding.
    """
    place = Path(tempfile.mkdtemp(prefix="fuzz-"))
    (place / "t").mkdir()
    before, tempfile.tempdir = tempfile.tempdir, str(place / "t")
    begun = time.monotonic()
    try:
        made = classes.made(Random(f"{seed}/{number}"), place)
        try:
            return _read(made)
        except HanstepError as error:
            if not str(error).strip():
                raise Finding("no sentence") from error
            if made.whole and not made.tables:
                raise Finding("refused a class that is whole") from error
            return f"refused ({type(error).__name__})"
        finally:
            if left := classes.entries(place / "t"):
                raise Finding(f"left behind: {left}")
            if time.monotonic() - begun > MOST_SECONDS:
                raise Finding("took too long")
    finally:
        tempfile.tempdir = before
        remove_tree(place)


def _read(made: classes.Made) -> str:
    course = load_course()
    rules, refused = None, ""
    try:
        rules = read_rules(made.tables.get("policy.toml"), made.tables.get("overrides.csv"))
    except HanstepError as error:
        refused = type(error).__name__
    try:
        roster = read_roster(made.tables["roster.csv"]) if "roster.csv" in made.tables else None
    except HanstepError:
        roster = None
    received = receive(made.source, roster, tuple(course.exercises))
    if made.whole and not classes.all_honest_are_whole(received.submissions):
        raise Finding(f"an honest student was not read: {[s.student for s in received.submissions]}")
    if rules is None:
        return f"read ({refused})"
    exercise = course.exercise("zero_gradients")
    checks = tuple(CheckResult(check.title, check.points, True) for check in exercise.checks)
    feedback = Feedback("01", exercise.name, exercise.title, "passed", checks, "")
    results = tuple(SubmissionResult(s.student, (feedback,)) for s in received.submissions)
    marked(enrolled(ClassResult(0, "", "", results), received), rules, tuple(course.exercises))
    return "marked"


def graded(seed: int, number: int) -> str:
    """Have the command itself grade a random class.

    Raises:
        Finding: it ended badly.
    """
    place = Path(tempfile.mkdtemp(prefix="f", dir="/tmp"))
    try:
        (place / "t").mkdir()
        made = classes.made(Random(f"{seed}/{number}"), place)
        options = {"roster.csv": "--roster", "policy.toml": "--policy", "overrides.csv": "--override"}
        named = [word for name, path in made.tables.items() for word in (options[name], str(path))]
        begun = time.monotonic()
        run = subprocess.run(
            [sys.executable, "-m", "grader", "grade", str(made.source), "--lesson", "1", "--out", "r", *named],
            cwd=place, env={**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(place / "t")},
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        if (
            run.returncode not in (0, 2)
            or "Traceback" in run.stderr
            or (run.returncode and not run.stderr.strip())
        ):
            raise Finding(f"the command ended with {run.returncode}: {run.stderr[-2_000:]}")
        if run.returncode == 2 and made.whole and not made.tables:
            raise Finding(f"the command refused a class that is whole: {run.stderr[-500:]}")
        if left := classes.entries(place / "t"):
            raise Finding(f"the command left behind: {left}")
        if time.monotonic() - begun > MOST_SECONDS * 3:  # programs that do not end are stopped one by one
            raise Finding("the command took too long")
        return f"graded ({run.returncode})"
    finally:
        remove_tree(place)


def main() -> int:
    """Entry point."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz")
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", type=int, help="the number of one class")
    parser.add_argument("--every", type=int, default=40, help="each so many classes the command itself runs")
    chosen = parser.parse_args()
    if chosen.only is not None:
        print(fuzzed(chosen.seed, chosen.only))
        print(graded(chosen.seed, chosen.only))
        return 0
    until, ended, findings, number = time.monotonic() + 60 * chosen.minutes, Counter[str](), 0, 0
    while time.monotonic() < until:
        for way in (fuzzed, graded) if number % chosen.every == chosen.every - 1 else (fuzzed,):
            try:
                ended[way(chosen.seed, number)] += 1
            except Exception:
                findings += 1
                print(
                    f"--- {way.__name__} --seed {chosen.seed} --only {number}\n{traceback.format_exc()}",
                    flush=True,
                )
        number += 1
    print(f"seed {chosen.seed}: {number:,} classes, {findings} findings")
    for how, times in ended.most_common():
        print(f"{times:7,} {how}")
    return min(findings, 1)


if __name__ == "__main__":
    sys.exit(main())
