"""Keep the code of a graded class beside its results, so that people can read what was graded.

`grade` writes the file; the students' pages and the desk are made with it. It holds the program as it was graded, with
the place of each line in the learner's file, and code that does not parse. The results do not repeat it.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from grader.base.files import write_whole
from grader.course.feedback import ClassResult, Feedback, SubmissionResult
from grader.submission.source_file import SourceFile
from grader.submission.statements import Block, needed_names
from grader.submission.submission import Submission
from grader.submission.syntax import definitions, first_line, last_line, top_level

NAME = "answers.jsonl"
"""Name of the file in the report's folder; one JSON line for each student."""
NOTHING = "없음"
"""Fingerprint of the answer of somebody who handed in nothing."""
_MAX_CODE_CHARS = 20_000
"""Maximum characters of an answer on the student's page; the longest solution has 4,000."""
_MAX_LINE = 2**24
"""Maximum bytes read of a line; an answer typically takes 10 kB."""


@dataclass(frozen=True)
class Line:
    """One line of a program."""

    cell: int | None
    """Number of the code cell; None in a `.py` file."""
    line: int
    """Line from 1, within the cell or the `.py` file."""
    text: str


@dataclass(frozen=True)
class Answer:
    """The code that answers one exercise."""

    file: str
    own: tuple[Line, ...]
    """The definition of the exercise."""
    rest: tuple[Line, ...]
    """The rest of the program; blank lines at both ends left out."""


def keep_answers(out: Path, submissions: Iterable[Submission], exercises: Iterable[str]) -> None:
    """Write the code of these exercises in `out`.

    Raises:
        OSError: the folder cannot be written.
    """
    names = tuple(exercises)
    write_whole(out / NAME, (f"{_json_line(submission, names)}\n" for submission in submissions))


def _json_line(submission: Submission, exercises: tuple[str, ...]) -> str:
    """Return one student's line. JSON escapes everything but ASCII, lone surrogates included."""
    files: list[SourceFile] = [*submission.files]
    blocks: dict[str, Block] = {}
    own: dict[str, Any] = {}
    for name in exercises:
        source = submission.source_for(name)
        if source is None:
            continue
        at = next((i for i, file in enumerate(files) if file is source), len(files))
        if at == len(files):
            files.append(source)
        if source.name not in blocks:
            blocks[source.name] = Block((), top_level(source.text), frozenset())
        own[name] = {"file": at, **_definition(source, name, blocks[source.name])}
    document = {
        "student": submission.student,
        "exercises": own,
        "files": [{"name": source.name, "parts": list(_parts(source))} for source in files],
    }
    return json.dumps(document)


def _definition(source: SourceFile, exercise: str, block: Block) -> dict[str, Any]:
    """Return where the definition stands in the program, or its text if it does not parse; and its fingerprints."""
    if source.problem_for(exercise) is not None and (attempt := source.answer(exercise)) is not None:
        text, place = attempt
        texts = text.split("\n")
        digest = _digest(texts)
        return {"broken": [place.cell, place.line, texts], "digest": digest, "judged": digest}
    first, last = source.spans.get(exercise, (1, len(source.places)))
    lines = source.text.split("\n")
    texts = lines[first - 1 : last]
    begin, end = source.nearest_place(first), source.nearest_place(last)
    return {
        "span": [[begin.cell, begin.line], [end.cell, end.line]],
        "digest": _digest(texts),
        "judged": _digest([*texts, *_needed(block, exercise, lines), *source.modules.values()]),
    }


def _needed(block: Block, exercise: str, lines: Sequence[str]) -> Iterator[str]:
    """Yield the lines of the helpers, constants and imports that the definition needs, also through each other."""
    names = needed_names([block], [exercise])
    for statement, uses in zip(block.body, block.uses, strict=True):
        if exercise not in uses.bound and not uses.bound.isdisjoint(names):
            yield from lines[first_line(statement) - 1 : last_line(statement)]


def _digest(texts: Sequence[str]) -> str:
    """Return a fingerprint of code; spaces at line ends and blank lines do not count."""
    written = "\n".join(text.rstrip() for text in texts if text.strip())
    return hashlib.sha256(written.encode("utf-8", "surrogatepass")).hexdigest()[:12]


def _parts(source: SourceFile) -> Iterator[list[Any]]:
    """Yield the program as runs of consecutive lines: [cell, first line, texts]; blank lines before a run go."""
    part: list[Any] = []
    for text, place in zip(source.text.split("\n"), source.places, strict=False):
        if part and (part[0] != place.cell or part[1] + len(part[2]) != place.line):
            yield part
            part = []
        if part or text.strip():
            part = part or [place.cell, place.line, []]
            part[2].append(text.rstrip())
    if part:
        yield part


# ---- reading ------------------------------------------------------------------------------------------


