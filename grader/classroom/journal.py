"""Keeps each student's result the moment it is there, so that a killed run resumes where it was."""

import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

from grader.classroom.grading import digest
from grader.classroom.run import GradingRun
from grader.errors import HanstepError
from grader.feedback import ClassResult, SubmissionResult
from grader.files import write_whole
from grader.report.results import SCHEMA, ResultsError, submission_from_document, submission_to_document
from grader.submission.submission import Submission

_NAME = "unfinished.jsonl"
_BEFORE_SCHEMAS = "hanstep.results/1"
"""Schema of old journals, whose first line does not say its schema."""


class JournalError(HanstepError):
    """The unfinished run cannot be resumed as asked."""


def refuse_inside(out: Path, submissions: Path) -> None:
    """Refuse an `out` inside the class folder: a student could have put a journal or a link there.

    Raises:
        JournalError: results would be written among the submissions.
    """
    if out.resolve().is_relative_to(submissions.resolve()):
        raise JournalError(
            f"결과 폴더가 제출물 폴더 안에 있어요: {out}. 학생이 만든 파일과 섞이지 않게 다른 곳을 주세요: "
            f"--out {shlex.quote(str(submissions.resolve().parent / 'report'))}"
        )


class Journal:
    """One JSON line for each student, after a first line that says how the run was set up."""

    def __init__(
        self, path: Path, run: GradingRun, sandbox: str, done: Mapping[str, SubmissionResult], file: IO[str]
    ) -> None:
        self._path = path
        self._run = run
        self._sandbox = sandbox
        self._done = dict(done)
        self._file = file

    @classmethod
    def open(
        cls, out: Path, run: GradingRun, sandbox: str, *, resume: bool, seed_given: bool
    ) -> tuple["Journal", GradingRun]:
        """Start a journal in `out`, or go on with the one there.

        Returns:
            The journal, and the run with the seed of the run that is resumed.

        Raises:
            JournalError: the unfinished run was set up in another way.
        """
        out.mkdir(parents=True, exist_ok=True)
        path = out / _NAME
        done: dict[str, SubmissionResult] = {}
        if resume and path.is_file():
            seed, done = _read(path, run, seed_given)
            run = replace(run, seed=seed)
        # At once, so that a run killed while it resumes has lost nothing.
        write_whole(
            path, "".join(f"{line}\n" for line in (json.dumps(_setup(run)), *map(_line, done.values())))
        )
        return cls(path, run, sandbox, done, path.open("a", encoding="utf-8")), run

    def has(self, submission: Submission) -> bool:
        """Whether these very files have been graded already."""
        known = self._done.get(submission.student)
        return known is not None and known.digest == digest(submission)

    def add(self, result: SubmissionResult) -> None:
        """Keep one student's result."""
        self._done[result.student] = result
        self._file.write(_line(result) + "\n")
        self._file.flush()

    def result(self, submissions: Sequence[Submission]) -> ClassResult:
        """The whole class in the order of the submissions."""
        results = tuple(self._done[s.student] for s in submissions)
        return ClassResult(self._run.seed, self._run.device, self._sandbox, results)

    def close(self) -> None:
        """Delete the journal: the run is complete."""
        self._file.close()
        self._path.unlink(missing_ok=True)


def _line(result: SubmissionResult) -> str:
    return json.dumps(submission_to_document(result))


def _setup(run: GradingRun) -> dict[str, Any]:
    lessons = [lesson.id for lesson in run.lessons]
    return {"schema": SCHEMA, "seed": run.seed, "device": run.device, "lessons": lessons}


def _in_words(setup: Mapping[str, Any]) -> str:
    lessons = " ".join(f"--lesson {lesson}" for lesson in setup.get("lessons", ()))
    return f"--seed {setup.get('seed')} --device {setup.get('device')} {lessons}"


def _read(path: Path, run: GradingRun, seed_given: bool) -> tuple[int, dict[str, SubmissionResult]]:
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    try:
        setup = json.loads(lines[0])
        schema = str(setup.get("schema", _BEFORE_SCHEMAS))
        setup = {
            "schema": schema,
            "seed": int(setup["seed"]),
            "device": str(setup["device"]),
            "lessons": [str(key) for key in setup["lessons"]],
        }
    except (ValueError, TypeError, LookupError, AttributeError, OverflowError, RecursionError) as error:
        raise JournalError(
            f"파일을 읽을 수 없어요: {path}. 지우고 --resume 없이 다시 채점해 주세요: rm {path}"
        ) from error
    if schema != SCHEMA:
        raise JournalError(
            f"다른 버전의 한 스텝으로 하다가 멈춘 채점이라 이어서 할 수 없어요 (형식 {schema}, 지금은 {SCHEMA}). "
            f"처음부터 채점해 주세요. 같은 시드로 하려면: --seed {setup['seed']}"
        )
    seed: int = setup["seed"]
    if setup != {**_setup(run), "seed": seed} or (seed_given and seed != run.seed):
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
