"""Files -> Submission: who handed in what, and which file holds each exercise. The beginning of the road."""

import os
import re
from collections import Counter, deque
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path

from grader.submission.cells import MAX_CODE_CHARS
from grader.submission.decoding import MAX_FILE_BYTES, ReadError, display_name, escaped, read_text, shown_name
from grader.submission.file import Place, Problem, SourceFile, read_source

__all__ = [
    "MAX_FILE_BYTES",
    "ClassFolderError",
    "Place",
    "Problem",
    "ReadError",
    "SourceFile",
    "Submission",
    "Unreadable",
    "read_class",
    "read_submission",
    "read_text",
]

MAX_FILES = 200
"""Files read for one student: a whole course has a few dozen."""
MAX_ENTRIES = 20_000
"""Directory entries looked at for one student."""
MAX_DEPTH = 20
"""Folders within folders."""
MAX_STUDENT_CHARS = 5 * MAX_CODE_CHARS
"""Code read for one student: what bounds the time a student's folder can cost."""
MAX_STUDENT_BYTES = 20 * MAX_FILE_BYTES
"""Read for one student, refused files included: they have cost their reading."""

_LISTED = 5
"""Names or messages put into one line; the others are counted."""
_LONGEST_NAME = 200
_MAX_HOPS = 40
"""Links that lead to links: Linux follows no more."""

_SUFFIXES = (".py", ".ipynb")
_SKIPPED = frozenset(("__pycache__", "__MACOSX", "site-packages", "node_modules"))
_LINK_TO_OTHER = "다른 학생이 낸 것을 가리키는 링크라서 읽지 않았어요: {}. 링크 대신 자기 파일을 내 주세요."
_LINK = "폴더 밖으로 나가거나 끊어진 링크라서 따라가지 않았어요. 링크 대신 파일 자체를 내 주세요."


class ClassFolderError(ValueError):
    """The folder to grade holds no class; its text is Korean and says what to do."""


@dataclass(frozen=True)
class Unreadable:
    """A file, link or folder that could not be read."""

    name: str
    message: str
    """Korean."""


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

    def source_for(self, name: str) -> SourceFile | None:
        """The last file that defines the exercise `name` or tries to in a cell that does not parse.

        Failing that, the last one with a broken cell that at least names it.
        """
        defining = [file for file in self.files if file.tries_to_define(name)]
        naming = defining or [file for file in self.files if file.problem_for(name) is not None]
        return naming[-1] if naming else None

    def unreadable_message(self) -> str:
        """Korean line on what could not be read, of a bounded length; empty where all could."""
        told = " ".join(f"{u.name}: {u.message}" for u in self.unreadable[:_LISTED])
        more = len(self.unreadable) - _LISTED
        return f"{told} 이 밖에 {more:,}개를 더 읽지 못했어요." if more > 0 else told

    def duplicates(self, name: str) -> tuple[str, ...]:
        """Names of the files that define `name` when there are several; the last one counts."""
        defining = tuple(file.name for file in self.files if file.tries_to_define(name))
        return defining if len(defining) > 1 else ()


def read_class(folder: Path, exercise_names: Collection[str]) -> list[Submission]:
    """Read every student of a class: each folder and each `.py` or `.ipynb` file directly under `folder`.

    Whatever is wrong with one student's files is said in that student's submission and costs no other.

    Raises:
        ClassFolderError: there is no such folder, it cannot be listed, or no student is in it.
    """
    if not os.path.isdir(folder):
        if os.path.lexists(folder):
            raise ClassFolderError(
                f"폴더가 아니에요: {folder}. 파일 하나는 grader check로 확인하고,"
                " 채점하려면 학생들의 파일이 든 폴더를 알려 주세요."
            )
        raise ClassFolderError(
            f"채점할 폴더가 없어요: {folder} (지금 폴더: {Path.cwd()}). ls로 경로를 확인해 주세요."
        )
    try:
        with os.scandir(folder) as listing:
            entries = [entry for entry in listing if not _is_skipped(entry.name)]
    except OSError as error:
        raise ClassFolderError(
            f"폴더를 열 수 없어요: {folder} ({error.strerror}). 읽을 권한을 확인해 주세요: ls -ld {folder}"
        ) from error
    students = list(filter(_is_student, entries))
    if not students:
        others = _listed([display_name(entry.name) for entry in entries]) or "빈 폴더"
        raise ClassFolderError(
            f"학생이 없어요: {folder} (있는 것: {others}). 학생마다 폴더 하나, 또는 .ipynb·.py 파일 하나가"
            " 이 폴더 바로 아래에 있어야 해요. 압축 파일이라면 먼저 풀어 주세요."
        )
    root = os.path.realpath(folder)
    submissions = []
    for named in sorted(_named(students), key=lambda named: _natural(named.student)):
        read = _read_student(named.entry, named.student, root, exercise_names)
        submissions.append(replace(read, notes=(*named.notes, *read.notes)))
    return _with_shared_files_noted(submissions)


