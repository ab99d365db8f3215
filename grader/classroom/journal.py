"""Keeps each student's result the moment it is there, so that a killed run resumes where it was."""

import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

from grader.classroom.grading import digest
from grader.classroom.workers import Plan
from grader.report.results import (
    ClassResult,
    ResultsError,
    SubmissionResult,
    submission_from_document,
    submission_to_document,
)
from grader.submission.folder import Submission

_NAME = "unfinished.jsonl"


class JournalError(ValueError):
    """The unfinished run cannot be resumed as asked; the message is Korean and says what to do."""


def refuse_inside(out: Path, submissions: Path) -> None:
    """What lies in the class folder is handed in: a student could have put a journal or a link there.

    Raises:
        JournalError: results would be written among the submissions.
    """
    if out.resolve().is_relative_to(submissions.resolve()):
        raise JournalError(
            f"결과 폴더가 제출물 폴더 안에 있어요: {out}. 학생이 만든 파일과 섞이지 않게 다른 곳을 주세요: "
            f"--out {shlex.quote(str(submissions.resolve().parent / 'report'))}"
        )


class Journal:
    """One JSON line a student, after a first line that says how the run was set up."""

    def __init__(
        self, path: Path, plan: Plan, sandbox: str, done: Mapping[str, SubmissionResult], file: IO[str]
    ) -> None:
        self._path = path
        self._plan = plan
        self._sandbox = sandbox
        self._done = dict(done)
        self._file = file

    @classmethod
    def open(
        cls, out: Path, plan: Plan, sandbox: str, *, resume: bool, seed_given: bool
    ) -> tuple["Journal", Plan]:
        """Start a journal in `out`, or go on with the one there.

        Returns:
            The journal, and the plan with the seed of the run that is resumed.

        Raises:
            JournalError: the unfinished run was set up in another way.
        """
        out.mkdir(parents=True, exist_ok=True)
        path = out / _NAME
        done: dict[str, SubmissionResult] = {}
        if resume and path.is_file():
            seed, done = _read(path, plan, seed_given)
            plan = replace(plan, seed=seed)
        file = path.open("w", encoding="utf-8")
        file.write(json.dumps(_setup(plan)) + "\n")
        journal = cls(path, plan, sandbox, {}, file)
        for result in done.values():
            journal.add(result)
        return journal, plan

    def has(self, submission: Submission) -> bool:
        """Whether these very files have been graded already."""
        known = self._done.get(submission.student)
        return known is not None and known.digest == digest(submission)

    def add(self, result: SubmissionResult) -> None:
        """Keep one student's result."""
        self._done[result.student] = result
        self._file.write(json.dumps(submission_to_document(result)) + "\n")
        self._file.flush()

    def result(self, submissions: Sequence[Submission]) -> ClassResult:
        """The whole class in the order of the submissions."""
        results = tuple(self._done[s.student] for s in submissions)
        return ClassResult(self._plan.seed, self._plan.device, self._sandbox, results)

    def close(self) -> None:
        """The run is complete: the journal has served."""
        self._file.close()
        self._path.unlink(missing_ok=True)


def _setup(plan: Plan) -> dict[str, Any]:
    return {"seed": plan.seed, "device": plan.device, "lessons": [lesson.id for lesson in plan.lessons]}


def _in_words(setup: Mapping[str, Any]) -> str:
    lessons = " ".join(f"--lesson {lesson}" for lesson in setup.get("lessons", ()))
    return f"--seed {setup.get('seed')} --device {setup.get('device')} {lessons}"


def _read(path: Path, plan: Plan, seed_given: bool) -> tuple[int, dict[str, SubmissionResult]]:
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    try:
        setup = json.loads(lines[0])
        setup = {
            "seed": int(setup["seed"]),
            "device": str(setup["device"]),
            "lessons": [str(key) for key in setup["lessons"]],
        }
    except (ValueError, TypeError, KeyError, IndexError, RecursionError) as error:
        raise JournalError(
            f"파일을 읽을 수 없어요: {path}. 지우고 --resume 없이 다시 채점해 주세요: rm {path}"
        ) from error
    seed: int = setup["seed"]
    if setup != {**_setup(plan), "seed": seed} or (seed_given and seed != plan.seed):
        raise JournalError(
            f"멈춘 채점과 옵션이 달라요. 멈춘 채점의 옵션은 {_in_words(setup)} 이에요. "
            "이 옵션으로 이어서 하거나, --resume 없이 처음부터 채점해 주세요."
        )
    done = {}
    for line in lines[1:]:
        try:
            result = submission_from_document(json.loads(line))
        except (ValueError, RecursionError, ResultsError):
            continue  # the line that was being written when the run was killed
        done[result.student] = result
    return seed, done
