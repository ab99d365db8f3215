"""Collect the programs to compare from the submissions, and the texts that everybody has from the course."""

from collections.abc import Iterator

from grader import paths
from grader.base.decoding import ReadError
from grader.classroom.similarity.fingerprints import StudentCode
from grader.course.course import Course
from grader.report.html import hint_blocks
from grader.submission.source_file import SourceFile, read_source
from grader.submission.submission import Submission

MOST_CHARS = 200_000
"""Maximum characters of a student that are compared: each takes 15 µs.

All four solved notebooks, with the code that everybody has, are 163,000. Who wrote more is named on the page.
"""


def student_code(submission: Submission) -> StudentCode:
    """Return the code of a student, file after file, including cells that Python cannot parse.

    What exceeds `MOST_CHARS` is left out.
    """
    lines: list[str] = []
    places: list[str] = []
    for file in submission.files:
        for number, line in enumerate(file.text.splitlines(), start=1):
            lines.append(line)
            places.append(_place(file, number))
        for problem in file.problems:
            broken = problem.text.splitlines()
            lines += broken
            places += [_place(file, problem.line + offset) for offset in range(len(broken))]
    text = "".join(f"{line}\n" for line in lines)
    compared = text[:MOST_CHARS]
    kept = tuple(places[: compared.count("\n") + 1])
    return StudentCode(submission.student, compared, kept, left_out=len(text) - len(compared))


def _place(file: SourceFile, line: int) -> str:
    place = file.nearest_place(line)
    return f"{file.name} [{place.cell}] {place.line}" if place.cell else f"{file.name} {place.line}"


def known_texts(course: Course) -> Iterator[str]:
    """Yield the texts that every learner has or may read: lessons, code in hints, code on the web.

    The last hint of an exercise is its answer.
    """
    for path in sorted((*paths.lessons_path().glob("*/*.ipynb"), *paths.lessons_path().glob("*.py"))):
        try:
            yield read_source(path, path.name, tuple(course.exercises)).text
        except ReadError:
            continue  # an author may be changing this lesson just now
    for exercise in course.exercises.values():
        yield from (code for hint in exercise.hints for code, is_code in hint_blocks(hint) if is_code)
        yield from (copy.program for copy in exercise.copies)
