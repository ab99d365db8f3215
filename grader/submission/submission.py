"""Read the files of one student into a Submission, which knows the file that holds each exercise."""

import hashlib
import os
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

from grader.base.decoding import MAX_FILE_BYTES, ReadError
from grader.base.names import LISTED, display_name, escaped, listed, natural, short, shown_name, unique
from grader.observe.wording import with_particle
from grader.submission.cells import MAX_CODE_CHARS
from grader.submission.file_forms import MAX_DOCUMENT_BYTES, is_document, is_source
from grader.submission.find_files import OTHER_ARCHIVES, Found, Unreadable, closed_archive
from grader.submission.practice_cells import Practice, is_unwritten
from grader.submission.siblings import with_siblings
from grader.submission.source_file import SourceFile, read_source

MAX_STUDENT_CHARS = 5 * MAX_CODE_CHARS
"""Maximum characters of code read for one student. It bounds the time that one student's folder can take."""
_MAX_NOTES = 10
"""Maximum number of notes about what was left out of one student's files."""
_EMPTY = "빈 파일이에요. 저장하기 전에 냈거나 올리다 끊겼을 수 있으니, 파일을 열어 보고 다시 내 주세요."
MAX_STUDENT_BYTES = 4 * MAX_FILE_BYTES
"""Maximum bytes read for one student. Files refused after reading count too."""


@dataclass(frozen=True)
class Submission:
    """Everything that one student handed in."""

    student: str
    """Name of the student's folder, or of the file without its suffix; unique within a class."""
    files: tuple[SourceFile, ...]
    """Readable files, in natural order of their names (`hw2` before `hw10`)."""
    unreadable: tuple[Unreadable, ...] = ()
    notes: tuple[str, ...] = ()
    """Korean lines about skipped files. Exercises defined twice are not among them: see `duplicates`."""
    as_handed_in: str = ""
    """Fingerprint before answers got the exercises' names (`--as`); empty if none did."""

    @property
    def digest(self) -> str:
        """Fingerprint of the submission: a resumed run grades again the submissions whose fingerprint has changed.

        The part before a hyphen is that of the files as they were handed in.
        """
        state = hashlib.sha256()
        for file in self.files:
            broken = "\0".join(f"{problem.text}\0{problem.message}" for problem in file.problems)
            state.update(f"{file.name}\0{file.text}\0{broken}\0".encode("utf-8", "surrogatepass"))
        for unreadable in self.unreadable:
            state.update(f"{unreadable.name}\0{unreadable.message}\0".encode("utf-8", "surrogatepass"))
        return "-".join(filter(None, (self.as_handed_in, state.hexdigest()[:16])))

    def source_for(self, name: str) -> SourceFile | None:
        """Return the last file that defines the exercise `name`, or tries to in code that does not parse."""
        return next((file for file in reversed(self.files) if file.defines_or_attempts(name)), None)

    def unreadable_message(self) -> str:
        """Return a Korean line of bounded length about the files that could not be read; empty if all could."""
        told = " ".join(f"{u.name}: {u.message}" for u in self.unreadable[:LISTED])
        more = len(self.unreadable) - LISTED
        return f"{told} 이 밖에 {more:,}개를 더 읽지 못했어요." if more > 0 else told

    def duplicates(self, name: str) -> tuple[str, ...]:
        """Return the names of the files that define `name` if there are several, else (); the last one counts."""
        defining = tuple(file.name for file in self.files if file.defines_or_attempts(name))
        return defining if len(defining) > 1 else ()


def read_submission(path: Path, exercise_names: Collection[str]) -> Submission:
    """Read one student's folder or file. Never raises: files that cannot be read are listed in `unreadable`."""
    target = Path(os.path.realpath(path))
    student = target.name if os.path.isdir(target) else target.stem
    return read_files(target, shown_name(student) or escaped(student or str(target)), exercise_names)


