"""Receive uploads in a child process: a problem with one student's files is recorded for that student alone."""

import os
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from queue import LifoQueue
from types import TracebackType
from typing import ParamSpec, Self, TypeVar

from grader.base.file_names import safe_filename
from grader.base.names import display_name
from grader.base.removal import remove_tree
from grader.intake.child_process import CAN_LIMIT, CallFailed, LimitedChild, TimeLimits
from grader.intake.class_archive import names_of_class, unpack_class
from grader.intake.handover import IntakeError
from grader.intake.placing import placed, placed_if_packed
from grader.submission.find_files import Unreadable
from grader.submission.submission import Submission, read_files

_CLASS_LIMITS = TimeLimits(cpu_seconds=1_800, seconds=7_200)
"""Limits for the archive of a whole class: 16 GiB take minutes."""
_CHILDREN = min(4, os.cpu_count() or 1) if CAN_LIMIT else 1
"""Child processes that place and read at the same time; without children, one thread: parsing is not safe in two."""
_MOST_LINES = 10
"""Lines on what was left out of a class's archive; the rest is counted."""


_Parameters = ParamSpec("_Parameters")
_Item = TypeVar("_Item")
_Made = TypeVar("_Made")
Progress = Callable[[str, int, int], None]
"""Called with what is being done, in Korean, for how many students it is done, and how many there are."""
PLACING, READING = "제출물 꺼내기", "제출물 읽기"


def silent(what: str, done: int, total: int) -> None:
    """Show no progress."""


class UploadReceiver:
    """Receives the files of one class: unpacks the class's archive, then places and reads each student's files."""

    def __init__(self, workplace: Path, progress: Progress = silent) -> None:
        """Start nothing yet.

        Args:
            workplace: the folder below which the content of archives in a plain class folder is put.
            progress: told how far `each` is.
        """
        self._workplace = workplace
        self._progress = progress
        self._children = [LimitedChild() for _ in range(_CHILDREN)]
        self._free: LifoQueue[LimitedChild] = LifoQueue()
        for child in self._children:
            self._free.put(child)
        self._broken: dict[Path, dict[Path, str]] = {}
        """Problems by path: for each file or folder of a class's archive, messages about itself and all below it."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for child in self._children:
            child.end()

    def each(self, what: str, make: Callable[[_Item], _Made], items: Sequence[_Item]) -> Sequence[_Made]:
        """Call a function that places or reads (`what`) with each item, as many at a time as there are children."""
        self._progress(what, 0, len(items))
        found: list[_Made] = []
        with ThreadPoolExecutor(_CHILDREN) as pool:
            for made in pool.map(make, items):
                found.append(made)
                self._progress(what, len(found), len(items))
        return found

    def _call(
        self,
        function: Callable[_Parameters, _Made],
        *args: _Parameters.args,
        **kwargs: _Parameters.kwargs,
    ) -> _Made:
        """Call a function in the next free child."""
        child = self._free.get()
        try:
            return child.call(function, *args, **kwargs)
        finally:
            self._free.put(child)

    def unpack(self, archive: Path, into: Path) -> tuple[str, ...]:
        """Unpack the archive of a whole class, and return Korean lines on what was left out.

        Raises:
            IntakeError: it is empty or cannot be unpacked.
        """
        try:
            with LimitedChild(_CLASS_LIMITS) as child:
                found = child.call(unpack_class, archive, into)
        except CallFailed as failed:
            raise IntakeError(
                f"압축 파일을 풀지 못했어요: {archive}. {failed.what} 풀어서 폴더를 알려 주세요."
            ) from failed
        for at, message in found.broken.items():
            for above in (at, *at.parents):
                if above == into:
                    break
                self._broken.setdefault(above, {})[at] = message
        if not any(into.iterdir()):
            reason = f" {found.refused[0].message}" if found.refused else ""
            raise IntakeError(
                f"압축 파일에서 꺼낼 것이 없어요: {archive}.{reason} 다시 내려받거나, 풀어서 폴더를 알려 주세요."
            )
        refused = [f"압축 파일에서 읽지 못한 것: {one.name}: {one.message}" for one in found.refused]
        more = len(refused) - _MOST_LINES
        return (
            *refused[:_MOST_LINES],
            *([f"압축 파일에서 읽지 못한 것이 {more:,}개 더 있어요."] if more > 0 else []),
        )

    def names_in(self, archive: Path) -> tuple[str, ...]:
        """Return the names of a zip file's entries, below outer folders that hold only one; empty if unreadable."""
        try:
            return self._call(names_of_class, archive)
        except CallFailed:  # told by whoever opens it
            return ()

    def place(self, parts: Sequence[tuple[str, Path]], folder: Path) -> tuple[Unreadable, ...]:
        """Put one student's files into a folder of their own, and return what could not be read."""
        try:
            return self._call(placed, parts, folder, self._broken_in([path for _, path in parts]))
        except CallFailed as failed:
            remove_tree(folder)
            folder.mkdir(parents=True, exist_ok=True)
            return (Unreadable(parts[0][0] or "./", str(failed)),)

    def read_unplaced(
        self, path: Path, student: str, exercise_names: Collection[str], root: Path | None = None
    ) -> Submission:
        """Do as `read` with an entry of a plain class folder, whose archives have not been opened yet."""
        into = self._workplace / safe_filename(student)
        try:
            problems = self._call(placed_if_packed, path, into, self._broken_in([path]))
        except CallFailed as failed:
            return Submission(student, (), (Unreadable(display_name(path.name), str(failed)),))
        if problems is None:
            return self.read(path, student, exercise_names, root)
        read = self.read(into, student, exercise_names, into)
        return replace(read, unreadable=(*read.unreadable, *problems))

    def read(
        self, path: Path, student: str, exercise_names: Collection[str], root: Path | None = None
    ) -> Submission:
        """Call `read_files` in the child; a failure becomes the submission's `unreadable`."""
        try:
            read = self._call(read_files, path, student, exercise_names, root)
        except CallFailed as failed:
            return Submission(student, (), (Unreadable(display_name(path.name), str(failed)),))
        lacking = tuple(
            Unreadable(display_name(os.path.relpath(at, path) if at != path else path.name), message)
            for at, message in self._broken_in([path]).items()
        )
        return replace(read, unreadable=(*read.unreadable, *lacking)) if lacking else read

    def _broken_in(self, paths: Sequence[Path]) -> dict[Path, str]:
        """Return the known problems of these files and folders, by path."""
        return {at: message for path in paths for at, message in self._broken.get(path, {}).items()}