def read_submission(path: Path, exercise_names: Collection[str]) -> Submission:
    """Read one student's folder or file. Never raises: what cannot be read is in `unreadable`."""
    target = Path(os.path.realpath(path))
    student = target.name if os.path.isdir(target) else target.stem
    return _read(target, shown_name(student) or escaped(student or str(target)), exercise_names)


def _read_student(
    entry: "os.DirEntry[str]", student: str, root: str, exercise_names: Collection[str]
) -> Submission:
    path = Path(entry.path)
    if os.path.islink(path):
        target = _link_target(path, root)
        if target is None or str(target) == root:
            return Submission(student, (), (Unreadable(display_name(entry.name), _LINK),))
        other = _other_student(path, root)
        if other is not None:
            message = _LINK_TO_OTHER.format(display_name(other))
            return Submission(student, (), (Unreadable(display_name(entry.name), message),))
        path = target
    return _read(path, student, exercise_names)


def _read(path: Path, student: str, exercise_names: Collection[str]) -> Submission:
    found = _Found()
    if os.path.isdir(path):
        found.search(path)
    elif path.suffix.lower() in _SUFFIXES or not os.path.lexists(path):
        found.files.append((display_name(path.name), path))
    else:
        message = ".py나 .ipynb 파일만 읽어요. 코드를 그런 파일에 담아 주세요."
        found.unreadable.append(Unreadable(display_name(path.name), message))
    files: list[SourceFile] = []
    budget, unread = MAX_STUDENT_CHARS, MAX_STUDENT_BYTES
    taken: set[str] = set()
    for full, file in sorted(found.files, key=lambda item: (_natural(item[0]), os.fsencode(item[1]))):
        name = _unique(_short(full), taken)
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
            source = read_source(file, name, exercise_names)
        except ReadError as error:
            found.unreadable.append(Unreadable(name, str(error)))
        else:
            files.append(source)
            budget -= source.size
    unreadable = tuple(Unreadable(_short(u.name), u.message) for u in found.unreadable)
    return Submission(student, tuple(files), unreadable, tuple(found.notes()))


def _size(file: Path) -> int:
    """What reading the file costs, in bytes: nothing where it is too large and refused unread."""
    try:
        size = os.lstat(file).st_size
    except OSError:
        return 0
    return size if size <= MAX_FILE_BYTES else 0


@dataclass
class _Found:
    """What a search through a student's folder came upon."""

    files: list[tuple[str, Path]] = field(default_factory=list)
    unreadable: list[Unreadable] = field(default_factory=list)
    others: list[str] = field(default_factory=list)
    hidden: list[str] = field(default_factory=list)
    links: list[str] = field(default_factory=list)

    def search(self, root: Path) -> None:
        """Go through the folders breadth first, so that a limit cuts off what lies deepest."""
        real_root = os.path.realpath(root)
        left = MAX_ENTRIES
        queue = deque([(root, "", 0)])
        while queue:
            folder, prefix, depth = queue.popleft()
            try:
                with os.scandir(folder) as listing:
                    entries = sorted(islice(listing, left), key=lambda e: _natural(display_name(e.name)))
            except OSError as error:
                message = f"폴더를 열 수 없어요({error.strerror}). 읽을 권한이 있는지 확인해 주세요."
                self.unreadable.append(Unreadable(prefix or "./", message))
                continue
            left -= len(entries)
            if depth and any(entry.name == "pyvenv.cfg" for entry in entries):
                self.others.append(prefix)  # somebody's virtual environment
                continue
            for entry in entries:
                name = prefix + display_name(entry.name)
                if not self._take(entry, name, real_root):
                    continue
                if depth < MAX_DEPTH:
                    queue.append((Path(entry.path), f"{name}/", depth + 1))
                else:
                    self._limit(f"{name}/", f"폴더가 {MAX_DEPTH}겹보다 깊어요.")
            if left <= 0:
                self._limit("./", f"파일과 폴더가 {MAX_ENTRIES:,}개 넘게 있어요.")
                return

    def notes(self) -> Iterable[str]:
        """Korean lines on what was passed over without being wrong."""
        if self.links:
            yield f"링크는 따라가지 않고 원래 파일만 읽었어요: {_listed(self.links)}"
        if self.hidden:
            yield f"이름이 점(.)으로 시작하는 파일은 읽지 않았어요: {_listed(self.hidden)}"
        if self.others:
            yield f".py와 .ipynb만 읽어요. 읽지 않은 것: {_listed(self.others)}"

    def _take(self, entry: "os.DirEntry[str]", name: str, root: str) -> bool:
        """Sort an entry into its list; True for a folder to go through."""
        is_source = entry.name.lower().endswith(_SUFFIXES)
        if _is_skipped(entry.name):
            # "._x.ipynb" is what macOS adds to archives beside "x.ipynb".
            if is_source and not entry.name.startswith("._"):
                self.hidden.append(name)
        elif os.path.islink(entry.path):
            if _link_target(Path(entry.path), root) is None:
                self.unreadable.append(Unreadable(name, _LINK))
            else:
                self.links.append(name)
        elif os.path.isdir(entry.path):
            return True
        elif not is_source:
            self.others.append(name)
        elif len(self.files) < MAX_FILES:
            self.files.append((name, Path(entry.path)))
        else:
            self._limit("./", f".py와 .ipynb 파일이 {MAX_FILES}개 넘게 있어요.")
        return False

    def _limit(self, name: str, what: str) -> None:
        limit = Unreadable(name, f"{what} 나머지는 읽지 않았어요. 낼 파일만 남겨 주세요.")
        if limit not in self.unreadable[-1:]:
            self.unreadable.append(limit)


