"""Write each student's result to a journal as soon as it is there, so that a killed run can be resumed.

A complete run renames its journal from `unfinished.jsonl` to `graded.jsonl`, so that a later run can keep the results
of submissions that have not changed. All lines are signed (`seal`), because report folders are shared.
"""

import hashlib
import json
import os
import secrets
import shlex
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any, TypeVar

from grader import exercises
from grader.base.errors import HanstepError
from grader.base.files import NotRegular, open_regular, write_whole
from grader.base.package import VERSION
from grader.classroom.seal import Seal
from grader.course.feedback import ClassResult, Feedback, SubmissionResult
from grader.grading.grading_run import GradingRun
from grader.report.results import SCHEMA, ResultsError, submission_from_document, submission_to_document
from grader.submission.submission import Submission

UNFINISHED = "unfinished.jsonl"
COMPLETE = "graded.jsonl"
_BEFORE_SCHEMAS = "hanstep.results/1"
"""Schema of old journals, whose first line does not state a schema."""
_DRIVERS = Path(exercises.__file__).parent
_MAX_LINE = 2**26
"""Maximum bytes of a line; a student's result typically takes tens of kB."""
_SETUP = "setup"
"""Context for the seal of the first line. The context of the other lines is the name of the run, which the first line
states."""

_SHARED = ("title", "checks", "message", "diagnosis", "because", "notes", "file", "error")
"""Attributes of a feedback that are shared. Whole feedbacks are rarely equal, because their seconds differ."""
_Part = TypeVar("_Part", bound=Hashable)


class JournalError(HanstepError):
    """The previous run cannot be continued as requested."""


def refuse_inside(out: Path, submissions: Path) -> None:
    """Refuse a report folder inside the class folder, where a student could have put a journal or a link.

    Args:
        out: the report's folder.
        submissions: the class folder.

    Raises:
        JournalError: `out` lies inside `submissions`.
    """
    if out.resolve().is_relative_to(submissions.resolve()):
        raise JournalError(
            f"결과 폴더가 제출물 폴더 안에 있어요: {out}. 학생이 만든 파일과 섞이지 않게 다른 곳을 주세요: "
            f"--out {shlex.quote(str(submissions.resolve().parent / 'report'))}"
        )


@dataclass(frozen=True)
class EarlierChoice:
    """What an earlier run was asked to grade."""

    lessons: tuple[str, ...] = ()
    only: tuple[str, ...] = ()
    """Names of the only exercises; empty for all of the lessons."""
    own_names: tuple[tuple[str, str], ...] = ()
    """Names that students gave to answers, each with its exercise."""


def earlier_choice(out: Path, *, changed_only: bool) -> EarlierChoice:
    """Return what the run that would be continued was asked to grade; nothing if there is none.

    Args:
        out: the report's folder.
        changed_only: True if a complete run is continued too.

    Raises:
        JournalError: the file there is not a journal of this user.
    """
    for name in (UNFINISHED, COMPLETE)[: 1 + changed_only]:
        path = out / name
        if not path.is_file():
            continue
        with path.open("rb") as file:
            first = file.readline(_MAX_LINE)
        if first.endswith(b"\n"):
            setup = _setup_in(first, Seal.of_this_user(), path)
            names = tuple((own, exercise) for own, exercise in setup.get("own_names", ()))
            return EarlierChoice(tuple(setup["lessons"]), tuple(setup.get("only", ())), names)
    return EarlierChoice()


