"""Files -> Submission: what one student handed in, and which file holds each exercise."""

import hashlib
import os
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from grader.base.decoding import MAX_FILE_BYTES, ReadError, display_name, escaped, shown_name
from grader.base.listing import LISTED, listed, natural, short, unique
from grader.observe.wording import with_particle
from grader.submission.cells import MAX_CODE_CHARS
from grader.submission.find_files import SUFFIXES, Found, Unreadable
from grader.submission.practice_cells import Practice, is_unwritten
from grader.submission.source_file import SourceFile, read_source

MAX_STUDENT_CHARS = 5 * MAX_CODE_CHARS
"""Largest number of characters of code read for one student. It limits the time that a student's folder can take."""
MAX_STUDENT_BYTES = 20 * MAX_FILE_BYTES
"""Largest number of bytes read for one student. Refused files count, because they had to be read too."""


@dataclass(frozen=True)
class Submission:
    """What one student handed in."""

    student: str
    """Name of the folder, or of the file without its suffix; no two of a class are equal."""
    files: tuple[SourceFile, ...]
    """In natural order of their names (`hw2` before `hw10`)."""
    unreadable: tuple[Unreadable, ...] = ()
    notes: tuple[str, ...] = ()
    """Korean lines on what was passed over. Not on duplicates: see `duplicates`."""

    @property
    def digest(self) -> str:
        """Fingerprint of what was handed in: a resumed run grades anew what has changed."""
        state = hashlib.sha256()
        for file in self.files:
            broken = "\0".join(f"{problem.text}\0{problem.message}" for problem in file.problems)
            state.update(f"{file.name}\0{file.text}\0{broken}\0".encode("utf-8", "surrogatepass"))
        for unreadable in self.unreadable:
            state.update(f"{unreadable.name}\0{unreadable.message}\0".encode("utf-8", "surrogatepass"))
        return state.hexdigest()[:16]

    def source_for(self, name: str) -> SourceFile | None:
        """The last file that defines the exercise `name` or tries to in a cell that does not parse.

        If there is none, the last file with a broken cell that at least mentions the name.
        """
        defining = [file for file in self.files if file.tries_to_define(name)]
        naming = defining or [file for file in self.files if file.problem_for(name) is not None]
        return naming[-1] if naming else None

    def unreadable_message(self) -> str:
        """Korean line on what could not be read, of a bounded length; empty where all could."""
        told = " ".join(f"{u.name}: {u.message}" for u in self.unreadable[:LISTED])
        more = len(self.unreadable) - LISTED
        return f"{told} 이 밖에 {more:,}개를 더 읽지 못했어요." if more > 0 else told

    def duplicates(self, name: str) -> tuple[str, ...]:
        """Names of the files that define `name` when there are several; the last one counts."""
        defining = tuple(file.name for file in self.files if file.tries_to_define(name))
        return defining if len(defining) > 1 else ()


def read_submission(path: Path, exercise_names: Collection[str]) -> Submission:
    """Read one student's folder or file. Never raises: what cannot be read is in `unreadable`."""
    target = Path(os.path.realpath(path))
    student = target.name if os.path.isdir(target) else target.stem
    return read_files(target, shown_name(student) or escaped(student or str(target)), exercise_names)


def read_files(
    path: Path, student: str, exercise_names: Collection[str], root: Path | None = None
) -> Submission:
    """As `read_submission`, of a folder or file whose student has been named; links are not followed.

    Neither are those that are put there meanwhile, below `root` or, without one, below `path`.
    """
    found = Found()
    if os.path.isdir(path):
        root = root or path
        found.search(path, root)
    elif path.suffix.lower() in SUFFIXES or not os.path.lexists(path):
        found.files.append((display_name(path.name), path))
    else:
        message = ".py나 .ipynb 파일만 읽어요. 코드를 그런 파일에 담아 주세요."
        found.unreadable.append(Unreadable(display_name(path.name), message))
    files: list[SourceFile] = []
    budget, unread = MAX_STUDENT_CHARS, MAX_STUDENT_BYTES
    taken: set[str] = set()
    for full, file in sorted(found.files, key=lambda item: (natural(item[0]), os.fsencode(item[1]))):
        name = unique(short(full), taken)
        taken.add(name)
        try:
            if budget <= 0:
                raise ReadError(
                    f"앞의 파일들에 코드가 {MAX_STUDENT_CHARS:,}자 넘게 있어요. 낼 파일만 남겨 주세요."
                )
            unread -= _size(file)
            if unread < 0:
                raise ReadError(
                    f"파일들이 모두 {MAX_STUDENT_BYTES // 2**20} MB를 넘어요. 출력을 지우고 낼 파일만 남겨 주세요."
                )
            source = read_source(file, name, exercise_names, root)
        except ReadError as error:
            found.unreadable.append(Unreadable(name, str(error)))
        else:
            files.append(source)
            budget -= source.size
    unreadable = tuple(Unreadable(short(u.name), u.message) for u in found.unreadable)
    notes = (*found.notes(), *_practised_only(files, exercise_names))
    return Submission(student, tuple(files), unreadable, notes)


def _practised_only(files: Sequence[SourceFile], exercise_names: Collection[str]) -> Iterator[str]:
    """A Korean line on each exercise that was written in a drill and nowhere else."""
    for name in exercise_names:
        places = [_where(file, p) for file in files for p in file.practice if p.exercise == name]
        if places and all(_leaves_unwritten(file, name) for file in files):
            yield (
                f"{with_particle(f'`{name}`', '은/는')} 드릴에만 쓰여 있어요: {listed(places)}. "
                "드릴에 쓴 것은 답으로 세지 않아요. 답이라면 그 코드를 연습 셀에 옮겨 주세요."
            )


def _leaves_unwritten(file: SourceFile, name: str) -> bool:
    return not file.tries_to_define(name) or (name in file.defines and is_unwritten(file.text, name))


def _where(file: SourceFile, practice: Practice) -> str:
    if practice.cell is None:
        return f"{file.name} {practice.line}번째 줄"
    return f"{file.name} 셀 {practice.cell}"


def _size(file: Path) -> int:
    """What reading the file costs, in bytes: nothing where it is too large and refused unread."""
    try:
        size = os.lstat(file).st_size
    except OSError:
        return 0
    return size if size <= MAX_FILE_BYTES else 0