def _is_skipped(name: str) -> bool:
    return name.startswith(".") or name in _SKIPPED


def _is_student(entry: "os.DirEntry[str]") -> bool:
    # A broken link is somebody's lost work; one to another kind of file is no more a student than that.
    return (
        os.path.isdir(entry.path)
        or entry.name.lower().endswith(_SUFFIXES)
        or (os.path.islink(entry.path) and not os.path.isfile(entry.path))
    )


@dataclass(frozen=True)
class _Named:
    """A student's entry in the class folder."""

    entry: "os.DirEntry[str]"
    student: str
    notes: tuple[str, ...]


def _named(entries: Iterable["os.DirEntry[str]"]) -> list[_Named]:
    """Every entry with a name that no other shows: a file's is without the suffix unless that makes two alike.

    Of names that look alike, the one that is what it looks keeps it; the others are numbered, in whatever
    order the file system lists them.
    """
    full, short = {}, {}
    for entry in entries:
        stem, suffix = (entry.name, "") if os.path.isdir(entry.path) else os.path.splitext(entry.name)
        short[entry] = shown_name(stem) or escaped(stem)
        full[entry] = short[entry] + suffix
    kinds = Counter(stem for stem, _ in {(short[e], full[e]) for e in short})
    wanted = {e: full[e] if kinds[short[e]] > 1 else short[e] for e in short}
    twins = Counter(wanted.values())
    taken: set[str] = set()
    named = []
    for entry in sorted(wanted, key=lambda e: (e.name != full[e], os.fsencode(e.name))):
        student = _unique(wanted[entry], taken)
        taken.add(student)
        alike = twins[wanted[entry]] > 1
        note = f"이름이 똑같아 보이는 제출물이 또 있어요. 이 제출물의 원래 이름: {escaped(entry.name)}"
        named.append(_Named(entry, student, (note,) if alike else ()))
    return named


def _link_target(link: Path, root: str) -> Path | None:
    """Where a link leads, if that exists inside `root`; what lies outside is not even asked for existence."""
    target = os.path.realpath(link)
    inside = target == root or target.startswith(root.rstrip(os.sep) + os.sep)
    return Path(target) if inside and os.path.lexists(target) and not os.path.islink(target) else None


def _other_student(link: Path, root: str) -> str | None:
    """Name of the first student's entry that a link directly under `root` leads to or through."""
    path = os.path.join(root, link.name)
    for _ in range(_MAX_HOPS):
        if not os.path.islink(path):
            break
        path = os.path.join(os.path.dirname(path), os.readlink(path))
        for way in (os.path.normpath(path), os.path.realpath(path)):
            inside = way.startswith(root.rstrip(os.sep) + os.sep)
            name, *within = os.path.relpath(way, root).split(os.sep) if inside else [""]
            # What hides is nobody's: an instructor may keep the files there.
            is_student = within or name.lower().endswith(_SUFFIXES) or os.path.isdir(os.path.join(root, name))
            if name and not _is_skipped(name) and is_student:
                return name
        path = os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))
    return None


def _with_shared_files_noted(submissions: list[Submission]) -> list[Submission]:
    """The submissions, those told that hold a file which under another name is another student's, too.

    Such hard links are read, because some file systems make them of equal files by themselves.
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
        replace(s, notes=(*s.notes, note.format(_listed(shared[s.student])))) if s.student in shared else s
        for s in submissions
    ]


def _natural(name: str) -> tuple[list[list[tuple[int, int, str]]], str]:
    """Sort key: `hw.py`, `hw2.py`, `hw10.py`, folder by folder; the name itself decides between `A` and `a`."""
    folders = []
    for component in name.removesuffix(".py").removesuffix(".ipynb").split("/"):
        parts = re.split(r"(\d+)", component.casefold())
        folders.append([(0, int(p), "") if p.isdecimal() else (1, 0, p) for p in parts if p])
    return folders, name


def _unique(wanted: str, taken: Collection[str]) -> str:
    name, number = wanted, 1
    while name in taken:
        number += 1
        name = f"{wanted} ({number})"
    return name


def _short(name: str) -> str:
    """A path for messages: folders within folders can make one of thousands of characters."""
    return name if len(name) <= _LONGEST_NAME else f"{name[:60]}…{name[61 - _LONGEST_NAME :]}"


def _listed(names: Collection[str]) -> str:
    shown = ", ".join(map(_short, islice(names, _LISTED)))
    return f"{shown} 외 {len(names) - _LISTED:,}개" if len(names) > _LISTED else shown