def read_files(
    path: Path, student: str, exercise_names: Collection[str], root: Path | None = None
) -> Submission:
    """Read the folder or file of a student whose name is given; never raises.

    Args:
        path: the folder or file.
        student: the student's name.
        exercise_names: names of all exercises of the course.
        root: a folder above `path`, below which no link is followed, not even one that is created while the files are
            being read; None: `path`.
    """
    found = Found()
    if os.path.isdir(path):
        root = root or path
        found.search(path, root)
    elif is_source(path.name) or not os.path.lexists(path):
        found.files.append((display_name(path.name), path))
    elif path.name.lower().endswith(OTHER_ARCHIVES):
        found.unreadable.append(closed_archive(display_name(path.name)))
    else:
        found.documents += [(display_name(path.name), path)] if is_document(path.name) else []
        message = ".py나 .ipynb 파일만 읽어요. 코드를 그런 파일에 담아 주세요."
        found.unreadable.append(Unreadable(display_name(path.name), message))
    files: list[SourceFile] = []
    chars_left = MAX_STUDENT_CHARS
    bytes_left = MAX_STUDENT_BYTES
    taken: set[str] = set()
    for full, file in sorted(found.files, key=lambda item: (natural(item[0]), os.fsencode(item[1]))):
        name = unique(short(full), taken)
        taken.add(name)
        try:
            if chars_left <= 0:
                raise ReadError(
                    f"앞의 파일들에 코드가 {MAX_STUDENT_CHARS:,}자 넘게 있어요. 낼 파일만 남겨 주세요."
                )
            bytes_left -= _size(file)
            if bytes_left < 0:
                raise ReadError(
                    f"파일들이 모두 {MAX_STUDENT_BYTES // 2**20} MB를 넘어요. 출력을 지우고 낼 파일만 남겨 주세요."
                )
            source = read_source(file, name, exercise_names, root)
        except ReadError as error:
            found.unreadable.append(Unreadable(name, str(error)))
        else:
            files.append(source)
            chars_left -= source.size
    if files and all(_is_empty(file) for _, file in found.files):
        found.unreadable += [Unreadable(file.name, _EMPTY) for file in files]
        files = []
    files = with_siblings(files, root)
    if not any(file.defines_or_attempts(name) for file in files for name in exercise_names):
        files += _documents_with_answers(found, exercise_names, root, taken)
    if not files and not found.unreadable:
        message = "코드를 읽을 수 있는 형식이 아니에요. .ipynb나 .py 파일로 다시 내 주세요."
        found.unreadable += [Unreadable(other, message) for other in found.others[:_MAX_NOTES]]
    unreadable = tuple(Unreadable(short(u.name), u.message) for u in found.unreadable)
    left_out = (f"{file.name}: {note}" for file in files for note in file.notes)
    notes = (*found.notes(), *islice(left_out, _MAX_NOTES), *_practised_only(files, exercise_names))
    return Submission(student, tuple(files), unreadable, notes)


def _documents_with_answers(
    found: Found, exercise_names: Collection[str], root: Path | None, taken: set[str]
) -> list[SourceFile]:
    """Read the documents that answer an exercise, and take their names out of `found.others`."""
    files: list[SourceFile] = []
    for full, path in found.documents:
        try:
            if _size(path) > MAX_DOCUMENT_BYTES:
                continue
            source = read_source(path, unique(short(full), taken), exercise_names, root)
        except ReadError:
            continue
        if any(name in source.defines for name in exercise_names):
            note = "이름은 .py나 .ipynb가 아니지만 답이 들어 있어서 읽었어요."
            files.append(replace(source, notes=(note, *source.notes)))
            taken.add(source.name)
            found.others = [other for other in found.others if other != full]
            found.unreadable = [other for other in found.unreadable if other.name != full]
    return files


def _practised_only(files: Sequence[SourceFile], exercise_names: Collection[str]) -> Iterator[str]:
    """Yield a Korean line about each exercise that was written in a practice cell or file and nowhere else."""
    for name in exercise_names:
        places = [_where(file, p) for file in files for p in file.practice if p.exercise == name]
        if places and all(_leaves_unwritten(file, name) for file in files):
            yield (
                f"{with_particle(f'`{name}`', '은/는')} 드릴에만 쓰여 있어요: {listed(places)}. "
                "드릴에 쓴 것은 답으로 세지 않아요. 답이라면 그 코드를 연습 셀에 옮겨 주세요."
            )


def _leaves_unwritten(file: SourceFile, name: str) -> bool:
    """Return True if the file does not define the exercise, or defines it as it was handed out."""
    return not file.defines_or_attempts(name) or (name in file.defines and is_unwritten(file.text, name))


def _where(file: SourceFile, practice: Practice) -> str:
    """Return the place of a definition in Korean, as the learner counts cells and lines."""
    if practice.cell is None:
        return f"{file.name} {practice.line}번째 줄"
    return f"{file.name} 코드 셀 {practice.cell}"


def _is_empty(file: Path) -> bool:
    """Return True if a file has no byte."""
    try:
        return os.lstat(file).st_size == 0
    except OSError:
        return False


def _size(file: Path) -> int:
    """Return how many bytes reading the file takes; 0 for a file that is refused unread because it is too large."""
    try:
        size = os.lstat(file).st_size
    except OSError:
        return 0
    return size if size <= MAX_FILE_BYTES else 0
