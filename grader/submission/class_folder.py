"""Read a class folder: find the students, give each a unique name, and return a Submission for each."""

import os
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol, TypeVar

from grader.base.errors import HanstepError
from grader.base.files import require_class
from grader.base.names import display_name, escaped, listed, natural, shown_name, unique
from grader.submission.file_forms import is_source, stem
from grader.submission.find_files import (
    ARCHIVES,
    CLOSED_ARCHIVES,
    LINK_MESSAGE,
    Unreadable,
    is_skipped,
    link_target,
)
from grader.submission.submission import Submission, read_files

Reader = Callable[[Path, str, Collection[str], Path], Submission]
"""Function that reads one student's folder or file; same arguments as `read_files`: path, student's name, exercise
names, root below which no link is followed."""

_Item = TypeVar("_Item")
_Made = TypeVar("_Made")


class Each(Protocol):
    """Calls a function with each item, perhaps several at a time."""

    def __call__(self, make: Callable[[_Item], _Made], items: Sequence[_Item], /) -> Sequence[_Made]:
        """Return the results in the items' order."""


def one_by_one(make: Callable[[_Item], _Made], items: Sequence[_Item]) -> Sequence[_Made]:
    """Call a function with each item in turn."""
    return [make(item) for item in items]


_ARCHIVES = (*ARCHIVES, *CLOSED_ARCHIVES)
"""Files that are somebody's work, opened or not."""
_MAX_HOPS = 40
"""Maximum length of a chain of symbolic links to follow; Linux follows no more either."""
_TOOL_FOLDERS = frozenset((".git", ".ipynb_checkpoints", ".idea", ".venv", ".vscode"))
"""Hidden folders that programs create, so that no student can have meant them."""
_LINK_TO_OTHER = "다른 학생이 낸 것을 가리키는 링크라서 읽지 않았어요: {}. 링크 대신 자기 파일을 내 주세요."


class ClassFolderError(HanstepError):
    """The folder to grade cannot be listed, or holds no student."""


def read_class(
    folder: Path,
    exercise_names: Collection[str],
    read_one: Reader = read_files,
    each: Each = one_by_one,
) -> list[Submission]:
    """Read every student of a class: each folder and each `.py` or `.ipynb` file directly under `folder`.

    Problems with one student's files are reported in that student's submission and do not affect the others.

    Args:
        folder: the class folder.
        exercise_names: names of all exercises of the course.
        read_one: function that reads one student's folder or file.
        each: calls it for each student.

    Returns:
        The submissions, in natural order of the students' names.

    Raises:
        CommandError: there is no such folder.
        ClassFolderError: it cannot be listed, or holds no student.
    """
    require_class(folder)
    try:
        with os.scandir(folder) as listing:
            entries = [entry for entry in listing if not is_skipped(entry.name)]
    except OSError as error:
        raise ClassFolderError(
            f"폴더를 열 수 없어요: {folder} ({error.strerror}). 읽을 권한을 확인해 주세요: ls -ld {folder}"
        ) from error
    students = list(filter(_is_student, entries))
    if not students:
        others = listed([display_name(entry.name) for entry in entries]) or "빈 폴더"
        raise ClassFolderError(
            f"학생이 없어요: {folder} (있는 것: {others}). 학생마다 폴더 하나, 또는 .ipynb·.py·.zip 파일 하나가"
            " 이 폴더 바로 아래에 있어야 해요."
        )
    root = os.path.realpath(folder)

    def read(named: _Named) -> Submission:
        found = _read_student(named.entry, named.student, root, exercise_names, read_one)
        return replace(found, notes=(*named.notes, *found.notes))

    ordered = sorted(_unique_names(students), key=lambda named: natural(named.student))
    return _with_shared_files_noted(each(read, ordered))


def hidden_entries_note(folder: Path) -> str:
    """Return a Korean line listing the entries not graded because their names begin with a dot; empty if none."""
    try:
        with os.scandir(folder) as listing:
            hidden = [entry for entry in listing if entry.name.startswith(".") and _is_student(entry)]
    except OSError:
        return ""
    # macOS puts a `._` file with metadata beside each file.
    names = [e.name for e in hidden if e.name not in _TOOL_FOLDERS and not e.name.startswith("._")]
    if not names:
        return ""
    shown = listed(sorted(map(display_name, names), key=natural))
    return f"이름이 점(.)으로 시작해서 채점하지 않은 것: {shown}. 학생이 낸 것이라면 이름을 바꿔 주세요."