class Journal:
    """An open journal: a first line with the run's setup, then one JSON line for each student. Lines are only added."""

    def __init__(
        self,
        path: Path,
        run: GradingRun,
        sandbox: str,
        done: Mapping[str, SubmissionResult],
        writer: "_Writer",
    ) -> None:
        """Use `open` instead.

        Args:
            path: the journal's file.
            run: settings of the grading, with the seed that counts.
            sandbox: the isolation, as `results.json` names it.
            done: results that are in the file already, by student.
            writer: appends to the file.
        """
        self._path = path
        self._run = run
        self._sandbox = sandbox
        self._shared = SharedParts()
        self._done = {student: self._shared(result) for student, result in done.items()}
        self._writer = writer

    @classmethod
    def open(
        cls,
        out: Path,
        run: GradingRun,
        sandbox: str,
        *,
        resume: bool,
        changed_only: bool = False,
        seed_given: bool,
    ) -> tuple["Journal", GradingRun]:
        """Start a journal in `out`, or continue the one there.

        Args:
            out: the report's folder.
            run: settings of the grading.
            sandbox: the isolation, as `results.json` names it.
            resume: continue a run that was broken off, if there is one.
            changed_only: like `resume`, and also keep the results of a complete run.
            seed_given: True if the user chose the seed; otherwise the previous run's seed replaces that of `run`.

        Returns:
            The journal, and `run` with the seed that counts.

        Raises:
            JournalError: the previous run had other settings, or the file there is not a journal of this user.
            OSError: the folder cannot be written.
        """
        out.mkdir(parents=True, exist_ok=True)
        seal, path = Seal.of_this_user(), out / UNFINISHED
        if resume or changed_only:
            before = _read_earlier_run(path, seal, run, sandbox, seed_given)
            if before is not None and before.own_names == run.own_names:
                run = replace(run, seed=before.seed)
                return cls(path, run, sandbox, before.done, _Writer(path, seal, before.name)), run
        else:
            before = None
        # Other names change what is graded: they go into a new first line, and the results that stay, after it.
        kept = before
        if kept is None and changed_only:
            kept = _read_earlier_run(out / COMPLETE, seal, run, sandbox, seed_given)
        if kept is not None:
            run = replace(run, seed=kept.seed)
        done = {} if kept is None else kept.done
        name = secrets.token_hex(16)
        setup = seal.sealed(json.dumps({**_setup(run, sandbox), "run": name}), _SETUP)
        write_whole(
            path, b"".join([setup, *(seal.sealed(_result_json(result), name) for result in done.values())])
        )
        return cls(path, run, sandbox, done, _Writer(path, seal, name)), run

    def has(self, submission: Submission) -> bool:
        """True if this submission has been graded already and its files have not changed since."""
        known = self._done.get(submission.student)
        return known is not None and known.digest == submission.digest

    def add(self, result: SubmissionResult) -> None:
        """Add one student's result.

        Raises:
            OSError: it cannot be written, e.g. because the disk is full; earlier results are still there.
        """
        self._writer.write(result)
        self._done[result.student] = self._shared(result)

    def result(self, students: Sequence[str]) -> ClassResult:
        """Return the results of the whole class, in the order of `students`, who must all have been graded."""
        results = tuple(self._done[student] for student in students)
        return ClassResult(self._run.seed, self._run.device, self._sandbox, results)

    def close(self) -> None:
        """Finish a complete run: rename the journal, so that it is not resumed, but its results can be kept later."""
        self._writer.close()
        if self._path.exists():
            self._path.replace(self._path.with_name(COMPLETE))


class SharedParts:
    """Share equal parts of results in memory: most of ten thousand students get the same feedback."""

    def __init__(self) -> None:
        self._known: dict[Hashable, Hashable] = {}

    def __call__(self, result: SubmissionResult) -> SubmissionResult:
        """Return an equal result made of shared parts."""
        return replace(
            result,
            feedbacks=tuple(map(self._feedback, result.feedbacks)),
            extras=tuple(map(self._feedback, result.extras)),
        )

    def _feedback(self, feedback: Feedback) -> Feedback:
        """Return an equal feedback made of shared parts."""
        shared = {name: self._one(getattr(feedback, name)) for name in _SHARED}
        feedback = replace(feedback, **shared)
        # With 0 seconds (not run), share it as a whole
        return feedback if feedback.seconds else self._one(feedback)

    def _one(self, part: _Part) -> _Part:
        """Return the remembered object that equals `part`; remember `part` if there is none."""
        return self._known.setdefault(part, part)  # type: ignore[return-value]


class _Writer:
    """Append signed lines to an existing journal file."""

    def __init__(self, path: Path, seal: Seal, name: str) -> None:
        self._seal, self._name = seal, name
        # Unbuffered, because a line that waits in a buffer is lost if the process is killed.
        self._file: IO[bytes] = os.fdopen(open_regular(path, os.O_RDWR | os.O_APPEND), "r+b", buffering=0)
        end = self._file.seek(0, os.SEEK_END)
        self._file.seek(max(0, end - 1))
        if self._file.read(1) not in (b"", b"\n"):  # the process was killed while it wrote a line
            self._file.write(b"\n")

    def write(self, result: SubmissionResult) -> None:
        """Append one result."""
        line = self._seal.sealed(_result_json(result), self._name)
        while line:
            line = line[self._file.write(line) :]

    def close(self) -> None:
        """Close the file."""
        self._file.close()


@dataclass(frozen=True)
class _EarlierRun:
    """The content of an earlier run's journal."""

    seed: int
    name: str
    """Random name of the run, the context of its lines' seals."""
    own_names: tuple[tuple[str, str], ...]
    done: dict[str, SubmissionResult]
    """Student's name -> result."""


def _result_json(result: SubmissionResult) -> str:
    return json.dumps(submission_to_document(result))


def _setup(run: GradingRun, sandbox: str) -> dict[str, Any]:
    """Return the settings that the first line states; to continue a run, all but `own_names` must be equal."""
    return {
        "schema": SCHEMA,
        "seed": run.seed,
        "device": run.device,
        "sandbox": sandbox,
        "lessons": [lesson.id for lesson in run.lessons],
        "only": list(run.only),
        "added": list(run.added_packages),
        "own_names": [list(pair) for pair in run.own_names],
        "course": _course_fingerprint(run),
    }


def _course_fingerprint(run: GradingRun) -> str:
    """Return a fingerprint of everything that decides marks: version, drivers, solutions, known mistakes, points."""
    state = hashlib.sha256(VERSION.encode())
    for path in sorted(_DRIVERS.rglob("*.py")):
        state.update(f"\0{path.relative_to(_DRIVERS)}\0".encode() + path.read_bytes())
    for lesson in run.lessons:
        for path in sorted([*lesson.folder.glob("*.toml"), *lesson.folder.glob("*.py")]):
            state.update(f"\0{path.name}\0".encode() + path.read_bytes())
    return state.hexdigest()[:16]


