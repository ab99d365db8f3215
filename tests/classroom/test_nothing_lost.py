"""A class whose grading is killed again and again comes out as one that nobody disturbed."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.places import ROOT
from tests.sandbox.processes import command, descendants, left_of, parent

KILLS, ROOM = 8, 10
"""Each kill comes before `ROOM` more results are there, however fast the machine is."""
STUDENTS = KILLS * ROOM + 40
"""Forty more: between a look at the results and the kill some more may come."""
PROGRAMS = (
    "def add_gradient(model, loss_fn, xb, yb, weight):\n    return {number}.0\n",
    "def zero_gradients(model):\n    for p in model.parameters():\n        p.grad = None\n    return {number}\n",
    "def zero_gradients(model)\n    return {number}\n",
    "import os\ndef zero_gradients(model):\n    os._exit({number} % 100)\n",
)
"""Cheap ones that differ in what becomes of them: wrong, right, unreadable, dead."""
pytestmark = [pytest.mark.full, pytest.mark.sandbox, pytest.mark.timeout(1200)]


class Grading:
    """`grader grade`, as a process that is killed."""

    def __init__(self, folder: Path, out: str) -> None:
        self.folder, self.out = folder, folder / out
        self.process: subprocess.Popen[str] | None = None

    def begin(self, jobs: int = 2) -> None:
        arguments = ["grade", "class", "--out", str(self.out), "--lesson", "1", "--seed", "7"]
        self.process = subprocess.Popen(
            [sys.executable, "-m", "grader", *arguments, "--jobs", str(jobs), "--resume"],
            cwd=self.folder,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def end(self) -> str:
        """What it said; a run that a kill ended is not over."""
        assert self.process is not None
        said = self.process.communicate()[0]
        if self.process.returncode == 0:
            return said
        assert "Traceback" not in said, said
        assert self.process.returncode in (2, -signal.SIGKILL), said  # told in a line, or killed
        return ""

    @property
    def done(self) -> int:
        """Lines that are whole."""
        try:
            return (self.out / "unfinished.jsonl").read_bytes().count(b"\n")
        except FileNotFoundError:
            return 0

    def victims(self, kind: str) -> list[int]:
        """Processes of a kind, which is what their command line says."""
        assert self.process is not None
        if kind == "grader":
            return [self.process.pid]
        found = descendants(self.process.pid)
        # Not what a server forks: a student's process that somebody kills has run out of memory, as far as can be seen.
        servers = [
            pid
            for pid in found
            if "server import main" in command(pid) and command(parent(pid)) != command(pid)
        ]
        workers = [pid for pid in found if "forkserver" in command(pid)]
        return servers if kind == "server" else workers


def results(folder: Path) -> Any:
    """`results.json` without how long each exercise took."""
    document = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    for submission in document["submissions"]:
        for exercise in (*submission["exercises"], *submission["extras"]):
            del exercise["seconds"]
    return document


def test_killed_at_random_moments_the_class_gets_the_same_results(tmp_path: Path) -> None:
    """Eight times: the grader, a worker or a sandbox server; also before the first result is there.

    Who was in hand when a worker or a server died is run once more, and has crashed if that one dies too. So a run has
    one worker where those are killed, and three results come in between: the first of them is of who was in hand.
    """
    (tmp_path / "class").mkdir()
    for number in range(STUDENTS):
        text = PROGRAMS[number % len(PROGRAMS)].format(number=number)
        (tmp_path / "class" / f"s{number:03}.py").write_text(text, encoding="utf-8")
    whole, broken = Grading(tmp_path, "whole"), Grading(tmp_path, "broken")
    whole.begin()
    assert whole.end()
    choose = random.Random(7)
    kills = 0
    finished = ""
    while not finished:
        jobs = choose.choice((1, 2))
        kinds = ("grader", "worker", "server", "server") if jobs == 1 else ("grader",)
        broken.begin(jobs)
        starting = broken.done <= 1
        while broken.process is not None and broken.process.poll() is None and kills < KILLS:
            last = (kills + 1) * ROOM
            until = 0 if starting else broken.done + choose.randint(3, ROOM - 3)
            while broken.process.poll() is None and broken.done < until:
                time.sleep(0.01)
            moment = time.monotonic() + choose.uniform(0, 5 if starting else 0.5)
            while time.monotonic() < moment and broken.done < last:
                time.sleep(0.01)
            starting = False
            victims = broken.victims(choose.choice(kinds))
            with suppress(ProcessLookupError, IndexError):
                os.kill(choose.choice(victims), signal.SIGKILL)
                kills += 1
        family = descendants(broken.process.pid) if broken.process is not None else []
        finished = broken.end()
        assert kills < KILLS or not left_of(family)
    assert kills == KILLS
    assert results(broken.out) == results(whole.out)