def _read_student(
    entry: "os.DirEntry[str]", student: str, root: str, exercise_names: Collection[str], read_one: Reader
) -> Submission:
    """Read one student's entry; a link must lead to something inside the class folder that is no other student's."""
    path = Path(root, entry.name)
    if os.path.islink(path):
        target = link_target(path, root)
        if target is None or str(target) == root:
            return Submission(student, (), (Unreadable(display_name(entry.name), LINK_MESSAGE),))
        other = _other_student(path, root)
        if other is not None:
            message = _LINK_TO_OTHER.format(display_name(other))
            return Submission(student, (), (Unreadable(display_name(entry.name), message),))
        path = target
    return read_one(path, student, exercise_names, Path(root))


def _is_student(entry: "os.DirEntry[str]") -> bool:
    """Return True if an entry of the class folder is a student's: a folder, a source file or a broken link."""
    # A broken link counts as a student, because somebody's work is lost and that must be reported. A link to a file
    # with another suffix does not.
    return (
        os.path.isdir(entry.path)
        or is_source(entry.name)
        or entry.name.lower().endswith(_ARCHIVES)
        or (os.path.islink(entry.path) and not os.path.isfile(entry.path))
    )


def student_of_file(name: str) -> str:
    """Return a file's name without its suffix, or the suffixes of a packed file: `.tar.gz`."""
    packed = max((suffix for suffix in _ARCHIVES if name.lower().endswith(suffix)), key=len, default="")
    return (name[: -len(packed)] if packed else stem(name)) or name


@dataclass(frozen=True)
class _Named:
    """A student's entry in the class folder, with the student's name and Korean notes about that name."""

    entry: "os.DirEntry[str]"
    student: str
    notes: tuple[str, ...]


def _unique_names(entries: Iterable["os.DirEntry[str]"]) -> list[_Named]:
    """Give every entry a unique student name: a file's name without its suffix, unless two names would then be equal.

    Different names can look alike once invisible characters are removed. Then the entry whose real name equals the
    shown one keeps it, and the others are numbered. The result does not depend on the file system's order.
    """
    full, short = {}, {}
    for entry in entries:
        name = entry.name if os.path.isdir(entry.path) else student_of_file(entry.name)
        short[entry] = shown_name(name) or escaped(name)
        full[entry] = short[entry] + entry.name.removeprefix(name)
    kinds = Counter(name for name, _ in {(short[e], full[e]) for e in short})
    wanted = {e: full[e] if kinds[short[e]] > 1 else short[e] for e in short}
    twins = Counter(wanted.values())
    taken: set[str] = set()
    named = []
    for entry in sorted(wanted, key=lambda e: (e.name != full[e], os.fsencode(e.name))):
        student = unique(wanted[entry], taken)
        taken.add(student)
        alike = twins[wanted[entry]] > 1
        note = f"이름이 똑같아 보이는 제출물이 또 있어요. 이 제출물의 원래 이름: {escaped(entry.name)}"
        named.append(_Named(entry, student, (note,) if alike else ()))
    return named


def _other_student(link: Path, root: str) -> str | None:
    """Follow a link in `root` step by step and return the first student's entry it passes; None if it passes none."""
    path = os.path.join(root, link.name)
    for _ in range(_MAX_HOPS):
        try:
            path = os.path.join(os.path.dirname(path), os.readlink(path))
        except OSError:  # it is not a link, or not any more
            break
        for way in (os.path.normpath(path), os.path.realpath(path)):
            inside = way.startswith(root.rstrip(os.sep) + os.sep)
            name, *within = os.path.relpath(way, root).split(os.sep) if inside else [""]
            # A hidden entry is not a student: an instructor may keep the students' real files there.
            is_student = within or is_source(name) or os.path.isdir(os.path.join(root, name))
            if name and not is_skipped(name) and is_student:
                return name
        path = os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))
    return None


def _with_shared_files_noted(submissions: Sequence[Submission]) -> list[Submission]:
    """Add a note to each submission that shares a file on disk (a hard link) with another student's.

    Hard links are read all the same, because some file systems turn equal files into hard links by themselves.
    """
    owners: dict[tuple[int, int], set[str]] = {}
    files: list[tuple[str, str, tuple[int, int]]] = []
    for submission in submissions:
        for file in submission.files:
            try:
                status = os.lstat(file.path)
            except OSError:
                continue
            identity = (status.st_dev, status.st_ino)
            files.append((submission.student, file.name, identity))
            owners.setdefault(identity, set()).add(submission.student)
    shared: dict[str, list[str]] = {}
    for student, name, identity in files:
        if identity[1] and len(owners[identity]) > 1:
            shared.setdefault(student, []).append(name)
    note = "다른 학생이 낸 파일과 디스크에서 같은 파일이에요(하드 링크): {}"
    return [
        replace(s, notes=(*s.notes, note.format(listed(shared[s.student])))) if s.student in shared else s
        for s in submissions
    ]