def _as_options(setup: Mapping[str, Any]) -> str:
    """Return the command-line options that produce a setup."""
    only = setup.get("only", ())
    exercises = f"--lesson {','.join(setup['lessons'])}" + (f" --exercise {','.join(only)}" if only else "")
    isolation = " --sandbox none" if setup["sandbox"] == "none" else ""
    added = "".join(f" --package {shlex.quote(name)}" for name in setup.get("added", ()))
    return f"--seed {setup['seed']} --device {setup['device']}{isolation}{added} {exercises}"


def _read_earlier_run(
    path: Path, seal: Seal, run: GradingRun, sandbox: str, seed_given: bool
) -> _EarlierRun | None:
    """Read the journal of an earlier run; None if there is none, or it was killed before its first line was complete.

    Raises:
        JournalError: the run had other settings, or the file is not a journal of this user.
    """
    try:
        file = os.fdopen(open_regular(path), "rb")
    except FileNotFoundError:
        return None
    except NotRegular as error:
        raise JournalError(
            f"보통 파일이 아니에요(링크, 파이프, 장치, 폴더): {path}. "
            f"무엇인지 확인하고 지운 다음 처음부터 채점해 주세요: rm -r {shlex.quote(str(path))}"
        ) from error
    with file:
        first = file.readline(_MAX_LINE)
        if not first.endswith(b"\n") and len(first) < _MAX_LINE:
            return None  # killed before there was anything to keep
        setup = _setup_in(first, seal, path)
        _require_same_setup(setup, run, sandbox, seed_given)
        done = {}
        while line := file.readline(_MAX_LINE):
            body = seal.opened(line, setup["run"])
            try:
                result = None if body is None else submission_from_document(json.loads(body))
            # Our seal is right, but other code wrote the result
            except (ValueError, RecursionError, ResultsError):
                continue
            if result is not None:  # None: half a line, or somebody else's; that student is graded again
                done[result.student] = result
    names = tuple((own, exercise) for own, exercise in setup.get("own_names", ()))
    return _EarlierRun(setup["seed"], setup["run"], names, done)


def _setup_in(line: bytes, seal: Seal, path: Path) -> dict[str, Any]:
    """Return the setup in a journal's first line.

    Raises:
        JournalError: this user did not write the line, or another version did.
    """
    body = seal.opened(line, _SETUP)
    if body is not None:
        setup: dict[str, Any] = json.loads(body)
        if setup["schema"] == SCHEMA:
            return setup
    _refuse_foreign(line, path)
    raise JournalError(
        f"이 컴퓨터의 이 계정이 쓴 기록이 아니거나, 누가 고친 기록이에요: {path}. 이어서 하려면 채점을 시작한 계정으로 "
        f"다시 해 주세요. 그럴 수 없으면 지우고 처음부터 채점해 주세요: rm {shlex.quote(str(path))}"
    )


def _refuse_foreign(line: bytes, path: Path) -> None:
    """Raise JournalError if a first line without a valid seal is not from a journal at all, or from another version."""
    try:
        setup = json.loads(line)
        schema, seed = str(setup.get("schema", _BEFORE_SCHEMAS)), int(setup["seed"])
        if not isinstance(setup["device"], str) or not isinstance(setup["lessons"], list):
            raise TypeError
    except (ValueError, TypeError, LookupError, AttributeError, OverflowError, RecursionError) as error:
        raise JournalError(
            f"파일을 읽을 수 없어요: {path}. 지우고 처음부터 다시 채점해 주세요: rm {shlex.quote(str(path))}"
        ) from error
    if schema != SCHEMA:
        raise JournalError(
            f"다른 버전의 한 스텝으로 채점한 기록이라 이어서 할 수 없어요 (형식 {schema[:40]}, 지금은 {SCHEMA}). "
            f"처음부터 채점해 주세요. 같은 시드로 하려면: --seed {seed}"
        )


def _require_same_setup(setup: Mapping[str, Any], run: GradingRun, sandbox: str, seed_given: bool) -> None:
    """Raise JournalError if the previous run had other options or another course: one class, one way of grading."""
    now = {**_setup(run, sandbox), "run": setup["run"]}
    if (seed_given and setup["seed"] != run.seed) or any(
        now[key] != setup.get(key, []) for key in ("device", "sandbox", "lessons", "only", "added")
    ):
        raise JournalError(
            f"앞의 채점과 옵션이 달라요. 앞의 채점의 옵션은 {_as_options(setup)} 이에요. "
            "이 옵션으로 이어서 하거나, --resume과 --changed-only 없이 처음부터 채점해 주세요."
        )
    if now["course"] != setup["course"]:
        raise JournalError(
            "앞의 채점 뒤에 한 스텝의 버전이나 정답, 채점 기준이 바뀌어서 이어서 할 수 없어요. "
            f"--resume과 --changed-only 없이 처음부터 채점해 주세요. 같은 시드로 하려면: --seed {setup['seed']}"
        )
