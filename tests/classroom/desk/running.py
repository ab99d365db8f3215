"""A desk that runs in a thread of the tests, over a report that they write."""

import asyncio
import http.client
import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from grader.classroom.desk.desk import Desk
from grader.classroom.desk.server import serve
from grader.cli.desk import rules_in
from grader.cli.instructor import mark_again
from grader.course.feedback import ClassResult, Feedback, NamedMistake, Person, SubmissionResult
from grader.report.kept_answers import keep_answers
from grader.report.results import write_results
from grader.submission.submission import Submission, read_files
from tests.report import samples

PROGRAM = '''import torch

def helper(x):  # </pre><img src=x onerror="window.ran=1">
    return x


def train_step(model, opt, loss_fn, xb, yb):
    """<script>window.ran = 2</script>"""
    loss = loss_fn(model(xb), yb)
    loss.backward()
    # {who}: "><svg onload=window.ran=3>
    opt.step()
    return loss.item()
'''


def a_submission(folder: Path, student: str, program: str = PROGRAM) -> Submission:
    file = folder / "answer.py"
    file.write_text(program.replace("{who}", student.encode("ascii", "replace").decode()), encoding="utf-8")
    return read_files(file, student, ("train_step", "fit"))


def write_class(out: Path, result: ClassResult, workplace: Path, program: str = PROGRAM) -> None:
    """Write what the desk reads: results, and everybody's code for two exercises."""
    out.mkdir(exist_ok=True)
    workplace.mkdir(exist_ok=True)
    write_results(out / "results.json", result)
    submissions = [a_submission(workplace, s.student, program) for s in result.submissions]
    keep_answers(out, submissions, ("train_step", "fit"))


def class_of(*answers: Sequence[Feedback]) -> ClassResult:
    """Return a class of one student for each sequence of feedback, with numbers and names from a roster."""
    students = (
        SubmissionResult(
            f"{20260001 + i}_학생{i + 1}",
            tuple(own),
            digest=f"digest{i}",
            person=Person(str(20260001 + i), f"학생{i + 1}"),
        )
        for i, own in enumerate(answers)
    )
    return ClassResult(7, "cpu", "bwrap", tuple(students))


def wrong(exercise: str, *mistakes: NamedMistake) -> Feedback:
    """Return feedback on an answer with these mistakes: 1 of 4 points."""
    sample = samples.named_mistake()
    found = replace(sample.diagnosis, mistakes=mistakes)
    return replace(sample, exercise=exercise, title=samples.EXERCISES[exercise], diagnosis=found)


def right(exercise: str) -> Feedback:
    """Return feedback on a right answer: 4 of 4 points."""
    return replace(samples.passed(), exercise=exercise, title=samples.EXERCISES[exercise])


def desk_over(out: Path, who: str = "조교", *, anonymous: bool = False) -> Desk:
    return Desk(out, who, tuple(samples.EXERCISES), lambda: rules_in(out), anonymous=anonymous)


@dataclass
class Running:
    """A server and what it answers."""

    address: str
    cookie: str = ""
    told: list[str] = field(default_factory=list)

    @property
    def host(self) -> str:
        return urlsplit(self.address).netloc

    def ask(
        self, path: str, body: Any = None, *, method: str = "", headers: dict[str, str] | None = None
    ) -> tuple[int, Any, dict[str, str]]:
        """Status, body (JSON where it is any) and headers."""
        connection = http.client.HTTPConnection(self.host, timeout=10)
        sent = {"Cookie": self.cookie} if self.cookie else {}
        if body is not None:
            sent |= {"Content-Type": "application/json", "Origin": f"http://{self.host}"}
        data = body if isinstance(body, bytes | None) else json.dumps(body).encode()
        own_host = {name.title(): value for name, value in (headers or {}).items()}
        connection.request(method or ("GET" if body is None else "POST"), path, data, {**sent, **own_host})
        answer = connection.getresponse()
        text = answer.read().decode("utf-8")
        is_json = str(answer.headers.get("Content-Type", "")).startswith("application/json")
        return answer.status, json.loads(text) if is_json else text, dict(answer.headers)

    def enter(self) -> None:
        """Exchange the token for the cookie."""
        parts = urlsplit(self.address)
        _, _, headers = self.ask(f"/?{parts.query}")
        self.cookie = headers["Set-Cookie"].split(";")[0]


@contextmanager
def running_desk(desk: Desk, out: Path) -> Iterator[Running]:
    """Serve a desk for as long as the context lasts; nobody has entered yet."""
    loop = asyncio.new_event_loop()
    there, found = threading.Event(), []

    def opened(address: str) -> None:
        found.append(address)
        there.set()

    def publish() -> str:
        mark_again(out, {})
        return "다 반영했어요"

    task = loop.create_task(serve(desk, 0, publish, opened))

    def run() -> None:
        try:
            loop.run_until_complete(task)
        except asyncio.CancelledError:
            loop.run_until_complete(loop.shutdown_default_executor())
            loop.close()

    thread = threading.Thread(target=run)
    thread.start()
    assert there.wait(10)
    try:
        yield Running(found[0])
    finally:
        loop.call_soon_threadsafe(task.cancel)
        thread.join(10)