class Answers:
    """The kept code of a class. Only fingerprints are held; the code of a class of 600 has several megabytes."""

    def __init__(self, out: Path) -> None:
        """Find the lines of the file in `out`; a missing file has none.

        Raises:
            OSError: the file cannot be read.
        """
        self._path = out / NAME
        self._places: dict[str, int] = {}
        self._digests: dict[str, dict[str, str]] = {}
        self._judged: dict[str, dict[str, str]] = {}
        if not self._path.is_file():
            return
        with self._path.open("rb") as file:
            start = 0
            for line in iter(lambda: file.readline(_MAX_LINE), b""):
                with suppress(ValueError, LookupError, TypeError, AttributeError, RecursionError):
                    entry = json.loads(line)
                    student, exercises = entry["student"], entry["exercises"].items()
                    digests = {name: str(own["digest"]) for name, own in exercises}
                    self._judged[student] = {n: str(own.get("judged", own["digest"])) for n, own in exercises}
                    self._digests[student], self._places[student] = digests, start
                start += len(line)

    def __bool__(self) -> bool:
        """True if any code was kept."""
        return bool(self._places)

    def digest(self, student: str, exercise: str) -> str:
        """Return the fingerprint of the student's definition; empty if there is none."""
        return self._digests.get(student, {}).get(exercise, "")

    def fingerprint(self, submission: SubmissionResult | None, exercise: str) -> str:
        """Return the fingerprint of the answer that people judge, as `overrides.csv` has it.

        It is that of the definition with all that it needs of the program: with another helper it may behave otherwise.
        Where there is no definition, and for the whole submission, it is that of all files. It begins with a word, so
        that no spreadsheet takes it for a number.

        Args:
            submission: what the student handed in; None for nothing.
            exercise: name of the exercise; empty for the whole submission.
        """
        if submission is None:
            return NOTHING
        own = self._judged.get(submission.student, {}).get(exercise, "")
        return f"답:{own}" if own else f"제출:{submission.digest}"

    def of(self, student: str, exercise: str) -> Answer | None:
        """Return the student's code for an exercise; None if nothing was handed in for it, or nothing was kept."""
        return self.all_of(student, (exercise,)).get(exercise)

    def elsewhere(self, student: str, name: str) -> Answer | None:
        """Return code that answers no exercise; None if no code of the student was kept.

        It is the function of this name, or else all of the student's largest file, as `rest`.
        """
        entry = self._entry(student)
        with suppress(ValueError, LookupError, TypeError, AttributeError, RecursionError):
            files = sorted(entry["files"], key=lambda file: -len(str(file["parts"])))
            for file in files:
                lines = _lines_of(file)
                found = definitions("\n".join(line.text for line in lines)).get(name)
                if found is not None:
                    first, last = found.lineno, found.end_lineno or found.lineno
                    own, rest = lines[first - 1 : last], [*lines[: first - 1], *lines[last:]]
                    return Answer(str(file["name"]), tuple(own), _trimmed(rest))
            if files:
                return Answer(str(files[0]["name"]), (), _trimmed(_lines_of(files[0])))
        return None

    def _entry(self, student: str) -> Any:
        """Return what was kept of a student; an empty dict if nothing can be read."""
        if student not in self._places:
            return {}
        with self._path.open("rb") as file:
            file.seek(self._places[student])
            line = file.readline(_MAX_LINE)
        with suppress(ValueError, RecursionError):
            return json.loads(line)
        return {}

    def all_of(self, student: str, exercises: Iterable[str]) -> dict[str, Answer]:
        """Return the student's code for these exercises, of those for which there is any."""
        entry = self._entry(student)
        with suppress(ValueError, LookupError, TypeError, AttributeError, RecursionError):
            found = ((name, entry["exercises"].get(name)) for name in exercises)
            return {name: _answer(entry["files"][own["file"]], own) for name, own in found if own is not None}
        return {}


def with_code(result: ClassResult, out: Path) -> ClassResult:
    """Return the results with the code of each answer, as it was kept in `out`, for the pages.

    Raises:
        OSError: the file cannot be read.
    """
    answers = Answers(out)

    def completed(submission: SubmissionResult) -> SubmissionResult:
        kept = answers.all_of(submission.student, [f.exercise for f in submission.all_feedback])
        feedbacks, extras = (
            tuple(_with_answer(feedback, kept.get(feedback.exercise)) for feedback in those)
            for those in (submission.feedbacks, submission.extras)
        )
        return replace(submission, feedbacks=feedbacks, extras=extras)

    return replace(result, submissions=tuple(map(completed, result.submissions))) if answers else result


def _with_answer(feedback: Feedback, answer: Answer | None) -> Feedback:
    """Add the learner's whole answer, for people who read it; of one left as handed out they need none."""
    if answer is None or not answer.own or not feedback.begun:
        return feedback
    code = "\n".join(line.text for line in answer.own)
    first = answer.own[0]
    return replace(feedback, code=code[:_MAX_CODE_CHARS], code_line=first.line, code_cell=first.cell)


def _answer(file: dict[str, Any], own: dict[str, Any]) -> Answer:
    lines = _lines_of(file)
    if "broken" in own:
        cell, first, texts = own["broken"]
        broken = tuple(Line(cell, i, text) for i, text in enumerate(texts, start=first))
        return Answer(str(file["name"]), broken, _trimmed(lines))
    places = [[line.cell, line.line] for line in lines]
    first, last = (places.index(place) for place in own["span"])
    return Answer(
        str(file["name"]), tuple(lines[first : last + 1]), _trimmed([*lines[:first], *lines[last + 1 :]])
    )


def _lines_of(file: dict[str, Any]) -> list[Line]:
    return [
        Line(cell, first + i, text) for cell, first, texts in file["parts"] for i, text in enumerate(texts)
    ]


def _trimmed(lines: Sequence[Line]) -> tuple[Line, ...]:
    """Leave out blank lines at both ends, and all but one of several that follow each other."""
    found: list[Line] = []
    for line in lines:
        if line.text or (found and found[-1].text):
            found.append(line)
    return tuple(found[:-1] if found and not found[-1].text else found)
